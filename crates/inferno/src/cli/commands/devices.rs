//! `inferno devices`: what models can run on.

use indicatif::BinaryBytes;
use inferno_backend::Backend;
use inferno_cpu::{CpuBackend, CpuOptions};
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::{GpuDescription, gpus};

/// List the devices that models can run on
///
/// Lists the processor and every GPU, once for each interface (Vulkan, Metal or DX12) that it can be reached by. A model
/// runs on the first discrete or Apple GPU if it fits in its memory, and on the processor otherwise; --device and
/// --gpu-layers select another one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno devices
  inferno chat --device 0
  inferno serve -m model.gguf --device radeon --gpu-layers 20
  inferno bench -m model.gguf --device cpu")]
pub(crate) struct DevicesArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl DevicesArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let cpu = CpuBackend::new(CpuOptions::default()).map_err(crate::Error::from)?.describe();
        let gpus = gpus();
        let mut output = Output::new();
        if self.json {
            let of_gpus = gpus.iter().map(as_json);
            let all = std::iter::once(json!({"device": "cpu", "name": cpu})).chain(of_gpus);
            output.line(Value::from_iter(all))?;
            return Ok(output.flush()?);
        }
        output.line(format_args!("cpu  {cpu}"))?;
        for gpu in &gpus {
            output.line(format_args!("{:<4} {}", gpu.index, gpu.name))?;
            let memory =
                gpu.memory_bytes.map(|bytes| format!("{} of memory, ", BinaryBytes(bytes)));
            let (memory, kind, api) = (memory.unwrap_or_default(), gpu.kind, gpu.api);
            let buffers = BinaryBytes(gpu.max_binding_bytes);
            output.line(format_args!("     {kind}, {api}, {memory}{buffers} per buffer"))?;
            let features = gpu.features.join(", ");
            output.line(format_args!("     driver {}; {features}", gpu.driver))?;
        }
        output.flush()?;
        if gpus.is_empty() {
            print_note(
                "note: no GPU driver (Vulkan, Metal or DX12) was found; models run on the processor",
            );
        }
        Ok(())
    }
}

fn as_json(gpu: &GpuDescription) -> Value {
    json!({
        "device": gpu.index,
        "name": gpu.name,
        "api": gpu.api,
        "kind": gpu.kind,
        "driver": gpu.driver,
        "memory_bytes": gpu.memory_bytes,
        "max_binding_bytes": gpu.max_binding_bytes,
        "subgroup_sizes": gpu.subgroup_sizes,
        "features": gpu.features,
    })
}
