//! Attention over a cache of floating-point numbers or of Q8_0: scores, exponentials and mixed values in `f32`.
//!
//! A span is cut into tiles of 64 positions. Each tile of keys or values is read from the cache once: for many rows
//! it is copied into panels first, for few rows it is read in place.

// Registers are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

pub(super) mod cache;
mod panel;

use std::marker::PhantomData;
use std::ops::Range;

use inferno_backend::QkvLayout;

use super::inputs::{MAX_IN_PLACE_ROWS, PANEL, SPAN, TILE, VECTORS};
use super::merge::{MAX, MIXED, SUM};
use super::task::{SpanTask, within};
use crate::isa::Level;
use crate::kv_cache::Plane;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::softmax::{add_distance_bias, cap_scores, exponentials};
use crate::scratch::CacheLine;
use cache::{CachedKeys, CachedValues, Element, PositionRun, ReadRun};
use panel::{Panel, PanelRow, multiply, register_blocks};

/// Cache lines of scratch memory that a task of `num_rows` rows needs.
pub(super) fn num_lines(layout: &QkvLayout, num_rows: usize) -> usize {
    scratch_lines(layout, num_rows).iter().sum()
}

/// Lines of scores, [`SPAN`] of each row, and of panels, [`TILE`] rows for every [`PANEL`] components of a value. Panels of
/// keys have a row for each component.
fn scratch_lines(layout: &QkvLayout, num_rows: usize) -> [usize; 2] {
    let panels = TILE * layout.head_dim.max(layout.value_dim()).next_multiple_of(PANEL);
    [num_rows * SPAN / LANES, panels / LANES]
}

/// Computes the partial result of every row over a cache with numbers of type `E`.
pub(super) fn run<E: Element>(
    task: &SpanTask<'_>,
    level: Level,
    memory: &mut [CacheLine],
    partial: &mut [f32],
) {
    let [scores, _] = scratch_lines(task.attention.layout, task.num_rows());
    let (scores, panels) = memory.split_at_mut(scores);
    let scores: &mut [f32] = bytemuck::cast_slice_mut(scores);
    let panels: &mut [PanelRow] = bytemuck::cast_slice_mut(panels);
    let (head_dim, value_dim) =
        (task.attention.dim(Plane::Keys), task.attention.dim(Plane::Values));
    let positions = task.positions();
    let tiles = positions.start / TILE..positions.end.div_ceil(TILE);
    let whole_vectors =
        task.attention.cache.layout.block_tokens % LANES == 0 && value_dim % PANEL == 0;
    let few = whole_vectors
        && task.num_rows() <= MAX_IN_PLACE_ROWS
        && !task.attention.has_values_in_keys();
    let element = PhantomData::<E>;
    if few {
        level.run(ScoresInPlace { task, tiles, scores, element });
        level.run(SpanSoftmax { task, scores, partial });
        let mixture = Mixture { task, scores, partial };
        level.run(MixInPlace { mixture, element });
        return;
    }
    for tile in tiles.clone() {
        read_tile::<E>(task, level, Plane::Keys, tile, panels);
        level.run(ScorePanels { task, tile, keys: &panels[..head_dim], scores });
    }
    level.run(SpanSoftmax { task, scores, partial });
    for tile in tiles {
        read_tile::<E>(task, level, Plane::Values, tile, panels);
        let mixture = Mixture { task, scores, partial: &mut *partial };
        level.run(MixPanels { mixture, tile, values: panels });
    }
}

/// Reads the positions of a tile that some row sees into their places in the panels.
fn read_tile<E: Element>(
    task: &SpanTask<'_>,
    level: Level,
    plane: Plane,
    tile: usize,
    panels: &mut [PanelRow],
) {
    let positions = within(task.positions(), tile * TILE..(tile + 1) * TILE);
    for run in cache::runs(*task, plane, positions) {
        level.run(ReadRun { plane, run, panels: &mut *panels, element: PhantomData::<E> });
    }
}

/// The scores of a tile's positions.
#[inline(always)]
fn score<L: Lanes>(
    lanes: L,
    task: &SpanTask<'_>,
    tile: usize,
    keys: impl Panel,
    scores: &mut [f32],
) {
    let tile = tile * TILE..(tile + 1) * TILE;
    let scale = lanes.splat(task.attention.params.scale);
    register_blocks!(L, task.attention.num_rows(task.unit), |first, T| {
        // Most rows of a block see the same positions; those that see fewer do not read the others.
        let seen = task.visible(first).start..task.visible(first + T - 1).end;
        if !within(seen, tile.clone()).is_empty() {
            let mut queries = [&[][..]; T];
            for t in 0..T {
                queries[t] = task.attention.query(task.unit, task.kv_head, first + t);
            }
            let mut sums = multiply::<L, T>(lanes, queries, keys, panel::zeros::<L, T>(lanes));
            for t in 0..T {
                for v in 0..VECTORS {
                    sums[t][v] = lanes.mul(sums[t][v], scale);
                }
                let at = (first + t) * SPAN + tile.start % SPAN;
                panel::store(lanes, sums[t], &mut scores[at..]);
            }
        }
    });
}

/// Computes the scores of a tile in panels.
struct ScorePanels<'a> {
    task: &'a SpanTask<'a>,
    tile: usize,
    keys: &'a [PanelRow],
    scores: &'a mut [f32],
}

impl Kernel for ScorePanels<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        score(lanes, self.task, self.tile, self.keys, self.scores);
    }
}

/// Computes the scores of a span whose keys are read in place.
struct ScoresInPlace<'a, E> {
    task: &'a SpanTask<'a>,
    tiles: Range<usize>,
    scores: &'a mut [f32],
    element: PhantomData<E>,
}

impl<E: Element> Kernel for ScoresInPlace<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for tile in self.tiles {
            score(lanes, self.task, tile, CachedKeys::<E>::new(self.task, tile), self.scores);
        }
    }
}

/// Replaces scores by exponentials and initializes the partial results.
struct SpanSoftmax<'a> {
    task: &'a SpanTask<'a>,
    scores: &'a mut [f32],
    partial: &'a mut [f32],
}

impl Kernel for SpanSoftmax<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let span = self.task.span * SPAN..(self.task.span + 1) * SPAN;
        let partials = self.partial.chunks_exact_mut(self.task.attention.partial_len);
        let rows = self.scores.chunks_exact_mut(SPAN).zip(partials);
        for (row, (scores, partial)) in rows.enumerate() {
            let visible = within(self.task.visible(row), span.clone());
            partial.fill(0.0);
            if visible.is_empty() {
                continue;
            }
            let (start, end) = (visible.start - span.start, visible.end - span.start);
            // Whole vectors of positions that are not seen would add zeros.
            let vectors = start / LANES * LANES..end.next_multiple_of(LANES);
            if let Some(cap) = self.task.attention.params.softcap {
                cap_scores(lanes, cap, &mut scores[vectors.clone()]);
            }
            if let Some((own, bias)) = self.task.distance_bias(row) {
                let first = span.start + vectors.start;
                add_distance_bias(lanes, &bias, own, first, &mut scores[vectors.clone()]);
            }
            scores[vectors.start..start].fill(f32::NEG_INFINITY);
            scores[end..vectors.end].fill(f32::NEG_INFINITY);
            (partial[MAX], partial[SUM]) = exponentials(lanes, &mut scores[vectors]);
        }
    }
}

/// Values mixed with the exponentials of their scores.
struct Mixture<'a> {
    task: &'a SpanTask<'a>,
    scores: &'a [f32],
    partial: &'a mut [f32],
}

impl Mixture<'_> {
    /// Adds the values of positions from `position` on, components from `column` on, to the mixed values of `T`
    /// rows.
    #[inline(always)]
    fn add<L: Lanes, const T: usize>(
        &mut self,
        lanes: L,
        first: usize,
        position: usize,
        column: usize,
        values: impl Panel,
    ) {
        let partial_len = self.task.attention.partial_len;
        let mut factors = [&[][..]; T];
        let mut sums = panel::zeros::<L, T>(lanes);
        for t in 0..T {
            let row = &self.scores[(first + t) * SPAN..(first + t + 1) * SPAN];
            factors[t] = &row[position % SPAN..][..values.num_rows()];
            let mixed = &self.partial[(first + t) * partial_len + MIXED + column..];
            sums[t] = panel::load(lanes, mixed);
        }
        let sums = multiply::<L, T>(lanes, factors, values, sums);
        for t in 0..T {
            let mixed = &mut self.partial[(first + t) * partial_len + MIXED + column..];
            panel::store(lanes, sums[t], mixed);
        }
    }
}

/// Mixes the values of a tile in panels.
struct MixPanels<'a> {
    mixture: Mixture<'a>,
    tile: usize,
    values: &'a [PanelRow],
}

impl Kernel for MixPanels<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let task = self.mixture.task;
        register_blocks!(L, task.attention.num_rows(task.unit), |first, T| {
            let common = within(
                self.seen(first + T - 1).start..self.seen(first).end,
                self.tile * TILE..(self.tile + 1) * TILE,
            );
            // Positions that only some rows see are added row by row, before and after the others.
            if T > 1 {
                for row in first..first + T {
                    let seen = self.seen(row);
                    self.add::<L, 1>(lanes, row, seen.start..common.start.min(seen.end));
                }
            }
            self.add::<L, T>(lanes, first, common.clone());
            if T > 1 {
                for row in first..first + T {
                    let seen = self.seen(row);
                    self.add::<L, 1>(lanes, row, common.end.max(seen.start)..seen.end);
                }
            }
        });
    }
}

impl MixPanels<'_> {
    /// The positions of the tile that row `row` sees.
    #[inline(always)]
    fn seen(&self, row: usize) -> Range<usize> {
        within(self.mixture.task.visible(row), self.tile * TILE..(self.tile + 1) * TILE)
    }

    /// Adds the values at `positions` to the mixed values of `T` rows.
    #[inline(always)]
    fn add<L: Lanes, const T: usize>(&mut self, lanes: L, first: usize, positions: Range<usize>) {
        if positions.is_empty() {
            return;
        }
        let place = positions.start % TILE..positions.start % TILE + positions.len();
        let value_dim = self.mixture.task.attention.dim(Plane::Values);
        let panels = self.values.chunks_exact(TILE).take(value_dim.div_ceil(PANEL));
        for (number, panel) in panels.enumerate() {
            let (column, values) = (number * PANEL, &panel[place.clone()]);
            self.mixture.add::<L, T>(lanes, first, positions.start, column, values);
        }
    }
}

/// Mixes the values of a span, read in place.
struct MixInPlace<'a, E> {
    mixture: Mixture<'a>,
    element: PhantomData<E>,
}

impl<E: Element> Kernel for MixInPlace<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let task = self.mixture.task;
        let mut position = task.positions().start;
        for run in cache::runs(*task, Plane::Values, task.positions()) {
            let here = position..position + run.count;
            register_blocks!(L, task.attention.num_rows(task.unit), |first, T| {
                let common = task.visible(first + T - 1).start..task.visible(first).end;
                if common.start <= here.start && here.end <= common.end {
                    self.add::<L, T>(lanes, first, here.clone(), &run);
                } else {
                    for row in first..first + T {
                        let seen = within(task.visible(row), here.clone());
                        self.add::<L, 1>(lanes, row, seen, &run);
                    }
                }
            });
            position = here.end;
        }
    }
}

impl<E: Element> MixInPlace<'_, E> {
    /// Adds the values at `positions` of a run to the mixed values of `T` rows.
    #[inline(always)]
    fn add<L: Lanes, const T: usize>(
        &mut self,
        lanes: L,
        first: usize,
        positions: Range<usize>,
        run: &PositionRun<'_>,
    ) {
        if positions.is_empty() {
            return;
        }
        let region = run.region;
        let (offset, count) = (positions.start % region.block_tokens, positions.len());
        for column in (0..region.head_dim).step_by(PANEL) {
            let values = CachedValues::<E> { region, offset, count, column, element: PhantomData };
            self.mixture.add::<L, T>(lanes, first, positions.start, column, values);
        }
    }
}
