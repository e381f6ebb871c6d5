//! The loop that reads messages and commands.

use std::ops::ControlFlow;
use std::path::Path;

use super::commands::{self, ChatCommand, CommandError, Line};
use super::dialogue::Dialogue;
use super::display::Display;
use super::line_reader::LineReader;
use super::saved::{self, LoadedConversation};
use crate::Error;
use crate::cli::failure::Failure;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::settings::HiddenKeys;

/// A chat with the user, or with the program that writes the lines.
pub(super) struct Chat {
    pub(super) dialogue: Dialogue,
    pub(super) model_name: String,
    pub(super) display: Display,
    pub(super) interrupt: Interrupt,
}

impl Chat {
    /// Sends the first message, then handles each line. An invalid line is reported, and the chat continues.
    pub(super) fn run(
        mut self,
        mut reader: LineReader,
        first: Option<String>,
    ) -> Result<(), Failure> {
        let context_length = self.dialogue.context_length();
        let (name, devices) = (&self.model_name, self.dialogue.devices());
        self.display.remark(&format!(
            "{name} on {devices}, context {context_length} tokens. /help lists commands, Ctrl-D exits."
        ));
        let is_terminal = reader.is_terminal();
        let mut failed = false;
        let mut next = first.map(|message| (message, Origin::Argument));
        loop {
            self.interrupt.disarm();
            let (text, origin) = match next.take() {
                Some(first) => first,
                None => match reader.next_line()? {
                    Some(line) => (line, Origin::Line),
                    None => break,
                },
            };
            self.interrupt.rearm();
            // Text typed while a reply is printed belongs to the next line, not in the middle of the reply.
            let hidden_keys = is_terminal.then(HiddenKeys::begin);
            let outcome = match origin {
                Origin::Argument => self.ask(&text).map(ControlFlow::Continue),
                Origin::Line => self.handle(&text),
            };
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

    fn ask(&mut self, message: &str) -> Result<(), Failure> {
        Ok(self.dialogue.ask(message, &self.display, &self.interrupt)?)
    }

    /// Handles one line; breaks if it exits the chat.
    fn handle(&mut self, line: &str) -> Result<ControlFlow<()>, Failure> {
        match commands::parse(line).map_err(Failure::Command)? {
            Line::Blank => {}
            Line::Message(text) => self.ask(text)?,
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
            note_no_switch();
        }
    }

    fn save(&self, path: &Path) -> Result<(), Error> {
        saved::save(path, &self.model_name, &self.dialogue.history)?;
        self.display.remark(&format!("Conversation saved to {}.", path.display()));
        Ok(())
    }

    /// Loads a conversation. Its last message is answered if it has no reply.
    fn load(&mut self, path: &Path) -> Result<(), Failure> {
        let LoadedConversation { history, unanswered, model } = saved::load(path)?;
        self.display.remark(&format!("Conversation loaded from {}.", path.display()));
        if let Some(name) = model.filter(|name| *name != self.model_name) {
            self.display.remark(&format!("It was recorded with another model: {name}."));
        }
        self.dialogue.history = history;
        match unanswered {
            Some(question) => {
                self.display.remark("Its last message has no reply yet, and is answered now.");
                self.ask(&question)
            }
            None => Ok(()),
        }
    }
}

/// Where a message comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// The command line, on which it cannot be a command.
    Argument,
    /// A line of input.
    Line,
}

/// Notes that the model has no reasoning switch.
pub(super) fn note_no_switch() {
    print_note("note: the chat template has no reasoning switch (enable_thinking)");
}

/// Whether standard input or output has failed.
fn ends_chat(failure: &Failure) -> bool {
    let Failure::Error(error) = failure else {
        return false;
    };
    matches!(**error, Error::Stdin(_) | Error::Stdout(_))
}
