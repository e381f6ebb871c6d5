//! The model that is served.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use inferno_chat::ChatTemplate;
use inferno_engine::{Engine, EngineError, EngineHandle, Pooling, SamplingParams};
use inferno_tokenizer::Tokenizer;

use crate::chat::ToolForm;
use crate::generation::GrammarCompiler;

/// A model that is loaded and runs, with what clients have to know of it.
pub struct ServedModel {
    /// Owns the engine's thread, until it is told to stop.
    engine: Mutex<Option<Engine>>,
    pub(crate) handle: EngineHandle,
    /// What clients may call it; the first is how it calls itself.
    pub(crate) names: Vec<String>,
    pub(crate) template: Option<Template>,
    /// What the model's file recommends.
    pub(crate) sampling: SamplingParams,
    /// How hidden states become the vector of a text.
    pub(crate) pooling: Pooling,
    /// When it was loaded, in seconds since 1970.
    pub(crate) created: u64,
    pub(crate) grammars: GrammarCompiler,
    /// Where the prefix cache is kept between two runs.
    prefix_cache_file: Option<PathBuf>,
}

/// A chat template, and the form in which the model calls tools.
pub(crate) struct Template {
    pub compiled: ChatTemplate,
    pub tool_form: Option<ToolForm>,
}

impl ServedModel {
    /// A model without a chat template, which goes on with texts only.
    ///
    /// **Panics**: if `names` is empty.
    pub fn new(engine: Engine, names: Vec<String>) -> Self {
        assert!(!names.is_empty(), "a model has a name");
        let handle = engine.handle();
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            grammars: GrammarCompiler::new(Arc::clone(handle.tokenizer()), handle.vocab_size()),
            engine: Mutex::new(Some(engine)),
            handle,
            names,
            template: None,
            prefix_cache_file: None,
            sampling: SamplingParams::default(),
            pooling: Pooling::default(),
            created,
        }
    }

    /// Sets the chat template, which tells in what form the model calls tools.
    pub fn with_chat_template(mut self, compiled: ChatTemplate) -> Self {
        let tool_form = ToolForm::of_template(&compiled);
        self.template = Some(Template { compiled, tool_form });
        self
    }

    /// Sets how tokens are chosen where a request does not say.
    pub fn with_sampling(mut self, sampling: SamplingParams) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets how hidden states become the vector of a text.
    pub fn with_pooling(mut self, pooling: Pooling) -> Self {
        self.pooling = pooling;
        self
    }

    /// Keeps the prefix cache in this file: takes in what is there, and writes it when the server stops. A file that is
    /// damaged, or of another model or cache format, is told in the log and replaced at the end.
    ///
    /// **Errors**: a file that is something else, or that cannot be reached.
    pub fn with_prefix_cache_file(mut self, path: PathBuf) -> Result<Self, Box<EngineError>> {
        EngineHandle::check_save_prefixes(&path)?;
        // An empty file is one that is still to be written.
        if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0) {
            match self.handle.load_prefixes(&path) {
                Ok(blocks) => tracing::info!(?path, blocks, "the prefix cache was taken in"),
                Err(error) => tracing::warn!(%error, "the prefix cache begins empty"),
            }
        }
        self.prefix_cache_file = Some(path);
        Ok(self)
    }

    /// How the model calls itself.
    pub(crate) fn name(&self) -> &str {
        &self.names[0]
    }

    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        self.handle.tokenizer()
    }

    /// Writes the prefix cache where it is kept; ends what runs, and the engine's thread.
    pub(crate) fn stop(&self) {
        if let Some(path) = &self.prefix_cache_file {
            match self.handle.save_prefixes(path) {
                Ok(blocks) => tracing::info!(?path, blocks, "the prefix cache was saved"),
                Err(error) => tracing::error!(%error, "the prefix cache was not saved"),
            }
        }
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(engine) = engine {
            engine.shut_down();
        }
    }
}
