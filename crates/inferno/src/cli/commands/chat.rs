//! `inferno chat`: a conversation with a model in the terminal.

mod commands;
mod dialogue;
mod display;
mod fitting;
mod history;
mod line_reader;
mod saved;

use std::ops::ControlFlow;
use std::path::Path;

use inferno_engine::{GenerationParams, StopParams};

use crate::cli::arguments::chat::ChatSetupArgs;
use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::sampling::SamplingArgs;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::positive;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::settings::{self, HiddenKeys};
use crate::{Error, Model};
use commands::{ChatCommand, Line};
use dialogue::Dialogue;
use display::Display;
use history::ChatHistory;
use line_reader::LineReader;

pub(crate) use commands::CommandError;

/// Chat with a model in the terminal
///
/// Type a message to get a reply; type /help for a list of commands. If standard input is not a terminal, every line is
/// a message or a command, and only the replies are printed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno chat
  inferno chat -m model.gguf --system \"Answer in one word.\" --temperature 0.7
  inferno chat -m model.gguf --no-think --max-tokens 200 < questions.txt")]
pub(crate) struct ChatCommandArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Stop each reply after N tokens [default: until the context is full]
    #[arg(short = 'n', long, value_name = "N", value_parser = positive)]
    max_tokens: Option<usize>,
    /// Context length in tokens; the oldest exchanges are dropped from longer conversations [default: the model's
    /// maximum, at most 4096]
    #[arg(long, value_name = "N", value_parser = positive)]
    context: Option<usize>,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Do not read or write the input history
    #[arg(long)]
    no_history: bool,
    #[command(flatten)]
    setup: ChatSetupArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl ChatCommandArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.sampling.check()?;
        let options = self.compute.options(self.context, self.speculate.limits());
        let model = Model::from(self.source.open()?).with_options(options);
        if self.compute.dry_run {
            return Ok(dry_run::report(&model)?);
        }
        let metadata = model.checkpoint().metadata();
        let params = GenerationParams {
            sampling: self.sampling.params(metadata)?,
            stop: StopParams { max_tokens: self.max_tokens, ..StopParams::default() },
            num_speculative_tokens: self.speculate.speculate,
            ..GenerationParams::default()
        };
        let template = self.setup.template(metadata)?;
        let model_name = metadata.optional::<String>("general.name").ok().flatten();
        let session = with_loading_bar(|on_progress| model.session_with(true, on_progress))?;
        settings::remember();
        let reader = LineReader::from_stdin(!self.no_history)?;
        let display = Display::new(reader.is_terminal());
        let history = ChatHistory::new(self.setup.system);
        let mut chat = Chat {
            dialogue: Dialogue::new(session, template, params, history),
            model_name: model_name.unwrap_or_else(|| "unnamed model".to_owned()),
            display,
            interrupt: Interrupt::watch(),
        };
        if self.setup.no_think {
            chat.think(false);
        }
        chat.run(reader)
    }
}

/// A chat with the user, or with the program that writes the lines.
struct Chat {
    dialogue: Dialogue,
    model_name: String,
    display: Display,
    interrupt: Interrupt,
}

impl Chat {
    /// Handles each line. An invalid line is reported, and the chat continues.
    fn run(mut self, mut reader: LineReader) -> Result<(), Failure> {
        let context_length = self.dialogue.context_length();
        let name = &self.model_name;
        self.display.remark(&format!(
            "{name}, context {context_length} tokens. /help lists commands, Ctrl-D exits."
        ));
        let is_terminal = reader.is_terminal();
        let mut failed = false;
        loop {
            self.interrupt.disarm();
            let Some(line) = reader.next_line()? else {
                break;
            };
            self.interrupt.rearm();
            // Text typed while a reply is printed belongs to the next line, not in the middle of the reply.
            let hidden_keys = is_terminal.then(HiddenKeys::begin);
            let outcome = self.handle(&line);
            drop(hidden_keys);
            match outcome {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(failure) if ends_chat(&failure) => return Err(failure),
                Err(failure) => {
                    failure.report();
                    failed = true;
                }
            }
            // At a terminal, Ctrl-C only stops the reply. A program that writes the lines gets the exit code.
            if !is_terminal && self.interrupt.is_requested() {
                return Err(Failure::Interrupted);
            }
        }
        match failed && !is_terminal {
            true => Err(Failure::Reported),
            false => Ok(()),
        }
    }

    /// Handles one line; breaks if it exits the chat.
    fn handle(&mut self, line: &str) -> Result<ControlFlow<()>, Failure> {
        match commands::parse(line).map_err(Failure::Command)? {
            Line::Blank => {}
            Line::Message(text) => self.dialogue.ask(text, &self.display, &self.interrupt)?,
            Line::Command(ChatCommand::Retry) => {
                let was_retried = self.dialogue.retry(&self.display, &self.interrupt)?;
                if !was_retried {
                    return Err(Failure::Command(CommandError::NoReply));
                }
            }
            Line::Command(ChatCommand::Reset) => {
                self.dialogue.history.clear();
                self.display.remark("Conversation cleared.");
            }
            Line::Command(ChatCommand::System(text)) => self.set_system(text),
            Line::Command(ChatCommand::Think(thinks)) => self.think(thinks),
            Line::Command(ChatCommand::Stats) => match self.dialogue.statistics() {
                Some(metrics) => print_note(metrics.to_string().trim_end()),
                None => return Err(Failure::Command(CommandError::NoReply)),
            },
            Line::Command(ChatCommand::Save(path)) => self.save(&path)?,
            Line::Command(ChatCommand::Load(path)) => self.load(&path)?,
            Line::Command(ChatCommand::Help) => print_note(&commands::help()),
            Line::Command(ChatCommand::Exit) => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn set_system(&mut self, text: Option<&str>) {
        let before = self.dialogue.history.set_system(text.map(str::to_owned));
        self.display.remark(match (text, before) {
            (Some(_), _) => "System prompt set.",
            (None, Some(_)) => "System prompt cleared.",
            (None, None) => "There is no system prompt to clear.",
        });
    }

    fn think(&mut self, thinks: bool) {
        if self.dialogue.set_thinking(thinks) {
            self.display.remark(if thinks { "Reasoning enabled." } else { "Reasoning disabled." });
        } else {
            print_note(
                "note: the chat template has no reasoning switch (enable_thinking); /think has no effect",
            );
        }
    }

    fn save(&self, path: &Path) -> Result<(), Error> {
        saved::save(path, &self.model_name, &self.dialogue.history)?;
        self.display.remark(&format!("Conversation saved to {}.", path.display()));
        Ok(())
    }

    fn load(&mut self, path: &Path) -> Result<(), Error> {
        let (history, model_name) = saved::load(path)?;
        self.display.remark(&format!("Conversation loaded from {}.", path.display()));
        if let Some(name) = model_name.filter(|name| *name != self.model_name) {
            self.display.remark(&format!("It was recorded with another model: {name}."));
        }
        self.dialogue.history = history;
        Ok(())
    }
}

/// Whether standard input or output has failed.
fn ends_chat(failure: &Failure) -> bool {
    let Failure::Error(error) = failure else {
        return false;
    };
    matches!(**error, Error::Stdin(_) | Error::Stdout(_))
}
