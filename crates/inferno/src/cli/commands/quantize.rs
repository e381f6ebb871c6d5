//! `inferno quantize`: converts a model to smaller formats.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use indicatif::BinaryBytes;
use inferno_gguf::Gguf;

use crate::cli::arguments::model::locate;
use crate::cli::arguments::values::{MAX_THREADS, names, number_in};
use crate::cli::failure::Failure;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;
use crate::cli::terminal::progress::bytes_bar;
use crate::{Error, ModelSource, QuantizeOptions, QuantizedTensor, Recipe, quantize};

/// Convert a model to smaller formats.
///
/// The input may be split over several files; the output is one. The names are those of llama.cpp, and so is the choice
/// of finer formats for the weights that need them (--pure leaves that out). Vectors and norms are kept in F32. Rows that
/// do not divide into a format's blocks get another format, which is reported.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno quantize model-f16.gguf model-q8_0.gguf --type q8_0
  inferno quantize model-f16-00001-of-00004.gguf model-q4_k_m.gguf --type q4_k_m")]
pub(crate) struct QuantizeArgs {
    /// The model to read: a GGUF file (any shard of a split one), or hf:owner/repo[:quantization].
    #[arg(value_name = "IN")]
    input: ModelSource,
    /// The file to write.
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The formats; q3_k, q4_k and q5_k are short for their _m.
    #[arg(long = "type", value_name = "TYPE", ignore_case = true)]
    #[arg(value_parser = names(Recipe::names()).try_map(|name| name.parse::<Recipe>()))]
    recipe: Option<Recipe>,
    /// Give every weight the main format, with no finer ones.
    #[arg(long)]
    pure: bool,
    /// Take weights that are quantized already, and lose once more.
    #[arg(long)]
    allow_requantize: bool,
    /// Replace OUT where it exists.
    #[arg(long)]
    force: bool,
    /// Threads [default: one a processor].
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_THREADS))]
    threads: Option<usize>,
}

impl QuantizeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Some(recipe) = self.recipe else {
            return Err(Failure::Usage(
                "no format was given; pass --type, such as --type q8_0".to_owned(),
            ));
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
        let bar = bytes_bar("quantizing", 0);
        let result = quantize(&gguf, &self.output, options, &mut |progress| {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
            match interrupt.is_requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        bar.finish_and_clear();
        report(&gguf, &result?, &self.output)
    }
}

/// Says on standard error what became of the tensors.
fn report(gguf: &Gguf, tensors: &[QuantizedTensor], output: &Path) -> Result<(), Failure> {
    let mut fallbacks = BTreeMap::<_, Vec<&str>>::new();
    for tensor in tensors {
        if let Some(wanted) = tensor.instead_of {
            fallbacks.entry((wanted.name(), tensor.to)).or_default().push(&tensor.name);
        }
    }
    for ((wanted, to), names) in fallbacks {
        print_note(&format!(
            "note: {} is stored as {to} instead of {wanted}, whose blocks do not divide its rows",
            and_others(&names)
        ));
    }
    let mut counts = BTreeMap::<_, usize>::new();
    for tensor in tensors {
        *counts.entry((tensor.from, tensor.to)).or_default() += 1;
    }
    for ((from, to), count) in counts {
        print_note(&format!("{count:>6} tensors {from:>8} -> {to}"));
    }
    let written = std::fs::metadata(output).map_err(|error| Error::io(output, error))?.len();
    print_note(&format!("{} -> {}", BinaryBytes(gguf.file_bytes()), BinaryBytes(written)));
    Ok(())
}

/// The first of some names, and how many more there are.
fn and_others(names: &[&str]) -> String {
    let first = names.first().map(|name| printable(name)).unwrap_or_default();
    match names.len() {
        0 | 1 => first,
        len => format!("{first} (like {} more)", len - 1),
    }
}
