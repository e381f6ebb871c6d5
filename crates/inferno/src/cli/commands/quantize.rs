//! `inferno quantize`: converts a model to a smaller format.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::BinaryBytes;
use inferno_gguf::Gguf;

use crate::cli::arguments::model::{locate, model_source};
use crate::cli::arguments::values::{MAX_THREADS, number_in};
use crate::cli::failure::Failure;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;
use crate::cli::terminal::progress::DelayedBar;
use crate::{Error, ModelSource, QuantizeOptions, QuantizedTensor, Recipe, quantize};

/// Convert a model to a smaller format
///
/// A split input is written as a single file. Format names are those of llama.cpp, as is the choice of higher-precision
/// formats for the most sensitive weights (disable it with --pure). Norms and biases are stored as F32. Weights whose
/// rows are not a multiple of the block length are stored in another format, which is reported.
///
/// int8 stores every matrix as bytes with one scale per row, a format that only inferno reads. The results are those of
/// --requantize int8.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno quantize model-f16.gguf model-q8_0.gguf q8_0
  inferno quantize model-f16-00001-of-00004.gguf model-q4.gguf q4_k_m")]
pub(crate) struct QuantizeArgs {
    /// Model to read: a GGUF file (any shard of a split model) or hf:OWNER/REPO[:QUANTIZATION]
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

/// Parses the name of a recipe. Names of formats that cannot be created are not listed but have an error of their own.
fn recipe() -> impl TypedValueParser<Value = Recipe> {
    let names = Recipe::names().map(PossibleValue::new);
    let decode_only = Recipe::decode_only_names().map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(names.chain(decode_only)).try_map(|name| name.parse())
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
        let gguf = Gguf::open(locate(&self.input)?)?;
        let interrupt = Interrupt::watch();
        let options = QuantizeOptions {
            recipe,
            is_pure: self.pure,
            allow_requantize: self.allow_requantize,
            overwrite: self.force,
            num_threads: self.threads,
        };
        let bar = DelayedBar::bytes("quantizing");
        let result = quantize(&gguf, &self.output, options, &mut |progress| {
            bar.show(progress.done_bytes, progress.total_bytes);
            match interrupt.is_requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        drop(bar);
        report(&gguf, &result?, &self.output)
    }
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
