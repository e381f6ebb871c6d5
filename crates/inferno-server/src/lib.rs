//! The HTTP server: the APIs of OpenAI, Anthropic, Ollama and llama-server over the engine.
//!
//! [`Server`] binds an address, answers `/health` while it loads a model, and serves until it is stopped. [`LocalServer`]
//! answers requests of its own process. Each endpoint is one file; they share:
//!
//! - `request`: bodies, preparation, limits, keys and ids, before an endpoint runs;
//! - `fields`: the policy on request fields that are unknown or not implemented;
//! - `chat`: conversations, rendered for the model, and answers, split into reasoning, text and tool calls;
//! - `generation`: requests in the engine, measured and logged;
//! - `cache_events`: the changes of the prefix cache, published for routers;
//! - `on_demand`: several models, loaded when requests name them;
//! - `openai`, `anthropic`, `ollama`, `llama_server`, `tokens`, `operation`: the endpoints; `page`: the chat page.
//!
//! Invariants: every field of a request is honored, ignored with a report, or rejected by name; a client that disconnects aborts its request;
//! no request makes the server panic, and none fails because of another.

#![forbid(unsafe_code)]

mod anthropic;
mod cache_events;
mod chat;
mod embedding;
mod errors;
mod fields;
mod fill_in_the_middle;
mod generation;
mod llama_sampling;
mod llama_server;
mod local;
mod model;
mod model_file;
mod model_info;
mod model_watch;
mod ollama;
mod on_demand;
mod openai;
mod operation;
mod options;
mod page;
mod request;
mod rerank;
mod router;
mod scripted;
mod serve;
mod sse;
mod state;
mod time;
mod tokens;

pub use cache_events::{CacheEventOptions, Protocol};
pub use errors::ServerError;
pub use local::{CompleteResponse, LocalRequest, LocalResponse, LocalServer, ResponsePart};
pub use model::ServedModel;
pub use model_file::ModelFile;
pub use model_info::ModelInfo;
pub use model_watch::ModelWatch;
pub use on_demand::{ModelCatalog, ModelLoadError, OnDemandOptions};
pub use operation::logs::{LogFormat, init_logs, print_line};
pub use options::{Limits, ServerOptions, TlsFiles};
pub use scripted::ScriptedAnswers;
pub use serve::Server;
