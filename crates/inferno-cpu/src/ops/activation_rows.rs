//! The input of a product, converted to the form that its weights read.

use std::ops::Range;

use inferno_backend::BackendError;

use crate::executor::Executor;
use crate::isa::Level;
use crate::ops::activations::{Activations, BLOCK_ROWS, FLOAT_GROUP_COLS, block_width};
use crate::ops::input::InputRows;
use crate::ops::product_rows::ProductRows;
use crate::pack::codes::CHUNK_COLS;
use crate::scratch::{CacheLine, ScratchArray};

/// Parts for each thread, if there are fewer blocks.
const PARTS_PER_THREAD: usize = 2;

/// Rows that the blocks for `rows` rows have room for.
fn padded_rows(rows: usize) -> usize {
    match rows {
        0 => 0,
        _ => rows.checked_next_multiple_of(block_width(rows)).unwrap_or(usize::MAX),
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
    /// The parts of the blocks of all experts.
    parts: Vec<BlockPart>,
    /// The first line of each part in `lines`, and the end of the last one.
    part_starts: Vec<usize>,
    row_lines: usize,
}

/// Some columns of the rows of a block.
#[derive(Debug, Clone)]
struct BlockPart {
    /// Number of the expert among those that have rows.
    expert: usize,
    /// The first of its rows.
    first: usize,
    columns: Range<usize>,
}

/// Some columns of a row of a block.
#[derive(Clone, Copy)]
pub(crate) struct BlockRow<'a> {
    pub(crate) values: &'a [f32],
    /// The number of the row in the block.
    pub(crate) row: usize,
    /// The rows that the block has room for.
    pub(crate) width: usize,
}

/// A form in which products read their input. Columns are converted in parts, which are multiples of [`CHUNK_COLS`] except
/// for the last one.
pub(crate) trait InputForm {
    /// Cache lines of a row of `cols` values.
    fn row_lines(cols: usize) -> usize;

    /// Converts one row of a part of a block, which is `out`. One row after the other reads memory in order; the part of
    /// the block stays in the caches.
    fn convert(level: Level, row: BlockRow<'_>, out: &mut [CacheLine]);

    /// Completes a part of a block of `width` rows, after its first `num_rows` rows were converted.
    fn complete(_level: Level, _num_rows: usize, _width: usize, _out: &mut [CacheLine]) {}
}

impl ActivationRows {
    /// Converts rows of `x`, in parallel.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn fill<F: InputForm>(
        &mut self,
        executor: Executor<'_>,
        rows: ProductRows<'_>,
        x: InputRows<'_>,
    ) -> Result<(), BackendError> {
        let lens = (0..rows.num_experts()).map(|index| rows.expert(index).1.len());
        let num_values = lens.clone().sum::<usize>().saturating_mul(x.cols());
        let num_threads = executor.pool.threads_for(num_values);
        self.reserve(lens, x.cols(), F::row_lines, num_threads)?;
        let Self { lines, parts, part_starts, .. } = self;
        let level = executor.level;
        let work = |number: usize, lines: &mut [CacheLine], thread| {
            let BlockPart { expert, first, ref columns } = parts[number];
            let rows = rows.expert(expert).1;
            let width = block_width(rows.len());
            let len = BLOCK_ROWS.min(rows.len() - first);
            let indices = (first..first + len).map(|row| rows.input(row));
            x.for_each(level, thread, indices, columns.clone(), |row, values| {
                F::convert(level, BlockRow { values, row, width }, lines);
            });
            F::complete(level, len, width, lines);
        };
        executor.pool.run_parts(lines.get_mut(), part_starts, num_threads > 1, work);
        Ok(())
    }

    /// Makes room for the rows of all experts, of which `lens` are the numbers, and divides them into blocks, and blocks into
    /// parts if there are few for `num_threads` threads.
    fn reserve(
        &mut self,
        lens: impl ExactSizeIterator<Item = usize> + Clone,
        cols: usize,
        row_lines: fn(usize) -> usize,
        num_threads: usize,
    ) -> Result<(), BackendError> {
        self.row_lines = row_lines(cols);
        let num_blocks: usize = lens.clone().map(|len| len.div_ceil(BLOCK_ROWS)).sum();
        let part_cols = part_cols(cols, num_blocks, num_threads);
        let num_parts = num_blocks * cols.div_ceil(part_cols);
        restart(&mut self.starts, lens.len() + 1)?;
        restart(&mut self.parts, num_parts)?;
        restart(&mut self.part_starts, num_parts + 1)?;
        let mut end = 0usize;
        for (expert, len) in lens.enumerate() {
            self.starts.push(end);
            let width = block_width(len);
            for first in (0..len).step_by(BLOCK_ROWS) {
                let block = end.saturating_add(first.saturating_mul(self.row_lines));
                for column in (0..cols).step_by(part_cols) {
                    let columns = column..cols.min(column + part_cols);
                    self.parts.push(BlockPart { expert, first, columns });
                    self.part_starts.push(block.saturating_add(width * row_lines(column)));
                }
            }
            end = end.saturating_add(padded_rows(len).saturating_mul(self.row_lines));
        }
        self.starts.push(end);
        self.part_starts.push(end);
        self.lines.reserve(end)
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

/// Columns of a part of a block: whole runs of columns, and several parts for each thread unless there are as many blocks.
fn part_cols(cols: usize, num_blocks: usize, num_threads: usize) -> usize {
    let parts = (PARTS_PER_THREAD * num_threads).div_ceil(num_blocks.max(1));
    let num_parts = if num_threads > 1 { parts } else { 1 };
    cols.div_ceil(num_parts).next_multiple_of(CHUNK_COLS).max(CHUNK_COLS)
}

/// Empties `array` and makes room for `len` values.
fn restart<T>(array: &mut Vec<T>, len: usize) -> Result<(), BackendError> {
    array.clear();
    array.try_reserve(len).map_err(|_| BackendError::OutOfMemory {
        what: "intermediate results",
        bytes: len.saturating_mul(size_of::<T>()),
    })
}

/// Floating-point activations: rows side by side, not converted.
pub(crate) struct Floats;

impl InputForm for Floats {
    fn row_lines(cols: usize) -> usize {
        cols.div_ceil(FLOAT_GROUP_COLS)
    }

    fn convert(_level: Level, row: BlockRow<'_>, out: &mut [CacheLine]) {
        let BlockRow { values, row, width } = row;
        let columns: &mut [f32] = bytemuck::cast_slice_mut(out);
        for (x, column) in values.iter().zip(columns.chunks_exact_mut(width)) {
            column[row] = *x;
        }
    }
}
