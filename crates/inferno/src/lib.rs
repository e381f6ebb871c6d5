//! inferno: an LLM inference engine written from scratch.
//!
//! It loads GGUF checkpoints (Qwen, Llama, Gemma, Mistral and many other families) and generates text with the best
//! instruction set of the processor. The same request produces identical bits with any number of threads, any
//! chunking of the prompt and any instruction set, except that AMX rounds sums with F16 and BF16 weights differently.
//!
//! [`Model`] is the entry point: open a file, create a [`Session`], iterate over the generated text.
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
//! [`Model::embedded`] is a small built-in model, available unless the feature `embedded-model` is disabled.
//! Models on the Hugging Face Hub are resolved and downloaded by [`ModelSource`] and [`Hub`]; [`quantize`] converts
//! files to smaller formats, and [`collect_importance`] computes the importance matrix that makes them more accurate;
//! [`Conversion`] reads checkpoints of Hugging Face transformers; [`evaluation`] measures accuracy; [`mod@bench`] measures
//! speed; [`cli`] contains the command-line programs. The lower layers are
//! separate crates: file format, tensors, tokenizer, chat templates, backends, models, engine, server.

#![forbid(unsafe_code)]

mod batch;
pub mod bench;
mod checkpoint;
pub mod cli;
mod constraint;
mod device;
mod draft;
mod embedded;
mod error;
pub mod evaluation;
mod free_memory;
mod hub;
mod imatrix;
mod load;
mod loaded_model;
mod model;
mod output_file;
mod plural;
mod quantize;
mod source;
mod stages;

pub use device::{BackendChoice, GpuDescription, gpu_named, gpus};
pub use error::{Error, InputError};
pub use hub::{
    CachedModel, DownloadProgress, DownloadStage, Hub, HubError, HubReference, OnDownload, Pulled,
};
pub use imatrix::{
    DEFAULT_CHUNK_SIZE, ImatrixError, ImatrixFormat, ImatrixOptions, ImatrixProgress,
    ImportanceMatrix, InputStatistics, LayerSummary, OnChunk, TensorSummary,
    collect as collect_importance,
};
pub use inferno_backend::KvDType;
pub use inferno_chat::{ChatRequest, ChatTemplate, OutputFormat};
pub use inferno_convert::{Conversion, ConvertError, ConvertOptions, WeightType};
pub use inferno_cpu::{Isa, Roofs};
pub use inferno_engine::{
    BlockHash, CacheEvent, CancelHandle, Completion, ConstraintError, ConstraintState,
    DraftOptions, DryParams, EmbeddingRequest, Engine, EngineError, EngineHandle, EngineOptions,
    EngineSnapshot, Event, EventStream, FinishReason, Finished, Generation, GenerationCore,
    GenerationParams, GenerationStep, Metrics, Passes, Pooling, Prompt, Request, Runner,
    SamplingParams, Session, StageAddresses, StageError, StageKey, StageServer, StopParams,
    SubmitError, TokenConstraint, TokenEvent, TokenLogprobs, TokenMask,
};
pub use inferno_gguf::Gguf;
pub use inferno_model::{
    AttentionCost, BatchLimits, CacheLayout, Footprint, LoadProgress, ProductCost, Requantize,
    TokenCost,
};
pub use inferno_server::{
    CompleteResponse, LocalRequest, LocalResponse, LocalServer, ModelInfo, ResponsePart,
    ServedModel, ServerOptions,
};
pub use inferno_tokenizer::{EncodeOptions, Tokenizer};
pub use load::{DEFAULT_CONTEXT_LENGTH, GpuEstimate, LoadEstimate, LoadNote, LoadOptions};
pub use loaded_model::LoadedModel;
pub use model::Model;
pub use output_file::OutputError;
pub use quantize::{
    QuantizeError, QuantizeOptions, QuantizeProgress, QuantizedTensor, QuantizedWeights, Recipe,
    quantize,
};
pub use source::ModelSource;
