//! From a checkpoint to something that runs: the one place that names concrete backends.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use inferno_backend::{Backend, KvDType, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions, Isa, Roofs};
use inferno_engine::{EngineError, Fingerprint, ModelRunner, Runner, RunnerOptions};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Config, Footprint, LoadProgress, Model, Requantize, TokenCost};

use crate::Error;

/// The context where none is asked for, or the model's own if that is shorter.
pub const DEFAULT_CONTEXT_LENGTH: usize = 4096;

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// The processor, one thread, portable code.
    Scalar,
    /// The processor, one thread, the best instruction set it has.
    Simd,
    /// The processor, all its threads, the best instruction set it has.
    #[default]
    Parallel,
    /// A graphics card.
    Gpu,
    /// A graphics card of Apple's.
    Metal,
    /// Plain loops that everything else is tested against.
    Reference,
}

impl BackendChoice {
    /// All choices.
    pub const ALL: [Self; 6] =
        [Self::Scalar, Self::Simd, Self::Parallel, Self::Gpu, Self::Metal, Self::Reference];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Simd => "simd",
            Self::Parallel => "parallel",
            Self::Gpu => "gpu",
            Self::Metal => "metal",
            Self::Reference => "reference",
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BackendChoice {
    type Err = Error;

    /// Reads a [`name`](Self::name) in upper or lower case.
    ///
    /// **Errors**: [`Error::UnknownBackend`].
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|choice| choice.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error::UnknownBackend { found: text.to_owned() })
    }
}

/// How a model is to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// What computes.
    pub backend: BackendChoice,
    /// Threads; `None` takes what the backend's name says.
    pub num_threads: Option<usize>,
    /// The instruction set; `None` takes what the backend's name says.
    pub isa: Option<Isa>,
    /// A coarser format for weights that the file has as floats.
    pub requantize: Option<Requantize>,
    /// Positions that a sequence may have; `None` takes [`DEFAULT_CONTEXT_LENGTH`], or the model's own if that is
    /// shorter.
    pub context_length: Option<usize>,
    /// Positions in the KV cache, over all sequences; `None` takes those of one context.
    pub cache_tokens: Option<usize>,
    /// The format of the KV cache.
    pub kv_dtype: KvDType,
    /// The largest batch.
    pub limits: BatchLimits,
}

impl Default for LoadOptions {
    fn default() -> Self {
        let RunnerOptions { kv_dtype, limits, .. } = RunnerOptions::default();
        Self {
            backend: BackendChoice::default(),
            num_threads: None,
            isa: None,
            requantize: None,
            context_length: None,
            cache_tokens: None,
            kv_dtype,
            limits,
        }
    }
}

/// Loads the weights of `checkpoint` and allocates what running them takes.
pub(crate) fn runner(
    checkpoint: &Gguf,
    options: &LoadOptions,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<Box<dyn Runner>, Error> {
    match Device::open(options)? {
        Device::Cpu(backend) => runner_on(backend, checkpoint, options, on_progress),
        Device::Reference(backend) => runner_on(backend, checkpoint, options, on_progress),
    }
}

/// What loading a model would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadEstimate {
    /// The memory.
    pub footprint: Footprint,
    /// What one token would take of the machine.
    pub token_cost: TokenCost,
    /// Positions that a sequence would have.
    pub context_length: usize,
    /// Positions in the KV cache, over all sequences.
    pub cache_tokens: usize,
    /// What would compute, in words for people.
    pub backend: String,
    /// The instruction set, where the backend has a choice of them.
    pub isa: Option<Isa>,
    /// Threads that would compute.
    pub num_threads: usize,
}

/// What [`runner`] would take; nothing is loaded.
pub(crate) fn estimate(checkpoint: &Gguf, options: &LoadOptions) -> Result<LoadEstimate, Error> {
    match Device::open(options)? {
        Device::Cpu(backend) => {
            let estimate = estimate_on(&*backend, checkpoint, options)?;
            let (isa, num_threads) = (Some(backend.isa()), backend.num_threads());
            Ok(LoadEstimate { isa, num_threads, ..estimate })
        }
        Device::Reference(backend) => estimate_on(&*backend, checkpoint, options),
    }
}

/// What the machine can do at most on this backend, by sweeps over `sweep_bytes` of memory; `None` where
/// the backend does not aim at it.
///
/// **Errors**: as [`Device::open`]; no memory.
pub(crate) fn roofs(options: &LoadOptions, sweep_bytes: usize) -> Result<Option<Roofs>, Error> {
    match Device::open(options)? {
        Device::Cpu(backend) => Ok(Some(backend.measure_roofs(sweep_bytes)?)),
        Device::Reference(_) => Ok(None),
    }
}

/// The backends of this build.
enum Device {
    Cpu(Arc<CpuBackend>),
    Reference(Arc<ReferenceBackend>),
}

impl Device {
    /// **Errors**: [`Error::BackendNotBuilt`], [`Error::BackendOption`]; an instruction set or threads that the machine
    /// does not have.
    fn open(options: &LoadOptions) -> Result<Self, Error> {
        let &LoadOptions { backend, num_threads, isa, .. } = options;
        let cpu =
            |isa, threads| Ok(Self::Cpu(Arc::new(CpuBackend::new(CpuOptions { isa, threads })?)));
        match backend {
            BackendChoice::Scalar => cpu(isa.or(Some(Isa::Scalar)), num_threads.or(Some(1))),
            BackendChoice::Simd => cpu(isa, num_threads.or(Some(1))),
            BackendChoice::Parallel => cpu(isa, num_threads),
            BackendChoice::Gpu | BackendChoice::Metal => {
                Err(Error::BackendNotBuilt { backend: backend.name() })
            }
            BackendChoice::Reference => match (num_threads, isa) {
                (Some(2..), _) => {
                    Err(Error::BackendOption { option: "--threads", backend: backend.name() })
                }
                (_, Some(_)) => {
                    Err(Error::BackendOption { option: "--isa", backend: backend.name() })
                }
                _ => Ok(Self::Reference(Arc::new(ReferenceBackend::new()))),
            },
        }
    }
}

fn runner_on<B: Backend>(
    backend: Arc<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<Box<dyn Runner>, Error> {
    let context_length = context_length(&Config::from_checkpoint(checkpoint)?, options)?;
    let model = Model::load(checkpoint, backend, options.requantize, on_progress)?;
    let fingerprint = Fingerprint::of_model(checkpoint, options.requantize);
    let &LoadOptions { cache_tokens, kv_dtype, limits, .. } = options;
    let context_length = Some(context_length);
    let options = RunnerOptions { context_length, cache_tokens, kv_dtype, limits };
    Ok(Box::new(ModelRunner::new(model, fingerprint, options)?))
}

fn estimate_on<B: Backend>(
    backend: &B,
    checkpoint: &Gguf,
    options: &LoadOptions,
) -> Result<LoadEstimate, Error> {
    let config = Config::from_checkpoint(checkpoint)?;
    let context_length = context_length(&config, options)?;
    let cache_tokens = options.cache_tokens.unwrap_or(context_length);
    let layout = config.kv_layout(cache_tokens, options.kv_dtype);
    let footprint = Footprint::estimate(
        checkpoint,
        &config,
        backend,
        options.requantize,
        &layout,
        options.limits,
    )?;
    let token_cost =
        TokenCost::estimate(checkpoint, &config, backend, options.requantize, options.kv_dtype)?;
    Ok(LoadEstimate {
        footprint,
        token_cost,
        context_length,
        cache_tokens,
        backend: backend.describe(),
        isa: None,
        num_threads: 1,
    })
}

/// The context to run with.
///
/// **Errors**: [`EngineError::ContextTooLong`], here rather than after the weights are loaded.
pub(crate) fn context_length(config: &Config, options: &LoadOptions) -> Result<usize, Error> {
    let limit = config.context_length;
    match options.context_length {
        None => Ok(limit.min(DEFAULT_CONTEXT_LENGTH)),
        Some(asked_for) if (1..=limit).contains(&asked_for) => Ok(asked_for),
        Some(asked_for) => Err(EngineError::ContextTooLong { asked_for, limit }.into()),
    }
}
