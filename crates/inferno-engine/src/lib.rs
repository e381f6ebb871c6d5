//! Generation: from a prompt to tokens and their text.
//!
//! There are two front doors: [`Session`] is one conversation with a model, [`Engine`] computes for
//! many requests at once, on a thread of its own. Below them, each piece stands by itself:
//!
//! - [`Sampler`] chooses a token from logits, [`StopChecker`] says when to end and what to show;
//! - [`Sequence`] is a list of tokens with its place in the KV cache, [`BlockPool`] knows the free blocks;
//! - [`Scheduler`] says which sequences compute what in the next step, [`PrefixCache`] which blocks
//!   hold what was computed before;
//! - [`Runner`] is a model on a device, whatever the device; [`ModelRunner`] makes one of a loaded
//!   model;
//! - [`Metrics`] say what it took; [`perplexity`] says how well a model predicts a text.
#![forbid(unsafe_code)]

mod block_pool;
mod core;
mod engine;
mod error;
mod fingerprint;
mod forward;
mod metrics;
mod model_runner;
mod perplexity;
mod prefix_cache;
mod private_file;
mod runner;
mod sampler;
mod scheduler;
mod sequence;
mod session;
mod state_file;
mod stop;

pub use block_pool::BlockPool;
pub use core::{
    ConstraintError, ConstraintState, CoreOptions, EngineSnapshot, Event, Finished, GenerationCore,
    Pooling, PromptEvent, StepTokens, Timings, TokenConstraint, TokenEvent,
};
pub use engine::{
    EmbeddingRequest, Engine, EngineHandle, EngineOptions, EventStream, Request, SubmitError,
};
pub use error::EngineError;
pub use fingerprint::Fingerprint;
pub use forward::{ForwardOutput, RowKind, SequenceRunner};
pub use metrics::{Metrics, Passes, peak_resident_bytes, percentile, resident_bytes};
pub use model_runner::{ModelRunner, RunnerOptions};
pub use perplexity::{Perplexity, PerplexityOptions, perplexity};
pub use prefix_cache::{PrefixCache, PrefixNode};
pub use private_file::PrivateFile;
pub use runner::Runner;
pub use sampler::{SampledToken, Sampler, SamplingParams, TokenLogprobs, TokenMask};
pub use scheduler::{
    Admission, BlockUsage, Continuation, Plan, PlannedChunk, RowRequest, Scheduler,
    SchedulerCounts, SchedulerLimits, SequenceId,
};
pub use sequence::Sequence;
pub use session::{
    CancelHandle, Completion, Generation, GenerationParams, GenerationStep, Prompt, Session,
    SessionOptions,
};
pub use stop::{FinishReason, Released, StopChecker, StopParams};
