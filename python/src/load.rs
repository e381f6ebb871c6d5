//! Loading a model.

use std::path::Path;
use std::time::Duration;

use inferno::{
    BackendChoice, BatchLimits, DraftOptions, EngineOptions, Error, KvDType, LoadOptions,
    LocalServer, Model, ModelSource, Requantize, ServerOptions, gpu_named,
};
use pyo3::prelude::*;

use crate::arguments::keyword_arguments;
use crate::errors::{exception, invalid};

/// Name of the built-in model.
const BUILT_IN: &str = "ember";
/// Size of the KV cache by default, in multiples of the context length.
const DEFAULT_CONTEXTS: usize = 4;
/// Maximum number of sequences in a batch by default.
const DEFAULT_SEQUENCES: usize = 64;
/// Tokens per forward pass by default.
const DEFAULT_BATCHED_TOKENS: usize = 256;
/// Target for the time between two tokens of running streams by default, in milliseconds.
const DEFAULT_TARGET_ITL: u64 = 100;
/// The longest target for the time between two tokens, in milliseconds.
const MAX_TARGET_ITL: u64 = 60_000;
/// Maximum number of tokens drafted per step by a draft model. Each needs a row of logits.
const MAX_NUM_DRAFTS: usize = 64;
/// Maximum number of sequences in a batch. Each needs a row of logits.
const MAX_SEQUENCES: usize = 1 << 16;

keyword_arguments! {
    /// How a model is loaded, as in the options of `inferno serve`.
    LoadArguments {
        device: String,
        gpu_layers: usize,
        threads: usize,
        context: usize,
        kv_dtype: String,
        kv_cache_tokens: usize,
        max_num_seqs: usize,
        max_num_batched_tokens: usize,
        max_num_waiting: usize,
        target_itl: u64,
        prefix_cache: bool,
        speculate: usize,
        draft_model: String,
        draft_head: bool,
        draft_max: usize,
        draft_min: usize,
        draft_p_min: f32,
        requantize: String,
        name: String,
    }
}

/// A model on its device, with the server that passes requests to its engine.
pub(crate) struct Loaded {
    pub model: inferno::LoadedModel,
    pub server: LocalServer,
    pub name: String,
    pub engine_options: EngineOptions,
}

impl LoadArguments {
    /// Checks the arguments, before anything is downloaded or loaded.
    ///
    /// **Errors**: an unknown device or number format, a number out of range.
    pub fn options(&self) -> PyResult<LoadOptions> {
        let (backend, gpu) = self.device()?;
        let kv_dtype = self.kv_dtype.as_deref().map(str::parse::<KvDType>).transpose();
        let requantize = self.requantize.as_deref().map(str::parse::<Requantize>).transpose();
        let max_num_seqs = self.max_num_seqs.unwrap_or(DEFAULT_SEQUENCES);
        if !(1..=MAX_SEQUENCES).contains(&max_num_seqs) {
            return Err(invalid(format!(
                "max_num_seqs must be between 1 and {MAX_SEQUENCES}, but is {max_num_seqs}"
            )));
        }
        for (name, value) in [
            ("threads", self.threads),
            ("context", self.context),
            ("kv_cache_tokens", self.kv_cache_tokens),
            ("max_num_batched_tokens", self.max_num_batched_tokens),
        ] {
            if value == Some(0) {
                return Err(invalid(format!("{name} must be at least 1, but is 0")));
            }
        }
        let batched_tokens = self.max_num_batched_tokens.unwrap_or(DEFAULT_BATCHED_TOKENS);
        let drafts = self.speculate.unwrap_or_default();
        let drafted = self.drafting()?.map_or(0, |options| options.max_num_drafts);
        Ok(LoadOptions {
            backend,
            gpu,
            gpu_layers: self.gpu_layers,
            num_threads: self.threads,
            context_length: self.context,
            cache_tokens: self.kv_cache_tokens,
            kv_dtype: kv_dtype.map_err(|error| exception(&error.into()))?,
            requantize: requantize.map_err(|error| invalid(error.to_string()))?,
            // One more token keeps a prompt progressing while all sequences decode.
            limits: BatchLimits {
                max_num_tokens: batched_tokens.max(max_num_seqs + 1),
                max_num_logit_rows: max_num_seqs
                    .max(drafts.max(drafted).saturating_add(1).min(MAX_SEQUENCES)),
            },
            max_num_sequences: Some(max_num_seqs),
            prefix_cache: self.prefix_cache.unwrap_or(true),
            speculation: drafts > 0 || drafted > 0,
            target_itl: self.target_itl()?,
            ..LoadOptions::default()
        })
    }

    /// The target for the time between two tokens; `None` for 0, which disables it.
    fn target_itl(&self) -> PyResult<Option<Duration>> {
        match self.target_itl.unwrap_or(DEFAULT_TARGET_ITL) {
            0 => Ok(None),
            milliseconds @ 1..=MAX_TARGET_ITL => Ok(Some(Duration::from_millis(milliseconds))),
            found => Err(invalid(format!(
                "target_itl must be between 0 and {MAX_TARGET_ITL} milliseconds, but is {found}"
            ))),
        }
    }

    /// The options of a draft model or a prediction head; `None` without either.
    ///
    /// **Errors**: both, or options without either; a number out of range.
    pub fn drafting(&self) -> PyResult<Option<DraftOptions>> {
        let has_head = self.draft_head.unwrap_or_default();
        match (&self.draft_model, has_head) {
            (Some(_), true) => {
                return Err(invalid("pass draft_model or draft_head, not both"));
            }
            (None, false) => {
                let is_set =
                    self.draft_max.or(self.draft_min).is_some() || self.draft_p_min.is_some();
                return match is_set {
                    true => Err(invalid(
                        "draft_max, draft_min and draft_p_min require draft_model or draft_head",
                    )),
                    false => Ok(None),
                };
            }
            _ => {}
        }
        let default = DraftOptions::default();
        let options = DraftOptions {
            max_num_drafts: self.draft_max.unwrap_or(default.max_num_drafts),
            min_num_drafts: self.draft_min.unwrap_or(default.min_num_drafts),
            min_probability: self.draft_p_min.unwrap_or(default.min_probability),
        };
        if !(1..=MAX_NUM_DRAFTS).contains(&options.max_num_drafts) {
            let found = options.max_num_drafts;
            return Err(invalid(format!(
                "draft_max must be between 1 and {MAX_NUM_DRAFTS}, but is {found}"
            )));
        }
        if !(0.0..=1.0).contains(&options.min_probability) {
            let found = options.min_probability;
            return Err(invalid(format!("draft_p_min must be between 0 and 1, but is {found}")));
        }
        Ok(Some(options))
    }

    fn device(&self) -> PyResult<(BackendChoice, Option<usize>)> {
        let Some(device) = &self.device else { return Ok((BackendChoice::Auto, None)) };
        if device.eq_ignore_ascii_case("cpu") {
            return Ok((BackendChoice::Parallel, None));
        }
        if let Ok(backend) = device.parse::<BackendChoice>() {
            return Ok((backend, None));
        }
        match gpu_named(device) {
            Some(index) => Ok((BackendChoice::Gpu, Some(index))),
            None => Err(invalid(format!(
                "unknown device {device:?}; expected auto, cpu, gpu, or the index or a part of the name of a GPU that \
                 inferno.devices() lists"
            ))),
        }
    }

    /// Opens a model, loads it with `load` and starts its engine. The options are those of [`options`](Self::options) and
    /// [`drafting`](Self::drafting).
    ///
    /// **Errors**: those of [`open`] and `load`.
    pub fn load(
        self,
        source: Option<String>,
        (options, drafting): (LoadOptions, Option<DraftOptions>),
        load: impl FnOnce(&Model) -> Result<inferno::LoadedModel, Error>,
    ) -> Result<Loaded, Error> {
        let (model, name) = open(source)?;
        let model = model.with_options(options);
        let one_context = model.context_length()?;
        let cache_tokens = options.cache_tokens.unwrap_or(DEFAULT_CONTEXTS * one_context);
        let model = model.with_options(LoadOptions { cache_tokens: Some(cache_tokens), ..options });
        let model = match (drafting, self.draft_model) {
            (None, _) => model,
            (Some(drafting), Some(draft)) => {
                model.with_draft_model(open(Some(draft))?.0, drafting)?
            }
            (Some(drafting), None) => model.with_prediction_head(drafting)?,
        };
        let defaults = EngineOptions::default();
        let engine_options = EngineOptions {
            max_num_waiting: self.max_num_waiting.unwrap_or(defaults.max_num_waiting),
            num_speculative_tokens: self.speculate.unwrap_or_default(),
            honor_priority: true,
        };
        let name = self.name.unwrap_or(name);
        let model = load(&model)?;
        let served = model.served(engine_options, vec![name.clone()])?.with_any_name();
        // A misspelled option of `chat` is an error.
        let options = ServerOptions { strict_fields: true, ..ServerOptions::default() };
        let server = LocalServer::start(options, served)?;
        Ok(Loaded { model, server, name, engine_options })
    }
}

/// Opens a model and returns its name, downloading it first if needed; without a source, the built-in one.
///
/// **Errors**: those of [`ModelSource::locate`] and [`Model::open`].
pub(crate) fn open(source: Option<String>) -> Result<(Model, String), Error> {
    let is_built_in =
        |name: &String| name.eq_ignore_ascii_case(BUILT_IN) && !Path::new(name).exists();
    let Some(text) = source.filter(|name| !is_built_in(name)) else {
        return Ok((Model::embedded()?, BUILT_IN.to_owned()));
    };
    let source: ModelSource = text.parse()?;
    let path = source.locate(&mut |_| {})?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = match &source {
        ModelSource::Hub(reference) => reference.repo().to_owned(),
        ModelSource::File(_) => stem.unwrap_or_else(|| "model".to_owned()),
    };
    Ok((Model::open(path)?, name))
}
