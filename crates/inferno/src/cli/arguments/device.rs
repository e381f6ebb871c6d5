//! The device that a model runs on, as an argument.

use std::str::FromStr;

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

    /// Parses `cpu`, the index of a GPU or a part of its name.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_lowercase();
        if lower == "cpu" || lower == "none" {
            return Ok(Self::Cpu);
        }
        let gpus = gpus();
        let index = lower.parse::<usize>().ok();
        let by_index = gpus.iter().find(|gpu| Some(gpu.index) == index);
        let has_name = |gpu: &&GpuDescription| gpu.name.to_lowercase().contains(&lower);
        let found = by_index.or_else(|| gpus.iter().find(has_name).filter(|_| !lower.is_empty()));
        let names = || gpus.iter().map(|gpu| format!("{} ({})", gpu.index, gpu.name));
        found.map(|gpu| Self::Gpu(gpu.index)).ok_or_else(|| match gpus.is_empty() {
            true => "expected cpu: no GPU driver (Vulkan, Metal or DX12) was found".to_owned(),
            false => {
                let names: Vec<String> = names().collect();
                format!("expected cpu or one of the GPUs: {}", names.join(", "))
            }
        })
    }
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
