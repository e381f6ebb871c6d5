//! Products of activations with packed weights.
//!
//! **Order of the sums.** For floating-point weights, output `(t, n)` starts from zero and takes
//! `w[n][k] * x[t][k]` by fused multiply-add, k rising. For quantized weights it starts from zero
//! and takes, for each group of columns that share a scale, k rising: the exact integer sum of the
//! products, converted, times `scale_w * scale_x` (rounded once), by fused multiply-add; then,
//! where the format has minimums, `min_w * -(scale_x * sum_x)` by fused multiply-add, with `sum_x`
//! the exact sum of the group's quantized activations. Then the bias is added, and the result to
//! what the output held.
//!
//! Four rows of activations are computed beside each other in registers. With few rows the weights
//! are unpacked on their way in; with many, 256 columns of a panel are unpacked once for 64 rows.

mod float;
mod quantized;
mod target;

use crate::ops::quantize::ActivationBlock;
pub(crate) use float::FloatProduct;
pub(crate) use quantized::QuantProduct;
pub(crate) use target::{Epilogue, RowMap, Target};

/// Rows of activations computed at once.
pub(crate) const BLOCK_ROWS: usize = 4;

/// One task of a product: some panels of one expert, all of the expert's rows.
pub(crate) struct Product<'a> {
    /// The panels.
    pub(crate) panels: &'a [u8],
    /// Bytes of each.
    pub(crate) panel_bytes: usize,
    /// Columns of the weight.
    pub(crate) cols: usize,
    /// The activations, row by row, where the weights are floating-point.
    pub(crate) x: &'a [f32],
    /// The activations, where the weights are quantized.
    pub(crate) quantized: &'a [ActivationBlock],
    /// Where the results go.
    pub(crate) target: Target<'a>,
}

/// Calls `$body` for all rows from 0 to `$rows`, `$T` at a time from row `$first` on.
macro_rules! row_blocks {
    ($rows:expr, |$first:ident, $T:ident| $body:expr) => {{
        let rows = $rows;
        let mut $first = 0;
        while rows - $first >= BLOCK_ROWS {
            const $T: usize = BLOCK_ROWS;
            $body;
            $first += BLOCK_ROWS;
        }
        match rows - $first {
            3 => {
                const $T: usize = 3;
                $body;
            }
            2 => {
                const $T: usize = 2;
                $body;
            }
            1 => {
                const $T: usize = 1;
                $body;
            }
            _ => {}
        }
    }};
}
pub(crate) use row_blocks;
