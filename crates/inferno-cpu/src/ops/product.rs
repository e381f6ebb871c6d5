//! Products of activations with packed weights.
//!
//! **Order of the sums.** For floating-point weights, output `(t, n)` starts from zero and takes
//! `w[n][k] * x[t][k]` by fused multiply-add, k rising. For quantized weights it starts from zero
//! and takes, for each group of 32 columns (`grouped.rs`) or each 256 columns (`fixed_point.rs`), k rising:
//! the exact integer sum of the products, converted, times the weights' scale or unit times the
//! activations' scale (rounded once), by fused multiply-add. Then the bias is added, and the result to
//! what the output held.
//!
//! Some rows of activations are computed beside each other in registers. With few rows the weights
//! are unpacked on their way in (`narrow.rs`); with many, 256 columns of a panel are unpacked once for all
//! (`tiled.rs`).

mod fixed_point;
mod float;
mod grouped;
mod narrow;
mod row_blocks;
mod target;
mod tiled;

use crate::ops::activations::Activations;
pub(crate) use fixed_point::fixed_point;
pub(crate) use float::FloatProduct;
pub(crate) use grouped::grouped;
pub(crate) use target::{Epilogue, RowMap, Target};

/// One task of a product: some panels of one expert, all of the expert's rows.
pub(crate) struct Product<'a> {
    /// The panels.
    pub(crate) panels: &'a [u8],
    /// Bytes of each.
    pub(crate) panel_bytes: usize,
    /// Columns of the weight.
    pub(crate) cols: usize,
    /// The activations of the target's rows, in their order: quantized where the weights are.
    pub(crate) inputs: Activations<'a>,
    /// Where the results go.
    pub(crate) target: Target<'a>,
}
