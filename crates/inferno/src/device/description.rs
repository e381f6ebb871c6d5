//! The GPUs of this machine, described.

/// A GPU of this machine, and the interface to reach it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuDescription {
    /// The number that [`LoadOptions::gpu`](crate::LoadOptions::gpu) selects it by.
    pub index: usize,
    /// The name of the device.
    pub name: String,
    /// The interface: `vulkan`, `metal` or `dx12`.
    pub api: &'static str,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: &'static str,
    /// The driver's name and version.
    pub driver: String,
    /// Size of its memory, in bytes, if the driver reports it.
    pub memory_bytes: Option<u64>,
    /// The largest part of a buffer that a kernel can read, in bytes.
    pub max_binding_bytes: u64,
    /// The smallest and the largest number of threads that run in lockstep.
    pub subgroup_sizes: [u32; 2],
    /// The optional features that kernels can make use of.
    pub features: Vec<&'static str>,
}

/// Lists the GPUs of this machine. The list is empty without a driver, and in a build without the feature `gpu`.
pub fn gpus() -> Vec<GpuDescription> {
    #[cfg(feature = "gpu")]
    let gpus = inferno_gpu::GpuAdapter::all().iter().map(describe).collect();
    #[cfg(not(feature = "gpu"))]
    let gpus = Vec::new();
    gpus
}

/// Returns the index of the GPU whose index, or else part of whose name, is `wanted`, regardless of case.
#[cfg(feature = "gpu")]
pub fn gpu_named(wanted: &str) -> Option<usize> {
    inferno_gpu::GpuAdapter::named(wanted).map(inferno_gpu::GpuAdapter::index)
}

/// Returns `None`, since this build supports no GPUs.
#[cfg(not(feature = "gpu"))]
pub fn gpu_named(_wanted: &str) -> Option<usize> {
    None
}

#[cfg(feature = "gpu")]
fn describe(adapter: &inferno_gpu::GpuAdapter) -> GpuDescription {
    GpuDescription {
        index: adapter.index(),
        name: adapter.name().to_owned(),
        api: adapter.api(),
        kind: adapter.kind().name(),
        driver: adapter.driver(),
        memory_bytes: adapter.memory_bytes(),
        max_binding_bytes: adapter.max_binding_bytes(),
        subgroup_sizes: adapter.subgroup_sizes(),
        features: adapter.features(),
    }
}
