//! Load options, and the requirements of a model.

mod note;

use std::ops::Range;
use std::time::Duration;

use inferno_backend::{KvDType, KvLayout};
use inferno_cpu::Isa;
use inferno_engine::{CoreOptions, EngineError, RunnerOptions};
use inferno_model::{BatchLimits, CacheLayout, Footprint, ModelSpec, Requantize, TokenCost};

use crate::{BackendChoice, Error};

pub use note::LoadNote;
pub(crate) use note::float_bytes;

/// The default context length, unless the model's own is shorter.
pub const DEFAULT_CONTEXT_LENGTH: usize = 4096;

/// Rows of logits in one batch by default, and with them sequences computed together.
const DEFAULT_NUM_LOGIT_ROWS: usize = 16;

/// Configures how a model is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// The backend.
    pub backend: BackendChoice,
    /// Index of the GPU; `None` for the preferred one. See [`gpus`](crate::gpus).
    pub gpu: Option<usize>,
    /// Number of layers that the GPU computes, the last ones; `None` for as many as fit in its memory.
    pub gpu_layers: Option<usize>,
    /// Number of layers, the first ones, whose experts the CPU computes while the GPU computes the rest of them, for mixtures
    /// of experts; `None` for as few as let all layers fit in the GPU's memory, and for none if `gpu_layers` is set.
    pub cpu_experts: Option<usize>,
    /// Number of threads; `None` for the backend's default.
    pub num_threads: Option<usize>,
    /// Instruction set; `None` for the backend's default.
    pub isa: Option<Isa>,
    /// Quantizes weights that the file stores as floats to this format.
    pub requantize: Option<Requantize>,
    /// Maximum number of positions of a sequence, 0 for the model's own limit; `None` for [`DEFAULT_CONTEXT_LENGTH`], or the
    /// model's own limit if that is shorter.
    pub context_length: Option<usize>,
    /// Positions in the KV cache, over all sequences and the prefix cache; `None` for those of one context.
    pub cache_tokens: Option<usize>,
    /// Format of the KV cache; `None` for the [default](ModelSpec::default_kv_dtype) of the model.
    pub kv_dtype: Option<KvDType>,
    /// The largest batch.
    pub limits: BatchLimits,
    /// Maximum number of sequences computed together; `None` for as many as a batch holds.
    pub max_num_sequences: Option<usize>,
    /// Whether prompts reuse the blocks of earlier ones that begin with the same tokens.
    pub prefix_cache: bool,
    /// Whether tokens are drafted (speculative decoding), for which the states of recurrent layers have more memory.
    /// Without it, drafts use that of the prefix cache.
    pub speculation: bool,
    /// Whether the prediction head of the model file (multi-token prediction) is loaded, which drafts tokens.
    pub prediction_head: bool,
    /// Whether what requests first need is prepared when the model is loaded, so that they do not wait for it: GPUs
    /// compile kernels and measure them if that is enabled, which software devices do not by default; processors
    /// provide memory for the first 512 MB of the KV cache.
    pub warm_up: bool,
    /// Target for the time between two tokens of running streams while prompts are computed; `None` for the largest
    /// chunks of prompts. Outputs are the same with any value.
    pub target_itl: Option<Duration>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        let RunnerOptions { kv_dtype, limits, speculation, .. } = RunnerOptions::default();
        let CoreOptions { max_num_sequences, prefix_cache, target_itl } = CoreOptions::default();
        Self {
            backend: BackendChoice::default(),
            gpu: None,
            gpu_layers: None,
            cpu_experts: None,
            num_threads: None,
            isa: None,
            requantize: None,
            context_length: None,
            cache_tokens: None,
            kv_dtype,
            limits: BatchLimits { max_num_logit_rows: DEFAULT_NUM_LOGIT_ROWS, ..limits },
            max_num_sequences,
            prefix_cache,
            speculation,
            prediction_head: false,
            warm_up: false,
            target_itl,
        }
    }
}

impl LoadOptions {
    /// Limits the options to one sequence that resumes from no other, which needs less memory.
    pub fn for_one_sequence(self) -> Self {
        Self { max_num_sequences: Some(1), prefix_cache: false, ..self }
    }

    /// The options for a model: one that attends in both directions computes whole sequences in one pass, from no cache, up
    /// to its own context by default. Nothing of its keys and values is stored for later, so they are exact by default.
    pub(crate) fn for_model(self, spec: &ModelSpec) -> Self {
        if spec.is_causal {
            return self;
        }
        let limit = spec.context_length;
        let context_length = self.context_length.map_or(limit, |it| requested_context(it, limit));
        let max_num_tokens = self.limits.max_num_tokens.max(context_length);
        // Blocks for all tokens of a pass, of which each sequence may leave one partly unused and one free.
        let spare_tokens = 2 * KvLayout::DEFAULT_BLOCK_TOKENS * self.limits.max_num_logit_rows;
        let cache_tokens = max_num_tokens.saturating_add(spare_tokens);
        Self {
            context_length: Some(context_length),
            cache_tokens: Some(cache_tokens),
            kv_dtype: self.kv_dtype.or(Some(KvDType::F32)),
            limits: BatchLimits { max_num_tokens, ..self.limits },
            prefix_cache: false,
            speculation: false,
            ..self
        }
    }

    /// Whether a device that was opened for these options serves `other` ones too.
    pub(crate) fn has_device_of(&self, other: &Self) -> bool {
        let device = |options: &Self| {
            let Self { backend, gpu, gpu_layers, cpu_experts, num_threads, isa, .. } = *options;
            (backend, gpu, gpu_layers, cpu_experts, num_threads, isa)
        };
        device(self) == device(other)
    }

    pub(crate) fn runner(&self, context_length: usize) -> RunnerOptions {
        RunnerOptions {
            context_length: Some(context_length),
            cache_tokens: self.cache_tokens,
            kv_dtype: self.kv_dtype,
            limits: self.limits,
            max_num_sequences: self.max_num_sequences,
            prefix_cache: self.prefix_cache,
            speculation: self.speculation,
            captures_hidden: self.prediction_head,
        }
    }

    /// The options of what drafts tokens for a model with these, whose context has `whole` positions: its own has at most
    /// `limit`, and its cache holds the sequences that may have drafts at the same time.
    pub(crate) fn of_draft(&self, whole: usize, limit: usize) -> Self {
        let options = Self { speculation: true, ..*self };
        let context_length = whole.min(limit);
        let num_drafting = options.runner(whole).cache_use(whole).max_num_drafting;
        let all_tokens = options.cache_tokens.unwrap_or(whole);
        Self {
            gpu_layers: None,
            cpu_experts: None,
            context_length: Some(context_length),
            cache_tokens: Some(all_tokens.min(num_drafting.saturating_mul(context_length))),
            kv_dtype: None,
            limits: BatchLimits { max_num_logit_rows: num_drafting, ..options.limits },
            max_num_sequences: Some(num_drafting),
            prefix_cache: false,
            ..options
        }
    }

    pub(crate) fn core(&self) -> CoreOptions {
        let &Self { max_num_sequences, prefix_cache, target_itl, .. } = self;
        CoreOptions { max_num_sequences, prefix_cache, target_itl }
    }
}

/// The requirements of a model before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadEstimate {
    /// Main memory.
    pub footprint: Footprint,
    /// What is on a GPU, if one is used.
    pub gpu: Option<GpuEstimate>,
    /// What the draft model needs in addition, if there is one.
    pub draft: Option<Box<LoadEstimate>>,
    /// Memory traffic and arithmetic per token.
    pub token_cost: TokenCost,
    /// Maximum number of positions of a sequence.
    pub context_length: usize,
    /// Positions in the KV cache, over all sequences.
    pub cache_tokens: usize,
    /// Maximum number of sequences computed together.
    pub max_num_sequences: usize,
    /// Maximum number of sequences with drafts in a pass, which need another slot of recurrent state each.
    pub max_num_drafting: usize,
    /// The dimensions of the KV cache and of recurrent state.
    pub cache: CacheLayout,
    /// The backend that is used: never [`BackendChoice::Auto`].
    pub choice: BackendChoice,
    /// Description of the backend, for people.
    pub backend: String,
    /// Instruction set, if the backend has a choice of them.
    pub isa: Option<Isa>,
    /// Number of threads.
    pub num_threads: usize,
}

/// The part of a model on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuEstimate {
    /// The layers that it computes; the CPU computes those before them.
    pub layers: Range<usize>,
    /// Number of layers of the model, the first ones, whose experts the CPU computes.
    pub cpu_experts: usize,
    /// Memory of the GPU.
    pub footprint: Footprint,
    /// Size of its memory, in bytes, if the driver reports it.
    pub memory_bytes: Option<u64>,
}

impl GpuEstimate {
    /// Whether the GPU's memory holds the layers, as far as its size is known.
    pub fn fits(&self) -> bool {
        let needed = self.footprint.device_bytes() as u64;
        self.memory_bytes.is_none_or(|memory_bytes| needed <= memory_bytes)
    }
}

/// Returns the context length to run with.
///
/// **Errors**: [`EngineError::ContextTooLong`], before the weights are loaded.
pub(crate) fn context_length(spec: &ModelSpec, options: &LoadOptions) -> Result<usize, Error> {
    let limit = spec.context_length;
    let default = limit.min(DEFAULT_CONTEXT_LENGTH);
    match options.context_length.map_or(default, |it| requested_context(it, limit)) {
        length if length <= limit => Ok(length),
        asked_for => Err(EngineError::ContextTooLong { asked_for, limit }.into()),
    }
}

/// Returns a requested context length, of which 0 is the model's `limit`.
pub(crate) fn requested_context(requested: usize, limit: usize) -> usize {
    match requested {
        0 => limit,
        _ => requested,
    }
}
