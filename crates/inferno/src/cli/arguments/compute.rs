//! Options that choose how the model computes.

use clap::builder::PossibleValue;
use inferno_backend::KvDType;
use inferno_cpu::Isa;
use inferno_gguf::Gguf;
use inferno_model::{ModelSpec, Requantize};

use crate::cli::arguments::device::{DeviceArg, GpuLayers};
use crate::cli::arguments::values::{MAX_THREADS, number_in, one_of};
use crate::cli::terminal::note::print_note;
use crate::device::has_preferred_gpu;
use crate::load::float_bytes;
use crate::{BackendChoice, BatchLimits, LoadNote, LoadOptions};

/// Backend, threads and number formats.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Compute")]
pub(crate) struct ComputeArgs {
    /// Backend to run on: auto (a discrete or Apple GPU if the model fits in its memory, otherwise parallel), scalar
    /// (one thread, portable code), simd (one thread, best instruction set), parallel (all threads, best instruction
    /// set), gpu (also called metal) or reference (slow, for tests)
    #[arg(long, value_name = "BACKEND", default_value_t, ignore_case = true)]
    #[arg(value_parser = one_of::<BackendChoice>(backend_values()))]
    backend: BackendChoice,
    /// Device to run on: cpu, or the index of a GPU or a part of its name, as listed by inferno devices
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceArg>,
    /// Number of layers to run on the GPU, the last ones, while the processor runs those before them: a number, all, or auto
    /// for as many as fit in its memory
    #[arg(long, value_name = "N", allow_negative_numbers = true, visible_alias = "n-gpu-layers")]
    gpu_layers: Option<GpuLayers>,
    /// Run the experts of a mixture-of-experts model on the processor, and the rest of it on the GPU [default: those of as
    /// few layers as make the rest fit in the GPU's memory]
    #[arg(long, visible_alias = "cpu-moe")]
    cpu_experts: bool,
    /// Run the experts of the first N layers on the processor, as --cpu-experts does those of all layers
    #[arg(long, value_name = "N", visible_alias = "n-cpu-moe", conflicts_with = "cpu_experts")]
    cpu_expert_layers: Option<usize>,
    /// Number of threads of the processor [default: all cores; 1 for scalar and simd]
    #[arg(short, long, value_name = "N", value_parser = number_in(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Instruction set to use, which selects the processor, unless another option requests a GPU; results are identical with
    /// all of them, except that amx rounds sums with F16 and BF16 weights differently
    /// [default: the best available; scalar for the scalar backend]
    #[arg(long, value_name = "ISA", ignore_case = true)]
    #[arg(value_parser = one_of::<Isa>(Isa::ALL.map(Isa::name)))]
    isa: Option<Isa>,
    /// Number format of the KV cache [default: i16; f16 on a GPU, and for models with heads of more than 1024 values]
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    #[arg(value_parser = one_of::<KvDType>(KvDType::ALL.map(KvDType::name)))]
    kv_dtype: Option<KvDType>,
    /// Quantize floating-point weights to this format while loading; weights that are already quantized are unchanged
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    #[arg(value_parser = one_of::<Requantize>(Requantize::ALL.map(Requantize::name)))]
    requantize: Option<Requantize>,
    /// Print the memory that the model needs, without loading it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl ComputeArgs {
    /// Returns the same options for a model that keeps the weights of its file.
    pub(crate) fn without_requantizing(&self) -> Self {
        Self { requantize: None, ..self.clone() }
    }

    /// Returns the load options for a model with this context length (in tokens) and these batch limits.
    pub(crate) fn options(
        &self,
        checkpoint: &Gguf,
        context_length: Option<usize>,
        limits: BatchLimits,
    ) -> LoadOptions {
        let (backend, gpu, gpu_layers) = self.device();
        let options = LoadOptions {
            backend,
            gpu,
            gpu_layers,
            cpu_experts: self.cpu_expert_layers().filter(|_| backend.may_be_gpu()),
            num_threads: self.threads,
            isa: self.isa,
            requantize: self.requantize,
            context_length,
            cache_tokens: None,
            kv_dtype: self.kv_dtype(checkpoint),
            limits,
            ..LoadOptions::default()
        };
        note_requantizing(&options, checkpoint);
        if let Some(note) = LoadNote::of_device(&options) {
            print_note(&format!("note: {note}"));
        }
        options
    }
}

impl ComputeArgs {
    /// The format of the KV cache, unless the model has none.
    fn kv_dtype(&self, checkpoint: &Gguf) -> Option<KvDType> {
        let dtype = self.kv_dtype?;
        // What is wrong with a file is reported later.
        if ModelSpec::from_checkpoint(checkpoint).map_or(true, |spec| spec.is_causal) {
            return Some(dtype);
        }
        print_note("warning: --kv-dtype has no effect: this model has no KV cache");
        None
    }

    /// The number of layers whose experts the processor computes.
    fn cpu_expert_layers(&self) -> Option<usize> {
        if self.cpu_experts { Some(usize::MAX) } else { self.cpu_expert_layers }
    }

    /// The backend, the index of the GPU and the number of layers on it, which `--backend`, `--device` and `--gpu-layers`
    /// select together.
    fn device(&self) -> (BackendChoice, Option<usize>, Option<usize>) {
        let is_gpu = matches!(self.backend, BackendChoice::Gpu | BackendChoice::Metal);
        let is_auto = self.backend == BackendChoice::Auto;
        let has_layers = !matches!(self.gpu_layers, None | Some(GpuLayers::Last(0)));
        let layers = match self.gpu_layers {
            Some(GpuLayers::Last(number)) => Some(number),
            Some(GpuLayers::Auto) | None => None,
        };
        match self.device {
            Some(DeviceArg::Gpu(index)) => (self.backend, Some(index), layers),
            Some(DeviceArg::Cpu) => {
                if is_gpu || has_layers {
                    print_note("warning: --device cpu overrides --backend gpu and --gpu-layers");
                }
                let backend =
                    if is_gpu || is_auto { BackendChoice::Parallel } else { self.backend };
                (backend, None, None)
            }
            None if is_auto && has_layers && has_preferred_gpu() => {
                (BackendChoice::Gpu, None, layers)
            }
            None if is_auto && has_layers => {
                print_note(
                    "warning: --gpu-layers has no effect: no discrete or Apple GPU was found (see inferno devices)",
                );
                (BackendChoice::Parallel, None, None)
            }
            None => (self.backend, None, layers),
        }
    }
}

/// Backends of other programs, which are rejected with what to use instead.
const OTHER_BACKENDS: [&str; 4] = ["cuda", "rocm", "hip", "sycl"];

/// The names of backends as the values of an option, with their aliases.
fn backend_values() -> impl Iterator<Item = PossibleValue> {
    let own = BackendChoice::ALL.into_iter();
    let own = own.map(|backend| PossibleValue::new(backend.name()).aliases(backend.aliases()));
    own.chain(OTHER_BACKENDS.into_iter().map(|name| PossibleValue::new(name).hide(true)))
}

/// Float weights of at least this size take long to quantize, in bytes.
const LARGE_BYTES: usize = 200 << 20;

/// Prints a note if quantizing while loading has no effect, or takes long.
fn note_requantizing(options: &LoadOptions, checkpoint: &Gguf) {
    if let Some(note) = LoadNote::of_requantizing(options, checkpoint) {
        print_note(&format!("note: {note}"));
    } else if options.requantize.is_some() && float_bytes(checkpoint) >= LARGE_BYTES {
        print_note(
            "note: quantizing while loading; to do it only once, convert the file with inferno quantize",
        );
    }
}

/// Returns how many rows of logits a batch may have by default; at least one.
pub(crate) fn num_logit_rows(vocab_size: usize) -> usize {
    const LOGIT_BYTES: usize = 64 << 20;
    let row_bytes = vocab_size.saturating_mul(size_of::<f32>()).max(1);
    (LOGIT_BYTES / row_bytes).max(1)
}
