//! The only module that names concrete backends.

mod choice;
mod description;
#[cfg(feature = "gpu")]
mod division;
#[cfg(feature = "gpu")]
mod gpu;

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::{Backend, ObservedBackend, PassObserver, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions, Isa};
use inferno_engine::{Fingerprint, ModelRunner, Runner, StageModel};
use inferno_gguf::Gguf;
use inferno_model::{Footprint, LoadProgress, Model, ModelSpec, PooledHead, TokenCost};

use crate::bench::{DeviceRoofs, GpuWork};
use crate::load::context_length;
use crate::{Error, LoadEstimate, LoadOptions};
pub use choice::BackendChoice;
pub use description::{GpuDescription, gpu_named, gpus};

/// A draft model, which shares a device with the model that it drafts for.
#[derive(Clone, Copy)]
pub(crate) struct DraftFile<'a> {
    pub(crate) checkpoint: &'a Gguf,
    pub(crate) options: LoadOptions,
}

/// An open backend of this build. Clones share it.
#[derive(Clone)]
pub(crate) enum Device {
    Cpu {
        backend: Arc<CpuBackend>,
        /// Why no GPU is used, if that is an error.
        note: Option<String>,
    },
    Reference(Arc<ReferenceBackend>),
    #[cfg(feature = "gpu")]
    Gpu(gpu::GpuDevice),
}

impl Device {
    /// Opens the backend that `options` choose for a model.
    ///
    /// **Errors**: [`Error::BackendNotBuilt`], [`Error::BackendOption`]; an instruction set or threads that the machine
    /// does not have.
    pub(crate) fn open(checkpoint: &Gguf, options: &LoadOptions) -> Result<Self, Error> {
        let &LoadOptions { backend, num_threads, isa, gpu, gpu_layers, cpu_experts, .. } = options;
        let unsupported = |option| Err(Error::BackendOption { option, backend: backend.name() });
        match (gpu, gpu_layers, cpu_experts) {
            _ if backend.may_be_gpu() => {}
            (Some(_), ..) => return unsupported("--device"),
            (None, Some(1..), _) => return unsupported("--gpu-layers"),
            (None, _, Some(1..)) => return unsupported("--cpu-experts"),
            (None, ..) => {}
        }
        let cpu =
            |isa, threads| Ok(Self::Cpu { backend: open_cpu(options, isa, threads)?, note: None });
        match backend {
            BackendChoice::Scalar => cpu(isa.or(Some(Isa::Scalar)), num_threads.or(Some(1))),
            BackendChoice::Simd => cpu(isa, num_threads.or(Some(1))),
            BackendChoice::Parallel => cpu(isa, num_threads),
            BackendChoice::Auto => match Self::automatic_gpu(checkpoint, options) {
                Ok(Some(gpu)) => Ok(gpu),
                Err(error) if !names_gpu(options) => {
                    let note = format!("failed to use the GPU: {error}; running on the CPU");
                    let backend = open_cpu(options, isa, num_threads)?;
                    Ok(Self::Cpu { backend, note: Some(note) })
                }
                Ok(None) => cpu(isa, num_threads),
                Err(error) => Err(error),
            },
            BackendChoice::Gpu | BackendChoice::Metal => Self::gpu(options),
            BackendChoice::Reference => match (num_threads, isa) {
                (Some(2..), _) => unsupported("--threads"),
                (_, Some(_)) => unsupported("--isa"),
                _ => Ok(Self::Reference(Arc::new(ReferenceBackend::new()))),
            },
        }
    }

    /// The GPU that the options name; else a preferred one whose memory holds the whole model, or any if a number of
    /// layers is given.
    #[cfg(feature = "gpu")]
    fn automatic_gpu(checkpoint: &Gguf, options: &LoadOptions) -> Result<Option<Self>, Error> {
        if names_gpu(options) {
            return Self::gpu(options).map(Some);
        }
        let LoadOptions { num_threads, isa, gpu_layers, cpu_experts, .. } = options;
        let has_cpu_options = num_threads.is_some() || isa.is_some();
        if gpu_layers.is_some() || has_cpu_options && !matches!(cpu_experts, Some(1..)) {
            return Ok(None);
        }
        Ok(gpu::GpuDevice::open_if_it_holds(checkpoint, options)?.map(Self::Gpu))
    }

    #[cfg(not(feature = "gpu"))]
    fn automatic_gpu(_checkpoint: &Gguf, options: &LoadOptions) -> Result<Option<Self>, Error> {
        match options.gpu {
            Some(_) => Self::gpu(options).map(Some),
            None => Ok(None),
        }
    }

    #[cfg(feature = "gpu")]
    fn gpu(options: &LoadOptions) -> Result<Self, Error> {
        gpu::GpuDevice::open(options).map(Self::Gpu)
    }

    #[cfg(not(feature = "gpu"))]
    fn gpu(options: &LoadOptions) -> Result<Self, Error> {
        Err(Error::BackendNotBuilt { backend: options.backend.name() })
    }

    /// Loads the weights of `checkpoint` and allocates the KV cache and buffers. A GPU keeps room for a `draft` model.
    ///
    /// **Errors**: as [`Model::load`].
    pub(crate) fn runner(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        draft: Option<DraftFile<'_>>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        #[cfg(not(feature = "gpu"))]
        let _ = draft;
        match self {
            Self::Cpu { backend, .. } => {
                runner_on(Arc::clone(backend), checkpoint, options, on_progress)
            }
            Self::Reference(backend) => {
                runner_on(Arc::clone(backend), checkpoint, options, on_progress)
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => device.runner(checkpoint, options, draft, on_progress),
        }
    }

    /// Loads a draft model, in the memory that the model leaves.
    ///
    /// **Errors**: as [`runner`](Self::runner).
    pub(crate) fn draft_runner(
        &self,
        draft: DraftFile<'_>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        match self {
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => device.draft_runner(draft, on_progress),
            _ => self.runner(draft.checkpoint, &draft.options, None, on_progress),
        }
    }

    /// Loads as [`runner`](Self::runner) does, and shows passes to `observer`. The whole model is on one
    /// device.
    ///
    /// **Errors**: as [`runner`](Self::runner); [`Error::BackendOption`] for options that divide the model.
    pub(crate) fn observed_runner<O: PassObserver>(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        observer: Arc<O>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        match self {
            Self::Cpu { backend, .. } => {
                let observed = ObservedBackend::new(Arc::clone(backend), observer);
                runner_on(Arc::new(observed), checkpoint, options, on_progress)
            }
            Self::Reference(backend) => {
                let observed = ObservedBackend::new(Arc::clone(backend), observer);
                runner_on(Arc::new(observed), checkpoint, options, on_progress)
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => {
                let backend = options.backend.name();
                let divided = match (options.gpu_layers, options.cpu_experts) {
                    (Some(_), _) => Some("--gpu-layers"),
                    (None, Some(1..)) => Some("--cpu-experts"),
                    _ => None,
                };
                if let Some(option) = divided {
                    return Err(Error::BackendOption { option, backend });
                }
                let observed = ObservedBackend::new(device.backend(), observer);
                runner_on(Arc::new(observed), checkpoint, options, on_progress)
            }
        }
    }

    /// Loads the weights of `layers` for a process that computes only those.
    ///
    /// **Errors**: as [`Model::load_stage`]; layers that cannot be separated from the others.
    pub(crate) fn stage(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        layers: Range<usize>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<StageModel, Error> {
        match self {
            Self::Cpu { backend, .. } => {
                stage_on(Arc::clone(backend), checkpoint, options, layers, on_progress)
            }
            Self::Reference(backend) => {
                stage_on(Arc::clone(backend), checkpoint, options, layers, on_progress)
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => {
                stage_on(device.backend(), checkpoint, options, layers, on_progress)
            }
        }
    }

    /// Returns the backend that was chosen.
    pub(crate) fn choice(&self) -> BackendChoice {
        match self {
            Self::Cpu { .. } => BackendChoice::Parallel,
            Self::Reference(_) => BackendChoice::Reference,
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => BackendChoice::Gpu,
        }
    }

    /// Returns why the model was loaded on another device than planned, after [`runner`](Self::runner).
    pub(crate) fn fallback(&self) -> Option<&str> {
        match self {
            Self::Cpu { note, .. } => note.as_deref(),
            Self::Reference(_) => None,
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => device.fallback(),
        }
    }

    /// Returns the memory of the GPU that the model occupies, in bytes, after [`runner`](Self::runner).
    pub(crate) fn gpu_bytes(&self) -> usize {
        match self {
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => device.gpu_bytes(),
            _ => 0,
        }
    }

    /// Estimates the memory that [`runner`](Self::runner) would need, without loading anything. That of the `draft` model is
    /// not part of it.
    ///
    /// **Errors**: as [`runner`](Self::runner), as far as the header shows it.
    pub(crate) fn estimate(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        draft: Option<DraftFile<'_>>,
    ) -> Result<LoadEstimate, Error> {
        #[cfg(not(feature = "gpu"))]
        let _ = draft;
        let spec = ModelSpec::from_checkpoint(checkpoint)?;
        let part = Part { checkpoint, spec: &spec, options };
        match self {
            Self::Cpu { backend, .. } => {
                let estimate = part.estimate(&**backend)?;
                let (isa, num_threads) = (Some(backend.isa()), backend.num_threads());
                let choice = match options.backend {
                    BackendChoice::Auto => BackendChoice::Parallel,
                    choice => choice,
                };
                Ok(LoadEstimate { choice, isa, num_threads, ..estimate })
            }
            Self::Reference(backend) => part.estimate(&**backend),
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => device.estimate(checkpoint, options, draft),
        }
    }

    /// Estimates the memory of a draft model next to a model of which `model` is the estimate.
    ///
    /// **Errors**: as [`estimate`](Self::estimate).
    pub(crate) fn estimate_draft(
        &self,
        draft: DraftFile<'_>,
        model: &LoadEstimate,
    ) -> Result<LoadEstimate, Error> {
        match self {
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => {
                let gpu = model.gpu.as_ref();
                let model_bytes = gpu.map_or(0, |gpu| gpu.footprint.device_bytes());
                device.estimate_draft(draft, model_bytes)
            }
            _ => {
                let _ = model;
                self.estimate(draft.checkpoint, &draft.options, None)
            }
        }
    }

    /// Measures the limits of the machine or of the GPU, by sweeps over `sweep_bytes` of memory; `None` for a
    /// backend that is not designed to reach them.
    ///
    /// **Errors**: no memory, a lost device.
    pub(crate) fn roofs(&self, sweep_bytes: usize) -> Result<Option<DeviceRoofs>, Error> {
        match self {
            Self::Cpu { backend, .. } => {
                Ok(Some(DeviceRoofs::Cpu(backend.measure_roofs(sweep_bytes)?)))
            }
            Self::Reference(_) => Ok(None),
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => device.roofs(sweep_bytes).map(DeviceRoofs::Gpu).map(Some),
        }
    }

    /// Returns what the GPU has done since it was opened; `None` on a CPU.
    pub(crate) fn gpu_work(&self) -> Option<GpuWork> {
        match self {
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => Some(device.work()),
            _ => None,
        }
    }
}

/// Opens the CPU with this instruction set and number of threads.
fn open_cpu(
    options: &LoadOptions,
    isa: Option<Isa>,
    threads: Option<usize>,
) -> Result<Arc<CpuBackend>, Error> {
    let backend = CpuBackend::new(CpuOptions { isa, threads })?;
    Ok(Arc::new(backend.with_populated_kv_cache(options.warm_up)))
}

/// Whether the options demand a GPU, so that one that fails is an error.
fn names_gpu(options: &LoadOptions) -> bool {
    options.gpu.is_some() || matches!(options.gpu_layers, Some(1..)) && has_preferred_gpu()
}

/// Whether there is a GPU that is used without being named.
pub(crate) fn has_preferred_gpu() -> bool {
    #[cfg(feature = "gpu")]
    let found = inferno_gpu::GpuAdapter::preferred().is_some();
    #[cfg(not(feature = "gpu"))]
    let found = false;
    found
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
    let cache = spec.cache_layout(runner_options.cache_use(context_length));
    spec.check_support(&*backend, options.requantize, cache.kv.dtype)?;
    let model = Model::load(checkpoint, backend, options.requantize, on_progress)?;
    let fingerprint = Fingerprint::of_model(checkpoint, options.requantize);
    let head = prediction_head(&model, checkpoint, options, on_progress)?;
    let runner = ModelRunner::new(model, fingerprint, runner_options)?;
    let runner = runner.with_pooled_head(PooledHead::load(checkpoint, &spec)?);
    Ok(Box::new(runner.with_watch(checkpoint.watch()).with_prediction_head(head)))
}

/// Loads the prediction head of a model, if the options request it.
fn prediction_head<B: Backend>(
    model: &Model<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<Option<ModelRunner>, Error> {
    if !options.prediction_head {
        return Ok(None);
    }
    let requantize = options.requantize;
    let Some(head) = model.load_prediction_head(checkpoint, requantize, on_progress)? else {
        return Ok(None);
    };
    let limit = head.spec().context_length;
    let whole = context_length(head.spec(), options)?;
    let runner = options.of_draft(whole, limit).runner(whole);
    let fingerprint = Fingerprint::of_model(checkpoint, requantize);
    Ok(Some(ModelRunner::new(head, fingerprint, runner)?))
}

fn stage_on<B: Backend>(
    backend: Arc<B>,
    checkpoint: &Gguf,
    options: &LoadOptions,
    layers: Range<usize>,
    on_progress: &mut dyn FnMut(LoadProgress),
) -> Result<StageModel, Error> {
    let spec = ModelSpec::from_checkpoint(checkpoint)?;
    let stage = spec.stage(layers.clone())?;
    let requantize = options.requantize;
    let kv_dtype = options.kv_dtype.unwrap_or_else(|| spec.default_kv_dtype());
    stage.check_support(&*backend, requantize, kv_dtype)?;
    let model = Model::load_stage(stage, None, checkpoint, backend, requantize, on_progress)?;
    let fingerprint = Fingerprint::of_model(checkpoint, requantize);
    Ok(StageModel::new(model, spec, layers, fingerprint, checkpoint.watch()))
}

/// A model to estimate.
#[derive(Clone, Copy)]
struct Part<'a> {
    checkpoint: &'a Gguf,
    spec: &'a ModelSpec,
    options: &'a LoadOptions,
}

impl Part<'_> {
    /// Estimates the whole model on one device.
    fn estimate<B: Backend>(self, backend: &B) -> Result<LoadEstimate, Error> {
        let Self { spec, options, .. } = self;
        let context_length = context_length(spec, options)?;
        let cache_use = options.runner(context_length).cache_use(context_length);
        let cache = spec.cache_layout(cache_use);
        let mut footprint = self.footprint(backend, spec)?;
        if let Some(head) = self.prediction_head_footprint(backend)? {
            footprint = footprint.plus(head);
        }
        let token_cost = TokenCost::estimate(spec, backend, options.requantize, cache.kv.dtype)?;
        Ok(LoadEstimate {
            footprint,
            token_cost,
            context_length,
            cache_tokens: cache_use.num_tokens,
            max_num_sequences: cache_use.max_num_sequences,
            max_num_drafting: cache_use.max_num_drafting,
            cache,
            choice: options.backend,
            backend: backend.describe(),
            isa: None,
            num_threads: 1,
            gpu: None,
            draft: None,
        })
    }

    /// Estimates the memory of its prediction head, if the options request it.
    fn prediction_head_footprint<B: Backend>(
        self,
        backend: &B,
    ) -> Result<Option<Footprint>, Error> {
        let Self { checkpoint, spec, options } = self;
        if !options.prediction_head {
            return Ok(None);
        }
        let Some(head) = ModelSpec::prediction_head(checkpoint)? else { return Ok(None) };
        let whole = context_length(spec, options)?;
        let options = options.of_draft(whole, head.context_length);
        let part = Part { checkpoint, spec: &head, options: &options };
        let footprint = part.footprint(backend, &head)?;
        // The hidden states of the model and of the head.
        let row_bytes = spec.hidden_size.saturating_mul(size_of::<f32>());
        let hidden_bytes = row_bytes.saturating_mul(2 * options.limits.max_num_tokens);
        Ok(Some(Footprint {
            workspace_bytes: footprint.workspace_bytes.saturating_add(hidden_bytes),
            // The table is that of the model.
            mapped_bytes: 0,
            ..footprint
        }))
    }

    /// Estimates the memory of a stage of it.
    fn footprint<B: Backend>(self, backend: &B, stage: &ModelSpec) -> Result<Footprint, Error> {
        let Self { checkpoint, spec, options } = self;
        let context_length = context_length(spec, options)?;
        let cache = spec.cache_layout(options.runner(context_length).cache_use(context_length));
        let (requantize, limits) = (options.requantize, options.limits);
        let cache = stage.stage_cache(&cache);
        Ok(Footprint::estimate(checkpoint, stage, backend, requantize, &cache, limits)?)
    }
}
