//! Conversations with the served model: preparation, generation, and streaming by part. Templates, tool calls and grammars
//! are in `inferno-chat`.

mod answer;
mod call_arguments;
mod default_variables;
mod merged_messages;
mod part_stream;
mod prompt;
mod run;

pub(crate) use answer::{Answer, AnswerByKind, FinishedPart, ToolCall};
pub(crate) use call_arguments::call_arguments;
pub(crate) use default_variables::ENABLE_THINKING;
pub(crate) use inferno_chat::{OutputFormat, Tool, ToolChoice, Tools};
pub(crate) use part_stream::{Part, PartEvents, PartStream};
pub(crate) use prompt::{ChatJob, Rendered};
pub(crate) use run::{ChatEvent, ChatRun, FinishedChoice};
