//! One span of positions for one unit of rows: scores, exponentials, mixed values.
//!
//! Keys stand component by component, so a vector holds 16 neighbouring positions of a block;
//! values stand position by position, so a vector holds 16 components. Blocks whose tokens do not
//! fill vectors make vectors whose last lanes are not used.

// Registers are named by number; an iterator over them is not always inlined.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;
use std::ops::Range;

use super::merge::{MAX, MIXED, SUM};
use super::plan::Unit;
use super::{Attention, SPAN};
use crate::isa::Kernel;
use crate::kv_cache::Plane;
use crate::lanes::{LANES, Lanes, VECTOR_BYTES};
use crate::ops::product::{BLOCK_ROWS, row_blocks};
use crate::ops::softmax::exponentials;

/// Components that share a scale in a cache with scales.
const SCALED: usize = 32;

/// How the cache holds numbers.
pub(super) trait Element {
    /// Bytes of one.
    const BYTES: usize;
    /// Whether 32 components share a half-precision scale.
    const SCALES: bool;

    /// 16 neighbouring numbers.
    fn load<L: Lanes>(lanes: L, bytes: &[u8; VECTOR_BYTES]) -> L::F32;
}

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct Q8_0;

impl Element for F32 {
    const BYTES: usize = 4;
    const SCALES: bool = false;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8; VECTOR_BYTES]) -> L::F32 {
        lanes.load_f32(bytes)
    }
}

impl Element for F16 {
    const BYTES: usize = 2;
    const SCALES: bool = false;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8; VECTOR_BYTES]) -> L::F32 {
        lanes.load_f16(bytes.first_chunk().expect("half of the bytes"))
    }
}

impl Element for Q8_0 {
    const BYTES: usize = 1;
    const SCALES: bool = true;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8; VECTOR_BYTES]) -> L::F32 {
        lanes.load_i8(bytes.first_chunk().expect("a quarter of the bytes"))
    }
}

/// 16 numbers from number `index` of `region` on; lanes beyond its end are zero.
#[inline(always)]
fn load<E: Element, L: Lanes>(lanes: L, region: &[u8], index: usize) -> L::F32 {
    let bytes = &region[index * E::BYTES..];
    match bytes.first_chunk::<VECTOR_BYTES>() {
        Some(bytes) => E::load(lanes, bytes),
        None => {
            let mut padded = [0; VECTOR_BYTES];
            padded[..bytes.len()].copy_from_slice(bytes);
            E::load(lanes, &padded)
        }
    }
}

/// What to compute and where to leave it.
pub(super) struct Task<'a> {
    pub(super) attention: &'a Attention<'a>,
    pub(super) unit: &'a Unit,
    pub(super) kv_head: usize,
    pub(super) span: usize,
    /// [`SPAN`] numbers a row.
    pub(super) scores: &'a mut [f32],
    /// A partial result a row.
    pub(super) partial: &'a mut [f32],
}

/// One span's kernel for a cache of `E`.
pub(super) struct AttendSpan<'a, E> {
    task: Task<'a>,
    element: PhantomData<E>,
}

/// Neighbouring positions within one block.
struct Run<'a> {
    region: &'a [u8],
    /// The first one's place in the block.
    offset: usize,
    positions: Range<usize>,
}

impl<'a, E: Element> AttendSpan<'a, E> {
    pub(super) fn new(task: Task<'a>) -> Self {
        Self { task, element: PhantomData }
    }

    /// The positions of the span that row `row` sees.
    #[inline(always)]
    fn visible(&self, row: usize) -> Range<usize> {
        let visible = self.task.attention.visible(self.task.unit, row);
        let start = visible.start.max(self.task.span * SPAN);
        start..visible.end.min((self.task.span + 1) * SPAN).max(start)
    }

    /// The run of up to 16 positions that begins at `position` and ends before `end`.
    #[inline(always)]
    fn run_at(&self, plane: Plane, position: usize, end: usize) -> Run<'a> {
        let Attention { batch, params, cache, .. } = *self.task.attention;
        let block_tokens = cache.layout.block_tokens;
        let offset = position % block_tokens;
        let block = batch.block_table(self.task.unit.sequence)[position / block_tokens];
        let region = cache.region(block, params.layer, plane, self.task.kv_head);
        let count = LANES.min(block_tokens - offset).min(end - position);
        Run { region, offset, positions: position..position + count }
    }

    /// The scores of a run for `T` rows.
    #[inline(always)]
    fn scores<L: Lanes, const T: usize>(&mut self, lanes: L, run: &Run<'_>, first: usize) {
        let Attention { params, layout, cache, .. } = *self.task.attention;
        let block_tokens = cache.layout.block_tokens;
        let head_dim = layout.head_dim;
        let mut queries = [&[][..]; T];
        for (t, query) in queries.iter_mut().enumerate() {
            *query = self.task.attention.query(self.task.unit, self.task.kv_head, first + t);
        }
        let mut totals = [lanes.splat(0.0); T];
        if E::SCALES {
            let scales = &run.region[block_tokens * head_dim..];
            for piece in 0..head_dim / SCALED {
                let mut sums = [lanes.splat(0.0); T];
                for d in piece * SCALED..(piece + 1) * SCALED {
                    let keys = load::<E, L>(lanes, run.region, d * block_tokens + run.offset);
                    for t in 0..T {
                        sums[t] = lanes.fma(keys, lanes.splat(queries[t][d]), sums[t]);
                    }
                }
                let scale = load::<F16, L>(lanes, scales, piece * block_tokens + run.offset);
                for t in 0..T {
                    totals[t] = lanes.fma(sums[t], scale, totals[t]);
                }
            }
        } else {
            for d in 0..head_dim {
                let keys = load::<E, L>(lanes, run.region, d * block_tokens + run.offset);
                for t in 0..T {
                    totals[t] = lanes.fma(keys, lanes.splat(queries[t][d]), totals[t]);
                }
            }
        }
        let at = run.positions.start % SPAN;
        for (t, total) in totals.into_iter().enumerate() {
            let out = &mut self.task.scores[(first + t) * SPAN + at..][..run.positions.len()];
            lanes.store_part(lanes.mul(total, lanes.splat(params.scale)), out);
        }
    }

    /// Adds the values at `positions` of a run to the mixed values of `T` rows.
    #[inline(always)]
    fn mix<L: Lanes, const T: usize>(
        &mut self,
        lanes: L,
        run: &Run<'_>,
        positions: Range<usize>,
        first: usize,
    ) {
        let Attention { layout, cache, partial_len, .. } = *self.task.attention;
        let head_dim = layout.head_dim;
        let scales = &run.region[cache.layout.block_tokens * head_dim * E::BYTES..];
        let offsets = run.offset + (positions.start - run.positions.start)..;
        for d in (0..head_dim).step_by(LANES) {
            let mut sums = [lanes.splat(0.0); T];
            for t in 0..T {
                let mixed = &self.task.partial[(first + t) * partial_len + MIXED + d..];
                sums[t] = lanes.load_part(&mixed[..LANES]);
            }
            for (position, offset) in positions.clone().zip(offsets.clone()) {
                let values = load::<E, L>(lanes, run.region, offset * head_dim + d);
                let scale = match E::SCALES {
                    true => half(scales, offset * (head_dim / SCALED) + d / SCALED),
                    false => 1.0,
                };
                for t in 0..T {
                    let score = self.task.scores[(first + t) * SPAN + position % SPAN];
                    let factor = if E::SCALES { score * scale } else { score };
                    sums[t] = lanes.fma(values, lanes.splat(factor), sums[t]);
                }
            }
            for t in 0..T {
                let mixed = &mut self.task.partial[(first + t) * partial_len + MIXED + d..];
                lanes.store_part(sums[t], &mut mixed[..LANES]);
            }
        }
    }

    /// Turns a row's scores into exponentials and starts its partial result.
    #[inline(always)]
    fn softmax<L: Lanes>(&mut self, lanes: L, row: usize) {
        let visible = self.visible(row);
        let partial_len = self.task.attention.partial_len;
        let partial = &mut self.task.partial[row * partial_len..(row + 1) * partial_len];
        partial.fill(0.0);
        if visible.is_empty() {
            return;
        }
        let scores = &mut self.task.scores[row * SPAN..(row + 1) * SPAN];
        let (start, len) = (visible.start % SPAN, visible.len());
        scores[..start].fill(f32::NEG_INFINITY);
        scores[start + len..].fill(f32::NEG_INFINITY);
        // Whole vectors of positions that are not seen would add nothing.
        let vectors = start / LANES * LANES..(start + len).next_multiple_of(LANES);
        (partial[MAX], partial[SUM]) = exponentials(lanes, &mut scores[vectors]);
    }

    /// Adds a run's values for `T` rows: together where all see the whole run, else row by row.
    #[inline(always)]
    fn mix_rows<L: Lanes, const T: usize>(&mut self, lanes: L, run: &Run<'_>, first: usize) {
        let mut common = true;
        for row in first..first + T {
            let visible = self.visible(row);
            common &= visible.start <= run.positions.start && run.positions.end <= visible.end;
        }
        if common {
            self.mix::<L, T>(lanes, run, run.positions.clone(), first);
            return;
        }
        for row in first..first + T {
            let visible = self.visible(row);
            let start = visible.start.max(run.positions.start);
            let end = visible.end.min(run.positions.end);
            if start < end {
                self.mix::<L, 1>(lanes, run, start..end, row);
            }
        }
    }
}

/// Number `index` of half-precision numbers.
#[inline(always)]
fn half(bytes: &[u8], index: usize) -> f32 {
    half::f16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]]).to_f32()
}

impl<E: Element> Kernel for AttendSpan<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let num_rows = self.task.attention.num_rows(self.task.unit);
        // Later rows see later positions: the first row tells the start, the last one the end.
        let all = self.visible(0).start..self.visible(num_rows - 1).end;
        let mut position = all.start;
        while position < all.end {
            let run = self.run_at(Plane::Keys, position, all.end);
            row_blocks!(num_rows, |first, T| self.scores::<L, T>(lanes, &run, first));
            position = run.positions.end;
        }
        for row in 0..num_rows {
            self.softmax(lanes, row);
        }
        position = all.start;
        while position < all.end {
            let run = self.run_at(Plane::Values, position, all.end);
            row_blocks!(num_rows, |first, T| self.mix_rows::<L, T>(lanes, &run, first));
            position = run.positions.end;
        }
    }
}
