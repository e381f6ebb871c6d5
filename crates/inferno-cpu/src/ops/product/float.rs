//! Products with floating-point weights: a column of a panel at a time.
//!
//! (Tried: weights of F16 and BF16 as 16-bit integers, with a power of two for each 64 columns, and activations as 16-bit integers
//! with a scale for each 32, such that 32-bit sums of 32 products are exact: 14 bits each. On two cores of Zen 5 with Qwen3-0.6B's
//! shape, a prompt of 512 tokens was 1.5 times as fast; but the logits of small models differed from those of transformers by up
//! to 5e-4 instead of 1e-4, and more bits need as many instructions as multiply-adds of single precision.)

// Registers are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;

use super::row_blocks::RowBlocks;
use super::task::Product;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::memory::LINE_BYTES;
use crate::ops::activations::{FLOAT_GROUP_COLS, FloatGroup, TILE_BYTES};
use crate::pack::FloatFormat;

/// Panels that a single row is multiplied by at the same time, so that chains of multiply-adds overlap.
const PANELS: usize = 2;

/// Prefetch distance. (Measured by decoding one sequence with F16 weights on a busy machine: 93 ms per token with
/// neither prefetches nor several panels at a time, 67 with prefetches only, 76 with two panels only, 62 with both; 63
/// with four panels and 2048 bytes. 16 rows by 1024 by 65536 columns on two cores of Zen 5: 17.5 ms without prefetches, 9.5 with
/// them; 512 rows are as fast with them as without.)
const PREFETCH_BYTES: usize = 4096;

/// A product with floating-point weights.
pub(crate) struct FloatProduct<'a, F> {
    product: Product<'a>,
    format: PhantomData<F>,
}

impl<'a, F: FloatFormat> FloatProduct<'a, F> {
    pub(crate) fn new(product: Product<'a>) -> Self {
        Self { product, format: PhantomData }
    }

    /// Multiplies a single row by all panels.
    #[inline(always)]
    fn single<L: Lanes>(mut self, lanes: L) {
        let groups = self.product.inputs.block::<FloatGroup<1>>(0, 1);
        let x: &[f32] = &bytemuck::cast_slice(groups)[..self.product.cols];
        let panels = self.product.panels.chunks(PANELS * self.product.panel_bytes);
        for (number, bytes) in panels.enumerate() {
            if bytes.len() == PANELS * self.product.panel_bytes {
                self.panels_at_once::<L, PANELS>(lanes, x, bytes, PANELS * number);
            } else {
                const { assert!(PANELS == 2, "one panel is left") };
                self.panels_at_once::<L, 1>(lanes, x, bytes, PANELS * number);
            }
        }
    }

    /// Multiplies a single row by `P` panels from panel `first` on.
    #[inline(always)]
    fn panels_at_once<L: Lanes, const P: usize>(
        &mut self,
        lanes: L,
        x: &[f32],
        bytes: &[u8],
        first: usize,
    ) {
        let mut panels = [&[][..]; P];
        for (panel, bytes) in panels.iter_mut().zip(bytes.chunks_exact(self.product.panel_bytes)) {
            *panel = &bytes[..x.len() * LANES * F::BYTES];
        }
        let mut sums = [lanes.splat(0.0); P];
        for (k, &x) in x.iter().enumerate() {
            let at = k * LANES * F::BYTES;
            for p in 0..P {
                let column = &panels[p][at..at + LANES * F::BYTES];
                if at % LINE_BYTES == 0 {
                    lanes.prefetch(column, PREFETCH_BYTES);
                }
                sums[p] = lanes.fma(F::load(lanes, column), lanes.splat(x), sums[p]);
            }
        }
        for (p, sums) in sums.into_iter().enumerate() {
            self.product.target.write(lanes, 0, first + p, sums);
        }
    }

    /// The sums of `T` rows of a block from row `first` on.
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
            for line in weights.chunks(LINE_BYTES) {
                lanes.prefetch(line, PREFETCH_BYTES);
            }
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

impl<F: FloatFormat> RowBlocks for FloatProduct<'_, F> {
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
                    let groups = self.product.inputs.block::<FloatGroup<W>>(first / W * W, W);
                    for row in first..last_row.min(first + T) {
                        self.product.target.prefetch(lanes, row, panel);
                    }
                    let sums = self.block::<L, T, W>(lanes, bytes, groups, first % W);
                    for (t, sums) in sums.into_iter().take(last_row - first).enumerate() {
                        self.product.target.write(lanes, first + t, panel, sums);
                    }
                }
            }
        }
    }
}

impl<F: FloatFormat> Kernel for FloatProduct<'_, F> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.product.target.rows().len() {
            1 => self.single(lanes),
            num_rows => RowBlocks::run(self, lanes, num_rows),
        }
    }
}
