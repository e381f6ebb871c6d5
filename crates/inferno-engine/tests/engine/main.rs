//! The engine on a runner that has no model, and on real ones.

mod cores;
mod fake_runner;
mod models;
mod perplexity;
mod saved_state;
mod scheduler;
mod serving;
mod session;
mod shared_core;
mod vocabulary;
