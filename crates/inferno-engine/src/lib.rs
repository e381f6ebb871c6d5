//! Generation: from a prompt to tokens and their text.
//!
//! A [`GenerationCore`] owns a model on a device and the one loop that computes on it: schedule, forward
//! pass, sample, commit. It has two kinds of drivers, of which any number may share a core: a [`Session`]
//! is one conversation, computed in its caller's thread; an [`Engine`] computes many requests on a
//! separate thread. The parts below them can be used separately:
//!
//! - [`Sampler`] samples a token from logits, [`StopChecker`] detects the end of a generation;
//! - [`Sequence`] is a list of tokens with its blocks of the KV cache, [`BlockPool`] the free list of
//!   blocks;
//! - [`Scheduler`] plans which sequences compute what in the next step, [`PrefixCache`] finds the blocks
//!   that were computed before;
//! - [`Runner`] is a model on any device; [`ModelRunner`] implements it for a loaded model, whose stages may run in
//!   other processes as [`StageServer`]s;
//! - [`SequenceRunner`] computes sequences without a scheduler; [`perplexity`] measures how well a model
//!   predicts a text with it, and [`kl_divergence`] how far two models are apart;
//! - [`Metrics`] are the times and rates of a generation.
#![forbid(unsafe_code)]

mod block_pool;
mod cache_events;
mod core;
mod engine;
mod error;
mod fingerprint;
mod forward;
mod kl_divergence;
mod metrics;
mod model_runner;
mod perplexity;
mod prefix_cache;
mod private_file;
mod rows;
mod runner;
mod sampler;
mod scheduler;
mod sequence;
mod session;
mod stage;
mod state_file;
mod stop;
mod warm_up;
mod window_blocks;

pub use block_pool::BlockPool;
pub use cache_events::{BlockHash, CacheEvent};
pub use core::{
    CoreOptions, DraftCounts, DraftModel, DraftOptions, EmbeddingForm, EngineSnapshot, Event,
    Finished, GenerationCore, GenerationParams, Pooling, PrefillPacing, ProgressEvent, PromptEvent,
    StepTokens, Timings, TokenEvent,
};
pub use engine::{
    AdmittedRequest, EmbeddingRequest, Engine, EngineHandle, EngineOptions, EventStream, Request,
    ScoringRequest, SubmitError,
};
pub use error::EngineError;
pub use fingerprint::Fingerprint;
pub use forward::{ForwardOutput, RowKind, SequenceRunner};
/// What follows the pooling of hidden states, as loaded from a file.
pub use inferno_model::PooledHead;
/// Constraints are defined next to the tokenizer, so that grammars do not depend on the engine.
pub use inferno_tokenizer::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};
pub use kl_divergence::{
    Distribution, Estimate, KlBase, KlDivergence, StoredLogits, StoredLogitsError, TextWindows,
    kl_divergence, store_logits,
};
pub use metrics::{Metrics, Passes, peak_resident_bytes, percentile, resident_bytes};
pub use model_runner::{ModelRunner, RunnerOptions};
pub use perplexity::{Perplexity, PerplexityOptions, perplexity};
pub use prefix_cache::{PrefixCache, PrefixNode};
pub use private_file::PrivateFile;
pub use rows::{DeviceRow, PassRows, Row, Rows};
pub use runner::Runner;
pub use sampler::{
    DryParams, SampledToken, Sampler, SamplingParams, SequenceBreakers, TokenLogprobs,
};
pub use scheduler::{
    Admission, BlockUsage, Continuation, Plan, PlannedChunk, RowRequest, Scheduler,
    SchedulerCounts, SchedulerLimits, SequenceId, StateUsage,
};
pub use sequence::Sequence;
pub use session::{
    CancelHandle, Completion, Generation, GenerationStep, Prompt, Session, SessionOptions,
};
pub use stage::{StageAddresses, StageError, StageKey, StageModel, StageServer};
pub use stop::{FinishReason, Released, StopChecker, StopParams};
pub use warm_up::warm_up;
pub use window_blocks::WindowUpdate;
