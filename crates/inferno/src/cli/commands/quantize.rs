//! `inferno quantize`: converts a model to a smaller format.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use indicatif::BinaryBytes;
use inferno_gguf::{Gguf, TensorInfo};

use crate::cli::arguments::model::{model_source, open_file};
use crate::cli::arguments::values::{MAX_THREADS, number_in, one_of};
use crate::cli::failure::Failure;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;
use crate::cli::terminal::progress::DelayedBar;
use crate::output_file::ensure_named;
use crate::quantize::is_quantizable;
use crate::{
    DEFAULT_CHUNK_SIZE, Error, ImportanceMatrix, ModelSource, QuantizeOptions, QuantizedTensor,
    QuantizedWeights, Recipe, quantize,
};

/// Convert a model to a smaller format
///
/// A split input is written as a single file. Format names are those of llama.cpp, as is the choice of higher-precision
/// formats for the most sensitive weights (disable it with --pure). Norms and biases are stored as F32. Weights whose
/// rows are not a multiple of the block length are stored in another format, which is reported.
///
/// With an importance matrix, weights are rounded so that the outputs for typical inputs change least. The iq1 and iq2 formats
/// require one, and it is recommended for iq3 and q2_k_s.
///
/// int8 stores every matrix as bytes with one scale per row, a format that only inferno reads. The results are those of
/// --requantize int8.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno quantize model-f16.gguf model-q8_0.gguf q8_0
  inferno quantize model-f16-00001-of-00004.gguf model-q4.gguf q4_k_m
  inferno imatrix -m model-f16.gguf -f calibration.txt
  inferno quantize --imatrix imatrix.gguf model-f16.gguf model-iq2_m.gguf iq2_m")]
pub(crate) struct QuantizeArgs {
    /// Model to read: a GGUF file (any shard of a split model), a folder with a Hugging Face checkpoint,
    /// hf:OWNER/REPO[:QUANTIZATION] or a short name
    #[arg(value_name = "IN", value_parser = model_source())]
    input: ModelSource,
    /// File to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format of the output; q3_k, q4_k and q5_k are short for q3_k_m, q4_k_m and q5_k_m
    #[arg(value_name = "TYPE", ignore_case = true)]
    #[arg(value_parser = recipe())]
    recipe: Option<Recipe>,
    /// Same as the argument TYPE
    #[arg(long = "type", value_name = "TYPE", ignore_case = true, hide_possible_values = true)]
    #[arg(value_parser = recipe())]
    recipe_option: Option<Recipe>,
    /// Importance matrix, written by inferno imatrix or by llama.cpp
    #[arg(long, value_name = "FILE")]
    imatrix: Option<PathBuf>,
    /// Use the same format for all weights
    #[arg(long)]
    pure: bool,
    /// Allow requantizing already quantized weights (loses quality)
    #[arg(long)]
    allow_requantize: bool,
    /// Overwrite OUT if it exists
    #[arg(long)]
    force: bool,
    /// Number of threads to use [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = number_in(1..=MAX_THREADS))]
    threads: Option<usize>,
}

/// Parses the name of a recipe.
pub(super) fn recipe() -> impl TypedValueParser<Value = Recipe> {
    one_of::<Recipe>(Recipe::names())
}

impl QuantizeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Some(recipe) = self.recipe.or(self.recipe_option) else {
            let is_recipe = |text: &str| text.to_ascii_lowercase().parse::<Recipe>().is_ok();
            let message = match self.output.to_str().is_some_and(is_recipe) {
                true => {
                    "no output specified; expected IN OUT TYPE, for example model.gguf out.gguf q8_0"
                }
                false => "no format specified; pass it after OUT, for example q8_0",
            };
            return Err(Failure::Usage(message.to_owned()));
        };
        ensure_named(&self.output)?;
        let gguf = open_file(&self.input)?;
        let matrix = open_matrix(self.imatrix.as_deref(), recipe, &recipe)?;
        let options = QuantizeOptions {
            recipe,
            importance: matrix.as_ref(),
            is_pure: self.pure,
            quantized: match self.allow_requantize {
                true => QuantizedWeights::Requantize,
                false => QuantizedWeights::Reject,
            },
            overwrite: self.force,
            num_threads: self.threads,
        };
        write_quantized(&gguf, &self.output, options, "quantizing")
    }
}

/// Opens the importance matrix of `--imatrix`, and notes if `recipe`, which the user calls `format`, does not use one, or profits
/// a lot from one that is not specified.
pub(super) fn open_matrix(
    path: Option<&Path>,
    recipe: Recipe,
    format: &dyn fmt::Display,
) -> Result<Option<ImportanceMatrix>, Error> {
    if path.is_none() && is_better_with_importance(recipe) {
        print_note(&format!(
            "note: {recipe} is more accurate with an importance matrix; create one with inferno imatrix and pass it with --imatrix"
        ));
    }
    if path.is_some() && !recipe.uses_importance() {
        print_note(&format!(
            "note: --imatrix has no effect, as {format} has no choice of scales; formats such as q4_k_m use it"
        ));
    }
    path.map(|path| ImportanceMatrix::open(path, DEFAULT_CHUNK_SIZE)).transpose()
}

/// Writes `gguf` to `output` with a progress bar, and prints a summary.
pub(super) fn write_quantized(
    gguf: &Gguf,
    output: &Path,
    options: QuantizeOptions<'_>,
    label: &'static str,
) -> Result<(), Failure> {
    let interrupt = Interrupt::watch();
    let bar = DelayedBar::bytes(label);
    let mut unchecked_matrix = options.importance;
    let result = quantize(gguf, output, options, &mut |progress| {
        // Now that the work has begun, everything else is valid.
        if let Some(matrix) = unchecked_matrix.take() {
            note_missing(gguf, matrix);
        }
        bar.show(progress.done_bytes, progress.total_bytes);
        match interrupt.is_requested() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    drop(bar);
    let tensors = result?;
    report(gguf, &tensors, output)
}

/// Returns whether a format that does not need an importance matrix has few enough bits to profit a lot.
fn is_better_with_importance(recipe: Recipe) -> bool {
    use Recipe::{Iq3M, Iq3S, Iq3Xs, Iq3Xxs, Q2K, Q2KS};
    matches!(recipe, Q2K | Q2KS | Iq3Xxs | Iq3Xs | Iq3S | Iq3M)
}

/// Prints which weights of layers an importance matrix does not cover.
fn note_missing(gguf: &Gguf, matrix: &ImportanceMatrix) {
    let names = gguf.tensors().iter().filter(|info| is_layer_matrix(info)).map(TensorInfo::name);
    let missing: Vec<&str> = names.filter(|name| matrix.entry(name).is_none()).collect();
    if !missing.is_empty() {
        print_note(&format!(
            "warning: the importance matrix has no entry for {}, which is quantized without one",
            and_others(&missing)
        ));
    }
}

/// Returns whether a tensor is a weight matrix of a layer that is multiplied with inputs.
fn is_layer_matrix(info: &TensorInfo) -> bool {
    info.name().starts_with("blk.") && is_quantizable(info)
}

/// Prints a summary of the conversion to standard error.
fn report(gguf: &Gguf, tensors: &[QuantizedTensor], output: &Path) -> Result<(), Failure> {
    let mut fallbacks = BTreeMap::<_, Vec<&str>>::new();
    for tensor in tensors {
        if let Some(wanted) = tensor.instead_of {
            fallbacks.entry((wanted.name(), tensor.to)).or_default().push(&tensor.name);
        }
    }
    for ((wanted, to), names) in fallbacks {
        print_note(&format!(
            "note: stored {} as {to} instead of {wanted}: rows are not a multiple of the {wanted} block length",
            and_others(&names)
        ));
    }
    let mut counts = BTreeMap::<_, usize>::new();
    for tensor in tensors {
        *counts.entry((tensor.from, tensor.to)).or_default() += 1;
    }
    for ((from, to), count) in counts {
        let noun = if count == 1 { "tensor " } else { "tensors" };
        print_note(&format!("{count:>6} {noun} {from:>8} -> {to}"));
    }
    let written = std::fs::metadata(output).map_err(|error| Error::io(output, error))?.len();
    print_note(&format!("{} -> {}", BinaryBytes(gguf.file_bytes()), BinaryBytes(written)));
    Ok(())
}

/// Returns the first name and the number of others.
fn and_others(names: &[&str]) -> String {
    let first = names.first().map(|name| printable(name)).unwrap_or_default();
    match names.len() {
        0 | 1 => first,
        len => format!("{first} (and {} more)", len - 1),
    }
}
