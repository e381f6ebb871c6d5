//! The contents of a file as text.

use std::fmt;

use indicatif::BinaryBytes;
use inferno_gguf::{Gguf, TensorInfo};
use inferno_model::weight_dtype;

use super::summary::{FileSummary, TokenizerSummary};
use crate::Error;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::printable::printable;

/// Writes the summary, the metadata and, if requested, the tensors.
pub(super) fn write(
    gguf: &Gguf,
    summary: &FileSummary,
    tensors: bool,
    output: &mut Output,
) -> Result<(), Error> {
    write_summary(gguf, summary, output)?;
    output.line(format_args!("\nmetadata ({} keys)", gguf.metadata().len()))?;
    let width = gguf.metadata().iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
    for (key, value) in gguf.metadata().iter() {
        output.line(format_args!(
            "  {:<width$}  {:<6}  {value}",
            printable(key),
            value.value_type()
        ))?;
    }
    if tensors {
        write_tensors(gguf, output)?;
    }
    Ok(())
}

/// Writes the summary.
pub(super) fn write_summary(
    gguf: &Gguf,
    summary: &FileSummary,
    output: &mut Output,
) -> Result<(), Error> {
    let mut row =
        |label: &str, value: &dyn fmt::Display| output.line(format_args!("{label:<19}{value}"));
    for (index, path) in gguf.paths().enumerate() {
        row(if index == 0 { "file" } else { "" }, &path.display())?;
    }
    if gguf.is_in_memory() {
        row("file", &"built into this program")?;
    }
    row("size", &BinaryBytes(gguf.file_bytes()))?;
    if !gguf.is_computed() {
        row("GGUF version", &gguf.version())?;
    }
    let unknown = || "not specified".to_owned();
    row("architecture", &summary.architecture.as_deref().map_or_else(unknown, printable))?;
    if let Some(name) = &summary.name {
        row("name", &printable(name))?;
    }
    row("parameters", &count(summary.num_parameters))?;
    if let Some(bits) = summary.bits_per_weight() {
        row("bits per weight", &format_args!("{bits:.2}"))?;
    }
    for (label, value) in &summary.shape {
        row(label, value)?;
    }
    for (index, (ggml_type, share)) in summary.types.iter().enumerate() {
        let percent = 100.0 * share.num_bytes as f64 / summary.tensor_bytes as f64;
        let value = format!(
            "{ggml_type:<8} {:>5} tensors {:>12} {percent:>5.1}%",
            share.num_tensors,
            BinaryBytes(share.num_bytes).to_string()
        );
        row(if index == 0 { "types" } else { "" }, &value)?;
    }
    if let Some(tokenizer) = &summary.tokenizer {
        write_tokenizer(tokenizer, &mut row)?;
    }
    Ok(())
}

type WriteRow<'a> = dyn FnMut(&str, &dyn fmt::Display) -> Result<(), Error> + 'a;

fn write_tokenizer(tokenizer: &TokenizerSummary, row: &mut WriteRow<'_>) -> Result<(), Error> {
    let kind = match &tokenizer.pre {
        Some(pre) => format!("{} ({})", printable(&tokenizer.model), printable(pre)),
        None => printable(&tokenizer.model),
    };
    row("tokenizer", &format_args!("{kind}, {} tokens", tokenizer.vocab_size))?;
    row("chat template", &if tokenizer.has_chat_template { "yes" } else { "no" })?;
    match &tokenizer.special {
        Ok(special) => {
            for (index, (role, id, text)) in special.iter().enumerate() {
                let label = if index == 0 { "special tokens" } else { "" };
                row(label, &format_args!("{role:<18} {id:>7}  {text:?}"))?;
            }
        }
        Err(error) => row("special tokens", &format_args!("not available: {}", printable(error)))?,
    }
    Ok(())
}

fn write_tensors(gguf: &Gguf, output: &mut Output) -> Result<(), Error> {
    output.line(format_args!("\ntensors ({})", gguf.tensors().len()))?;
    let width = gguf.tensors().iter().map(|info| info.name().chars().count()).max().unwrap_or(0);
    let width = width.max("name".len());
    let is_split = gguf.num_shards() > 1;
    let shard = |text: &dyn fmt::Display| {
        if is_split { format!("  {text:>5}") } else { String::new() }
    };
    output.line(format_args!(
        "  {:<width$}  {:<8}  {:<22}  {:>12}  {:>14}{}",
        "name",
        "type",
        "shape",
        "size",
        "offset",
        shard(&"shard")
    ))?;
    for info in gguf.tensors() {
        output.line(format_args!(
            "  {:<width$}  {:<8}  {:<22}  {:>12}  {:>14}{}{}",
            printable(info.name()),
            info.ggml_type(),
            shape(info),
            BinaryBytes(info.num_bytes() as u64).to_string(),
            info.file_offset(),
            shard(&(info.shard() + 1)),
            if weight_dtype(gguf, info).is_some() { "" } else { "  not supported" },
        ))?;
    }
    Ok(())
}

/// Formats the shape of a tensor with rows before columns.
fn shape(info: &TensorInfo) -> String {
    let dims: Vec<String> = info.dims().iter().rev().map(ToString::to_string).collect();
    dims.join(" x ")
}

/// Formats a large number with a unit, such as `751.63 M (751632384)`.
fn count(number: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K")];
    match UNITS.iter().find(|(unit, _)| number >= *unit) {
        Some((unit, letter)) => format!("{:.2} {letter} ({number})", number as f64 / *unit as f64),
        None => number.to_string(),
    }
}
