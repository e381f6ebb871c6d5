//! Decoder-only transformers over any [`Backend`](inferno_backend::Backend).
//!
//! [`Model::load`] reads a checkpoint's configuration, finds its architecture in the registry and
//! hands its tensors to a backend; [`Model::forward`] runs a batch. Nothing here names a concrete
//! device, and nothing keeps the state of a conversation.
//!
//! Adding an architecture is one file in `arch/` with its facts, and one line in
//! [`ARCHITECTURES`].
#![forbid(unsafe_code)]

mod arch;
mod config;
mod error;
mod footprint;
mod forward;
mod layers;
mod loader;
mod model;
mod packing;
mod requantize;
mod rope;
mod tensor_cache;
mod token_cost;
mod workspace;

pub use arch::{ARCHITECTURES, Architecture, architecture};
pub use config::{Config, FeedForwardConfig, RopeConfig};
pub use error::ModelError;
pub use footprint::Footprint;
pub use loader::LoadProgress;
pub use model::Model;
pub use requantize::Requantize;
pub use rope::{RopeScaling, YarnParams};
pub use tensor_cache::TensorCache;
pub use token_cost::{ProductCost, TokenCost};
pub use workspace::{BatchLimits, Workspace};
