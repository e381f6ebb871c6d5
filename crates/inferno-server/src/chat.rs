//! A conversation as the model reads it, and its answer told apart into reasoning, text and tool calls.

mod answer;
mod continuation;
mod format;
mod grammar;
mod part_stream;
mod prompt;
mod run;
mod tools;

pub(crate) use answer::Piece;
pub(crate) use format::OutputFormat;
pub(crate) use part_stream::{Part, PartStream, PartTeller};
pub(crate) use prompt::ChatJob;
pub(crate) use run::{Answer, ChatEvent, ChatRun, FinishedChoice, ToolCall};
pub(crate) use tools::{Tool, ToolChoice, ToolForm, Tools};

/// The marks that models write around what they say to themselves.
const THINK_OPEN: &str = "<think>";
const THINK_CLOSE: &str = "</think>";
