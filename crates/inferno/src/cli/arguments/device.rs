//! The device that a model runs on, as an argument.

use std::str::FromStr;

use crate::device::gpu_named;
use crate::{GpuDescription, gpus};

/// A device that a command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceArg {
    /// The processor.
    Cpu,
    /// The GPU with this index.
    Gpu(usize),
}

impl FromStr for DeviceArg {
    type Err = String;

    /// Parses `cpu`, the index of a GPU or a part of its name, or a name such as `Vulkan0` that llama.cpp gives it.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim();
        if ["cpu", "none"].into_iter().any(|cpu| name.eq_ignore_ascii_case(cpu)) {
            return Ok(Self::Cpu);
        }
        gpu_named(name).or_else(|| numbered_gpu(name)).map(Self::Gpu).ok_or_else(|| {
            let names: Vec<String> =
                gpus().iter().map(|gpu| format!("{} ({})", gpu.index, gpu.name)).collect();
            match names.is_empty() {
                true => "expected cpu: no GPU driver (Vulkan, Metal or DX12) was found".to_owned(),
                false => format!("expected cpu or one of the GPUs: {}", names.join(", ")),
            }
        })
    }
}

/// Returns the index of the GPU with a name such as `Vulkan0`: an interface, and a number among the GPUs that it reaches. Under
/// the names of interfaces that are not used, the GPUs are numbered by their indexes, without those in software: who types
/// `cuda` expects a card.
fn numbered_gpu(name: &str) -> Option<usize> {
    const OTHERS: [&str; 6] = ["gpu", "cuda", "rocm", "hip", "sycl", "opencl"];
    let lower = name.to_lowercase();
    let interface = lower.trim_end_matches(|character: char| character.is_ascii_digit());
    let number = match &lower[interface.len()..] {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let has_interface = |gpu: &GpuDescription| {
        OTHERS.contains(&interface) && gpu.kind != "software"
            || gpu.api == if interface == "mtl" { "metal" } else { interface }
    };
    gpus().into_iter().filter(has_interface).nth(number).map(|gpu| gpu.index)
}

/// A number of layers that a GPU computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GpuLayers {
    /// As many as fit in its memory.
    Auto,
    /// The last ones, this many.
    Last(usize),
}

impl FromStr for GpuLayers {
    type Err = String;

    /// Parses `auto`, `all`, a number, or -1 for all.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "all" | "-1" => Ok(Self::Last(usize::MAX)),
            number => number
                .parse()
                .map(Self::Last)
                .map_err(|_| "expected auto, all or a number of layers".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_all_some_or_as_many_as_fit() {
        let parsed = ["auto", "ALL", "-1", "0", "20"].map(|text| text.parse());
        let last = |number| Ok(GpuLayers::Last(number));
        let all = last(usize::MAX);
        assert_eq!(parsed, [Ok(GpuLayers::Auto), all.clone(), all, last(0), last(20)]);
        assert!("-2".parse::<GpuLayers>().is_err());
    }

    #[test]
    fn the_processor_has_a_name() {
        assert_eq!("CPU".parse(), Ok(DeviceArg::Cpu));
        let error = "no such card".parse::<DeviceArg>().expect_err("no device has that name");
        assert!(error.starts_with("expected cpu"), "{error}");
    }
}
