//! Models on their devices.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

use inferno::{
    ChatTemplate, EngineOptions, Error, LoadNote, LoadOptions, LocalServer, Model, ModelSource,
    ServedModel, ServerOptions, StageAddresses,
};
use inferno_gguf::Gguf;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::errors::exception;
use crate::load::CheckedArguments;
use crate::logs;
use crate::wait::run_interruptible;

/// Name of the built-in model.
const BUILT_IN: &str = "ember";
/// Size of the KV cache by default, in multiples of the context length.
const DEFAULT_CONTEXTS: usize = 4;

/// A model on its device, with the server that passes requests to its engine.
pub(crate) struct Loaded {
    pub model: inferno::LoadedModel,
    pub server: Arc<LocalServer>,
    pub name: String,
    pub engine_options: EngineOptions,
    /// The source of the chat template that replaces that of the model's file.
    chat_template: Option<String>,
    /// How the model was loaded differently than requested.
    pub notes: Vec<String>,
}

/// Where the weights of a model are.
pub(crate) enum Weights {
    InThisProcess,
    /// In other processes, with this number of caches on each.
    InStages {
        addresses: StageAddresses,
        num_lanes: usize,
    },
}

impl Loaded {
    /// Opens a model, loads it and starts its engine.
    ///
    /// **Errors**: those of [`open`], [`Model::load`] and [`Model::load_from_stages`]; a chat template that cannot be read.
    pub fn load(
        source: Option<OsString>,
        checked: CheckedArguments,
        weights: &Weights,
    ) -> Result<Self, Error> {
        let CheckedArguments { arguments, options, drafting } = checked;
        logs::start();
        let (model, name) = open(source)?;
        let name = arguments.name.unwrap_or(name);
        let chat_template = arguments.chat_template.map(|path| read_text(&path.0)).transpose()?;
        let model = model.with_options(options);
        let one_context = model.context_length()?;
        let cache_tokens = options.cache_tokens.unwrap_or(DEFAULT_CONTEXTS * one_context);
        let options = LoadOptions { cache_tokens: Some(cache_tokens), ..options };
        let mut notes = notes(model.checkpoint(), &options, one_context, weights);
        let model = model.with_options(options);
        let model = match (drafting, arguments.draft_model) {
            (None, _) => model,
            (Some(drafting), Some(draft)) => {
                model.with_draft_model(open(Some(draft.0))?.0, drafting)?
            }
            (Some(drafting), None) => model.with_prediction_head(drafting)?,
        };
        let loaded = match weights {
            Weights::InThisProcess => model.load()?,
            Weights::InStages { addresses, num_lanes } => {
                model.load_from_stages(addresses, *num_lanes)?
            }
        };
        notes.extend(model.fallback().map(str::to_owned));
        let defaults = EngineOptions::default();
        let engine_options = EngineOptions {
            max_num_waiting: arguments.max_num_waiting.unwrap_or(defaults.max_num_waiting),
            num_speculative_tokens: arguments.speculate.unwrap_or_default(),
            honor_priority: true,
        };
        let served = served(&loaded, engine_options, &name, chat_template.as_deref())?;
        // A misspelled option of `chat` is an error.
        let options = ServerOptions { strict_fields: true, ..ServerOptions::default() };
        let server = Arc::new(LocalServer::start(options, served)?);
        Ok(Self { model: loaded, server, name, engine_options, chat_template, notes })
    }

    /// Starts an engine for another server of the model.
    ///
    /// **Errors**: as [`inferno::LoadedModel::served`].
    pub fn served(&self, options: EngineOptions) -> Result<ServedModel, Error> {
        served(&self.model, options, &self.name, self.chat_template.as_deref())
    }

    /// Whether there is a chat template.
    pub fn has_chat_template(&self) -> bool {
        let metadata = self.model.checkpoint().metadata();
        let in_file = || metadata.optional::<&str>("tokenizer.chat_template").ok().flatten();
        self.chat_template.is_some() || in_file().is_some()
    }
}

fn served(
    model: &inferno::LoadedModel,
    options: EngineOptions,
    name: &str,
    chat_template: Option<&str>,
) -> Result<ServedModel, Error> {
    let info = model.info(vec![name.to_owned()])?.with_any_name();
    let info = match chat_template {
        Some(source) => {
            let template =
                ChatTemplate::new(source)?.with_special_tokens_of(model.checkpoint().metadata())?;
            info.with_chat_template(Some(template))
        }
        None => info,
    };
    model.served(options, info)
}

fn read_text(path: &OsStr) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.into(), source })
}

/// Describes the options without the expected effect on a model whose context has this length.
fn notes(
    checkpoint: &Gguf,
    options: &LoadOptions,
    one_context: usize,
    weights: &Weights,
) -> Vec<String> {
    let cache = match weights {
        Weights::InThisProcess => LoadNote::of_cache(options, one_context),
        // Each lane of stages holds one context at least.
        Weights::InStages { .. } => None,
    };
    let device = LoadNote::of_device(options);
    let notes = [LoadNote::of_requantizing(options, checkpoint), cache, device];
    notes.into_iter().flatten().map(|note| note.to_string()).collect()
}

/// Runs `load` on a thread and waits for it, as [`run_interruptible`] does.
///
/// **Errors**: those of [`run_interruptible`] and of `load`.
pub(crate) fn load_interruptible<T: Send + 'static>(
    py: Python<'_>,
    load: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let loaded = run_interruptible(py, move |_| {
        // Rayon's shared threads do not exist in a process that was forked after their first use.
        let threads = ThreadPoolBuilder::new().build();
        threads.map_err(|error| Error::Thread(io::Error::other(error)))?.install(load)
    })?;
    loaded.map_err(|error| exception(&error))
}

/// Opens a model and returns its name, downloading it first if needed; without a source, the built-in one.
///
/// **Errors**: those of [`ModelSource::locate`] and [`Model::open`].
pub(crate) fn open(source: Option<OsString>) -> Result<(Model, String), Error> {
    let is_built_in =
        |name: &OsString| name.eq_ignore_ascii_case(BUILT_IN) && !Path::new(name).exists();
    let Some(source) = source.filter(|name| !is_built_in(name)) else {
        return Ok((Model::embedded()?, BUILT_IN.to_owned()));
    };
    let source = ModelSource::try_from(source)?;
    let path = source.locate(&mut |_| {})?;
    let name = source.name().unwrap_or_else(|| "model".to_owned());
    Ok((Model::open(path)?, name))
}
