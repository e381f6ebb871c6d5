//! The HTTP server: OpenAI's and Anthropic's APIs over the engine.
//!
//! [`Server`] binds an address, loads a model beside answering `/health`, and serves until it is told to stop. Each endpoint
//! is one file; what they share is apart:
//!
//! - `request`: bodies, limits, keys and ids, before an endpoint sees a request;
//! - `chat`: a conversation as the model reads it, and its answer told apart into reasoning, text and tool calls;
//! - `generation`: the way to the engine and back, measured and logged;
//! - `openai`, `anthropic`, `tokens`, `operation`: the endpoints; `page`: the chat page.
//!
//! Invariants: every field of a request is honoured or refused by name; a client that goes away stops its work; no request
//! makes the server panic, and none is ended by another.

#![forbid(unsafe_code)]

mod anthropic;
mod chat;
mod errors;
mod generation;
mod model;
mod openai;
mod operation;
mod options;
mod page;
mod request;
mod router;
mod serve;
mod sse;
mod state;
mod tokens;

pub use errors::ServerError;
pub use model::ServedModel;
pub use operation::logs::{LogFormat, init_logs, print_line};
pub use options::{Limits, ServerOptions, TlsFiles};
pub use serve::Server;
