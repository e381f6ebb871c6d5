//! Language models (transformers, recurrent models and hybrids) over any [`Backend`](inferno_backend::Backend).
//!
//! [`Model::load`] builds the description of a checkpoint, a [`ModelSpec`], and hands its tensors to a
//! backend; [`Model::forward`] runs one batch. Nothing here names a concrete device or
//! holds the state of a conversation: keys and values live in a cache that the caller owns.
//!
//! ```
//! use std::sync::Arc;
//!
//! use inferno_backend::{
//!     Backend, BatchBuilder, BlockId, KvDType, LogitRows, ReferenceBackend, SequenceChunk,
//! };
//! use inferno_gguf::Gguf;
//! use inferno_model::{BatchLimits, Model, ModelCache};
//!
//! let checkpoint = Gguf::open("tests/fixtures/qwen3.gguf")?;
//! let model = Model::load(&checkpoint, Arc::new(ReferenceBackend), None, &mut |_progress| {})?;
//! let limits = BatchLimits { max_num_tokens: 16, max_num_logit_rows: 1 };
//! let mut workspace = model.workspace(limits)?;
//! let kv_layout = model.spec().kv_layout(16, KvDType::F32);
//! let mut cache = ModelCache::new(&**model.backend(), &kv_layout, None)?;
//!
//! // A prompt of three tokens in the cache's first block; logits for its last token only.
//! let mut builder = BatchBuilder::new(kv_layout.block_tokens);
//! builder.push(&SequenceChunk {
//!     tokens: &[3, 14, 15],
//!     start: 0,
//!     block_table: &[BlockId(0)],
//!     logits: LogitRows::Last,
//!     second_segment: None,
//! })?;
//! let logits = model.forward(&builder.build(), &mut cache, &mut workspace)?;
//! assert_eq!(logits.len(), model.spec().vocab_size);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | an architecture's facts | `arch/`, by family, listed in [`ARCHITECTURES`] |
//! | metadata keys, names and shapes of tensors | `spec/builder/`, which builds a [`ModelSpec`] |
//! | the layers' operations | `layers/` |
//! | the forward pass | `forward.rs` |
//! | how tensors are read and released | `loader.rs` |
//!
//! **To add an architecture**, state its facts in `arch/` and list it in [`ARCHITECTURES`].
#![forbid(unsafe_code)]

mod arch;
mod cache_layout;
mod error;
mod footprint;
mod forward;
mod keys;
mod layers;
mod loader;
mod model;
mod model_cache;
mod pooled_head;
mod requantize;
mod rope;
mod rows;
mod spec;
mod support;
mod tensor_cache;
mod tensor_names;
mod token_cost;
mod workspace;

pub use arch::{ARCHITECTURES, Architecture, architecture};
pub use cache_layout::{CacheLayout, CacheUse};
pub use error::ModelError;
pub use footprint::Footprint;
pub use layers::SeparateExperts;
pub use loader::LoadProgress;
pub use model::Model;
pub use model_cache::ModelCache;
pub use pooled_head::{Classifier, ClassifierPooling, PooledHead};
pub use requantize::Requantize;
pub use rows::{LogitSource, StageOutput, StageRows};
pub use spec::{ModelSpec, RopeScaling, RotarySpec, TensorScales, YarnParams, weight_dtype};
pub use tensor_cache::TensorCache;
pub use token_cost::{AttentionCost, ExpertCost, ProductCost, TokenCost};
pub use workspace::{BatchLimits, Workspace};
