//! The engine on a runner that has no model, and on real ones where the oracle folder is at hand.

mod fake_runner;
mod oracle;
mod perplexity;
mod saved_state;
mod session;
mod vocabulary;
