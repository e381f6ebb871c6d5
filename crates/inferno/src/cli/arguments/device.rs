//! The device that a model runs on, as an argument.

use std::str::FromStr;

use crate::device::gpu_named;
use crate::gpus;

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
        let name = text.trim();
        if ["cpu", "none"].into_iter().any(|cpu| name.eq_ignore_ascii_case(cpu)) {
            return Ok(Self::Cpu);
        }
        gpu_named(name).map(Self::Gpu).ok_or_else(|| {
            let names: Vec<String> =
                gpus().iter().map(|gpu| format!("{} ({})", gpu.index, gpu.name)).collect();
            match names.is_empty() {
                true => "expected cpu: no GPU driver (Vulkan, Metal or DX12) was found".to_owned(),
                false => format!("expected cpu or one of the GPUs: {}", names.join(", ")),
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
