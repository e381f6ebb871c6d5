//! Anthropic's API.

mod blocks;
mod conversation;
pub(crate) mod count_tokens;
pub(crate) mod messages;
mod tools;
