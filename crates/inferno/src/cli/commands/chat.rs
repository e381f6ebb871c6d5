//! `inferno chat`: a conversation in the terminal.

mod commands;
mod conversation;
mod dialogue;
mod display;
mod fitting;
mod reader;
mod reasoning;
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
use commands::{Command, Line};
use conversation::Conversation;
use dialogue::Dialogue;
use display::Display;
use reader::Reader;

pub(crate) use commands::CommandError;

/// Chat with a model.
///
/// What you type is answered as it comes; /help lists what else a line can say. Where standard input is no terminal, each
/// line is a message (or such a command), and the answers alone are printed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno chat
  inferno chat -m model.gguf --system \"Answer in one word.\" --temperature 0.7
  inferno chat -m model.gguf --no-think --max-tokens 200 < questions.txt")]
pub(crate) struct ChatCommandArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    setup: ChatSetupArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Stop each answer after this many tokens; otherwise it ends where the model ends it, or the context is full.
    #[arg(short = 'n', long, value_name = "N", value_parser = positive)]
    max_tokens: Option<usize>,
    #[command(flatten)]
    speculate: SpeculateArgs,
    #[command(flatten)]
    compute: ComputeArgs,
    /// Tokens that the conversation may have; the oldest exchanges are left out of longer ones [default: the model's own
    /// limit, at most 4096].
    #[arg(long, value_name = "N", value_parser = positive)]
    context: Option<usize>,
    /// Neither read nor keep the history of what is typed.
    #[arg(long)]
    no_history: bool,
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
        let reader = Reader::of_stdin(!self.no_history)?;
        let display = Display::new(reader.is_terminal());
        let conversation = Conversation::new(self.setup.system);
        let mut chat = Chat {
            dialogue: Dialogue::new(session, template, params, conversation),
            model_name: model_name.unwrap_or_else(|| "a model without a name".to_owned()),
            display,
            interrupt: Interrupt::watch(),
        };
        if self.setup.no_think {
            chat.think(false);
        }
        chat.run(reader)
    }
}

/// A chat with whoever writes the lines.
struct Chat {
    dialogue: Dialogue,
    model_name: String,
    display: Display,
    interrupt: Interrupt,
}

impl Chat {
    /// Obeys each line. One that cannot be obeyed is reported, and the chat goes on.
    fn run(mut self, mut reader: Reader) -> Result<(), Failure> {
        let context_length = self.dialogue.context_length();
        let name = &self.model_name;
        self.display.remark(&format!(
            "{name}, {context_length} tokens of context; /help lists the commands, Ctrl-D leaves"
        ));
        let is_terminal = reader.is_terminal();
        let mut failed = false;
        loop {
            self.interrupt.disarm();
            let Some(line) = reader.next_line()? else {
                break;
            };
            self.interrupt.rearm();
            // What is typed while an answer comes belongs to the next line, and not in the middle of the answer.
            let hidden_keys = is_terminal.then(HiddenKeys::begin);
            let obeyed = self.obey(&line);
            drop(hidden_keys);
            match obeyed {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(failure) if ends_chat(&failure) => return Err(failure),
                Err(failure) => {
                    failure.report();
                    failed = true;
                }
            }
            // A program that writes the lines is told; a person only wanted the answer to stop.
            if !is_terminal && self.interrupt.is_requested() {
                return Err(Failure::Interrupted);
            }
        }
        match failed && !is_terminal {
            true => Err(Failure::Reported),
            false => Ok(()),
        }
    }

    /// Does what a line asks for; breaks where that is to leave.
    fn obey(&mut self, line: &str) -> Result<ControlFlow<()>, Failure> {
        match commands::parse(line).map_err(Failure::Command)? {
            Line::Blank => {}
            Line::Message(text) => self.dialogue.ask(text, &self.display, &self.interrupt)?,
            Line::Command(Command::Retry) => {
                let is_asked = self.dialogue.retry(&self.display, &self.interrupt)?;
                if !is_asked {
                    return Err(Failure::Command(CommandError::NothingSaid));
                }
            }
            Line::Command(Command::Reset) => {
                self.dialogue.conversation.clear();
                self.display.remark("the conversation is forgotten");
            }
            Line::Command(Command::System(text)) => self.set_system(text),
            Line::Command(Command::Think(thinks)) => self.think(thinks),
            Line::Command(Command::Stats) => match self.dialogue.statistics() {
                Some(metrics) => print_note(metrics.to_string().trim_end()),
                None => return Err(Failure::Command(CommandError::NothingSaid)),
            },
            Line::Command(Command::Save(path)) => self.save(&path)?,
            Line::Command(Command::Load(path)) => self.load(&path)?,
            Line::Command(Command::Help) => print_note(&commands::help()),
            Line::Command(Command::Exit) => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn set_system(&mut self, text: Option<&str>) {
        let before = self.dialogue.conversation.set_system(text.map(str::to_owned));
        self.display.remark(match (text, before) {
            (Some(_), _) => "the model is told that first",
            (None, Some(_)) => "the model is told nothing first",
            (None, None) => "the model was told nothing first",
        });
    }

    fn think(&mut self, thinks: bool) {
        if self.dialogue.set_thinking(thinks) {
            let whether = if thinks { "may think" } else { "is not to think" };
            self.display.remark(&format!("the model {whether} before it answers"));
        } else {
            print_note("note: the chat template makes no difference of enable_thinking");
        }
    }

    fn save(&self, path: &Path) -> Result<(), Error> {
        saved::save(path, &self.model_name, &self.dialogue.conversation)?;
        self.display.remark(&format!("the conversation is in {}", path.display()));
        Ok(())
    }

    fn load(&mut self, path: &Path) -> Result<(), Error> {
        let (conversation, model_name) = saved::load(path)?;
        self.display.remark(&format!("the conversation goes on from {}", path.display()));
        if let Some(name) = model_name.filter(|name| *name != self.model_name) {
            self.display.remark(&format!("it was held with {name}"));
        }
        self.dialogue.conversation = conversation;
        Ok(())
    }
}

/// Whether nobody writes lines any more, or nobody reads the answers.
fn ends_chat(failure: &Failure) -> bool {
    let Failure::Error(error) = failure else {
        return false;
    };
    matches!(**error, Error::Stdin(_) | Error::Stdout(_))
}
