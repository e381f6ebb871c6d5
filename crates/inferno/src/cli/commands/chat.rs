//! `inferno chat`: a conversation with a model in the terminal, and `inferno run`: the same with Ollama's arguments.

mod commands;
mod completion;
mod dialogue;
mod display;
mod fitting;
mod history;
mod interactive;
mod line_reader;
mod saved;

use inferno_chat::AnswerOptions;
use inferno_engine::GenerationParams;

use crate::cli::arguments::chat::ChatSetupArgs;
use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::limits::{ContextArgs, StopArgs};
use crate::cli::arguments::model::{SourceArgs, ensure_not_model, model_source, with_loading_bar};
use crate::cli::arguments::output_format::OutputFormatArgs;
use crate::cli::arguments::sampling::SamplingArgs;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::{piped_input, with_stdin};
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::settings;
use crate::{LoadOptions, Model, ModelSource};
use dialogue::Dialogue;
use display::Display;
use history::ChatHistory;
use interactive::Chat;
use line_reader::LineReader;

pub(crate) use commands::CommandError;

/// Chat with a model in the terminal
///
/// Type a message to get a reply; type /help for a list of commands. Start and end a message of several lines with
/// triple quotes ("""). If standard input is not a terminal, every line is
/// a message or a command, and only the replies are printed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno chat
  inferno chat -m qwen3:0.6b \"What is the tallest mountain?\"
  inferno chat -m model.gguf --system \"Answer in one word.\" --temperature 0.7
  inferno chat -m model.gguf --no-think --max-tokens 200 < questions.txt")]
pub(crate) struct ChatCommandArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// First message; its words need no quotes
    #[arg(value_name = "MESSAGE")]
    message: Vec<String>,
    #[command(flatten)]
    options: ChatOptions,
}

/// Answer one prompt, or chat if there is none
///
/// With a prompt or with standard input that is not a terminal, the reply is printed and the program exits. Otherwise it
/// is the same as inferno chat.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno run qwen3:0.6b
  inferno run qwen3:0.6b \"Why is the sky blue?\"
  inferno run model.gguf \"Summarize this file:\" < notes.txt")]
pub(crate) struct RunArgs {
    /// Model to use: a GGUF file, hf:OWNER/REPO[:QUANTIZATION] or a short name (see inferno list --catalog)
    #[arg(value_name = "MODEL", value_parser = model_source())]
    model: ModelSource,
    /// Prompt; its words need no quotes
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,
    #[command(flatten)]
    options: ChatOptions,
}

/// Options of both commands.
#[derive(clap::Args)]
struct ChatOptions {
    /// First message; same as the argument
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    #[command(flatten)]
    stop: StopArgs,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Print timings, rates and memory usage after each reply
    #[arg(long)]
    stats: bool,
    /// Do not read or write the input history
    #[arg(long)]
    no_history: bool,
    #[command(flatten)]
    setup: ChatSetupArgs,
    #[command(flatten)]
    output_format: OutputFormatArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl ChatCommandArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { source, message, options } = self;
        if let ([word], false) = (&message[..], source.is_given()) {
            ensure_not_model(word, "prompt")?;
        }
        let first = options.first_message(message)?;
        let Some((dialogue, model_name, no_history)) = options.start(&source)? else {
            return Ok(());
        };
        settings::remember();
        let reader = LineReader::from_stdin(!no_history)?;
        let display = Display::new(reader.is_terminal());
        Chat { dialogue, model_name, display, interrupt: Interrupt::watch() }.run(reader, first)
    }
}

impl RunArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { model, words, options } = self;
        let source = SourceArgs::from(model);
        if options.compute.dry_run {
            return options.start(&source).map(drop);
        }
        let message = match options.first_message(words)? {
            Some(message) => with_stdin(message)?,
            None => piped_input()?.unwrap_or_default(),
        };
        if message.is_empty() {
            return ChatCommandArgs { source, message: Vec::new(), options }.run();
        }
        let Some((mut dialogue, ..)) = options.start(&source)? else {
            return Ok(());
        };
        let interrupt = Interrupt::watch();
        dialogue.ask(&message, &Display::new(false), &interrupt)?;
        match interrupt.is_requested() {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }
}

impl ChatOptions {
    /// Returns the first message: the arguments or `--prompt`.
    ///
    /// **Errors**: both are specified.
    fn first_message(&self, words: Vec<String>) -> Result<Option<String>, Failure> {
        match (words.is_empty(), &self.prompt) {
            (true, prompt) => Ok(prompt.clone()),
            (false, None) => Ok(Some(words.join(" "))),
            (false, Some(_)) => Err(Failure::Usage(
                "both a message and --prompt were specified; remove one of them".to_owned(),
            )),
        }
    }

    /// Loads the model. Returns the conversation, the model's name and whether the input history is disabled; `None`
    /// after a dry run.
    fn start(self, source: &SourceArgs) -> Result<Option<(Dialogue, String, bool)>, Failure> {
        self.sampling.check()?;
        let stop = self.stop.params()?;
        let format = self.output_format.format()?;
        let checkpoint = source.open_for_chat()?;
        let context = self.context.length(&checkpoint)?;
        let options = self.compute.options(&checkpoint, context, self.speculate.limits());
        let speculation = self.speculate.is_enabled();
        let options =
            LoadOptions { max_num_sequences: Some(1), speculation, warm_up: true, ..options };
        let model = Model::from(checkpoint).with_options(options);
        let model = self.speculate.with_draft_model(model)?;
        if self.compute.dry_run {
            dry_run::report(&model, dry_run::REDUCE_CONTEXT)?;
            return Ok(None);
        }
        model.check_generates()?;
        let metadata = model.checkpoint().metadata();
        let params = GenerationParams {
            sampling: self.sampling.params(metadata)?,
            stop,
            num_speculative_tokens: self.speculate.num_drafts(),
            ..GenerationParams::default()
        };
        let template = self.setup.template(metadata)?;
        let model_name = metadata.optional::<String>("general.name").ok().flatten();
        let session =
            with_loading_bar(&model, |on_progress| model.session_with(true, on_progress))?;
        let max_context_length = model.spec()?.context_length;
        let (thinks, reasoning_budget) = (self.setup.thinks()?, self.setup.reasoning_budget());
        let requirements = AnswerOptions { format, reasoning_budget, ..AnswerOptions::default() };
        let history = ChatHistory::new(self.setup.system);
        let mut dialogue = Dialogue::new(session, max_context_length, template, params, history);
        dialogue.requirements = requirements;
        dialogue.prints_metrics = self.stats;
        if thinks.is_some_and(|thinks| !dialogue.set_thinking(thinks)) {
            interactive::note_no_switch();
        }
        let model_name = model_name.unwrap_or_else(|| "unnamed model".to_owned());
        Ok(Some((dialogue, model_name, self.no_history)))
    }
}
