//! The engine on fake runners without a model, and on real models.

mod cache_events;
mod cores;
mod devices;
mod draft_models;
mod encoders;
mod fake_runner;
mod kl_divergence;
mod losses;
mod models;
mod perplexity;
mod recurrent;
mod saved_state;
mod scheduler;
mod serving;
mod session;
mod shared_core;
mod stages;
mod vocabulary;
mod windows;
