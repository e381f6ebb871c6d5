//! Models on a GPU, or divided between a GPU and the CPU.

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use inferno_backend::{Backend, BackendError};
use inferno_cpu::CpuBackend;
use inferno_engine::{Fingerprint, ModelRunner, Runner, warm_up};
use inferno_gguf::Gguf;
use inferno_gpu::{GpuAdapter, GpuBackend, GpuCounters, GpuRoofs};
use inferno_model::{Footprint, LoadProgress, Model, PooledHead, SeparateExperts, TokenCost};

use super::division::{Division, Fallback, Parts};
use super::loading::{prediction_head, runner_on};
use super::part::Part;
use super::{DraftFile, open_cpu};
use crate::bench::GpuWork;
use crate::load::context_length;
use crate::{BackendChoice, Error, GpuEstimate, LoadEstimate, LoadOptions};

/// The share of a GPU's memory that a model may occupy: others use it too, and drivers need some.
const USABLE_SHARE: f64 = 0.9;

/// The share of the memory that could not be allocated that the next attempt may occupy.
const RETRY_SHARE: f64 = 0.75;

/// Attempts to load a model on a GPU that was not named.
const MAX_ATTEMPTS: usize = 3;

/// An open GPU, and the CPU for what it does not compute.
#[derive(Clone)]
pub(crate) struct GpuDevice {
    gpu: Arc<GpuBackend>,
    /// Opened when it is first needed.
    cpu: OnceLock<Arc<CpuBackend>>,
    /// A model that is loaded several times is divided in the same way each time.
    model: Arc<OnceLock<Loaded>>,
    /// Its draft model.
    draft: Arc<OnceLock<Loaded>>,
}

/// What was loaded on a GPU.
struct Loaded {
    gpu_bytes: usize,
    /// Why less of the model is on the GPU than was planned.
    fallback: Option<String>,
}

impl GpuDevice {
    /// Opens the GPU that `options` choose: any adapter that they name, else the first preferred one whose memory holds the
    /// model, else the first preferred one.
    ///
    /// **Errors**: an adapter that does not exist or cannot be opened.
    pub(super) fn open(checkpoint: &Gguf, options: &LoadOptions) -> Result<Self, Error> {
        if let Some(index) = options.gpu {
            return Self::on(GpuAdapter::at(index)?);
        }
        match Self::open_if_it_holds(checkpoint, options) {
            Ok(Some(device)) => Ok(device),
            _ => Self::on(GpuAdapter::preferred().ok_or(Error::NoGpu)?),
        }
    }

    fn on(adapter: &GpuAdapter) -> Result<Self, Error> {
        let gpu = Arc::new(GpuBackend::new(adapter)?);
        Ok(Self { gpu, cpu: OnceLock::new(), model: Arc::default(), draft: Arc::default() })
    }

    /// Opens the first preferred GPU whose memory holds the model, except perhaps experts; `None` if there is none.
    ///
    /// **Errors**: a GPU that cannot be opened or does not support the model, if no other one holds it.
    pub(super) fn open_if_it_holds(
        checkpoint: &Gguf,
        options: &LoadOptions,
    ) -> Result<Option<Self>, Error> {
        let mut failure = None;
        for adapter in GpuAdapter::all_preferred() {
            let opened = Self::on(adapter).and_then(|device| {
                let division = device.division(checkpoint, options, None)?;
                Ok(Some(device).filter(|_| division.has_all_layers_on_gpu()))
            });
            match opened {
                Ok(Some(device)) => return Ok(Some(device)),
                Ok(None) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Compares a few results with those of the reference.
    ///
    /// **Errors**: [`BackendError::WrongResults`]; a device that fails.
    pub(super) fn verify(&self) -> Result<(), Error> {
        Ok(self.gpu.verify()?)
    }

    /// The GPU.
    pub(crate) fn backend(&self) -> Arc<GpuBackend> {
        Arc::clone(&self.gpu)
    }

    /// Why less of the model or of its draft model is on the GPU than was planned, once they are loaded.
    pub(super) fn fallback(&self) -> Option<&str> {
        let loaded = [&self.model, &self.draft].into_iter();
        loaded.filter_map(|loaded| loaded.get()?.fallback.as_deref()).next()
    }

    /// The memory of the GPU that the loaded model and its draft model occupy, in bytes.
    pub(super) fn gpu_bytes(&self) -> usize {
        gpu_bytes(&self.model) + gpu_bytes(&self.draft)
    }

    /// Loads the weights and allocates the KV cache and buffers, and leaves room for a `draft` model. If the memory of a GPU
    /// that no option names turns out to be too small, fewer layers or none are loaded there.
    ///
    /// **Errors**: as [`Model::load`]; a device that was named and computes wrong results.
    pub(super) fn runner(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        draft: Option<DraftFile<'_>>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let division = self.division(checkpoint, options, draft)?;
        self.divided_runner(&self.model, division, checkpoint, options, on_progress)
    }

    /// Loads a draft model as [`runner`](Self::runner) does, in the memory that the model leaves.
    ///
    /// **Errors**: as [`runner`](Self::runner).
    pub(super) fn draft_runner(
        &self,
        draft: DraftFile<'_>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let division = self.draft_division(draft, gpu_bytes(&self.model))?;
        self.divided_runner(&self.draft, division, draft.checkpoint, &draft.options, on_progress)
    }

    /// Loads a model as divided, or less of it onto the GPU, and records in `place` how.
    fn divided_runner(
        &self,
        place: &OnceLock<Loaded>,
        mut division: Division,
        checkpoint: &Gguf,
        options: &LoadOptions,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let is_chosen = options.gpu.is_some() || options.gpu_layers.is_some();
        let is_automatic = options.backend == BackendChoice::Auto;
        if !division.is_on_cpu()
            && let Err(error) = self.gpu.verify()
        {
            return match is_automatic && !is_chosen {
                true => self.on_cpu(place, Some(error.into()), checkpoint, options, on_progress),
                false => Err(error.into()),
            };
        }
        let mut reason = None;
        for attempt in 1..=MAX_ATTEMPTS {
            let error = match self.load(&division, checkpoint, on_progress) {
                Err(error) if !is_chosen && !division.is_on_cpu() && is_gpu_failure(&error) => {
                    error
                }
                loaded => {
                    let reason = reason.map(Fallback::Failed).or(division.fallback());
                    return Ok(recorded(place, division.gpu_bytes, reason, loaded?));
                }
            };
            let is_last = attempt == MAX_ATTEMPTS
                || !is_smaller_with_fewer_layers(&error)
                || self.gpu.check().is_err();
            if !is_automatic && is_last {
                return Err(error);
            }
            reason.get_or_insert(error);
            // The next attempt needs the memory of this one.
            self.gpu.release_dropped();
            let usable_bytes = (division.gpu_bytes as f64 * RETRY_SHARE) as usize;
            division = Division::new(checkpoint, options, &self.gpu, Some(usable_bytes))?;
            if is_automatic && (is_last || !division.has_all_layers_on_gpu()) {
                break;
            }
        }
        self.on_cpu(place, reason, checkpoint, options, on_progress)
    }

    /// Loads the whole model on the CPU, for a `reason`.
    fn on_cpu(
        &self,
        place: &OnceLock<Loaded>,
        reason: Option<Error>,
        checkpoint: &Gguf,
        options: &LoadOptions,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let cpu = Arc::clone(self.cpu(options)?);
        let runner = runner_on(cpu, checkpoint, options, on_progress)?;
        Ok(recorded(place, 0, reason.map(Fallback::Failed), runner))
    }

    fn load(
        &self,
        division: &Division,
        checkpoint: &Gguf,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let Division { spec, options, .. } = division;
        let Parts { cpu, gpu, cpu_experts } = division.split.parts(spec)?;
        let context_length = context_length(spec, options)?;
        let requantize = options.requantize;
        let fingerprint = Fingerprint::of_model(checkpoint, requantize);
        let mut head = None;
        let mut runner = ModelRunner::divided(spec, fingerprint, options.runner(context_length))?;
        if let Some(stage) = cpu {
            let cpu = Arc::clone(self.cpu(options)?);
            let model = Model::load_stage(stage, None, checkpoint, cpu, requantize, on_progress)?;
            if model.spec().has_output() {
                head = prediction_head(&model, checkpoint, options, on_progress)?;
            }
            runner = runner.with_stage(model)?;
        }
        if let Some(stage) = gpu {
            let experts = match cpu_experts {
                Some(experts) => {
                    let cpu = Arc::clone(self.cpu(options)?);
                    Some(SeparateExperts::load(experts, checkpoint, cpu, requantize, on_progress)?)
                }
                None => None,
            };
            let gpu = Arc::clone(&self.gpu);
            let model =
                Model::load_stage(stage, experts, checkpoint, gpu, requantize, on_progress)?;
            head = prediction_head(&model, checkpoint, options, on_progress)?;
            runner = runner.with_stage(model)?;
        }
        self.gpu.check_uploads()?;
        let runner = runner.with_pooled_head(PooledHead::load(checkpoint, spec)?);
        let mut runner = runner.with_watch(checkpoint.watch()).with_prediction_head(head);
        if options.warm_up && self.gpu.is_tuning() {
            warm_up(&mut runner)?;
        }
        Ok(Box::new(runner))
    }

    /// Estimates the memory of [`runner`](Self::runner), without that of the `draft` model.
    ///
    /// **Errors**: as [`runner`](Self::runner), as far as the header shows it.
    pub(super) fn estimate(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        draft: Option<DraftFile<'_>>,
    ) -> Result<LoadEstimate, Error> {
        self.divided_estimate(self.division(checkpoint, options, draft)?, checkpoint)
    }

    /// Estimates the memory of a draft model next to a model that needs `model_bytes` of the GPU's memory.
    ///
    /// **Errors**: as [`estimate`](Self::estimate).
    pub(super) fn estimate_draft(
        &self,
        draft: DraftFile<'_>,
        model_bytes: usize,
    ) -> Result<LoadEstimate, Error> {
        self.divided_estimate(self.draft_division(draft, model_bytes)?, draft.checkpoint)
    }

    fn divided_estimate(
        &self,
        division: Division,
        checkpoint: &Gguf,
    ) -> Result<LoadEstimate, Error> {
        let Division { spec, split, options, .. } = division;
        let parts = split.parts(&spec)?;
        let part = Part { checkpoint, spec: &spec, options: &options };
        let mut estimate = part.estimate(&*self.gpu)?;
        let on_gpu = parts.gpu.map(|stage| part.footprint(&*self.gpu, &stage)).transpose()?;
        let on_gpu = on_gpu.unwrap_or_default();
        estimate.choice = BackendChoice::Gpu;
        // Tables for lookups are read in main memory.
        let Footprint { mapped_bytes, .. } = on_gpu;
        estimate.footprint = Footprint { mapped_bytes, ..Footprint::default() };
        if let Some(stage) = parts.cpu {
            let cpu = self.cpu(&options)?;
            estimate.footprint = part.footprint(&**cpu, &stage)?;
            estimate.token_cost =
                TokenCost::estimate(&spec, &**cpu, options.requantize, estimate.cache.kv.dtype)?;
            estimate.use_cpu(cpu);
            estimate.backend = format!("{}, then {}", cpu.describe(), self.gpu.describe());
        }
        let mut cpu_experts = 0;
        if let Some(experts) = parts.cpu_experts {
            cpu_experts = split.cpu_experts.min(spec.num_layers());
            let cpu = self.cpu(&options)?;
            let Footprint { weight_bytes, workspace_bytes, .. } =
                part.footprint(&**cpu, &experts)?;
            estimate.footprint.weight_bytes += weight_bytes;
            estimate.footprint.workspace_bytes += workspace_bytes;
            estimate.use_cpu(cpu);
            estimate.backend = format!("{}, {} for experts", estimate.backend, cpu.describe());
        }
        estimate.gpu = Some(GpuEstimate {
            layers: split.first_on_gpu..spec.num_layers(),
            cpu_experts,
            footprint: on_gpu,
            memory_bytes: self.gpu.adapter().memory_bytes(),
        });
        Ok(estimate)
    }

    /// Measures the limits of the GPU.
    pub(super) fn roofs(&self, sweep_bytes: usize) -> Result<GpuRoofs, Error> {
        Ok(self.gpu.measure_roofs(sweep_bytes)?)
    }

    /// Returns what the GPU has done since it was opened.
    pub(super) fn work(&self) -> GpuWork {
        let GpuCounters { dispatches, submissions, weight_bytes, busy, .. } = self.gpu.counters();
        GpuWork { dispatches, submissions, weight_bytes, busy }
    }

    fn division(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        draft: Option<DraftFile<'_>>,
    ) -> Result<Division, Error> {
        Division::with_draft(checkpoint, options, &self.gpu, self.usable_bytes(), draft)
    }

    /// The division of a draft model next to a model that needs `model_bytes` of the GPU's memory.
    fn draft_division(&self, draft: DraftFile<'_>, model_bytes: usize) -> Result<Division, Error> {
        let usable_bytes = self.usable_bytes().map(|bytes| bytes.saturating_sub(model_bytes));
        Division::new(draft.checkpoint, &draft.options, &self.gpu, usable_bytes)
    }

    /// The memory of the GPU that a model may occupy, in bytes, if its size is known.
    fn usable_bytes(&self) -> Option<usize> {
        let memory_bytes = self.gpu.adapter().memory_bytes()?;
        Some((memory_bytes as f64 * USABLE_SHARE) as usize)
    }

    fn cpu(&self, options: &LoadOptions) -> Result<&Arc<CpuBackend>, Error> {
        if let Some(cpu) = self.cpu.get() {
            return Ok(cpu);
        }
        let &LoadOptions { isa, num_threads, .. } = options;
        let cpu = open_cpu(options, isa, num_threads)?;
        Ok(self.cpu.get_or_init(|| cpu))
    }
}

impl LoadEstimate {
    fn use_cpu(&mut self, cpu: &CpuBackend) {
        self.isa = Some(cpu.isa());
        self.num_threads = cpu.num_threads();
    }
}

/// Records in `place` how much of a model is on the GPU, and why less than planned.
fn recorded(
    place: &OnceLock<Loaded>,
    gpu_bytes: usize,
    reason: Option<Fallback>,
    runner: Box<dyn Runner>,
) -> Box<dyn Runner> {
    let describe = |reason| format!("{reason}; running on {}", runner.devices().join(", "));
    place.get_or_init(|| Loaded { gpu_bytes, fallback: reason.map(describe) });
    runner
}

fn gpu_bytes(place: &OnceLock<Loaded>) -> usize {
    place.get().map_or(0, |loaded| loaded.gpu_bytes)
}

/// Whether a load failed because of the GPU or its memory.
fn is_gpu_failure(error: &Error) -> bool {
    let is_too_large_or_broken = |cause: &BackendError| {
        matches!(cause, BackendError::BufferTooLarge { .. } | BackendError::Kernel { .. })
    };
    is_smaller_with_fewer_layers(error) || error.backend_cause().is_some_and(is_too_large_or_broken)
}

/// Whether the GPU may be able to load fewer layers. The size of buffers and the kernels are the same for any number of them.
fn is_smaller_with_fewer_layers(error: &Error) -> bool {
    let is_smaller = |cause: &BackendError| {
        matches!(
            cause,
            BackendError::OutOfMemory { .. }
                | BackendError::Device { .. }
                | BackendError::DeviceLost { .. }
        )
    };
    error.backend_cause().is_some_and(is_smaller)
}
