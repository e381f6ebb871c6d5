//! Chat templates, and the answers in their formats of tool calls and reasoning.

mod forms;
mod messages;
mod native_answers;
mod oracle;
mod requests;
mod sampling;
mod shared;
