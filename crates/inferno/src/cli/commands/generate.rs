//! `inferno generate`: goes on with a text.

use std::io::{IsTerminal, stdin};
use std::path::PathBuf;

use clap::Parser;
use inferno_engine::{FinishReason, GenerationParams, Prompt, Session, StopParams};
use inferno_tokenizer::EncodeOptions;

use crate::cli::arguments::chat::ChatArgs;
use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::sampling::SamplingArgs;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::positive;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::ChatInput;
use crate::cli::input::{STDIN_PATH, read_file, read_stdin};
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::output_file::refuse_input;
use crate::{Error, Model};

/// Go on with a text.
///
/// Prints the text that the model adds, and nothing else, as it comes. The prompt comes from the command line, from a
/// file, or from standard input; the special tokens that the model wants before a text are added, so that an empty prompt
/// asks for any text at all. With --chat the prompt is a message, and the text is the model's answer to it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno generate -m model.gguf \"Once upon a time\"
  inferno generate -m model.gguf --greedy --max-tokens 200 \"\"
  inferno generate -m model.gguf --temperature 0.7 --seed 1 --stop \"Yours\" \"Dear reader,\"
  inferno generate -m model.gguf --speculate 12 --prompt-file edit_this.txt
  cat chapter.txt | inferno generate -m model.gguf --save-session read.bin --max-tokens 1
  inferno generate -m model.gguf --load-session read.bin \"The end came when\"
  inferno generate -m model.gguf --chat --system \"Answer in one word.\" \"Which colour is the sky?\"
  inferno generate -m model.gguf --chat --no-think --input request.json
  inferno generate -m model.gguf --dry-run --context 32768")]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Stop after this many tokens; otherwise the text ends where the model ends it, or the context is full.
    #[arg(short = 'n', long, value_name = "N", value_parser = positive)]
    max_tokens: Option<usize>,
    /// Stop before this text; may be repeated.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    stop: Vec<String>,
    /// Go on after the model's end-of-generation tokens.
    #[arg(long)]
    ignore_eos: bool,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Take special tokens that are spelled out in the prompt as plain text.
    #[arg(long)]
    no_special: bool,
    #[command(flatten)]
    compute: ComputeArgs,
    /// Tokens that prompt and text may have together [default: the model's own limit, at most 4096].
    #[arg(long, value_name = "N", value_parser = positive)]
    context: Option<usize>,
    /// Keep no keys and values between steps; every step computes the whole text again, with the same result.
    #[arg(long)]
    pub(crate) no_kv: bool,
    /// Go on from a session that --save-session wrote.
    #[arg(long, value_name = "FILE")]
    load_session: Option<PathBuf>,
    /// Write the session to this file at the end: all tokens, with their keys and values.
    #[arg(long, value_name = "FILE")]
    save_session: Option<PathBuf>,
    /// Print times, rates and memory on standard error.
    #[arg(long)]
    stats: bool,
    /// Write times, rates and memory to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    stats_json: Option<PathBuf>,
    /// Read the prompt from this file.
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// The text to go on with; - for standard input, which is also read where it is no terminal and nothing is given.
    prompt: Option<String>,
}

/// What the model is to read.
enum Input {
    Text(String),
    Conversation(ChatInput),
}

/// Go on with a text, without a KV cache unless asked for.
#[derive(Parser)]
#[command(name = "model-generate", version, max_term_width = 100)]
#[command(mut_arg("no_kv", |arg| arg.hide(true)))]
#[command(after_help = "\
Example:
  model-generate --kv -m model.gguf --backend simd \"Once upon a time\"")]
pub(crate) struct ModelGenerate {
    /// Keep keys and values between steps.
    #[arg(long, conflicts_with = "no_kv")]
    kv: bool,
    #[command(flatten)]
    generate: GenerateArgs,
}

impl ModelGenerate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        GenerateArgs { no_kv: !self.kv, ..self.generate }.run()
    }
}

impl GenerateArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.chat.check()?;
        self.sampling.check()?;
        let stop = self.stop_params()?;
        let model = || -> Result<Model, Error> {
            let options = self.compute.options(self.context, self.speculate.limits());
            Ok(Model::from(self.source.open()?).with_options(options))
        };
        if self.compute.dry_run {
            return Ok(dry_run::report(&model()?)?);
        }
        let prompt = self.read_prompt()?;
        let model = model()?;
        self.check_outputs(&model)?;
        let metadata = model.checkpoint().metadata();
        let sampling = self.sampling.params(metadata)?;
        let params = GenerationParams {
            sampling,
            stop,
            num_speculative_tokens: self.speculate.speculate,
            ..GenerationParams::default()
        };
        let prompt = match prompt {
            Input::Text(text) => text,
            Input::Conversation(conversation) => {
                conversation.render(self.chat.template(metadata)?)?
            }
        };
        let mut session =
            with_loading_bar(|on_progress| model.session_with(!self.no_kv, on_progress))?;
        if let Some(path) = &self.load_session {
            session.load(path)?;
        }
        let interrupt = Interrupt::watch();
        let finish_reason = self.generate(&mut session, &prompt, &params, &interrupt)?;
        self.finish(&session)?;
        match finish_reason {
            FinishReason::Cancelled => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }

    fn stop_params(&self) -> Result<StopParams, Error> {
        let stop = StopParams {
            max_tokens: self.max_tokens,
            stop: self.stop.clone(),
            ignore_eos: self.ignore_eos,
            ..StopParams::default()
        };
        stop.validate()?;
        Ok(stop)
    }

    fn read_prompt(&self) -> Result<Input, Failure> {
        match self.chat.chat {
            true => self.chat.conversation(|| self.read_text()).map(Input::Conversation),
            false => self.read_text().map(Input::Text),
        }
    }

    fn read_text(&self) -> Result<String, Failure> {
        match (&self.prompt, &self.prompt_file) {
            (Some(_), Some(_)) => Err(Failure::Usage(
                "the prompt was given twice; leave out --prompt-file or the text".to_owned(),
            )),
            (None, Some(path)) => Ok(read_file(path)?),
            (Some(prompt), None) if prompt != STDIN_PATH => Ok(prompt.clone()),
            (None, None) if stdin().is_terminal() => Err(Failure::Usage(
                "no prompt was given; pass it as the last argument, or - to type it".to_owned(),
            )),
            _ => Ok(read_stdin()?),
        }
    }

    /// Refuses to overwrite what is not ours, before there is anything to lose.
    fn check_outputs(&self, model: &Model) -> Result<(), Error> {
        for path in self.save_session.iter().chain(&self.stats_json) {
            refuse_input(model.checkpoint(), path)?;
        }
        if let Some(path) = &self.save_session {
            Session::check_save(path)?;
        }
        Ok(())
    }

    /// Prints the text as it comes.
    fn generate(
        &self,
        session: &mut Session,
        prompt: &str,
        params: &GenerationParams,
        interrupt: &Interrupt,
    ) -> Result<FinishReason, Error> {
        // A template writes every token that its model wants before a text.
        let is_beginning = session.tokens().is_empty();
        let add_special = is_beginning && !self.chat.chat;
        let options = EncodeOptions { add_special, parse_special: !self.no_special };
        let tokens = match is_beginning {
            true => session.tokenizer().encode_prompt(prompt, options),
            false => session.tokenizer().encode(prompt, options),
        };
        let context_length = session.context_length();
        let mut generation = session.generate(Prompt::Tokens(&tokens), params)?;
        interrupt.cancels(generation.cancel_handle());

        let mut output = Output::new();
        let mut finish_reason = FinishReason::Cancelled;
        let mut ends_line = false;
        for step in generation.by_ref() {
            let step = step?;
            if !step.text.is_empty() {
                output.write(&step.text)?;
                output.flush()?;
                ends_line = step.text.ends_with('\n');
            }
            finish_reason = step.finish_reason.unwrap_or(finish_reason);
        }
        if !ends_line {
            output.line("")?;
        }
        output.flush()?;
        if finish_reason == FinishReason::ContextFull {
            print_note(&format!("note: the context of {context_length} tokens is full"));
        }
        if self.stats {
            print_note(&format!("sampling     {}", params.sampling));
            print_note(&format!("seed         {}", generation.seed()));
        }
        Ok(finish_reason)
    }

    /// What is asked for beside the text.
    fn finish(&self, session: &Session) -> Result<(), Error> {
        if let Some(path) = &self.save_session {
            session.save(path)?;
        }
        if self.stats {
            print_note(&session.metrics().to_string());
        }
        if let Some(path) = &self.stats_json {
            let json = serde_json::to_string_pretty(session.metrics())
                .map_err(|error| Error::io(path, error.into()))?;
            std::fs::write(path, json + "\n").map_err(|error| Error::io(path, error))?;
        }
        Ok(())
    }
}
