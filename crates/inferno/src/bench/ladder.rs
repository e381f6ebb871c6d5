//! The ladder: one workload measured with one more optimization at a time.
//!
//! The first rung is the simplest engine: FP32 weights, portable scalar code on one thread, and no KV cache, so that
//! every token recomputes the whole sequence. The next rungs add the KV cache, SIMD and threads, then store the weights in
//! smaller formats. Every rung measures prefill and decode.

mod picture;
mod table;

use std::ops::ControlFlow;
use std::time::Duration;

use indicatif::BinaryBytes;
use inferno_cpu::Isa;
use inferno_model::Requantize;
use inferno_tensor::DType;
use tempfile::TempDir;

use super::measure::Measurement;
use super::{BenchProgress, PhaseReport, Spread, Workload, fitted, model_name};
use crate::bench::BenchError;
use crate::free_memory::free_bytes;
use crate::{
    BackendChoice, Error, LoadOptions, Model, QuantizeOptions, QuantizedWeights, Recipe, quantize,
};

/// No further repetition of a measurement starts after this time. The first rungs of a large model take minutes.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Weight formats of the last rungs.
const FORMATS: [Requantize; 3] = [Requantize::Q8_0, Requantize::Q4K, Requantize::Int8];

/// The workload of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderOptions {
    /// Length of the prompt, in tokens.
    pub prompt_tokens: usize,
    /// Number of tokens generated after it.
    pub decode_tokens: usize,
    /// Number of runs per measurement; fewer on rungs that take longer than ten seconds.
    pub repetitions: usize,
    /// Maximum number of prompt tokens per forward pass; `None` for the default of a session.
    pub pass_tokens: Option<usize>,
}

impl Default for LadderOptions {
    fn default() -> Self {
        Self { prompt_tokens: 64, decode_tokens: 16, repetitions: 3, pass_tokens: None }
    }
}

/// The speed of a model, rung by rung.
///
/// [`json`](Self::json) is for programs, [`svg`](Self::svg) draws a chart, and [`Display`](std::fmt::Display) writes a
/// Markdown table.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// File name of the model.
    pub model: String,
    /// Name of the processor, if the operating system reports it.
    pub processor: Option<String>,
    /// The workload.
    pub options: LadderOptions,
    /// The rungs, in order.
    pub rungs: Vec<Rung>,
    /// Rungs that could not be measured, with the reason.
    pub skipped: Vec<String>,
}

/// One configuration of the engine and its speed.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// What this rung changes.
    pub name: String,
    /// Whether keys and values are cached between steps.
    pub kv_cache: bool,
    /// The backend.
    pub backend: BackendChoice,
    /// The instruction set, if the backend has several.
    pub isa: Option<Isa>,
    /// Number of threads.
    pub num_threads: usize,
    /// Bytes of weights read per generated token.
    pub weight_bytes: usize,
    /// Speed of prefill, in tokens per second.
    pub prefill: Spread,
    /// Speed of decode, in tokens per second.
    pub decode: Spread,
}

/// Measures every rung with `model`, whose weights are first expanded to FP32 in a temporary file.
///
/// The options of the model set the instruction set and the number of threads of the last rungs, and the format of the
/// KV cache. `on_progress` receives the name of each rung before it starts, and its decode speed.
///
/// **Errors**: see [`bench`](super::bench).
pub fn climb(
    model: Model,
    options: LadderOptions,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Ladder, Error> {
    let LadderOptions { prompt_tokens, decode_tokens, repetitions, pass_tokens } = options;
    let workload = Workload {
        prompt_tokens,
        decode_tokens,
        depth: prompt_tokens,
        batch_sizes: Vec::new(),
        repetitions,
        pass_tokens,
        lookup_drafts: 0,
        profile: false,
    };
    let fastest =
        LoadOptions { backend: BackendChoice::Parallel, requantize: None, ..*model.options() };
    // Mistakes in the options are reported before anything is converted.
    let model = fitted(model.with_options(fastest), &workload)?;
    let mut ladder = Ladder {
        model: model_name(&model),
        processor: super::processor::name(),
        options,
        rungs: Vec::new(),
        skipped: Vec::new(),
    };
    on_progress(BenchProgress::Starting("expanding the weights to FP32"));
    let (model, _folder) = match expanded(&model, fastest.num_threads) {
        Ok(Some((expanded, folder))) => (expanded, Some(folder)),
        Ok(None) => (model, None),
        Err(reason) => {
            ladder.skipped.push(format!("FP32 weights: {reason}; the file's own weights are used"));
            (model, None)
        }
    };
    let (mut model, rungs) = plan(model, fastest, &mut ladder.skipped)?;
    for rung in rungs {
        on_progress(BenchProgress::Starting(&rung.name));
        model = rung.measure(model, &workload, &mut ladder, on_progress)?;
    }
    Ok(ladder)
}

/// Returns the model with FP32 weights, and the folder that holds its file; `None` if its weights are FP32 already.
///
/// **Errors**: the reason why it cannot be expanded, as text.
fn expanded(model: &Model, num_threads: Option<usize>) -> Result<Option<(Model, TempDir)>, String> {
    let checkpoint = model.checkpoint();
    if all_weights(model, |dtype| dtype == DType::F32) {
        return Ok(None);
    }
    let needed = checkpoint.tensors().iter().map(|info| 4 * info.num_elements() as u64).sum();
    let free = free_bytes();
    if needed > free {
        return Err(not_enough_memory(needed, free));
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("f32.gguf");
    let options = QuantizeOptions {
        importance: None,
        recipe: Recipe::F32,
        is_pure: true,
        quantized: QuantizedWeights::Requantize,
        overwrite: false,
        num_threads,
    };
    let expanded = quantize(checkpoint, &path, options, &mut |_| ControlFlow::Continue(()))
        .and_then(|_| Model::open(&path))
        .map_err(|error| error.to_string())?;
    Ok(Some((expanded, folder)))
}

/// A rung to be measured.
struct PlannedRung {
    name: String,
    options: LoadOptions,
    kv_cache: bool,
}

/// Returns the model and the rungs that this machine and these weights allow; adds the others to `skipped`.
fn plan(
    model: Model,
    fastest: LoadOptions,
    skipped: &mut Vec<String>,
) -> Result<(Model, Vec<PlannedRung>), Error> {
    let num_threads = Some(1);
    let scalar = LoadOptions { backend: BackendChoice::Scalar, isa: None, num_threads, ..fastest };
    let simd = LoadOptions { backend: BackendChoice::Simd, num_threads, ..fastest };
    let model = model.with_options(fastest);
    let estimate = model.estimate()?;
    let mut rungs = Vec::new();
    let mut add = |name: String, options, kv_cache| {
        rungs.push(PlannedRung { name, options, kv_cache });
    };

    let is_f32 = all_weights(&model, |dtype| dtype == DType::F32);
    let weights = if is_f32 { "FP32" } else { "file's weights" };
    add(format!("{weights}, scalar, no KV cache"), scalar, false);
    add("+ KV cache".to_owned(), scalar, true);
    match estimate.isa {
        Some(isa) if isa != Isa::Scalar => add(format!("+ SIMD ({isa})"), simd, true),
        _ => skipped.push("SIMD: no vector instruction set is available or selected".to_owned()),
    }
    match estimate.num_threads {
        1 => skipped.push("threads: only one is available or selected".to_owned()),
        count => add(format!("+ {count} threads"), fastest, true),
    }
    for format in FORMATS {
        let name = format!("{} weights", format.dtype().name());
        match all_weights(&model, DType::is_float) {
            true => {
                add(name, LoadOptions { requantize: Some(format), ..fastest }, true);
            }
            false => skipped.push(format!("{name}: the file is already quantized")),
        }
    }
    let gpu = LoadOptions { backend: BackendChoice::Gpu, isa: None, num_threads: None, ..fastest };
    let model = model.with_options(gpu);
    match model.estimate() {
        Ok(_) => add("GPU".to_owned(), gpu, true),
        Err(error) => skipped.push(format!("GPU: {error}")),
    }
    Ok((model, rungs))
}

impl PlannedRung {
    /// Measures this rung and adds it to the ladder; returns the model.
    fn measure(
        self,
        model: Model,
        workload: &Workload,
        ladder: &mut Ladder,
        on_progress: &mut dyn FnMut(BenchProgress<'_>),
    ) -> Result<Model, Error> {
        let Self { name, options, kv_cache } = self;
        let model = fitted(model.with_options(options), workload)?;
        let estimate = model.estimate()?;
        let (needed, free) = (estimate.footprint.total_bytes() as u64, free_bytes());
        if needed > free {
            ladder.skipped.push(format!("{name}: {}", not_enough_memory(needed, free)));
            return Ok(model);
        }
        let mut runner =
            model.runner(&mut |progress| on_progress(BenchProgress::Loading(progress)))?;
        let mut measurement = Measurement::new(&mut *runner, workload, on_progress);
        measurement.stop_after(TIME_LIMIT);
        let gpu_work = || model.gpu_work();
        measurement.count_gpu_work(&gpu_work);
        measurement.warm_up()?;
        let prefill = measurement.prefill()?.map(|prefill| prefill.phase);
        let decode = match kv_cache {
            true => measurement.decode(1)?,
            false => measurement.recompute()?,
        };
        measurement.announce(&format!("{name}: decode"), decode.as_ref());
        let speed = |phase: Option<PhaseReport>| {
            phase
                .map(|phase| phase.tokens_per_second)
                .ok_or(Error::Bench(BenchError::EmptyWorkload))
        };
        let cost = estimate.token_cost;
        ladder.rungs.push(Rung {
            name,
            kv_cache,
            backend: options.backend,
            isa: estimate.isa,
            num_threads: estimate.num_threads,
            weight_bytes: cost.layers.weight_bytes + cost.head.weight_bytes,
            prefill: speed(prefill)?,
            decode: speed(decode)?,
        });
        Ok(model)
    }
}

/// Returns whether `is_wanted` holds for the formats of all matrices of the model.
fn all_weights(model: &Model, is_wanted: impl Fn(DType) -> bool) -> bool {
    let mut matrices = model.checkpoint().tensors().iter().filter(|info| info.dims().len() > 1);
    matrices.all(|info| DType::from_ggml_id(info.ggml_type().id()).is_some_and(&is_wanted))
}

fn not_enough_memory(needed: u64, free: u64) -> String {
    format!("{} of memory needed, {} free", BinaryBytes(needed), BinaryBytes(free))
}
