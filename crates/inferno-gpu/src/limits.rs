//! What every kernel needs of a device.

/// Storage buffers of a kernel: products have the most.
pub(crate) const STORAGE_BUFFERS: u32 = 12;

/// Threads of a workgroup.
pub(crate) const INVOCATIONS: u32 = 256;

/// Memory of a workgroup, in bytes.
pub(crate) const WORKGROUP_BYTES: u32 = 16 << 10;

/// Workgroups in a dimension.
pub(crate) const WORKGROUPS: u32 = 65_535;

/// Alignment of the parts of buffers that are bound, in bytes.
pub(crate) const ALIGNMENT: u32 = 256;

/// The largest part of a buffer that a kernel binds, in bytes: shaders compute sizes and offsets with 32 bits, and indexes
/// of bytes may be signed.
const MAX_BINDING_BYTES: u64 = (2 << 30) - 4;

/// The limits with bindings that shaders can index. wgpu limits those of Vulkan and DX12, and not those of Metal.
pub(crate) fn with_capped_bindings(limits: wgpu::Limits) -> wgpu::Limits {
    let max_storage_buffer_binding_size =
        limits.max_storage_buffer_binding_size.min(MAX_BINDING_BYTES);
    wgpu::Limits { max_storage_buffer_binding_size, ..limits }
}

/// The first limit of a device that is not sufficient for every kernel: what was found and what is needed.
pub(crate) fn insufficient(limits: &wgpu::Limits) -> Option<String> {
    let at_least = [
        (
            "storage buffers per kernel",
            limits.max_storage_buffers_per_shader_stage,
            STORAGE_BUFFERS,
        ),
        ("bindings per kernel", limits.max_bindings_per_bind_group, STORAGE_BUFFERS + 1),
        ("threads per workgroup", limits.max_compute_invocations_per_workgroup, INVOCATIONS),
        ("threads per workgroup in a dimension", limits.max_compute_workgroup_size_x, INVOCATIONS),
        ("bytes of workgroup memory", limits.max_compute_workgroup_storage_size, WORKGROUP_BYTES),
        ("workgroups per dimension", limits.max_compute_workgroups_per_dimension, WORKGROUPS),
    ];
    let at_most = [
        ("storage", limits.min_storage_buffer_offset_alignment),
        ("uniform", limits.min_uniform_buffer_offset_alignment),
    ];
    let too_small = at_least.iter().find(|(_, found, needed)| found < needed);
    let too_large = at_most.iter().find(|(_, found)| *found > ALIGNMENT);
    too_small.map(|(what, found, needed)| format!("found {found} {what}, needed {needed}")).or_else(
        || {
            too_large.map(|(what, found)| {
                format!("{what} buffers are aligned to {found} bytes, needed {ALIGNMENT} or less")
            })
        },
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A device that is just sufficient.
    pub(crate) fn least() -> wgpu::Limits {
        wgpu::Limits {
            max_storage_buffers_per_shader_stage: STORAGE_BUFFERS,
            max_bindings_per_bind_group: STORAGE_BUFFERS + 1,
            max_compute_invocations_per_workgroup: INVOCATIONS,
            max_compute_workgroup_size_x: INVOCATIONS,
            max_compute_workgroup_storage_size: WORKGROUP_BYTES,
            max_compute_workgroups_per_dimension: WORKGROUPS,
            min_storage_buffer_offset_alignment: ALIGNMENT,
            min_uniform_buffer_offset_alignment: ALIGNMENT,
            ..wgpu::Limits::default()
        }
    }

    #[test]
    fn bindings_are_smaller_than_two_gigabytes() {
        let bound = |size: u64| {
            let limits =
                wgpu::Limits { max_storage_buffer_binding_size: size, ..Default::default() };
            with_capped_bindings(limits).max_storage_buffer_binding_size
        };
        assert_eq!(bound(96 << 30), i32::MAX as u64 - 3);
        assert_eq!(bound(128 << 20), 128 << 20);
    }

    #[test]
    fn a_limit_that_is_not_sufficient_is_named_with_what_is_needed() {
        assert_eq!(insufficient(&least()), None);
        let few = wgpu::Limits { max_storage_buffers_per_shader_stage: 8, ..least() };
        let reason = insufficient(&few).expect("too few");
        assert_eq!(reason, "found 8 storage buffers per kernel, needed 12");
        let coarse = wgpu::Limits { min_storage_buffer_offset_alignment: 512, ..least() };
        assert!(insufficient(&coarse).expect("too coarse").contains("512 bytes"));
    }

    #[test]
    fn no_kernel_has_more_buffers() {
        for variant in crate::ops::variants() {
            assert!(variant.kernel.access.len() <= STORAGE_BUFFERS as usize, "{}", variant.label());
        }
    }
}
