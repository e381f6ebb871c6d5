//! The command line. Results go to standard output, everything else to standard error.
//!
//! Exit codes: 0 for success, 1 for failure, 2 for invalid options or configuration, 130 after Ctrl-C.

mod arguments;
mod commands;
mod compatibility;
mod configuration;
mod dry_run;
mod failure;
mod input;
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{
    batch, bench, chat, completions, convert, devices, embed, eval, generate, imatrix, inspect,
    logits, models, perplexity, pull, quantize, serve, template, tokenize, tokenizer_demo,
};
use failure::{EXIT_SUCCESS, Failure};

/// Run large language models from GGUF files
#[derive(Parser)]
#[command(name = "inferno", version, max_term_width = 80, subcommand_required = true)]
#[command(after_help = help())]
struct Inferno {
    /// Read configuration from this file instead of the default inferno.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

/// The end of the help.
const HELP: &str = "\
Examples:
  inferno generate \"Once upon a time\"
  inferno run qwen3:0.6b \"Why is the sky blue?\"
  inferno generate -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 -n 64 \"The sky is\"
  inferno chat
  inferno serve
  inferno embed -m bge-small.gguf \"a small boy\"
  inferno inspect model.gguf --tensors

Configuration:
Every option can also be set in the environment (--max-tokens as \
INFERNO_MAX_TOKENS) or in inferno.toml, which is read from the current directory \
or from the user's configuration directory; --config or INFERNO_CONFIG names \
another file. Command-line options override the environment, and the environment \
overrides the file.

  threads = 4             # applies to every command that has --threads
  [generate]
  temperature = 0.7       # applies to one command

Exceptions: options of bench serve cannot be set in the file. Options that cannot be \
set in the environment: ";

fn help() -> String {
    format!("{HELP}{}.", configuration::all_own_options())
}

#[derive(Subcommand)]
enum Command {
    #[command(alias = "complete")]
    Generate(Box<generate::GenerateArgs>),
    Run(Box<chat::RunArgs>),
    Chat(Box<chat::ChatCommandArgs>),
    Bench(Box<bench::BenchArgs>),
    #[command(alias = "server")]
    Serve(Box<serve::ServeArgs>),
    #[command(alias = "embedding")]
    Embed(Box<embed::EmbedArgs>),
    #[command(alias = "run-batch")]
    Batch(Box<batch::BatchArgs>),
    #[command(alias = "info")]
    Inspect(inspect::InspectArgs),
    Tokenize(tokenize::TokenizeArgs),
    Template(template::TemplateArgs),
    Logits(logits::LogitsArgs),
    Perplexity(Box<perplexity::PerplexityArgs>),
    #[command(alias = "evaluate")]
    Eval(Box<eval::EvalArgs>),
    Imatrix(Box<imatrix::ImatrixArgs>),
    #[command(alias = "convert-hf-to-gguf")]
    Convert(convert::ConvertArgs),
    Quantize(quantize::QuantizeArgs),
    #[command(alias = "download")]
    Pull(pull::PullArgs),
    #[command(visible_alias = "ls", alias = "models")]
    List(models::ListArgs),
    Show(models::ShowArgs),
    #[command(alias = "remove", alias = "delete")]
    Rm(models::RmArgs),
    Devices(devices::DevicesArgs),
    Completions(completions::CompletionsArgs),
}

impl Inferno {
    fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Generate(args) => args.run(),
            Command::Run(args) => args.run(),
            Command::Chat(args) => args.run(),
            Command::Bench(args) => args.run(),
            Command::Serve(args) => args.run(),
            Command::Embed(args) => args.run(),
            Command::Batch(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Tokenize(args) => args.run(),
            Command::Template(args) => args.run(),
            Command::Logits(args) => args.run(),
            Command::Perplexity(args) => args.run(),
            Command::Eval(args) => args.run(),
            Command::Imatrix(args) => args.run(),
            Command::Convert(args) => args.run(),
            Command::Quantize(args) => args.run(),
            Command::Pull(args) => args.run(),
            Command::List(args) => args.run(),
            Command::Show(args) => args.run(),
            Command::Rm(args) => args.run(),
            Command::Devices(args) => args.run(),
            Command::Completions(args) => args.run(),
        }
    }
}

/// Runs the `inferno` command with the arguments of the process.
pub fn inferno() -> ExitCode {
    inferno_with(std::env::args_os()).into()
}

/// Runs the `inferno` command with `arguments`, of which the first is the name of the program, and returns the exit code.
pub fn inferno_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = arguments.into_iter().collect();
    finish(configuration::parse::<Inferno>(arguments).and_then(Inferno::run))
}

/// Runs the `gguf-inspect` command: `inferno inspect --tensors`.
pub fn gguf_inspect() -> ExitCode {
    finish(
        configuration::parse_alone::<inspect::GgufInspect>("inspect")
            .and_then(inspect::GgufInspect::run),
    )
    .into()
}

/// Runs the `tokenizer-demo` command, which shows how a text is split into tokens.
pub fn tokenizer_demo() -> ExitCode {
    finish(
        configuration::parse_alone::<tokenizer_demo::TokenizerDemo>("tokenize")
            .and_then(tokenizer_demo::TokenizerDemo::run),
    )
    .into()
}

/// Runs the `model-generate` command: `inferno generate`, greedy and without a KV cache by default.
pub fn model_generate() -> ExitCode {
    finish(
        configuration::parse_alone::<generate::ModelGenerate>("generate")
            .and_then(generate::ModelGenerate::run),
    )
    .into()
}

fn finish(result: Result<(), Failure>) -> u8 {
    match result {
        Ok(()) => EXIT_SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::Inferno;

    /// Asserts that the help of a command and of its subcommands has their examples as they are written.
    fn assert_examples_are_whole(command: &Command) {
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = command.clone().term_width(80).render_help().to_string();
        for line in examples.lines().filter(|line| line.starts_with("  ")) {
            let is_whole = help.lines().any(|shown| shown == line);
            assert!(is_whole, "{}: {line} is wrapped", command.get_name());
        }
        command.get_subcommands().for_each(assert_examples_are_whole);
    }

    #[test]
    fn examples_are_not_wrapped() {
        assert_examples_are_whole(&Inferno::command());
    }
}
