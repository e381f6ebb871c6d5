//! The memory and the state of the computation of one span.

use std::ops::Range;

use bytemuck::Pod;
use inferno_backend::QkvLayout;

use super::positions::PositionGroups;
use crate::isa::Level;
use crate::kv_cache::Plane;
use crate::lanes::{LANES, split_i16};
use crate::ops::attention::inputs::{AttentionInputs, MAX_IN_PLACE_ROWS, PANEL, SPAN, VECTORS};
use crate::ops::attention::task::{SpanTask, within};
use crate::scratch::CacheLine;

/// 64 columns of a panel, two integers each.
pub(super) type PairRow = [CacheLine; VECTORS];

/// Rows that are computed from scores to mixed values at once: two operands of a matrix unit.
pub(super) const BLOCK_ROWS: usize = 32;

/// How the keys and values of a span are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadPath {
    /// In place.
    InPlace,
    /// From panels of pairs.
    Panels,
    /// From tiles of a matrix unit.
    Tiles,
}

impl ReadPath {
    pub(super) fn of(task: &SpanTask<'_>, level: Level) -> Self {
        let few = task.attention.num_rows(task.unit) <= MAX_IN_PLACE_ROWS;
        let is_in_place = few && !task.attention.has_values_in_keys();
        match level.has_matrix_unit() {
            _ if is_in_place && whole_vectors(task.attention) => Self::InPlace,
            true => Self::Tiles,
            false => Self::Panels,
        }
    }
}

/// Whether positions and components are whole vectors in a block.
pub(super) fn whole_vectors(attention: &AttentionInputs<'_>) -> bool {
    attention.cache.layout.block_tokens % LANES == 0
        && attention.dim(Plane::Keys) % PANEL == 0
        && attention.dim(Plane::Values) % PANEL == 0
}

/// Components of a key or value head, with padding to whole panels.
pub(super) fn padded_dim(attention: &AttentionInputs<'_>, plane: Plane) -> usize {
    attention.dim(plane).next_multiple_of(PANEL)
}

/// Memory to compute in. Only the queries are kept from one span to the next.
pub(super) struct SpanMemory<'a> {
    /// Both halves of each row's query: high halves of all rows, then low ones.
    pub(super) queries: &'a mut [CacheLine],
    /// The factor on the scores of each row.
    pub(super) factors: &'a mut [f32],
    pub(super) key_scales: &'a mut [f32],
    pub(super) value_scales: &'a mut [f32],
    pub(super) keys: &'a mut [PairRow],
    pub(super) values: &'a mut [PairRow],
    /// The scores of a block, then its weights before they are converted.
    pub(super) scores: &'a mut [f32],
    /// Both halves of the weights of a block.
    pub(super) weights: &'a mut [CacheLine],
    /// 16 positions in the layout of blocks of whole vectors.
    pub(super) stage: &'a mut [CacheLine],
}

/// The sizes of the parts of the memory, in floats.
struct MemorySizes {
    parts: [usize; 9],
}

impl MemorySizes {
    fn new(layout: &QkvLayout, num_rows: usize) -> Self {
        let (rows, block) = (num_rows.next_multiple_of(BLOCK_ROWS), BLOCK_ROWS * SPAN);
        let [keys, values] =
            [layout.head_dim, layout.value_dim()].map(|dim| dim.next_multiple_of(PANEL));
        let (key_panels, value_panels) = (SPAN * keys / 2, SPAN * values / 2);
        let stage = LANES * keys.max(values) / 2;
        let parts = [rows * keys, rows, SPAN, SPAN, key_panels, value_panels, block, block, stage];
        Self { parts }
    }
}

impl<'a> SpanMemory<'a> {
    /// Cache lines for `num_rows` rows.
    pub(super) fn num_lines(layout: &QkvLayout, num_rows: usize) -> usize {
        MemorySizes::new(layout, num_rows).parts.iter().sum::<usize>() / LANES
    }

    /// Divides `lines`, which must be at least [`num_lines`](Self::num_lines).
    pub(super) fn new(task: &SpanTask<'_>, lines: &'a mut [CacheLine]) -> Self {
        let MemorySizes { parts } = MemorySizes::new(task.attention.layout, task.num_rows());
        let mut rest = lines;
        let [queries, factors, key_scales, value_scales, keys, values, scores, weights, stage] =
            parts.map(|part| {
                let (part, after) = std::mem::take(&mut rest).split_at_mut(part / LANES);
                rest = after;
                part
            });
        Self {
            queries,
            factors: bytemuck::cast_slice_mut(factors),
            key_scales: bytemuck::cast_slice_mut(key_scales),
            value_scales: bytemuck::cast_slice_mut(value_scales),
            keys: bytemuck::cast_slice_mut(keys),
            values: bytemuck::cast_slice_mut(values),
            scores: bytemuck::cast_slice_mut(scores),
            weights,
            stage,
        }
    }
}

/// Stores both halves of a row of `width` integers in `lines`, high halves of all rows before the low ones: as bytes
/// for tiles, else as 16-bit integers.
#[inline(always)]
pub(super) fn split(
    path: ReadPath,
    lines: &mut [CacheLine],
    width: usize,
    row: usize,
    integers: &[i16],
) {
    if path == ReadPath::Tiles {
        let [high, low] = tile_halves_mut(lines, width, row);
        for ((high, low), &x) in high.iter_mut().zip(low).zip(integers) {
            [*high, *low] = split_i16(i16::from_le(x));
        }
    } else {
        let all: &mut [i16] = bytemuck::cast_slice_mut(lines);
        let (high, low) = all.split_at_mut(all.len() / 2);
        let row = row * width..(row + 1) * width;
        for ((high, low), &x) in high[row.clone()].iter_mut().zip(&mut low[row]).zip(integers) {
            let [high_half, low_half] = split_i16(i16::from_le(x));
            (*high, *low) = (i16::from(high_half), i16::from(low_half));
        }
    }
}

/// The places of both halves of row `row`, for tiles.
#[inline(always)]
pub(super) fn tile_halves_mut(lines: &mut [CacheLine], width: usize, row: usize) -> [&mut [i8]; 2] {
    let all: &mut [i8] = bytemuck::cast_slice_mut(lines);
    let (high, low) = all.split_at_mut(all.len() / 2);
    [high, low].map(|halves| &mut halves[row * width..(row + 1) * width])
}

/// The halves that [`split`] stored, from row `first` on.
#[inline(always)]
pub(super) fn halves<T: Pod>(lines: &[CacheLine], width: usize, first: usize) -> [&[T]; 2] {
    let all: &[T] = bytemuck::cast_slice(lines);
    let (high, low) = all.split_at(all.len() / 2);
    [&high[first * width..], &low[first * width..]]
}

/// Computes the partial results of all rows of a unit for one span, either with reads in place or from panels. The two
/// are compiled separately, or their sums do not all stay in registers.
pub(super) struct Int16Span<'a, const IN_PLACE: bool> {
    pub(super) task: &'a SpanTask<'a>,
    pub(super) path: ReadPath,
    pub(super) memory: SpanMemory<'a>,
    pub(super) partial: &'a mut [f32],
    /// The locations of keys and values, in blocks of whole vectors.
    pub(super) groups: PositionGroups<'a>,
    /// Whether the scale of some value is NaN.
    pub(super) poisoned: bool,
}

impl<'a, const IN_PLACE: bool> Int16Span<'a, IN_PLACE> {
    pub(super) fn new(
        task: &'a SpanTask<'a>,
        path: ReadPath,
        memory: SpanMemory<'a>,
        partial: &'a mut [f32],
    ) -> Self {
        Self { task, path, memory, partial, groups: PositionGroups::EMPTY, poisoned: false }
    }

    /// The positions of this span that row `row` sees, relative to its start.
    #[inline(always)]
    pub(super) fn seen(&self, row: usize) -> Range<usize> {
        let start = self.task.span * SPAN;
        let seen = within(self.task.visible(row), start..start + SPAN);
        seen.start - start..seen.end - start
    }

    /// A range of positions of this span that contains all that these rows see: later rows see later ones.
    #[inline(always)]
    pub(super) fn seen_by(&self, rows: Range<usize>) -> Range<usize> {
        self.seen(rows.start).start..self.seen(rows.end - 1).end
    }
}
