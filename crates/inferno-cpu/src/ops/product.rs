//! Products of activations with packed weights.
//!
//! **Order of the sums.** For floating-point weights, output `(t, n)` starts from zero and adds `w[n][k] *
//! x[t][k]` by fused multiply-add, `k` rising. For quantized weights it starts from zero and adds, for each 256
//! columns (`fixed_point.rs`), `k` rising, by fused multiply-add: the exact integer sum of the products, converted,
//! times the unit of the weights times the scale of the activations (rounded once). Then the sum is multiplied by the
//! scale of the weight's row, if it has one, and the bias is added, and for accumulating products the previous output.
//!
//! Several rows of activations are computed side by side in registers. With few rows, or if it costs little, the weights are
//! unpacked in registers (`few_rows.rs`); with many, 256 columns of two panels are unpacked once for all rows
//! (`fixed_point/many_rows.rs`).

mod few_rows;
mod fixed_point;
mod float;
mod row_blocks;
mod row_pairs;
mod target;
mod task;

use crate::isa::Level;
use crate::pack::{FloatFormat, FormatVisitor, PackedPart, QuantFormat, visit};
pub(crate) use fixed_point::{PANELS_TOGETHER, PRODUCT_LINES};
use fixed_point::{fixed_point, unpacked};
use float::FloatProduct;
pub(crate) use target::{Epilogue, OutputTarget};
pub(crate) use task::Product;

/// Runs a task of a product with the kernel for the format of `part`.
pub(crate) fn multiply(level: Level, part: &PackedPart, product: Product<'_>) {
    visit(part.format.dtype, Multiply { level, product }).expect("a packed weight has a format");
}

struct Multiply<'a> {
    level: Level,
    product: Product<'a>,
}

impl FormatVisitor for Multiply<'_> {
    type Output = ();

    fn float<F: FloatFormat>(self) {
        self.level.run(FloatProduct::<F>::new(self.product));
    }

    fn fixed_point<F: QuantFormat>(self) {
        fixed_point::<F>(self.level, self.product);
    }

    fn unpacked<F: QuantFormat>(self) {
        unpacked::<F>(self.level, self.product);
    }
}
