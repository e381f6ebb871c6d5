//! Products with floating-point weights: a column of a panel at a time.

use std::marker::PhantomData;

use super::Product;
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::ops::activations::{BLOCK_ROWS, FLOAT_GROUP_COLS, FloatGroup, MAX_NARROW};
use crate::pack::FloatFormat;

/// Bytes of activations that panels have in common before the next rows' turn: they stay in the
/// second-level cache.
const TILE_BYTES: usize = 1 << 20;

/// A product with floating-point weights.
pub(crate) struct FloatProduct<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

impl<'a, F: FloatFormat> FloatProduct<'a, F> {
    pub(crate) fn new(product: Product<'a>) -> Self {
        Self { product, format: PhantomData }
    }

    /// All panels for blocks of `W` rows, `T` rows at a time.
    #[inline(always)]
    fn panels<L: Lanes, const T: usize, const W: usize>(mut self, lanes: L) {
        let num_rows = self.product.target.rows().len();
        let block_bytes = W * self.product.cols.max(1) * size_of::<f32>();
        let tile_rows = (TILE_BYTES / block_bytes).max(1) * W;
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for first_row in (0..num_rows).step_by(tile_rows) {
            let last_row = num_rows.min(first_row + tile_rows);
            for (panel, bytes) in panels.clone().enumerate() {
                for first in (first_row..last_row).step_by(T) {
                    let groups = self.product.inputs.block::<FloatGroup<W>>(first / W * W);
                    let sums = self.block::<L, T, W>(lanes, bytes, groups, first % W);
                    for (t, sums) in sums.into_iter().take(last_row - first).enumerate() {
                        self.product.target.write(lanes, first + t, panel, sums);
                    }
                }
            }
        }
    }

    /// `T` rows of a block from row `first` on.
    #[inline(always)]
    fn block<L: Lanes, const T: usize, const W: usize>(
        &self,
        lanes: L,
        panel: &[u8],
        groups: &[FloatGroup<W>],
        first: usize,
    ) -> [L::F32; T] {
        let mut sums = [lanes.splat(0.0); T];
        let panel = &panel[..self.product.cols * LANES * F::BYTES];
        for (weights, group) in panel.chunks(FLOAT_GROUP_COLS * LANES * F::BYTES).zip(groups) {
            for (column, x) in weights.chunks_exact(LANES * F::BYTES).zip(&group.columns) {
                let weights = F::load(lanes, column);
                for (sum, x) in sums.iter_mut().zip(&x[first..]) {
                    *sum = lanes.fma(weights, lanes.splat(*x), *sum);
                }
            }
        }
        sums
    }
}

impl<F: FloatFormat> Kernel for FloatProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        const { assert!(MAX_NARROW == 8 && BLOCK_ROWS == 16) };
        // Sums are all that registers must hold, so twice as many rows fit as with quantized weights.
        match (self.product.target.rows().len(), L::REGISTERS >= 32) {
            (0, _) => {}
            (1, _) => self.panels::<L, 1, 1>(lanes),
            (2, _) => self.panels::<L, 2, 2>(lanes),
            (3..=4, _) => self.panels::<L, 4, 4>(lanes),
            (5..=8, true) => self.panels::<L, 8, 8>(lanes),
            (5..=8, false) => self.panels::<L, 4, 8>(lanes),
            (_, true) => self.panels::<L, 16, 16>(lanes),
            (_, false) => self.panels::<L, 4, 16>(lanes),
        }
    }
}
