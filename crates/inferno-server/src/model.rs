//! A loaded model.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use inferno_chat::{GrammarCompiler, OutputFormat, RerankTemplate};
use inferno_engine::{Engine, EngineError, EngineHandle, Pooling};
use inferno_tokenizer::{TokenConstraint, Tokenizer};

use crate::errors::ApiError;
use crate::fields::UnknownFields;
use crate::fill_in_the_middle;
use crate::{ModelInfo, ModelWatch};

/// A loaded model with its engine and what requests need to know of it.
pub struct ServedModel {
    /// Owns the engine's thread, until the server stops.
    engine: Mutex<Option<Engine>>,
    pub(crate) handle: EngineHandle,
    pub(crate) info: Arc<ModelInfo>,
    /// How hidden states are pooled into an embedding.
    pub(crate) pooling: Pooling,
    /// The template of pairs that a reranker scores, if the file has one.
    pub(crate) rerank_template: Option<RerankTemplate>,
    /// Maximum number of reasoning tokens of every answer.
    pub(crate) reasoning_budget: Option<usize>,
    pub(crate) grammars: GrammarCompiler,
    /// File that stores the prefix cache across restarts.
    prefix_cache_file: Option<PathBuf>,
    /// Memory of GPUs that the model occupies, in bytes.
    pub(crate) gpu_bytes: u64,
}

impl ServedModel {
    /// The model of this engine.
    pub fn new(engine: Engine, info: ModelInfo) -> Self {
        let handle = engine.handle();
        let pooling = handle.core().default_pooling();
        let info = ModelInfo {
            context_length: handle.context_length(),
            generates_text: handle.generates_text(),
            fills_gaps: fill_in_the_middle::is_supported(handle.tokenizer()),
            ..info
        };
        Self {
            grammars: GrammarCompiler::new(Arc::clone(handle.tokenizer()), handle.vocab_size()),
            engine: Mutex::new(Some(engine)),
            handle,
            info: Arc::new(info),
            prefix_cache_file: None,
            gpu_bytes: 0,
            pooling,
            rerank_template: None,
            reasoning_budget: None,
        }
    }

    /// Returns what notices that the model can answer no more requests.
    pub fn watch(&self) -> ModelWatch {
        ModelWatch::new(self.handle.clone(), self.info.file.watch.clone())
    }

    /// Sets the memory of GPUs that the model occupies, in bytes.
    pub fn with_gpu_bytes(mut self, gpu_bytes: u64) -> Self {
        self.gpu_bytes = gpu_bytes;
        self
    }

    /// Sets how hidden states are pooled into an embedding.
    pub fn with_pooling(mut self, pooling: Pooling) -> Self {
        self.pooling = pooling;
        self
    }

    /// Sets the template of pairs that a reranker scores.
    pub fn with_rerank_template(mut self, template: Option<RerankTemplate>) -> Self {
        self.rerank_template = template;
        self
    }

    /// Limits the reasoning tokens of every answer, for models with reasoning tags; requests may set a lower limit.
    pub fn with_reasoning_budget(mut self, budget: Option<usize>) -> Self {
        self.reasoning_budget = budget;
        self
    }

    /// Stores the prefix cache in this file: loads it now, and saves it when the server stops. A file that is damaged or of
    /// another model is reported in the log and overwritten at the end. One with another cache format, as that of another
    /// device, is reported and left unchanged.
    ///
    /// **Errors**: a file that is not a prefix cache, or that cannot be read or written.
    pub fn with_prefix_cache_file(mut self, path: PathBuf) -> Result<Self, Box<EngineError>> {
        EngineHandle::check_save_prefixes(&path)?;
        // An empty file is one that has not been written yet.
        if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0) {
            match self.handle.load_prefixes(&path) {
                Ok(blocks) => tracing::info!(?path, blocks, "prefix cache loaded"),
                Err(error @ EngineError::StateOfAnotherFormat { .. }) => {
                    tracing::warn!(%error, "failed to load the prefix cache; the file is left unchanged");
                    return Ok(self);
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to load the prefix cache; starting with an empty one")
                }
            }
        }
        self.prefix_cache_file = Some(path);
        Ok(self)
    }

    /// Compiles the format of an answer, which the request sets in `field`; `None` if any text is an answer.
    ///
    /// **Errors**: 400 for a format that does not compile.
    pub(crate) fn constraint(
        &self,
        format: &OutputFormat,
        field: &str,
        unknown: &UnknownFields,
    ) -> Result<Option<Box<dyn TokenConstraint>>, ApiError> {
        let compiled = format.compile(&self.grammars);
        let compiled =
            compiled.map_err(|error| ApiError::invalid_grammar(field, &error.to_string()))?;
        unknown.report_unenforced(&compiled.unenforced);
        Ok(compiled.constraint)
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        self.handle.tokenizer()
    }

    /// The text of a token, such as that at the end of a text, if the model has it.
    pub(crate) fn token_text(&self, id: Option<u32>) -> Option<String> {
        let bytes = self.tokenizer().token_bytes(id?)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Saves the prefix cache, aborts running requests and stops the engine's thread.
    pub(crate) fn stop(&self) {
        if let Some(path) = &self.prefix_cache_file {
            match self.handle.save_prefixes(path) {
                Ok(blocks) => tracing::info!(?path, blocks, "prefix cache saved"),
                Err(error) => tracing::error!(%error, "failed to save the prefix cache"),
            }
        }
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(engine) = engine {
            engine.shut_down();
        }
    }
}
