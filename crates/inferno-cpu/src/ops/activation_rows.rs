//! The input of a product, converted to the form that its weights read.

use inferno_backend::BackendError;

use crate::buffer::MIN_TASK_VALUES;
use crate::executor::Executor;
use crate::ops::activations::{Activations, BLOCK_ROWS, FLOAT_GROUP_COLS, MAX_NARROW};
use crate::ops::input::InputRows;
use crate::ops::product_rows::ProductRows;
use crate::scratch::{CacheLine, ScratchArray};

/// Rows that the blocks for `rows` rows have room for.
fn padded_rows(rows: usize) -> usize {
    match rows {
        0 => 0,
        1..=MAX_NARROW => rows.next_power_of_two(),
        _ => rows.checked_next_multiple_of(BLOCK_ROWS).unwrap_or(usize::MAX),
    }
}

/// Rows that the blocks of `num_experts` experts have room for, at most, for `rows` rows in all.
pub(crate) fn max_padded_rows(rows: usize, num_experts: usize) -> usize {
    if num_experts <= 1 {
        return padded_rows(rows);
    }
    // A block never doubles the number of its rows, nor adds more than 15 of them.
    let padding = rows.min(num_experts).saturating_mul(BLOCK_ROWS - 1);
    rows.saturating_add(rows.min(padding))
}

/// The input of a product: the rows of each expert, in the order in which the product computes them. The memory
/// is reused for the next product.
#[derive(Debug, Default)]
pub(crate) struct ActivationRows {
    lines: ScratchArray,
    /// The first line of each expert's rows in `lines`, and the end of the last one's.
    starts: Vec<usize>,
    /// The blocks of all experts.
    blocks: Vec<BlockPlace>,
    /// The first line of each block in `lines`, and the end of the last one.
    block_starts: Vec<usize>,
    row_lines: usize,
}

/// The rows of a block.
#[derive(Debug, Clone, Copy)]
struct BlockPlace {
    /// Number of the expert among those that have rows.
    expert: usize,
    /// The first of its rows.
    first: usize,
}

/// Some rows that make a block.
#[derive(Clone, Copy)]
pub(crate) struct ActivationBlock<'a> {
    pub(crate) rows: &'a [&'a [f32]],
    /// The rows that the block has room for.
    pub(crate) width: usize,
}

impl ActivationRows {
    /// Makes room for rows of `row_lines` cache lines each and calls `fill` for each block of `x`, in parallel.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn fill(
        &mut self,
        executor: Executor<'_>,
        rows: ProductRows<'_>,
        x: InputRows<'_>,
        row_lines: usize,
        fill: impl Fn(ActivationBlock<'_>, &mut [CacheLine]) + Sync,
    ) -> Result<(), BackendError> {
        let num_rows = self.reserve(rows, row_lines)?;
        let Self { lines, blocks, block_starts, .. } = self;
        let is_parallel = num_rows.saturating_mul(x.cols()) >= MIN_TASK_VALUES;
        let work = |number: usize, lines: &mut [CacheLine], thread| {
            let BlockPlace { expert, first } = blocks[number];
            let rows = rows.expert(expert).1;
            let width = padded_rows(rows.len()).min(BLOCK_ROWS);
            let len = BLOCK_ROWS.min(rows.len() - first);
            x.with_block(
                executor.level,
                thread,
                len,
                |place| rows.input(first + place),
                |rows| fill(ActivationBlock { rows, width }, lines),
            );
        };
        executor.pool.run_parts(lines.get_mut(), block_starts, is_parallel, work);
        Ok(())
    }

    /// Makes room for the rows of all experts, and divides them into blocks; returns their number.
    fn reserve(&mut self, rows: ProductRows<'_>, row_lines: usize) -> Result<usize, BackendError> {
        self.row_lines = row_lines;
        let lens = (0..rows.num_experts()).map(|index| rows.expert(index).1.len());
        let num_blocks = lens.clone().map(|len| len.div_ceil(BLOCK_ROWS)).sum();
        restart(&mut self.starts, rows.num_experts() + 1)?;
        restart(&mut self.blocks, num_blocks)?;
        restart(&mut self.block_starts, num_blocks + 1)?;
        let mut end = 0usize;
        for (expert, len) in lens.clone().enumerate() {
            self.starts.push(end);
            for first in (0..len).step_by(BLOCK_ROWS) {
                self.blocks.push(BlockPlace { expert, first });
                self.block_starts.push(end.saturating_add(first.saturating_mul(row_lines)));
            }
            end = end.saturating_add(padded_rows(len).saturating_mul(row_lines));
        }
        self.starts.push(end);
        self.block_starts.push(end);
        self.lines.reserve(end)?;
        Ok(lens.sum())
    }

    /// The rows of expert `index` of those that have rows; none before [`fill`](Self::fill).
    pub(crate) fn expert(&self, index: usize) -> Activations<'_> {
        let range = self.starts.get(index..index + 2).unwrap_or(&[0, 0]);
        Activations::new(&self.lines.get()[range[0]..range[1]], self.row_lines)
    }

    /// Bytes allocated.
    pub(crate) fn num_bytes(&self) -> usize {
        self.lines.num_bytes()
    }
}

/// Empties `array` and makes room for `len` values.
fn restart<T>(array: &mut Vec<T>, len: usize) -> Result<(), BackendError> {
    array.clear();
    array.try_reserve(len).map_err(|_| BackendError::OutOfMemory {
        what: "intermediate results",
        bytes: len.saturating_mul(size_of::<T>()),
    })
}

/// Cache lines of a row of floating-point activations.
pub(crate) fn float_row_lines(cols: usize) -> usize {
    cols.div_ceil(FLOAT_GROUP_COLS)
}

/// Interleaves rows without converting them.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn interleave(
    executor: Executor<'_>,
    rows: ProductRows<'_>,
    x: InputRows<'_>,
    out: &mut ActivationRows,
) -> Result<(), BackendError> {
    out.fill(executor, rows, x, float_row_lines(x.cols()), |block, lines| {
        let values: &mut [f32] = bytemuck::cast_slice_mut(lines);
        for (row, x) in block.rows.iter().enumerate() {
            for (x, column) in x.iter().zip(values.chunks_exact_mut(block.width)) {
                column[row] = *x;
            }
        }
    })
}
