//! The only module that names concrete backends.

mod choice;
mod description;
#[cfg(feature = "gpu")]
mod division;
#[cfg(feature = "gpu")]
mod gpu;
mod loading;
mod part;

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::{ObservedBackend, PassObserver, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions, Isa};
use inferno_engine::{Runner, StageModel};
use inferno_gguf::Gguf;
use inferno_model::{LoadProgress, ModelSpec};

use crate::bench::{DeviceRoofs, GpuWork};
use crate::{Error, LoadEstimate, LoadOptions};
pub use choice::BackendChoice;
pub use description::{GpuDescription, gpu_named, gpus};
use loading::{runner_on, stage_on};
use part::Part;

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
            BackendChoice::Gpu | BackendChoice::Metal => Self::gpu(checkpoint, options),
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
            return Self::gpu(checkpoint, options).map(Some);
        }
        let LoadOptions { isa, gpu_layers, cpu_experts, .. } = options;
        if gpu_layers.is_some() || isa.is_some() && !matches!(cpu_experts, Some(1..)) {
            return Ok(None);
        }
        Ok(gpu::GpuDevice::open_if_it_holds(checkpoint, options)?.map(Self::Gpu))
    }

    #[cfg(not(feature = "gpu"))]
    fn automatic_gpu(checkpoint: &Gguf, options: &LoadOptions) -> Result<Option<Self>, Error> {
        match options.gpu {
            Some(_) => Self::gpu(checkpoint, options).map(Some),
            None => Ok(None),
        }
    }

    #[cfg(feature = "gpu")]
    fn gpu(checkpoint: &Gguf, options: &LoadOptions) -> Result<Self, Error> {
        gpu::GpuDevice::open(checkpoint, options).map(Self::Gpu)
    }

    #[cfg(not(feature = "gpu"))]
    fn gpu(_checkpoint: &Gguf, options: &LoadOptions) -> Result<Self, Error> {
        Err(Error::BackendNotBuilt { backend: options.backend.name() })
    }

    /// Loads the weights of `checkpoint` and allocates the KV cache and buffers. A GPU keeps room for a `draft` model.
    ///
    /// **Errors**: as [`Model::load`](inferno_model::Model::load).
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
                device.verify()?;
                let observed = ObservedBackend::new(device.backend(), observer);
                runner_on(Arc::new(observed), checkpoint, options, on_progress)
            }
        }
    }

    /// Loads the weights of `layers` for a process that computes only those.
    ///
    /// **Errors**: as [`Model::load_stage`](inferno_model::Model::load_stage); layers that cannot be separated from the others.
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
                device.verify()?;
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
