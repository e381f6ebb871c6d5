//! The CPU backend: kernels for one logical 16-lane processor, implemented for each instruction set, on a thread pool.
//!
//! [`CpuBackend`] implements [`Backend`](inferno_backend::Backend). Its results have the same bits with every number of
//! threads, in every batch, and on every instruction set: kernels are written once for a logical processor with vectors
//! of 16 numbers, lane `i` is lane `i` on every instruction set, integer sums are exact, every multiply-add is fused, and
//! every sum has one order, which the head of its module in `ops/` states. AMX is an exception: its sums with weights of F16
//! and BF16 have another order, the same in every batch (`ops/product/bf16.rs`).
//!
//! Weights keep the codes of the file, in panels of 16 output rows that the kernels stream. For quantized weights, the scales
//! of 256 columns become integers of one unit (`ops/product/fixed_point.rs`), and activations are quantized to 8 bits, 256
//! columns at a time.
//!
//! Modules depend on one another in this order: `threads`, `disjoint`, `memory` and `scratch`; `lanes`; `isa`; `executor`,
//! `buffer`, `pack`, `kv_cache` and `recurrent_state`; `ops`; `backend`; `roof`.
//!
//! ```
//! use inferno_backend::{Backend, DeviceMemory, Pass, WeightPart};
//! use inferno_cpu::{CpuBackend, CpuOptions, Isa};
//! use inferno_tensor::DType;
//!
//! # fn main() -> Result<(), inferno_backend::BackendError> {
//! let backend = CpuBackend::new(CpuOptions { isa: Some(Isa::Scalar), threads: Some(2) })?;
//! assert_eq!(backend.describe(), "cpu (scalar, 2 threads)");
//!
//! let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let weight = backend.load_weight(&[WeightPart::matrix("w", DType::F32, 2, 2, bytes.into())?])?;
//! let (mut x, mut y) = (backend.alloc(1, 2)?, backend.alloc(1, 2)?);
//! backend.upload(&[1.0, 10.0], &mut x);
//! let mut pass = backend.begin();
//! pass.linear(1, &x, &weight, None, &mut y)?;
//! pass.submit()?;
//!
//! let mut staging = Vec::new();
//! assert_eq!(backend.download(&y, 0..2, &mut staging)?, [21.0, 43.0]);
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

mod backend;
mod buffer;
mod disjoint;
mod executor;
mod isa;
mod kv_cache;
mod lanes;
mod memory;
mod ops;
mod pack;
mod prefetch;
mod recurrent_state;
mod roof;
mod scratch;
mod threads;

pub use backend::{CpuBackend, CpuOptions, CpuPass};
pub use buffer::CpuBuffer;
pub use isa::Isa;
pub use kv_cache::CpuKvCache;
pub use ops::embedding::CpuTable;
pub use ops::routing::CpuRouting;
pub use pack::CpuWeight;
pub use recurrent_state::CpuState;
pub use roof::Roofs;
pub use threads::ThreadUsage;
