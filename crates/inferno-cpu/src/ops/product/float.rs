//! Products with floating-point weights: a column of a panel at a time.

use std::marker::PhantomData;

use super::{BLOCK_ROWS, Product, row_blocks};
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::pack::FloatFormat;

/// A product with floating-point weights.
pub(crate) struct FloatProduct<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

impl<'a, F: FloatFormat> FloatProduct<'a, F> {
    pub(crate) fn new(product: Product<'a>) -> Self {
        Self { product, format: PhantomData }
    }

    #[inline(always)]
    fn block<L: Lanes, const T: usize>(
        &mut self,
        lanes: L,
        bytes: &[u8],
        panel: usize,
        first: usize,
    ) {
        let Product { cols, x, .. } = self.product;
        let rows = self.product.target.rows();
        let mut inputs = [&[][..]; T];
        for (t, input) in inputs.iter_mut().enumerate() {
            *input = &x[rows.input(first + t) * cols..][..cols];
        }
        let mut sums = [lanes.splat(0.0); T];
        for (k, column) in bytes.chunks_exact(LANES * F::BYTES).take(cols).enumerate() {
            let weights = F::load(lanes, column);
            for t in 0..T {
                sums[t] = lanes.fma(weights, lanes.splat(inputs[t][k]), sums[t]);
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            self.product.target.write(lanes, first + t, panel, sums);
        }
    }
}

impl<F: FloatFormat> Kernel for FloatProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for (panel, bytes) in panels.enumerate() {
            row_blocks!(self.product.target.rows().len(), |first, T| {
                self.block::<L, T>(lanes, bytes, panel, first)
            });
        }
    }
}
