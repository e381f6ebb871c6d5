//! The only module that names concrete backends.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use inferno_backend::{Backend, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions, Isa, Roofs};
use inferno_engine::{Fingerprint, ModelRunner, Runner};
use inferno_gguf::Gguf;
use inferno_model::{Footprint, LoadProgress, Model, ModelSpec, TokenCost};

use crate::load::context_length;
use crate::{Error, LoadEstimate, LoadOptions};

/// The device and code that compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// CPU: one thread, portable code.
    Scalar,
    /// CPU: one thread, the best instruction set available.
    Simd,
    /// CPU: all threads, the best instruction set available.
    #[default]
    Parallel,
    /// GPU.
    Gpu,
    /// Apple GPU.
    Metal,
    /// Naive loops that every other backend is tested against.
    Reference,
}

impl BackendChoice {
    /// All backends.
    pub const ALL: [Self; 6] =
        [Self::Scalar, Self::Simd, Self::Parallel, Self::Gpu, Self::Metal, Self::Reference];

    /// Returns the name on the command line.
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

    /// Parses a [`name`](Self::name), ignoring case.
    ///
    /// **Errors**: [`Error::UnknownBackend`].
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|choice| choice.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error::UnknownBackend { found: text.to_owned() })
    }
}

/// An open backend of this build. Clones share it.
#[derive(Clone)]
pub(crate) enum Device {
    Cpu(Arc<CpuBackend>),
    Reference(Arc<ReferenceBackend>),
}

impl Device {
    /// Opens the backend that `options` choose.
    ///
    /// **Errors**: [`Error::BackendNotBuilt`], [`Error::BackendOption`]; an instruction set or threads that the machine
    /// does not have.
    pub(crate) fn open(options: &LoadOptions) -> Result<Self, Error> {
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

    /// Loads the weights of `checkpoint` and allocates the KV cache and buffers.
    ///
    /// **Errors**: as [`Model::load`].
    pub(crate) fn runner(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        match self {
            Self::Cpu(backend) => runner_on(Arc::clone(backend), checkpoint, options, on_progress),
            Self::Reference(backend) => {
                runner_on(Arc::clone(backend), checkpoint, options, on_progress)
            }
        }
    }

    /// Estimates the memory that [`runner`](Self::runner) would need, without loading anything.
    ///
    /// **Errors**: as [`runner`](Self::runner), as far as the header shows it.
    pub(crate) fn estimate(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
    ) -> Result<LoadEstimate, Error> {
        match self {
            Self::Cpu(backend) => {
                let estimate = estimate_on(&**backend, checkpoint, options)?;
                let (isa, num_threads) = (Some(backend.isa()), backend.num_threads());
                Ok(LoadEstimate { isa, num_threads, ..estimate })
            }
            Self::Reference(backend) => estimate_on(&**backend, checkpoint, options),
        }
    }

    /// Measures the machine's limits with this backend, by sweeps over `sweep_bytes` of memory; `None` for a
    /// backend that is not designed to reach them.
    ///
    /// **Errors**: no memory.
    pub(crate) fn roofs(&self, sweep_bytes: usize) -> Result<Option<Roofs>, Error> {
        match self {
            Self::Cpu(backend) => Ok(Some(backend.measure_roofs(sweep_bytes)?)),
            Self::Reference(_) => Ok(None),
        }
    }
}

fn runner_on<B: Backend>(
    backend: Arc<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<Box<dyn Runner>, Error> {
    let spec = ModelSpec::from_checkpoint(checkpoint)?;
    let context_length = context_length(&spec, options)?;
    let runner_options = options.runner(context_length);
    // A cache format that does not fit fails before the weights are loaded.
    spec.cache_layout(runner_options.cache_use(context_length)).kv.block_bytes()?;
    let model = Model::load(checkpoint, backend, options.requantize, on_progress)?;
    let fingerprint = Fingerprint::of_model(checkpoint, options.requantize);
    let runner = ModelRunner::new(model, fingerprint, runner_options)?;
    Ok(Box::new(runner.with_watch(checkpoint.watch())))
}

fn estimate_on<B: Backend>(
    backend: &B,
    checkpoint: &Gguf,
    options: &LoadOptions,
) -> Result<LoadEstimate, Error> {
    let spec = ModelSpec::from_checkpoint(checkpoint)?;
    let context_length = context_length(&spec, options)?;
    let cache_use = options.runner(context_length).cache_use(context_length);
    let cache = spec.cache_layout(cache_use);
    let footprint = Footprint::estimate(
        checkpoint,
        &spec,
        backend,
        options.requantize,
        &cache,
        options.limits,
    )?;
    let token_cost = TokenCost::estimate(&spec, backend, options.requantize, cache.kv.dtype)?;
    Ok(LoadEstimate {
        footprint,
        token_cost,
        context_length,
        cache_tokens: cache_use.num_tokens,
        max_num_sequences: cache_use.max_num_sequences,
        max_num_drafting: cache_use.max_num_drafting,
        cache,
        backend: backend.describe(),
        isa: None,
        num_threads: 1,
    })
}
