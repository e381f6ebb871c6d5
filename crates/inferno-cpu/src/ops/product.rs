//! Products of activations with packed weights.
//!
//! **Order of the sums.** For floating-point weights, output `(t, n)` starts from zero and adds `w[n][k] *
//! x[t][k]` by fused multiply-add, `k` rising; but a matrix unit has another order for F16 and BF16 (`bf16.rs`), the only
//! sums that are not the same on all levels. For quantized weights it starts from zero and adds, for each 256
//! columns (`fixed_point.rs`), `k` rising, by fused multiply-add: the exact integer sum of the products, converted,
//! times the unit of the weights times the scale of the activations (rounded once). Then the sum is multiplied by the
//! scale of the weight's row, if it has one, and the bias is added, and for accumulating products the previous output.
//!
//! Several rows of activations are computed side by side in registers. With few rows, or if it costs little, the weights are
//! unpacked in registers (`few_rows.rs`); with many, 256 columns of two panels are unpacked once for all rows
//! (`fixed_point/many_rows.rs`).

mod bf16;
mod few_rows;
mod fixed_point;
mod float;
mod panel_passes;
mod row_blocks;
mod row_pairs;
mod side_work;
mod target;
mod task;

use crate::isa::Level;
use crate::pack::{
    ActivationFormat, FloatFormat, FormatVisitor, PackedPart, QuantFormat, float_activations, visit,
};
use bf16::Bf16Product;
use fixed_point::{fixed_point, unpacked};
use float::FloatProduct;
pub(crate) use side_work::PANELS_TOGETHER;
pub(crate) use target::{Epilogue, OutputTarget};
pub(crate) use task::Product;

/// Cache lines of scratch memory that a task needs.
pub(crate) const PRODUCT_LINES: usize = panel_passes::SUM_LINES + bf16::UNPACKED_LINES;

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
        match float_activations::<F>(self.level) {
            ActivationFormat::Bf16Pairs => {
                self.level.run_with_matrix_unit(Bf16Product::<F>::new(self.product));
            }
            ActivationFormat::Float | ActivationFormat::Integers => {
                self.level.run(FloatProduct::<F>::new(self.product));
            }
        }
    }

    fn fixed_point<F: QuantFormat>(self) {
        fixed_point::<F>(self.level, self.product);
    }

    fn unpacked<F: QuantFormat>(self) {
        unpacked::<F>(self.level, self.product);
    }
}
