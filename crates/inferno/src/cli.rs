//! The command line: one file a command, results on standard output, everything else on standard error.
//!
//! Exit codes: 0 for success, 1 for failure, 2 for a mistake in the flags or the configuration, 130 after Ctrl-C.

mod arguments;
mod commands;
mod configuration;
mod dry_run;
mod failure;
mod input;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{
    bench, chat, completions, generate, inspect, logits, perplexity, pull, quantize, serve,
    template, tokenize, tokenizer_demo,
};
use failure::Failure;

/// Runs language models from GGUF files.
#[derive(Parser)]
#[command(name = "inferno", version, max_term_width = 100, subcommand_required = true)]
#[command(after_help = "\
Examples:
  inferno generate \"Once upon a time\"
  inferno generate -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 --greedy --max-tokens 64 \"The sky is\"
  inferno chat
  inferno serve
  inferno inspect model.gguf --tensors

Each flag is also read from the environment (--max-tokens from INFERNO_MAX_TOKENS) and from
inferno.toml, here or in the user's configuration folder. Flags win over the environment, and the
environment over the file:

  threads = 4             # for every command that takes --threads
  [generate]
  temperature = 0.7       # for one command")]
struct Inferno {
    /// Read defaults of flags from this file instead of ./inferno.toml or the user's.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Generate(Box<generate::GenerateArgs>),
    Chat(Box<chat::ChatCommandArgs>),
    Bench(Box<bench::BenchArgs>),
    Serve(Box<serve::ServeArgs>),
    Inspect(inspect::InspectArgs),
    Tokenize(tokenize::TokenizeArgs),
    Template(template::TemplateArgs),
    Logits(logits::LogitsArgs),
    Perplexity(perplexity::PerplexityArgs),
    Quantize(quantize::QuantizeArgs),
    Pull(pull::PullArgs),
    Completions(completions::CompletionsArgs),
}

impl Inferno {
    fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Generate(args) => args.run(),
            Command::Chat(args) => args.run(),
            Command::Bench(args) => args.run(),
            Command::Serve(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Tokenize(args) => args.run(),
            Command::Template(args) => args.run(),
            Command::Logits(args) => args.run(),
            Command::Perplexity(args) => args.run(),
            Command::Quantize(args) => args.run(),
            Command::Pull(args) => args.run(),
            Command::Completions(args) => args.run(),
        }
    }
}

/// The `inferno` command.
pub fn inferno() -> ExitCode {
    finish(configuration::parse::<Inferno>().and_then(Inferno::run))
}

/// The `gguf-inspect` command: `inferno inspect` with the tensors.
pub fn gguf_inspect() -> ExitCode {
    finish(
        configuration::parse_alone::<inspect::GgufInspect>("inspect")
            .and_then(inspect::GgufInspect::run),
    )
}

/// The `tokenizer-demo` command: a text and its tokens, side by side.
pub fn tokenizer_demo() -> ExitCode {
    finish(
        configuration::parse_alone::<tokenizer_demo::TokenizerDemo>("tokenize")
            .and_then(tokenizer_demo::TokenizerDemo::run),
    )
}

/// The `model-generate` command: `inferno generate` without a KV cache unless asked for.
pub fn model_generate() -> ExitCode {
    finish(
        configuration::parse_alone::<generate::ModelGenerate>("generate")
            .and_then(generate::ModelGenerate::run),
    )
}

fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
