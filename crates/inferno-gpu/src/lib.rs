//! The GPU backend: the operations of a pass as WGSL kernels on Vulkan, Metal and DX12.
#![forbid(unsafe_code)]
