//! Models on a GPU, or divided between a GPU and the CPU.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use inferno_backend::{Backend, KvDType};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_engine::{Fingerprint, ModelRunner, Runner};
use inferno_gguf::Gguf;
use inferno_gpu::{GpuAdapter, GpuBackend, GpuCounters, GpuRoofs};
use inferno_model::{Footprint, LoadProgress, Model, ModelSpec, TokenCost};

use super::Part;
use crate::bench::GpuWork;
use crate::load::context_length;
use crate::{BackendChoice, Error, GpuEstimate, LoadEstimate, LoadOptions};

/// The share of a GPU's memory that a model may occupy: others use it too, and drivers need some.
const USABLE_SHARE: f64 = 0.9;

/// An open GPU, and the CPU for layers that it does not compute.
#[derive(Clone)]
pub(crate) struct GpuDevice {
    gpu: Arc<GpuBackend>,
    /// Opened when it is first needed.
    cpu: OnceLock<Arc<CpuBackend>>,
}

impl GpuDevice {
    /// Opens the GPU that `options` choose: any adapter that they name, else the preferred one.
    ///
    /// **Errors**: an adapter that does not exist or cannot be opened.
    pub(super) fn open(options: &LoadOptions) -> Result<Self, Error> {
        let adapter = match options.gpu {
            Some(index) => GpuAdapter::at(index)?,
            None => GpuAdapter::preferred().ok_or(Error::NoGpu)?,
        };
        Ok(Self { gpu: Arc::new(GpuBackend::new(adapter)?), cpu: OnceLock::new() })
    }

    /// Opens the preferred GPU if there is one whose memory holds the whole model.
    pub(super) fn open_if_it_holds(checkpoint: &Gguf, options: &LoadOptions) -> Option<Self> {
        GpuAdapter::preferred()?;
        let device = Self::open(options).ok()?;
        let division = device.division(checkpoint, options).ok()?;
        (division.on_cpu.is_empty()).then_some(device)
    }

    /// Loads the weights and allocates the KV cache and buffers.
    ///
    /// **Errors**: as [`Model::load`].
    pub(super) fn runner(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let Division { spec, on_cpu, on_gpu, options } = self.division(checkpoint, options)?;
        let context_length = context_length(&spec, &options)?;
        let fingerprint = Fingerprint::of_model(checkpoint, options.requantize);
        let mut runner = ModelRunner::divided(&spec, fingerprint, options.runner(context_length))?;
        let requantize = options.requantize;
        if !on_cpu.is_empty() {
            let stage = spec.stage(on_cpu)?;
            let cpu = Arc::clone(self.cpu(&options)?);
            let model = Model::load_stage(stage, checkpoint, cpu, requantize, on_progress)?;
            runner = runner.with_stage(model)?;
        }
        if !on_gpu.is_empty() {
            let stage = spec.stage(on_gpu)?;
            let gpu = Arc::clone(&self.gpu);
            let model = Model::load_stage(stage, checkpoint, gpu, requantize, on_progress)?;
            runner = runner.with_stage(model)?;
        }
        Ok(Box::new(runner.with_watch(checkpoint.watch())))
    }

    /// Estimates the memory of [`runner`](Self::runner).
    ///
    /// **Errors**: as [`runner`](Self::runner), as far as the header shows it.
    pub(super) fn estimate(
        &self,
        checkpoint: &Gguf,
        options: &LoadOptions,
    ) -> Result<LoadEstimate, Error> {
        let Division { spec, on_cpu, on_gpu, options } = self.division(checkpoint, options)?;
        let part = Part { checkpoint, spec: &spec, options: &options };
        let mut estimate = part.estimate(&*self.gpu)?;
        let footprint = match on_gpu.is_empty() {
            true => Footprint::default(),
            false => part.footprint(&*self.gpu, on_gpu.clone())?,
        };
        estimate.choice = BackendChoice::Gpu;
        // Tables for lookups are read in main memory.
        let Footprint { mapped_bytes, .. } = footprint;
        estimate.footprint = Footprint { mapped_bytes, ..Footprint::default() };
        if !on_cpu.is_empty() {
            let cpu = self.cpu(&options)?;
            estimate.footprint = part.footprint(&**cpu, on_cpu.clone())?;
            estimate.token_cost =
                TokenCost::estimate(&spec, &**cpu, options.requantize, estimate.cache.kv.dtype)?;
            estimate.isa = Some(cpu.isa());
            estimate.num_threads = cpu.num_threads();
            estimate.backend = format!("{}, then {}", cpu.describe(), self.gpu.describe());
        }
        let memory_bytes = self.gpu.adapter().memory_bytes();
        estimate.gpu = Some(GpuEstimate { layers: on_gpu, footprint, memory_bytes });
        Ok(estimate)
    }

    /// Measures the limits of the GPU.
    pub(super) fn roofs(&self, sweep_bytes: usize) -> Result<GpuRoofs, Error> {
        Ok(self.gpu.measure_roofs(sweep_bytes)?)
    }

    /// Returns what the GPU has done since it was opened.
    pub(super) fn work(&self) -> GpuWork {
        let GpuCounters { dispatches, submissions, weight_bytes, busy } = self.gpu.counters();
        GpuWork { dispatches, submissions, weight_bytes, busy }
    }

    /// Divides the layers: the first ones on the CPU, as many of the last ones as possible or chosen on the GPU.
    fn division(&self, checkpoint: &Gguf, options: &LoadOptions) -> Result<Division, Error> {
        let spec = ModelSpec::from_checkpoint(checkpoint)?;
        let options = LoadOptions {
            // The CPU's default has no advantage on a GPU.
            kv_dtype: options.kv_dtype.or(Some(KvDType::F16)),
            ..*options
        };
        let num_layers = spec.num_layers();
        let first = match (options.gpu_layers, self.gpu.adapter().memory_bytes()) {
            (Some(number), _) => num_layers - number.min(num_layers),
            (None, None) => 0,
            (None, Some(memory_bytes)) => {
                let usable = (memory_bytes as f64 * USABLE_SHARE) as usize;
                let part = Part { checkpoint, spec: &spec, options: &options };
                let fits = |first: &usize| {
                    let footprint = part.footprint(&*self.gpu, *first..num_layers);
                    footprint.is_ok_and(|footprint| footprint.device_bytes() <= usable)
                };
                (0..num_layers).find(fits).unwrap_or(num_layers)
            }
        };
        if first < num_layers {
            let stage = spec.stage(first..num_layers)?;
            let kv_dtype = options.kv_dtype.unwrap_or_else(|| spec.default_kv_dtype());
            stage.check_support(&*self.gpu, options.requantize, kv_dtype)?;
        }
        Ok(Division { on_cpu: 0..first, on_gpu: first..num_layers, spec, options })
    }

    fn cpu(&self, options: &LoadOptions) -> Result<&Arc<CpuBackend>, Error> {
        if let Some(cpu) = self.cpu.get() {
            return Ok(cpu);
        }
        let &LoadOptions { isa, num_threads: threads, .. } = options;
        let cpu = Arc::new(CpuBackend::new(CpuOptions { isa, threads })?);
        Ok(self.cpu.get_or_init(|| cpu))
    }
}

/// Which layers are computed where.
struct Division {
    spec: ModelSpec,
    on_cpu: Range<usize>,
    on_gpu: Range<usize>,
    /// With a format of the KV cache.
    options: LoadOptions,
}
