//! Products with quantized weights that are unpacked in registers for each block of rows: of few rows, and with AVX-512 of any
//! number of them with weights of signed bytes.

use std::ops::Range;

use bytemuck::Pod;

use super::row_blocks::RowBlocks;
use super::task::Product;
use crate::isa::{Isa, Level};
use crate::lanes::{Kernel, Lanes};
use crate::ops::activations::{BLOCK_ROWS, MAX_NARROW};

/// Rows that are multiplied by all panels of a task before the next ones: their activations stay in the second-level cache.
const ROWS_TOGETHER: usize = 4 * BLOCK_ROWS;

/// The multiplication of rows of a block by a panel.
pub(super) trait FewRowsKernel {
    /// A group of columns of the `W` rows of a block.
    type Activations<const W: usize>: Pod;

    /// The sums of `T` rows, from row `first` on, for a panel of `cols` columns.
    fn panel_sums<L: Lanes, const T: usize, const W: usize>(
        &mut self,
        lanes: L,
        panel: &[u8],
        cols: usize,
        inputs: &[Self::Activations<W>],
        first: usize,
    ) -> [L::F32; T];
}

/// Whether products of `num_rows` rows use [`run`]. Unpacking to memory for a single block is worth it only for the
/// matrix unit, which few rows do not fill. With AVX-512, any number of rows are multiplied as codes are loaded if these are
/// bytes with byte factors (`is_bytes`): one block of rows after another, while a panel is in the caches. (Unpacked to memory,
/// 256 rows took 5% longer in Q8_0 on a Xeon; in IQ4_NL, they take 15% less.)
pub(super) fn handles(level: Level, num_rows: usize, is_bytes: bool) -> bool {
    let max_rows = if level.has_matrix_unit() { MAX_NARROW } else { BLOCK_ROWS };
    num_rows <= max_rows || is_bytes && level.isa() == Isa::Avx512
}

/// Multiplies rows by all panels.
pub(super) fn run<S: FewRowsKernel>(level: Level, product: Product<'_>, kernel: S) {
    level.run(FewRows { product, kernel });
}

struct FewRows<'a, S> {
    product: Product<'a>,
    kernel: S,
}

impl<S: FewRowsKernel> RowBlocks for FewRows<'_, S> {
    #[inline(always)]
    fn panels<L: Lanes, const T: usize, const W: usize>(mut self, lanes: L) {
        let inputs = self.product.inputs;
        let num_rows = self.product.target.rows().len();
        for first_row in (0..num_rows).step_by(ROWS_TOGETHER) {
            let end = num_rows.min(first_row + ROWS_TOGETHER);
            let panels = self.product.panels.chunks_exact(self.product.panel_bytes);
            for (number, panel) in panels.enumerate() {
                for block in (first_row..end).step_by(W) {
                    let rows = block..end.min(block + W);
                    self.block::<L, T, W>(lanes, panel, number, inputs.block(block, W), rows);
                }
            }
        }
    }
}

impl<S: FewRowsKernel> FewRows<'_, S> {
    /// Multiplies the rows of a block by a panel: `T` at a time, and fewer where fewer are left. (A prompt of
    /// 20 tokens takes 21 ms instead of 27, one of 100 tokens 80 instead of 85. Twelve rows as eight and four take as long as
    /// sixteen. Measured on two cores of Zen 5.)
    #[inline(always)]
    fn block<L: Lanes, const T: usize, const W: usize>(
        &mut self,
        lanes: L,
        panel: &[u8],
        number: usize,
        inputs: &[S::Activations<W>],
        rows: Range<usize>,
    ) {
        let mut first = 0;
        while first < rows.len() {
            let left = first..rows.len();
            first += match left.len() {
                ..=4 if T > 4 => {
                    self.rows::<L, 4, W>(lanes, panel, number, inputs, rows.start, left)
                }
                ..=8 if T > 8 => {
                    self.rows::<L, 8, W>(lanes, panel, number, inputs, rows.start, left)
                }
                _ => self.rows::<L, T, W>(lanes, panel, number, inputs, rows.start, left),
            };
        }
    }

    /// Multiplies the first `T` of the rows `left` of a block by a panel, and returns `T`.
    #[inline(always)]
    fn rows<L: Lanes, const T: usize, const W: usize>(
        &mut self,
        lanes: L,
        panel: &[u8],
        number: usize,
        inputs: &[S::Activations<W>],
        block: usize,
        left: Range<usize>,
    ) -> usize {
        let cols = self.product.cols;
        let sums = self.kernel.panel_sums::<L, T, W>(lanes, panel, cols, inputs, left.start);
        for (row, sums) in left.zip(sums) {
            self.product.target.write(lanes, block + row, number, sums);
        }
        T
    }
}

impl<S: FewRowsKernel> Kernel for FewRows<'_, S> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let num_rows = self.product.target.rows().len();
        RowBlocks::run(self, lanes, num_rows);
    }
}
