//! The server over real HTTP with the embedded model. Expected answers are by Hugging Face transformers.

mod anthropic;
mod chat;
mod client;
mod completions;
mod continuous_usage;
mod embeddings;
mod errors;
mod fixtures;
mod fragile_runner;
mod grammars;
mod infill;
mod lifecycle;
mod load;
mod operation;
mod page;
mod prefix_cache_file;
mod preparation;
mod prompt_logprobs;
mod raw_bytes;
mod responses;
mod server;
mod speculation;
mod stored_responses;
mod tls;
mod tokens;
mod tools;
