//! The options of loading a model.

use std::time::Duration;

use inferno::{
    BackendChoice, BatchLimits, DraftOptions, KvDType, LoadOptions, Requantize, gpu_named,
};
use pyo3::prelude::*;

use crate::arguments::{PathArgument, keyword_arguments};
use crate::errors::{exception, invalid};

/// Maximum number of sequences in a batch by default.
const DEFAULT_SEQUENCES: usize = 64;
/// Tokens per forward pass by default.
const DEFAULT_BATCHED_TOKENS: usize = 256;
/// Target for the time between two tokens of running streams by default, in milliseconds.
const DEFAULT_TARGET_ITL: u64 = 100;
/// The longest target for the time between two tokens, in milliseconds.
const MAX_TARGET_ITL: u64 = 60_000;
/// Maximum number of tokens drafted per step. Each needs a row of logits.
const MAX_NUM_DRAFTS: usize = 64;
/// Maximum number of sequences in a batch. Each needs a row of logits.
const MAX_SEQUENCES: usize = 1 << 16;
/// Maximum number of lanes of a model on stages. Each is a connection to every stage, which accepts this many.
const MAX_LANES: usize = 256;

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
        draft_model: PathArgument,
        draft_head: bool,
        draft_max: usize,
        draft_min: usize,
        draft_p_min: f32,
        requantize: String,
        chat_template: PathArgument,
        warm_up: bool,
        name: String,
    }
}

/// Arguments that were checked, before anything is downloaded or loaded.
pub(crate) struct CheckedArguments {
    pub arguments: LoadArguments,
    pub options: LoadOptions,
    /// The options of a draft model or a prediction head; `None` without either.
    pub drafting: Option<DraftOptions>,
}

impl LoadArguments {
    /// Checks the arguments.
    ///
    /// **Errors**: an unknown device or number format, a number out of range, both kinds of drafting.
    pub fn checked(self) -> PyResult<CheckedArguments> {
        let drafting = self.drafting()?;
        let options = self.options(drafting.as_ref())?;
        Ok(CheckedArguments { arguments: self, options, drafting })
    }

    /// Checks the arguments of a model whose stages are in other processes, with this number of caches on each.
    ///
    /// **Errors**: as [`checked`](Self::checked); options of the processes that compute the stages.
    pub fn checked_for_stages(self, num_lanes: usize) -> PyResult<CheckedArguments> {
        check_range("num_lanes", num_lanes, 1, MAX_LANES)?;
        let of_stages = [
            ("device", self.device.is_some()),
            ("gpu_layers", self.gpu_layers.is_some()),
            ("threads", self.threads.is_some()),
        ];
        match of_stages.iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(invalid(format!(
                "{name} cannot be set for a model whose stages are in other processes: each stage computes its layers on its own \
                 device"
            ))),
            None => self.checked(),
        }
    }

    fn options(&self, drafting: Option<&DraftOptions>) -> PyResult<LoadOptions> {
        let (backend, gpu) = self.device()?;
        let kv_dtype = self.kv_dtype.as_deref().map(str::parse::<KvDType>).transpose();
        let requantize = self.requantize.as_deref().map(str::parse::<Requantize>).transpose();
        let max_num_seqs = self.max_num_seqs.unwrap_or(DEFAULT_SEQUENCES);
        check_range("max_num_seqs", max_num_seqs, 1, MAX_SEQUENCES)?;
        for (name, value) in [
            ("threads", self.threads),
            ("kv_cache_tokens", self.kv_cache_tokens),
            ("max_num_batched_tokens", self.max_num_batched_tokens),
        ] {
            if value == Some(0) {
                return Err(invalid(format!("{name} must be at least 1, but is 0")));
            }
        }
        let batched_tokens = self.max_num_batched_tokens.unwrap_or(DEFAULT_BATCHED_TOKENS);
        let drafts = self.speculate.unwrap_or_default();
        check_range("speculate", drafts, 0, MAX_NUM_DRAFTS)?;
        let drafted = drafting.map_or(0, |options| options.max_num_drafts);
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
                max_num_logit_rows: max_num_seqs.max(1 + drafts.max(drafted)),
            },
            max_num_sequences: Some(max_num_seqs),
            prefix_cache: self.prefix_cache.unwrap_or(true),
            speculation: drafts > 0 || drafted > 0,
            warm_up: self.warm_up.unwrap_or_default(),
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

    /// The options of a draft model or a prediction head.
    ///
    /// **Errors**: both, or options without either; a number out of range.
    fn drafting(&self) -> PyResult<Option<DraftOptions>> {
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
        check_range("draft_max", options.max_num_drafts, 1, MAX_NUM_DRAFTS)?;
        check_range("draft_min", options.min_num_drafts, 0, MAX_NUM_DRAFTS)?;
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
}

/// **Errors**: a value that is not between `min` and `max`.
fn check_range(name: &str, value: usize, min: usize, max: usize) -> PyResult<()> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(invalid(format!("{name} must be between {min} and {max}, but is {value}"))),
    }
}
