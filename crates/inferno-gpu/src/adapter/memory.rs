//! What wgpu offers by unsafe functions only: the size of a GPU's memory, experimental features, and kernels without the
//! checks that it adds.

#![allow(unsafe_code)]

/// The memory of an adapter, in bytes, if its interface reports it.
pub(super) fn memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    #[cfg(target_vendor = "apple")]
    let found = metal_memory_bytes(adapter);
    #[cfg(all(unix, not(target_vendor = "apple")))]
    let found = vulkan_memory_bytes(adapter);
    #[cfg(windows)]
    let found = vulkan_memory_bytes(adapter).or_else(|| dx12_memory_bytes(adapter));
    #[cfg(not(any(unix, windows)))]
    let found = None;
    found
}

/// The largest heap that is local to the device.
#[cfg(all(any(unix, windows), not(target_vendor = "apple")))]
fn vulkan_memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
    const DEVICE_LOCAL: u32 = 1;
    // SAFETY: nothing is destroyed by way of the guard, which is dropped at the end of this function.
    let vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = vulkan.shared_instance().raw_instance();
    // SAFETY: the guard keeps the instance alive, and the physical device is one of that instance.
    let memory =
        unsafe { instance.get_physical_device_memory_properties(vulkan.raw_physical_device()) };
    let heaps = memory.memory_heaps_as_slice().iter();
    heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size).max()
}

/// The memory that a process can use without a loss of performance.
#[cfg(target_vendor = "apple")]
fn metal_memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    use objc2_metal::MTLDevice;
    // SAFETY: nothing is destroyed by way of the guard, which is dropped at the end of this function.
    let metal = unsafe { adapter.as_hal::<wgpu::hal::api::Metal>() }?;
    Some(metal.raw_device().recommendedMaxWorkingSetSize()).filter(|&bytes| bytes > 0)
}

/// The memory of a card, or the part of main memory that a device without memory of its own can use.
#[cfg(windows)]
fn dx12_memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: nothing is destroyed by way of the guard, which is dropped at the end of this function.
    let dx12 = unsafe { adapter.as_hal::<wgpu::hal::api::Dx12>() }?;
    // SAFETY: the guard keeps the adapter alive, and the call writes only the description that it returns.
    let description = unsafe { dx12.raw_adapter().GetDesc1() }.ok()?;
    let shared = match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        _ => description.SharedSystemMemory,
    };
    Some(description.DedicatedVideoMemory.saturating_add(shared) as u64)
}

/// Allows experimental features of wgpu, if they are wanted.
pub(super) fn experimental_features(are_wanted: bool) -> wgpu::ExperimentalFeatures {
    if !are_wanted {
        return wgpu::ExperimentalFeatures::disabled();
    }
    // SAFETY: the only experimental feature that is requested is that of cooperative matrices. Their loads and stores are
    // within arrays of workgroup memory: sizes and places follow from constants of the kernel, not from its inputs.
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}

/// Compiles a kernel without the checks of indexes and the counters of loops that wgpu adds: with them, products of matrices
/// take up to half as long again.
pub(crate) fn unchecked_shader(
    device: &wgpu::Device,
    descriptor: wgpu::ShaderModuleDescriptor<'_>,
) -> wgpu::ShaderModule {
    // SAFETY: the caller is `compile`, for kernels with cooperative matrices: `matrix_product`, and `peak`, which only
    // accesses arrays of constant size. The indexes of workgroup memory in `matrix_product` follow from constants and the
    // number of a thread, and are below the lengths of the arrays (`MatrixTile::has_whole_loads`). Those of buffers follow
    // from the sizes of the operands, which the host checks, and are limited to the last row and column; without columns
    // they are zero, and buffers are never empty. Loops end at parameters.
    unsafe {
        device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
    }
}
