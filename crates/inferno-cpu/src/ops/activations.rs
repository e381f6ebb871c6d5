//! Activations as the products read them: 8-bit integers with a scale per 32 columns, or as they are.
//!
//! Rows lie in blocks, and a block holds its groups of columns one after the other, each with all
//! rows of the block side by side. So whatever a product takes next stands at a fixed distance from
//! what it took last: it is one broadcast from memory, and 16 rows of a quantized group are the
//! first operand of a matrix unit. Up to [`MAX_NARROW`] rows make one block, as wide as the next
//! power of two; more make blocks of [`BLOCK_ROWS`]. What stands in rows that are missing is
//! computed with and not stored.

use bytemuck::{Pod, Zeroable};

use crate::memory::{LARGE_PAGE_BYTES, LINE_BYTES, Lines};
use crate::ops::linear::Rows;
use crate::ops::product::RowMap;
use crate::pack::codes::GROUP_COLS;
use crate::threads::Pool;

/// Rows of a block where there are many.
pub(crate) const BLOCK_ROWS: usize = 16;

/// The most rows that make a single block of their own width.
pub(crate) const MAX_NARROW: usize = 8;

/// Bytes that one row takes in a group.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; LINE_BYTES]);

/// 32 columns of the `W` rows of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct ActivationGroup<const W: usize> {
    /// The integers, which are not below -127.
    pub(crate) quants: [[i8; GROUP_COLS]; W],
    /// What each integer is multiplied by.
    pub(crate) scales: [f32; W],
    /// What follows from the integers' sums: over all columns, the first 16, the last 16.
    parts: [GroupPart<W>; 3],
    spare: [f32; W],
}

/// What follows from the sums of some columns' integers.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct GroupPart<const W: usize> {
    /// -128 times the sum.
    pub(crate) starts: [i32; W],
    /// The sum times the negated scale: what a weight's minimum is multiplied by.
    pub(crate) min_terms: [f32; W],
}

// SAFETY: plain numbers, for which zeros are values.
unsafe impl<const W: usize> Zeroable for ActivationGroup<W> {}
// SAFETY: plain numbers laid out as in C: 32 W bytes, then eight arrays of 4 W bytes, together
// whole lines, so that there is no padding, before or behind.
unsafe impl<const W: usize> Pod for ActivationGroup<W> {}

impl<const W: usize> ActivationGroup<W> {
    /// The integers of columns `4 v..4 v + 4` of a row.
    #[inline(always)]
    pub(crate) fn four(&self, row: usize, v: usize) -> [i8; 4] {
        *self.quants[row][4 * v..].first_chunk().expect("a group has eight times four columns")
    }

    /// What follows from the sums of one half's integers, or of all of them.
    #[inline(always)]
    pub(crate) fn part(&self, halves: bool, half: usize) -> &GroupPart<W> {
        &self.parts[if halves { 1 + half } else { 0 }]
    }

    /// Completes what follows from the scales and from the sums of each half of each row.
    #[inline(always)]
    pub(crate) fn complete(&mut self, sums: &[[i32; W]; 2]) {
        let [first, last] = sums;
        for (row, (first, last)) in first.iter().zip(last).enumerate() {
            for (part, sum) in self.parts.iter_mut().zip([first + last, *first, *last]) {
                part.starts[row] = -128 * sum;
                part.min_terms[row] = -(self.scales[row] * sum as f32);
            }
        }
    }
}

/// Columns of a group of activations that are not quantized.
pub(crate) const FLOAT_GROUP_COLS: usize = LINE_BYTES / size_of::<f32>();

/// 16 columns of the `W` rows of a block, column by column.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct FloatGroup<const W: usize> {
    pub(crate) columns: [[f32; W]; FLOAT_GROUP_COLS],
}

// SAFETY: plain numbers, for which zeros are values.
unsafe impl<const W: usize> Zeroable for FloatGroup<W> {}
// SAFETY: an array of plain numbers of 64 W bytes: whole lines, so that there is no padding.
unsafe impl<const W: usize> Pod for FloatGroup<W> {}

/// Lines that `rows` rows of one group take.
fn padded_rows(rows: usize) -> usize {
    match rows {
        0 => 0,
        1..=MAX_NARROW => rows.next_power_of_two(),
        _ => rows.next_multiple_of(BLOCK_ROWS),
    }
}

/// The rows of one product.
#[derive(Clone, Copy)]
pub(crate) struct Activations<'a> {
    lines: &'a [Line],
    groups: usize,
}

impl<'a> Activations<'a> {
    /// The groups of the block that begins at row `first`. `G` is [`ActivationGroup`] or
    /// [`FloatGroup`], of the block's width.
    #[inline(always)]
    pub(crate) fn block<G: Pod>(self, first: usize) -> &'a [G] {
        let rows = size_of::<G>() / LINE_BYTES;
        bytemuck::cast_slice(&self.lines[first * self.groups..][..rows * self.groups])
    }
}

/// The input of a product: the rows of each expert, in the order in which it computes them. The
/// memory is kept for the next product.
#[derive(Debug, Default)]
pub(crate) struct ActivationRows {
    lines: Option<Lines>,
    /// Where each expert's rows begin in `lines`, and where the last one's end.
    starts: Vec<usize>,
    groups: usize,
}

/// Some rows that make a block.
pub(crate) struct Block<'a> {
    rows: RowMap<'a>,
    first: usize,
    last: usize,
    /// The rows that the block has room for.
    pub(crate) width: usize,
}

impl Block<'_> {
    /// The row of the input for each row of the block.
    #[inline(always)]
    pub(crate) fn inputs(&self) -> impl Iterator<Item = usize> {
        (self.first..self.last).map(|row| self.rows.input(row))
    }
}

impl ActivationRows {
    /// Fills the groups of `group_cols` of `cols` columns: calls `fill` for each block, in parallel.
    pub(crate) fn fill(
        &mut self,
        pool: &Pool,
        rows: Rows<'_>,
        cols: usize,
        group_cols: usize,
        fill: impl Fn(Block<'_>, &mut [Line]) + Sync,
    ) {
        self.groups = cols.div_ceil(group_cols);
        self.starts.clear();
        let mut end = 0;
        self.starts.push(end);
        for index in 0..rows.num_experts() {
            end += padded_rows(rows.expert(index).1.len()) * self.groups;
            self.starts.push(end);
        }
        if self.groups == 0 {
            return;
        }
        let lines = reserve(&mut self.lines, end);
        for index in 0..rows.num_experts() {
            let lines = &mut lines[self.starts[index]..self.starts[index + 1]];
            let rows = rows.expert(index).1;
            let width = padded_rows(rows.len()).min(BLOCK_ROWS);
            pool.run_chunks(lines, BLOCK_ROWS * self.groups, |block, lines, _| {
                let first = block * BLOCK_ROWS;
                let last = rows.len().min(first + BLOCK_ROWS);
                fill(Block { rows, first, last, width }, lines);
            });
        }
    }

    /// The rows of one of the experts, by its number among those that were given; none before
    /// [`fill`](Self::fill).
    pub(crate) fn of(&self, index: usize) -> Activations<'_> {
        let range = self.starts.get(index..index + 2).unwrap_or(&[0, 0]);
        let lines = self.lines.as_ref().map_or(&[][..], Lines::get);
        Activations { lines: &lines[range[0]..range[1]], groups: self.groups }
    }
}

/// Room for `count` lines, in large pages: a product of many rows goes through all of them for each
/// panel.
///
/// **Panics** when there is no memory.
fn reserve(lines: &mut Option<Lines>, count: usize) -> &mut [Line] {
    let bytes = count * LINE_BYTES;
    if lines.as_ref().is_none_or(|lines| lines.get::<u8>().len() < bytes) {
        *lines = None;
        let whole = bytes.next_multiple_of(LARGE_PAGE_BYTES);
        *lines = Some(Lines::zeroed(whole, "a product's input").expect("memory for the input"));
    }
    lines.as_mut().map_or(&mut [][..], Lines::get_mut)
}

/// Lays rows of `cols` values side by side as they are.
pub(crate) fn interleave(
    pool: &Pool,
    rows: Rows<'_>,
    x: &[f32],
    cols: usize,
    out: &mut ActivationRows,
) {
    out.fill(pool, rows, cols, FLOAT_GROUP_COLS, |block, lines| {
        let values: &mut [f32] = bytemuck::cast_slice_mut(lines);
        for (row, input) in block.inputs().enumerate() {
            let x = &x[input * cols..][..cols];
            for (x, column) in x.iter().zip(values.chunks_exact_mut(block.width)) {
                column[row] = *x;
            }
        }
    });
}
