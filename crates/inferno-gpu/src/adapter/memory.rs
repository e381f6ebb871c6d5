//! What wgpu offers by unsafe functions only: the size of a GPU's memory, and experimental features.

#![allow(unsafe_code)]

/// The memory of an adapter that is reached by Vulkan, in bytes: the largest heap that is local to the device.
#[cfg(all(any(unix, windows), not(target_vendor = "apple")))]
pub(super) fn vulkan_memory_bytes(adapter: &wgpu::Adapter) -> Option<u64> {
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

#[cfg(not(all(any(unix, windows), not(target_vendor = "apple"))))]
pub(super) fn vulkan_memory_bytes(_adapter: &wgpu::Adapter) -> Option<u64> {
    None
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
