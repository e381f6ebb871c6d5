//! Models that are loaded when a request names them, and unloaded when they have not been used for a while.
//!
//! The server has its own state without a model, and one for each loaded model, with the same endpoints. Endpoints that need a
//! model pass a request on to those of the model that it names (`dispatch`); the others, such as the list of models, answer
//! themselves.

mod dispatch;
mod keep_alive;
mod pool;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use crate::{ModelInfo, ServedModel};
pub(crate) use dispatch::dispatch;
pub(crate) use pool::ModelPool;

/// The models that a server can load.
pub trait ModelCatalog: Send + Sync + 'static {
    /// The models that requests may name. It is called for each request that lists models or names one that is not loaded, and
    /// may read files.
    ///
    /// **Errors**: models that cannot be listed.
    fn models(&self) -> Result<Vec<Arc<ModelInfo>>, Box<dyn Error + Send + Sync>>;

    /// Loads a model under the same names, and starts its engine. `is_alone` says that no other model is loaded, so that there
    /// will not be more memory later.
    ///
    /// **Errors**: a model that cannot be loaded. After [`ModelLoadError::NoMemory`], models that are idle are unloaded, and it is
    /// called again.
    fn load(&self, model: &ModelInfo, is_alone: bool) -> Result<ServedModel, ModelLoadError>;
}

/// Why a model cannot be loaded on demand.
#[derive(Debug, thiserror::Error)]
pub enum ModelLoadError {
    /// Memory is missing, which other models may occupy.
    #[error("{0}")]
    NoMemory(#[source] Box<dyn Error + Send + Sync>),
    /// Anything else.
    #[error("{0}")]
    Other(#[source] Box<dyn Error + Send + Sync>),
}

/// Which models stay loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnDemandOptions {
    /// Maximum number of loaded models, at least 1. Before a further one is loaded, the one whose last request ended first is
    /// unloaded.
    pub max_num_loaded: usize,
    /// Time without a request after which a model is unloaded; `None` sets no limit.
    pub idle_timeout: Option<Duration>,
}

impl Default for OnDemandOptions {
    /// As Ollama's defaults: 3 models, 5 minutes.
    fn default() -> Self {
        Self { max_num_loaded: 3, idle_timeout: Some(Duration::from_secs(300)) }
    }
}
