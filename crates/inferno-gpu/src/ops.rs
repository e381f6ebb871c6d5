//! The operations: their parameters and dispatches. Each module lists its kernels for the tests of all shaders.

pub(crate) mod attention;
pub(crate) mod candidates;
pub(crate) mod conv;
pub(crate) mod copy;
pub(crate) mod elementwise;
pub(crate) mod experts;
pub(crate) mod function;
pub(crate) mod linear;
pub(crate) mod linear_attention;
pub(crate) mod norm;
pub(crate) mod product;
pub(crate) mod rope;
pub(crate) mod rows;
pub(crate) mod selective_scan;

use bytemuck::{Pod, Zeroable};

use crate::memory::batch::GpuBatch;

/// The argument `arrays` of the snippet `sequence_state`: first indexes of arrays of a batch.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct StateArrays {
    positions: u32,
    first_rows: u32,
    states: u32,
    /// Structures of a uniform have multiples of 16 bytes.
    padding: u32,
}

impl From<&GpuBatch> for StateArrays {
    fn from(batch: &GpuBatch) -> Self {
        let arrays = batch.arrays;
        let (positions, first_rows, states) = (arrays.positions, arrays.first_rows, arrays.states);
        Self { positions, first_rows, states, padding: 0 }
    }
}
mod kv_kernels;
pub(crate) mod store_kv;

/// Number of threads in a workgroup, in kernels without another reason.
pub(crate) const LANES: u32 = 256;

/// Every kernel in every variant.
#[cfg(test)]
pub(crate) fn variants() -> Vec<crate::kernel::Variant> {
    [
        attention::variants(),
        candidates::variants(),
        store_kv::variants(),
        conv::variants(),
        copy::variants(),
        elementwise::variants(),
        experts::variants(),
        linear_attention::variants(),
        norm::variants(),
        product::algorithm::variants(),
        product::halves::variants(),
        rope::variants(),
        rows::variants(),
        selective_scan::variants(),
        crate::completion::variants(),
        crate::roof::variants(),
    ]
    .concat()
}
