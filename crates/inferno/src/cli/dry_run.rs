//! `--dry-run`: prints the memory that a model needs.

use indicatif::BinaryBytes;
use inferno_backend::{KvLayout, StateLayout};

use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;
use crate::free_memory::free_bytes;
use crate::plural::count;
use crate::{Error, Footprint, GpuEstimate, LoadEstimate, Model};

/// Prints the memory estimate and whether it fits in free memory. `smaller_cache` is the advice that makes the KV cache
/// smaller.
///
/// **Errors**: [`Failure::Reported`] if the model does not fit; those of [`Model::estimate`].
pub(super) fn report(model: &Model, smaller_cache: &str) -> Result<(), Failure> {
    let estimate = model.estimate()?;
    let mut output = Output::new();
    let total = write_estimate(&estimate, &mut output)?;
    let kv_cache_bytes = estimate.footprint.kv_cache_bytes as u64;
    let free = free_bytes();
    let fits_on_gpu = estimate.gpu.as_ref().is_none_or(GpuEstimate::fits);
    let fits = total <= free && fits_on_gpu;
    let verdict = match total.saturating_sub(kv_cache_bytes) <= free {
        _ if fits => "the model fits".to_owned(),
        _ if !fits_on_gpu => "the model does not fit on the GPU; reduce --gpu-layers".to_owned(),
        true => format!("the model does not fit; {smaller_cache}, or use --kv-dtype q8_0"),
        false => {
            "the model does not fit, even without a KV cache; use a smaller model or quantization"
                .to_owned()
        }
    };
    output.line(format_args!("free memory   {:>12}  {verdict}", BinaryBytes(free).to_string()))?;
    output.flush()?;
    if fits { Ok(()) } else { Err(Failure::Reported) }
}

/// Prints the memory estimates of a model and of the one that it is compared with, and whether both fit in free memory.
///
/// **Errors**: as [`report`].
pub(super) fn report_pair(model: &Model, base: &Model) -> Result<(), Failure> {
    let mut output = Output::new();
    let mut total = 0;
    for (name, model) in [("model", model), ("base", base)] {
        let estimate = model.estimate()?;
        output.line(format_args!("{name}:"))?;
        total += write_estimate(&estimate, &mut output)?;
    }
    let free = free_bytes();
    let fits = total <= free;
    let verdict = match fits {
        true => "both models fit",
        false => {
            "both models do not fit; write the log-probabilities of the base to a file first, with --kl-divergence-base"
        }
    };
    output.line(format_args!("both          {:>12}", BinaryBytes(total).to_string()))?;
    output.line(format_args!("free memory   {:>12}  {verdict}", BinaryBytes(free).to_string()))?;
    output.flush()?;
    if fits { Ok(()) } else { Err(Failure::Reported) }
}

/// Prints the parts of an estimate and their sum, and returns the sum in bytes.
fn write_estimate(estimate: &LoadEstimate, output: &mut Output) -> Result<u64, Failure> {
    let LoadEstimate { footprint, cache_tokens, cache, backend, .. } = estimate;
    let Footprint { weight_bytes, kv_cache_bytes, state_bytes, workspace_bytes, mapped_bytes } =
        *footprint;
    output.line(format_args!("backend       {backend}"))?;
    output
        .line(format_args!("weights       {:>12}", BinaryBytes(weight_bytes as u64).to_string()))?;
    let kv_cache = BinaryBytes(kv_cache_bytes as u64).to_string();
    let (dtype, windows) = (cache.kv.dtype, windows(&cache.kv));
    output.line(format_args!(
        "KV cache      {kv_cache:>12}  for {cache_tokens} tokens in {dtype}{windows}"
    ))?;
    if let Some(layout) = &cache.state {
        let state = BinaryBytes(state_bytes as u64).to_string();
        let slots = slots(layout, estimate);
        output.line(format_args!("state         {state:>12}  {slots}"))?;
    }
    output.line(format_args!(
        "workspace     {:>12}",
        BinaryBytes(workspace_bytes as u64).to_string()
    ))?;
    let mapped = BinaryBytes(mapped_bytes as u64).to_string();
    output.line(format_args!(
        "mapped file   {mapped:>12}  read in place; the system can page it out"
    ))?;
    let mut total = footprint.total_bytes() as u64;
    if let Some(draft) = &estimate.draft {
        total += report_draft(draft, output)?;
    }
    if let Some(gpu) = &estimate.gpu {
        report_gpu(gpu, output)?;
    }
    output.line(format_args!("total         {:>12}", BinaryBytes(total).to_string()))?;
    Ok(total)
}

/// Prints the memory of the draft model, and returns what it needs of main memory.
fn report_draft(draft: &LoadEstimate, output: &mut Output) -> Result<u64, Failure> {
    let on_gpu = draft.gpu.as_ref().map_or(0, |gpu| gpu.footprint.device_bytes() as u64);
    let total = draft.footprint.total_bytes() as u64;
    let needed = BinaryBytes(total + on_gpu).to_string();
    let place = if on_gpu > 0 { ", on the GPU" } else { "" };
    let cache_tokens = draft.cache_tokens;
    output.line(format_args!(
        "draft model   {needed:>12}  with a KV cache for {cache_tokens} tokens{place}"
    ))?;
    Ok(total)
}

/// Prints what is on the GPU.
fn report_gpu(gpu: &GpuEstimate, output: &mut Output) -> Result<(), Error> {
    let GpuEstimate { layers, cpu_experts, footprint, memory_bytes } = gpu;
    let needed = BinaryBytes(footprint.device_bytes() as u64).to_string();
    let of = match memory_bytes {
        Some(bytes) => format!(" of {}", BinaryBytes(*bytes)),
        None => String::new(),
    };
    let mut what = match (layers.start, layers.len()) {
        (_, 0) => "no layers".to_owned(),
        (0, _) => "all layers".to_owned(),
        (start, number) => {
            format!("the last {}; the processor runs the first {start}", count(number, "layer"))
        }
    };
    if !layers.is_empty() && *cpu_experts > layers.start {
        what += &match *cpu_experts >= layers.end {
            true => "; the processor runs the experts".to_owned(),
            false => format!("; the processor runs the experts of the first {cpu_experts}"),
        };
    }
    output.line(format_args!("GPU           {needed:>12}{of}  {what}"))?;
    let Footprint { weight_bytes, kv_cache_bytes, state_bytes, workspace_bytes, .. } = *footprint;
    let parts = [
        ("weights", weight_bytes),
        ("KV cache", kv_cache_bytes),
        ("state", state_bytes),
        ("workspace", workspace_bytes),
    ];
    for (name, bytes) in parts.into_iter().filter(|(_, bytes)| *bytes > 0) {
        output.line(format_args!("  {name:<11} {:>12}", BinaryBytes(bytes as u64).to_string()))?;
    }
    Ok(())
}

/// How many tokens layers with a sliding window have memory for, if these are fewer.
fn windows(layout: &KvLayout) -> String {
    let Some(window) = layout.window else { return String::new() };
    format!("; {} in layers with a sliding window", window.num_blocks * layout.block_tokens)
}

/// What the slots of recurrent state are for.
fn slots(layout: &StateLayout, estimate: &LoadEstimate) -> String {
    let &LoadEstimate { max_num_sequences, max_num_drafting, .. } = estimate;
    let sequences = count(max_num_sequences, "sequence");
    let slots = match layout.num_slots - max_num_sequences - max_num_drafting {
        0 => format!("of {sequences}"),
        checkpoints => format!("of {sequences} and {}", count(checkpoints, "checkpoint")),
    };
    match max_num_drafting {
        0 => slots,
        drafting => format!("{slots}; {drafting} more for speculation"),
    }
}

/// The advice for commands with `--context`.
pub(super) const REDUCE_CONTEXT: &str = "reduce --context";
