//! The GPU backend: the operations of a pass as WGSL kernels on Vulkan, Metal and DX12.
//!
//! A [`GpuPass`] records dispatches, which a few submissions start: the first while the host records the rest. Activations are
//! computed in `f32` with sums in `f32`; products with quantized weights round them to integers of 16 bits.
//!
//! **Same bits.** A row of a result depends on its own inputs alone: the order of the additions of every value follows
//! from the number of columns, never from the number of rows in a pass. Compilers of Vulkan keep that order; those of Metal
//! (fast math) and DX12 (`mad`) may not. Results differ between devices.
#![deny(unsafe_code)]

mod adapter;
mod backend;
mod completion;
mod health;
mod kernel;
mod limits;
mod matrix_check;
mod memory;
mod operations;
mod ops;
mod options;
mod pack;
mod parallel;
mod pass;
mod pipelines;
mod roof;
mod self_check;
mod template;
mod timing;
mod tuning;
mod wait;

pub use adapter::{AdapterKind, GpuAdapter};
pub use backend::{GpuBackend, GpuCounters};
pub use memory::batch::GpuBatch;
pub use memory::buffer::GpuBuffer;
pub use memory::kv_cache::GpuKvCache;
pub use memory::routing::GpuRouting;
pub use memory::state::GpuState;
pub use memory::table::GpuTable;
pub use memory::weight::GpuWeight;
pub use options::GpuOptions;
pub use pass::GpuPass;
pub use roof::GpuRoofs;
pub use timing::KernelTime;
