//! Generation: from a prompt to tokens and their text.
//!
//! [`Session`] is the front door: one conversation with a model. Below it, each piece stands by
//! itself, for a server that runs many sequences at once:
//!
//! - [`Sampler`] chooses a token from logits, [`StopChecker`] says when to end and what to show;
//! - [`Sequence`] is a list of tokens with its place in the KV cache, [`BlockPool`] knows the free blocks;
//! - [`Runner`] is a model on a device, whatever the device; [`ModelRunner`] makes one of a loaded
//!   model;
//! - [`Metrics`] say what it took; [`perplexity`] says how well a model predicts a text.
#![forbid(unsafe_code)]

mod block_pool;
mod error;
mod fingerprint;
mod metrics;
mod model_runner;
mod perplexity;
mod runner;
mod sampler;
mod sequence;
mod session;
mod stop;

pub use block_pool::BlockPool;
pub use error::EngineError;
pub use fingerprint::Fingerprint;
pub use metrics::{Metrics, Passes, peak_resident_bytes};
pub use model_runner::{ModelRunner, RunnerOptions};
pub use perplexity::{Perplexity, PerplexityOptions, perplexity};
pub use runner::Runner;
pub use sampler::{SampledToken, Sampler, SamplingParams, TokenLogprobs};
pub use sequence::Sequence;
pub use session::{
    CancelHandle, Completion, Generation, GenerationParams, Prompt, Session, SessionOptions, Step,
};
pub use stop::{FinishReason, Released, StopChecker, StopParams};
