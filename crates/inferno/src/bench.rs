//! Benchmarks of a model, compared with the limits of the machine.
//!
//! [`bench()`] measures one configuration: reading a prompt ([`BenchReport::prefill`]), generating tokens one by one
//! ([`BenchReport::decode`]), and generating with several sequences at once ([`BenchReport::batches`]). Only forward passes
//! are timed. The tokens are a fixed pseudo-random sequence, because their values do not affect the speed. If tokens are
//! drafted, text is generated as well, with and without drafts ([`BenchReport::speculation`]). With [`Workload::profile`],
//! each measurement has a [`PhaseProfile`]. [`climb`] measures one optimization after another. [`serving`] measures a server.

mod error;
mod json;
mod ladder;
mod limits;
mod markdown;
mod measure;
mod processor;
mod profile;
mod report;
pub mod serving;
mod speculation;
mod spread;
mod workload;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub use error::BenchError;
pub use ladder::{Ladder, LadderOptions, Rung, climb};
pub use limits::{DeviceRoofs, GpuPhase, GpuWork};
pub(crate) use profile::DeviceRecorder;
pub use profile::{OperationProfile, PhaseProfile, ProductProfile, ProductSpeed, Work};
pub use report::{
    BenchReport, DecodeReached, PhaseReport, PrefillReached, PrefillReport, RoofReport,
};
pub use speculation::SpeculationReport;
pub use spread::Spread;
pub use workload::Workload;

use crate::free_memory::free_bytes;
use crate::{Error, LoadOptions, LoadProgress, Model};
use measure::Measurement;
use profile::profile_products;

/// The progress of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BenchProgress<'a> {
    /// A step with this name begins.
    Starting(&'a str),
    /// The weights are being loaded.
    Loading(LoadProgress),
    /// Runs are being measured.
    Running {
        /// Number of completed runs.
        done: usize,
        /// Total number of runs.
        total: usize,
    },
    /// A measurement is complete.
    Measured {
        /// Its name.
        name: &'a str,
        /// The result, over all runs.
        tokens_per_second: Spread,
    },
}

/// Measures `workload` on `model`, with the backend, threads and formats of its options. The context and the KV cache are
/// as large as the workload needs.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
/// use inferno::Model;
/// use inferno::bench::{Workload, bench};
///
/// let workload = Workload { prompt_tokens: 8, decode_tokens: 4, ..Workload::default() };
/// let report = bench(Model::open(path)?, &workload, &mut |_| {})?;
/// assert!(report.decode.expect("4 tokens").tokens_per_second.median > 0.0);
/// # Ok::<(), inferno::Error>(())
/// ```
///
/// **Errors**: see [`Model::runner`]; [`BenchError::EmptyWorkload`], [`BenchError::WorkloadTooLong`], [`BenchError::WorkloadTooLarge`];
/// [`Error::BackendOption`] for a profile of the reference backend; [`BenchError::DividedProfile`]; a GPU without timestamps.
pub fn bench(
    model: Model,
    workload: &Workload,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<BenchReport, Error> {
    let generating = *model.options();
    // Hidden states are not captured for a prediction head in what is compared with the machine.
    let model = model.with_options(LoadOptions { prediction_head: false, ..generating });
    let model = fitted(model, workload)?;
    let estimate = model.estimate()?;
    let (needed_bytes, free_bytes) = (estimate.footprint.total_bytes() as u64, free_bytes());
    if needed_bytes > free_bytes {
        return Err(Error::Bench(BenchError::WorkloadTooLarge { needed_bytes, free_bytes }));
    }
    // No single device limits a divided model.
    let is_divided = estimate.gpu.as_ref().is_some_and(|gpu| gpu.layers.start > 0);
    if workload.profile && is_divided {
        return Err(Error::Bench(BenchError::DividedProfile));
    }
    let recorder = match workload.profile {
        true => Some(model.recorder(estimate.cache.kv.dtype)?),
        false => None,
    };
    on_progress(BenchProgress::Starting("measuring the limits of the machine"));
    let roofs = match is_divided {
        true => None,
        false => model.roofs(processor::sweep_bytes(free_bytes))?,
    };

    let started = Instant::now();
    let mut on_load = |progress| on_progress(BenchProgress::Loading(progress));
    let observer = recorder.as_ref().and_then(DeviceRecorder::cpu);
    let mut runner = match observer {
        Some(observer) => model.observed_runner(Arc::clone(observer), &mut on_load)?,
        None => model.runner(&mut on_load)?,
    };
    let load_time = started.elapsed();
    let mut measurement = Measurement::new(&mut *runner, workload, on_progress);
    let gpu_work = || model.gpu_work();
    measurement.count_gpu_work(&gpu_work);
    if let Some(recorder) = &recorder {
        measurement.record_operations(recorder);
    }
    measurement.warm_up()?;
    let prefill = measurement.prefill()?;
    measurement.announce(&workload.prefill_name(), prefill.as_ref().map(|prefill| &prefill.phase));
    let decode = measurement.decode(1)?;
    measurement.announce(&workload.decode_name(), decode.as_ref());
    let mut batches = Vec::new();
    for &num_sequences in &workload.batch_sizes {
        let batch = measurement.decode(num_sequences)?;
        measurement.announce(&workload.batch_name(num_sequences), batch.as_ref());
        batches.extend(batch.map(|batch| (num_sequences, batch)));
    }
    drop(measurement);
    let products = match (observer, roofs.as_ref().and_then(DeviceRoofs::cpu)) {
        (Some(observer), Some(roofs)) => {
            on_progress(BenchProgress::Starting("measuring products"));
            Some(profile_products(observer.backend(), model.checkpoint(), roofs)?)
        }
        _ => None,
    };
    drop(runner);
    let speculation = speculation::measure(&model, generating, workload, on_progress)?;
    let roof = roofs.map(|roofs| {
        let (prefill, decode) = (prefill.as_ref(), decode.as_ref());
        RoofReport::new(roofs, &estimate.token_cost, workload, prefill, decode, &batches)
    });
    Ok(BenchReport {
        model: model_name(&model),
        model_bytes: model.checkpoint().file_bytes(),
        processor: processor::name(),
        backend: estimate.choice,
        gpu: estimate.gpu.as_ref().map(|_| estimate.backend.clone()),
        isa: estimate.isa,
        num_threads: estimate.num_threads,
        kv_dtype: estimate.cache.kv.dtype,
        requantize: model.options().requantize,
        pass_tokens: workload.pass_tokens(),
        workload: workload.clone(),
        load_time,
        prefill,
        decode,
        batches,
        speculation,
        roof,
        products,
    })
}

/// Returns `model` with a context, a KV cache and batches large enough for `workload`.
///
/// **Errors**: an unavailable backend, before anything else; a model that generates no text; [`BenchError::EmptyWorkload`],
/// [`BenchError::WorkloadTooLong`].
pub(crate) fn fitted(model: Model, workload: &Workload) -> Result<Model, Error> {
    model.estimate()?;
    model.check_generates()?;
    let options = workload.load_options(model.spec()?.context_length, *model.options())?;
    Ok(model.with_options(options))
}

/// Returns the name of the model's file, or of the folder of a Hugging Face checkpoint, or of the built-in model.
fn model_name(model: &Model) -> String {
    let path = model.checkpoint().paths().next();
    let path = match path {
        Some(path) if path.extension().is_some_and(|it| it == "safetensors") => path.parent(),
        path => path,
    };
    match path.and_then(Path::file_name) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "Ember (built-in)".to_owned(),
    }
}
