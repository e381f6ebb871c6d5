//! The ladder: the same work again and again, with one improvement more each time.
//!
//! The first rung computes the whole text again for each token, on one thread, in portable code. Then come the KV cache,
//! the processor's vector instructions, its threads, and a graphics card where the build has a backend for it. Beside it stand
//! the weights' formats on the fastest of these: the same model in F32, and made coarser while it is loaded.

mod picture;
mod table;

use std::ops::ControlFlow;
use std::time::Duration;

use inferno_cpu::Isa;
use inferno_model::Requantize;
use inferno_tensor::DType;

use super::measure::Measurement;
use super::{PhaseReport, Workload, fitted, model_name};
use crate::free_memory::free_bytes;
use crate::{
    BackendChoice, Error, LoadOptions, LoadProgress, Model, QuantizeOptions, Recipe, quantize,
};

/// After this much time a rung is not measured once more; the lowest ones of a large model take minutes.
const RUNG_TIME: Duration = Duration::from_secs(10);

/// How the ladder is to be climbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderOptions {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens that are written after it.
    pub decode_tokens: usize,
    /// How often each rung is measured, unless that takes long.
    pub repetitions: usize,
    /// Tokens of the prompt in one forward pass; `None` takes as many as a session does.
    pub pass_tokens: Option<usize>,
}

impl Default for LadderOptions {
    fn default() -> Self {
        Self { prompt_tokens: 64, decode_tokens: 16, repetitions: 3, pass_tokens: None }
    }
}

/// The speed of a model, rung by rung.
///
/// [`json`](Self::json) is for programs, [`svg`](Self::svg) a picture; [`Display`](std::fmt::Display) writes tables in
/// Markdown.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// The model's file.
    pub model: String,
    /// The processor's name, where the system tells it.
    pub processor: Option<String>,
    /// What was measured.
    pub options: LadderOptions,
    /// The rungs, from the slowest way to compute.
    pub rungs: Vec<Rung>,
    /// The weights' formats on the fastest backend, from the largest.
    pub formats: Vec<Rung>,
    /// Rungs that were left out, and why.
    pub notes: Vec<String>,
}

/// One way to run the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// What is new, in words.
    pub name: String,
    /// Whether keys and values are kept between steps.
    pub kv_cache: bool,
    /// What computed.
    pub backend: BackendChoice,
    /// The instruction set, where the backend has a choice.
    pub isa: Option<Isa>,
    /// Threads that computed.
    pub num_threads: usize,
    /// Bytes of weights that each token reads.
    pub weight_bytes: usize,
    /// Tokens of the prompt read a second.
    pub prefill_tps: f64,
    /// Tokens written a second.
    pub decode_tps: f64,
}

/// Climbs the ladder with `model`: its options say which instruction set and how many threads to end with, and the format
/// of the KV cache.
///
/// `on_rung` is called before each rung with its name, and while its weights are loaded.
///
/// **Errors**: as [`bench`](super::bench); what the file system refuses, where the model is first turned into F32.
pub fn climb(
    model: Model,
    options: LadderOptions,
    on_rung: &mut dyn FnMut(&str, Option<LoadProgress>),
) -> Result<Ladder, Error> {
    let LadderOptions { prompt_tokens, decode_tokens, repetitions, pass_tokens } = options;
    let workload = Workload {
        prompt_tokens,
        decode_tokens,
        depth: prompt_tokens,
        batch_sizes: Vec::new(),
        repetitions,
        pass_tokens,
    };
    let top =
        LoadOptions { backend: BackendChoice::Parallel, requantize: None, ..*model.options() };
    let mut climber = Climber { workload, on_rung };
    let mut ladder = Ladder {
        model: model_name(&model),
        processor: super::processor::name(),
        options,
        rungs: Vec::new(),
        formats: Vec::new(),
        notes: Vec::new(),
    };
    let model = climber.rungs(model, top, &mut ladder)?;
    climber.formats(model, top, &mut ladder)?;
    Ok(ladder)
}

struct Climber<'a> {
    workload: Workload,
    on_rung: &'a mut dyn FnMut(&str, Option<LoadProgress>),
}

impl Climber<'_> {
    /// Measures each way to compute that this machine has; gives the model back.
    fn rungs(
        &mut self,
        model: Model,
        top: LoadOptions,
        ladder: &mut Ladder,
    ) -> Result<Model, Error> {
        let (backend, num_threads) = (BackendChoice::Scalar, Some(1));
        let scalar = LoadOptions { backend, isa: None, num_threads, ..top };
        let simd = LoadOptions { backend: BackendChoice::Simd, num_threads, ..top };
        let gpu = LoadOptions { backend: BackendChoice::Gpu, isa: None, num_threads: None, ..top };

        let mut model =
            self.measure(model, scalar, false, "scalar, no KV cache", &mut ladder.rungs)?;
        model = self.measure(model, scalar, true, "+ KV cache", &mut ladder.rungs)?;

        model = model.with_options(top);
        let best = model.estimate()?;
        match best.isa {
            Some(isa) if isa != Isa::Scalar => {
                model =
                    self.measure(model, simd, true, &format!("+ SIMD ({isa})"), &mut ladder.rungs)?;
            }
            _ => ladder.notes.push("SIMD: only portable code is asked for, or there".to_owned()),
        }
        match best.num_threads {
            1 => ladder.notes.push("threads: only one is asked for, or there".to_owned()),
            count => {
                let name = format!("+ threads ({count})");
                model = self.measure(model, top, true, &name, &mut ladder.rungs)?;
            }
        }
        model = model.with_options(gpu);
        match model.estimate() {
            Ok(_) => self.measure(model, gpu, true, "GPU", &mut ladder.rungs),
            Err(error) => {
                ladder.notes.push(format!("GPU: {error}"));
                Ok(model)
            }
        }
    }

    /// Measures the weights in F32, Q8_0 and Q4_K.
    fn formats(
        &mut self,
        model: Model,
        top: LoadOptions,
        ladder: &mut Ladder,
    ) -> Result<(), Error> {
        let checkpoint = model.checkpoint();
        let tensors = checkpoint.tensors();
        let f32_bytes = tensors.iter().map(|info| 4 * info.num_elements() as u64).sum::<u64>();
        let free_bytes = free_bytes();
        if f32_bytes > free_bytes {
            ladder.notes.push(format!(
                "formats: the model in F32 has {:.1} GB, and {:.1} GB of memory are free",
                f32_bytes as f64 / 1e9,
                free_bytes as f64 / 1e9
            ));
            return Ok(());
        }
        (self.on_rung)("turning the weights into F32", None);
        let io = |error| Error::io(std::env::temp_dir(), error);
        let folder = tempfile::tempdir().map_err(io)?;
        let path = folder.path().join("f32.gguf");
        let recipe = QuantizeOptions {
            recipe: Recipe::F32,
            is_pure: true,
            allow_requantize: true,
            overwrite: false,
            num_threads: top.num_threads,
        };
        quantize(checkpoint, &path, recipe, &mut |_| ControlFlow::Continue(()))?;
        drop(model);

        let mut model = Model::open(&path)?;
        for requantize in [None, Some(Requantize::Q8_0), Some(Requantize::Q4K)] {
            let name = requantize.map_or(DType::F32, Requantize::dtype).name();
            let options = LoadOptions { requantize, ..top };
            model = self.measure(model, options, true, name, &mut ladder.formats)?;
        }
        Ok(())
    }

    /// Measures one rung; gives the model back.
    fn measure(
        &mut self,
        model: Model,
        options: LoadOptions,
        kv_cache: bool,
        name: &str,
        rungs: &mut Vec<Rung>,
    ) -> Result<Model, Error> {
        (self.on_rung)(name, None);
        let model = fitted(model.with_options(options), &self.workload)?;
        let estimate = model.estimate()?;
        let mut runner = model.runner(&mut |progress| (self.on_rung)(name, Some(progress)))?;
        let mut on_run = |_, _| ();
        let mut measurement = Measurement::new(&mut *runner, &self.workload, &mut on_run);
        measurement.stop_after(RUNG_TIME);
        measurement.warm_up()?;
        let prefill = measurement.prefill()?;
        let decode = match kv_cache {
            true => measurement.decode(1)?,
            false => measurement.recompute()?,
        };
        let rate = |phase: Option<&PhaseReport>| {
            phase.map(|phase| phase.tokens_per_second.median).ok_or(Error::EmptyWorkload)
        };
        let cost = estimate.token_cost;
        rungs.push(Rung {
            name: name.to_owned(),
            kv_cache,
            backend: options.backend,
            isa: estimate.isa,
            num_threads: estimate.num_threads,
            weight_bytes: cost.layers.weight_bytes + cost.head.weight_bytes,
            prefill_tps: rate(prefill.as_ref().map(|prefill| &prefill.phase))?,
            decode_tps: rate(decode.as_ref())?,
        });
        Ok(model)
    }
}
