//! What is done between products of many rows, so that memory is never asked for much at once: weights that follow are
//! prefetched, and panels that are finished are written.

use std::array;
use std::ops::Range;

use crate::lanes::{Lanes, TileFloats, VECTOR_BYTES};
use crate::ops::activations::BLOCK_ROWS;
use crate::ops::product::target::OutputTarget;
use crate::ops::product::task::Product;
use crate::pack::codes::CHUNK_COLS;
use crate::scratch::CacheLine;

/// The sums of one block with one panel, row by row.
pub(super) type BlockSums = TileFloats;

/// The largest number of panels that are multiplied and written together: rows of an output are far apart, so that each cache
/// line of it must be fetched, and two neighbours are fetched at once. (In a prototype, four and eight were no faster.)
pub(crate) const PANELS_TOGETHER: usize = 2;

/// The work between the products of `P` neighbouring panels with one chunk.
pub(super) struct SideWork<'p, 'a, 's, const P: usize> {
    pub(super) ahead: PrefetchAhead<'a, P>,
    pub(super) target: &'p mut OutputTarget<'a>,
    pub(super) finished: &'p mut FinishedPanels<'s>,
}

impl<const P: usize> SideWork<'_, '_, '_, P> {
    /// Writes some rows of the previous panels.
    #[inline(always)]
    pub(super) fn write_finished<L: Lanes>(&mut self, lanes: L) {
        self.finished.write(lanes, self.target, self.finished.rows_per_step);
    }
}

/// Prefetch distance of packed weights: a pair of chunks, or some with few bits. (With 16 rows, no slower than twice and four
/// times as far, and 2 to 15% faster than prefetches of 1 to 17 KiB ahead while lines are unpacked.)
const PREFETCH_BYTES: usize = 8 * 1024;

/// The chunks of a task's panels, of which each pair of panels is multiplied by the first, then by the second, and so on.
#[derive(Clone, Copy)]
pub(super) struct PanelChunks<'a> {
    /// All panels of the task.
    panels: &'a [u8],
    panel_bytes: usize,
    chunk_bytes: usize,
    /// Chunks of a panel, of which the last may be shorter.
    pub(super) num_chunks: usize,
    /// How many chunks ahead weights are prefetched.
    distance: usize,
}

impl<'a> PanelChunks<'a> {
    /// The panels of `product` in chunks of `chunk_bytes` bytes.
    #[inline(always)]
    pub(super) fn new(product: &Product<'a>, chunk_bytes: usize) -> Self {
        let Product { panels, panel_bytes, cols, .. } = *product;
        let distance = PREFETCH_BYTES.div_ceil(PANELS_TOGETHER * chunk_bytes);
        let num_chunks = cols.div_ceil(CHUNK_COLS);
        Self { panels, panel_bytes, chunk_bytes, num_chunks, distance }
    }

    /// Chunk `number` of `P` neighbouring panels.
    #[inline(always)]
    pub(super) fn chunks<'p, const P: usize>(
        &self,
        panels: &'p [u8],
        number: usize,
    ) -> [&'p [u8]; P] {
        let Self { panel_bytes, chunk_bytes, .. } = *self;
        let bytes = number * chunk_bytes..panel_bytes.min((number + 1) * chunk_bytes);
        let mut panels = panels.chunks_exact(panel_bytes);
        array::from_fn(|_| &panels.next().expect("P panels")[bytes.clone()])
    }

    /// What is prefetched while chunk `number` of pair `pair` is multiplied, `lines_per_step` lines of each panel in a step.
    #[inline(always)]
    pub(super) fn ahead<const P: usize>(
        &self,
        pair: usize,
        number: usize,
        lines_per_step: usize,
    ) -> PrefetchAhead<'a, P> {
        let Self { panels, panel_bytes, chunk_bytes, num_chunks, distance } = *self;
        let (pairs, chunk) = ((number + distance) / num_chunks, (number + distance) % num_chunks);
        let starts = array::from_fn(|panel| {
            (PANELS_TOGETHER * (pair + pairs) + panel) * panel_bytes + chunk * chunk_bytes
        });
        let bytes_ahead = chunk_bytes.min(panel_bytes - chunk * chunk_bytes);
        PrefetchAhead { panels, starts, lines_left: bytes_ahead / VECTOR_BYTES, lines_per_step }
    }

    /// Lines of each panel in a step, if a chunk is multiplied in `num_steps` steps.
    #[inline(always)]
    pub(super) fn lines_per_step(&self, num_steps: usize) -> usize {
        (self.chunk_bytes / VECTOR_BYTES).div_ceil(num_steps)
    }
}

/// Weights to prefetch: a chunk of each of `P` panels.
pub(super) struct PrefetchAhead<'a, const P: usize> {
    /// All weights of a task.
    panels: &'a [u8],
    /// The offsets in `panels` of what is still to be prefetched; they may exceed its length.
    starts: [usize; P],
    /// Lines of each chunk that are still to be prefetched.
    lines_left: usize,
    /// Lines of each chunk that are prefetched in a step, until all are. (If their number varies from step to step, the end
    /// of the loop is often mispredicted: 256 rows took 2% longer with the matrix unit.)
    lines_per_step: usize,
}

impl<const P: usize> PrefetchAhead<'_, P> {
    /// Prefetches the lines of the next step.
    #[inline(always)]
    pub(super) fn step<L: Lanes>(&mut self, lanes: L) {
        let num_lines = self.lines_per_step.min(self.lines_left);
        self.lines_left -= num_lines;
        for _ in 0..num_lines {
            for start in &mut self.starts {
                lanes.prefetch_far(self.panels, *start);
                *start += VECTOR_BYTES;
            }
        }
    }
}

/// The sums of panels whose rows are not all written yet. Rows of an output are far apart, so that each waits for a cache
/// line; they are written while the next panels are multiplied. (Written at once, they took a sixth of a product of 256 rows
/// by 1024 by 3072 columns with the matrix unit.)
pub(super) struct FinishedPanels<'a> {
    sums: &'a [BlockSums],
    /// Blocks of each panel.
    max_blocks: usize,
    panels: Range<usize>,
    /// The rows that are left, and the first row of all.
    rows: Range<usize>,
    first_row: usize,
    rows_per_step: usize,
}

impl<'a> FinishedPanels<'a> {
    /// At most [`PANELS_TOGETHER`] panels whose `rows` are to be written in `num_steps` steps.
    #[inline(always)]
    pub(super) fn new(
        sums: &'a [BlockSums],
        max_blocks: usize,
        panels: Range<usize>,
        rows: Range<usize>,
        num_steps: usize,
    ) -> Self {
        let rows_per_step = rows.len().div_ceil(num_steps.max(1));
        Self { sums, max_blocks, panels, first_row: rows.start, rows, rows_per_step }
    }

    /// The sums of a row with one of the panels.
    #[inline(always)]
    fn sums_of<L: Lanes>(&self, lanes: L, panel: usize, row: usize) -> L::F32 {
        let place = row - self.first_row;
        let block = panel * self.max_blocks + place / BLOCK_ROWS;
        let CacheLine(sums) = &self.sums[block][place % BLOCK_ROWS];
        lanes.load(sums)
    }

    /// Writes at most `count` rows.
    #[inline(always)]
    pub(super) fn write<L: Lanes>(
        &mut self,
        lanes: L,
        target: &mut OutputTarget<'_>,
        count: usize,
    ) {
        let end = self.rows.start + count.min(self.rows.len());
        let rows = self.rows.start..end;
        let first = self.panels.start;
        if self.panels.len() == 1 {
            target.write_rows(
                lanes,
                rows,
                first,
                #[inline(always)]
                |row| [self.sums_of(lanes, 0, row)],
            );
        } else {
            target.write_rows(
                lanes,
                rows,
                first,
                #[inline(always)]
                |row| [self.sums_of(lanes, 0, row), self.sums_of(lanes, 1, row)],
            );
        }
        self.rows.start = end;
    }
}
