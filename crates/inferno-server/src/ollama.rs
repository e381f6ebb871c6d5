//! Ollama's API.

mod answer_fields;
pub(crate) mod chat;
pub(crate) mod embed;
pub(crate) mod generate;
mod lines;
pub(crate) mod manage;
mod messages;
pub(crate) mod models;
pub(crate) mod show;
