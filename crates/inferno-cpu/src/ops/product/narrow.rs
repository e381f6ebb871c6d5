//! Products of one block of rows with quantized weights, which are unpacked on their way in.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::Product;
use super::row_blocks::RowBlocks;
use crate::isa::{Kernel, Level};
use crate::lanes::Lanes;
use crate::ops::activations::{BLOCK_ROWS, MAX_NARROW};

/// How far ahead of their use packed weights are asked for. (Tried: nothing, 1024, 2048. Without it
/// some formats get a third of the memory's rate, whose scales and codes the processor takes for
/// two streams.)
pub(super) const PREFETCH_BYTES: usize = 4096;

/// How rows of a block are multiplied by a panel.
pub(super) trait PanelSums {
    /// Some columns of the `W` rows of a block.
    type Input<const W: usize>: Pod;

    /// The sums of `T` rows, from row `first` on, with a panel of `cols` columns.
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        lanes: L,
        panel: &[u8],
        cols: usize,
        inputs: &[Self::Input<W>],
        first: usize,
    ) -> [L::F32; T];
}

/// Whether [`run`] is for so many rows: unpacking for one block alone pays only where the matrix unit
/// takes it, and few rows leave that idle.
pub(super) fn takes(level: Level, num_rows: usize) -> bool {
    num_rows <= if level.has_tiles() { MAX_NARROW } else { BLOCK_ROWS }
}

/// Multiplies by all panels.
pub(super) fn run<S: PanelSums>(level: Level, product: Product<'_>) {
    level.run(Narrow::<S> { product, sums: PhantomData });
}

struct Narrow<'a, S> {
    product: Product<'a>,
    sums: PhantomData<S>,
}

impl<S: PanelSums> RowBlocks for Narrow<'_, S> {
    #[inline(always)]
    fn panels<L: Lanes, const T: usize, const W: usize>(mut self, lanes: L) {
        let Product { inputs, cols, .. } = self.product;
        let inputs: &[S::Input<W>] = inputs.block(0, W);
        let num_rows = self.product.target.rows().len();
        let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
        for (number, panel) in panels.enumerate() {
            for first in (0..num_rows).step_by(T) {
                let sums = S::panel_sums::<L, T, W>(lanes, panel, cols, inputs, first);
                for (t, sums) in sums.into_iter().take(num_rows - first).enumerate() {
                    self.product.target.write(lanes, first + t, number, sums);
                }
            }
        }
    }
}

impl<S: PanelSums> Kernel for Narrow<'_, S> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let num_rows = self.product.target.rows().len();
        RowBlocks::run(self, lanes, num_rows);
    }
}
