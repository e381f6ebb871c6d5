//! Generation: from a prompt to tokens and their text.
#![forbid(unsafe_code)]

mod error;
mod sampler;
mod stop;

pub use error::EngineError;
pub use sampler::{SampledToken, Sampler, SamplingParams, TokenLogprobs};
pub use stop::{FinishReason, Released, StopChecker, StopParams};
