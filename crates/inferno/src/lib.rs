//! inferno: an LLM inference engine written from scratch.
//!
//! It loads GGUF checkpoints (Qwen3, Qwen2, Llama, Mistral and their like) and generates text, on whatever processor it
//! finds. The same request gives the same bits, whatever the number of threads, the instruction set or the chunking
//! of the prompt.
//!
//! [`Model`] is the front door: open a file, begin a [`Session`], iterate over what the model says.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
//! use inferno::{GenerationParams, Model, SamplingParams, StopParams};
//!
//! let params = GenerationParams {
//!     sampling: SamplingParams { temperature: 0.8, top_p: 0.95, seed: Some(7), ..Default::default() },
//!     stop: StopParams { max_tokens: Some(16), ..Default::default() },
//!     ..Default::default()
//! };
//! let mut session = Model::open(path)?.session()?;
//! for step in session.generate("Once upon a time", &params)? {
//!     print!("{}", step?.text);
//! }
//! # Ok::<(), inferno::Error>(())
//! ```
//!
//! [`Model::embedded`] is a small model that is always there, unless the feature `embedded-model` is switched off.
//! Models on the Hugging Face hub are found and downloaded through [`ModelSource`] and [`Hub`]; [`quantize`] converts
//! files to smaller formats; [`mod@bench`] measures; [`cli`] holds the command-line programs. The floors below are crates of their own: file
//! format, tensors, tokenizer, backends, models, engine.

#![forbid(unsafe_code)]

pub mod bench;
pub mod cli;
mod device;
mod embedded;
mod error;
mod free_memory;
mod hub;
mod load;
mod loaded_model;
mod model;
mod output_file;
mod quantize;
mod source;

pub use device::BackendChoice;
pub use error::Error;
pub use hub::{DownloadProgress, DownloadStage, Hub, HubReference, OnDownload, Pulled};
pub use inferno_backend::KvDType;
pub use inferno_chat::{ChatRequest, ChatTemplate};
pub use inferno_cpu::{Isa, Roofs};
pub use inferno_engine::{
    CancelHandle, Completion, ConstraintError, ConstraintState, EmbeddingRequest, Engine,
    EngineError, EngineHandle, EngineOptions, Event, EventStream, FinishReason, Finished,
    Generation, GenerationCore, GenerationParams, GenerationStep, Metrics, Passes, Pooling, Prompt,
    Request, Runner, SamplingParams, Session, StopParams, SubmitError, TokenConstraint, TokenEvent,
    TokenMask,
};
pub use inferno_gguf::Gguf;
pub use inferno_model::{BatchLimits, Footprint, LoadProgress, ProductCost, Requantize, TokenCost};
pub use inferno_tokenizer::{EncodeOptions, Tokenizer};
pub use load::{DEFAULT_CONTEXT_LENGTH, LoadEstimate, LoadOptions};
pub use loaded_model::LoadedModel;
pub use model::Model;
pub use quantize::{QuantizeOptions, QuantizeProgress, QuantizedTensor, Recipe, quantize};
pub use source::ModelSource;
