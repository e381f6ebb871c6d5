//! One span of positions for one unit of rows: scores, exponentials, mixed values.
//!
//! A span is cut into tiles of 64 positions. Each tile of keys or values is read from the cache
//! once and multiplied by all rows of the unit.

// Registers are named by number; an iterator over them is not always inlined.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;
use std::ops::Range;

use inferno_backend::KvDType;

use super::cached::{self, Read, Run};
use super::merge::{MAX, MIXED, SUM};
use super::plan::Unit;
use super::tile::{self, PANEL, PanelRow, TILE, multiply, register_blocks};
use super::{Attention, SPAN};
use crate::isa::{Kernel, Level};
use crate::kv_cache::Plane;
use crate::lanes::{LANES, Lanes};
use crate::ops::softmax::exponentials;

/// What to compute.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) attention: &'a Attention<'a>,
    pub(super) unit: &'a Unit,
    pub(super) kv_head: usize,
    pub(super) span: usize,
}

/// Memory to compute in.
pub(super) struct Scratch<'a> {
    /// [`SPAN`] numbers a row.
    pub(super) scores: &'a mut [f32],
    /// A tile of keys, or of values: [`TILE`] rows for every [`PANEL`] components.
    pub(super) panels: &'a mut [PanelRow],
}

impl<'a> Task<'a> {
    /// Computes the partial result of every row.
    pub(super) fn run(&self, level: Level, scratch: &mut Scratch<'_>, partial: &mut [f32]) {
        let Scratch { scores, panels } = scratch;
        let positions = self.positions();
        let tiles = positions.start / TILE..positions.end.div_ceil(TILE);
        for tile in tiles.clone() {
            self.read(level, Plane::Keys, tile, panels);
            let keys = &panels[..self.attention.layout.head_dim];
            level.run(Scores { task: self, tile, keys, scores });
        }
        level.run(Softmax { task: self, scores, partial });
        for tile in tiles {
            self.read(level, Plane::Values, tile, panels);
            level.run(Mix { task: self, tile, values: panels, scores, partial });
        }
    }

    /// The positions of the span that some row sees. Later rows see later positions: the first row
    /// tells the start, the last one the end.
    fn positions(&self) -> Range<usize> {
        let last = self.attention.num_rows(self.unit) - 1;
        let seen = self.visible(0).start..self.visible(last).end;
        within(seen, self.span * SPAN..(self.span + 1) * SPAN)
    }

    /// The positions that row `row` of the unit sees.
    #[inline(always)]
    fn visible(&self, row: usize) -> Range<usize> {
        self.attention.visible(self.unit, row)
    }

    /// Reads the positions of a tile that some row sees into their places in the panels.
    fn read(&self, level: Level, plane: Plane, tile: usize, panels: &mut [PanelRow]) {
        let kv = &self.attention.cache.layout;
        let positions = within(self.positions(), tile * TILE..(tile + 1) * TILE);
        let mut position = positions.start;
        while position < positions.end {
            let offset = position % kv.block_tokens;
            let count = (kv.block_tokens - offset).min(positions.end - position);
            let region = self.region(plane, position);
            let run = Run {
                region,
                ahead: self.ahead(plane, position),
                offset,
                count,
                at: position % TILE,
            };
            macro_rules! read {
                ($element:ident) => {
                    level.run(Read::<cached::$element> {
                        plane,
                        run,
                        block_tokens: kv.block_tokens,
                        head_dim: kv.head_dim,
                        panels: &mut *panels,
                        element: PhantomData,
                    })
                };
            }
            match kv.dtype {
                KvDType::F32 => read!(F32),
                KvDType::F16 => read!(F16),
                KvDType::Q8_0 => read!(Q8_0),
            }
            position += count;
        }
    }

    /// Where a position's keys or values of this head lie.
    fn region(&self, plane: Plane, position: usize) -> &'a [u8] {
        let Attention { batch, params, cache, .. } = self.attention;
        let block = batch.block_table(self.unit.sequence)[position / cache.layout.block_tokens];
        cache.region(block, params.layer, plane, self.kv_head)
    }

    /// The region to ask for while that of `position` is read: the next tile's, or the first of
    /// those that come after the last tile of keys, or of values.
    fn ahead(&self, plane: Plane, position: usize) -> &'a [u8] {
        let positions = self.positions();
        let next = position + TILE;
        match plane {
            _ if next < positions.end => self.region(plane, next),
            Plane::Keys => {
                let first = positions.start + position % TILE;
                self.region(Plane::Values, first.min(positions.end - 1))
            }
            Plane::Values => {
                let last = self.attention.batch.context_lens()[self.unit.sequence] - 1;
                self.region(Plane::Keys, next.min(last))
            }
        }
    }
}

/// What both ranges hold; empty, and within `outer`, where they have nothing in common.
#[inline(always)]
fn within(inner: Range<usize>, outer: Range<usize>) -> Range<usize> {
    let start = inner.start.clamp(outer.start, outer.end);
    start..inner.end.clamp(start, outer.end)
}

/// The scores of a tile's positions.
struct Scores<'a> {
    task: &'a Task<'a>,
    tile: usize,
    keys: &'a [PanelRow],
    scores: &'a mut [f32],
}

impl Kernel for Scores<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { task, tile, keys, scores } = self;
        let Attention { params, .. } = task.attention;
        let tile = tile * TILE..(tile + 1) * TILE;
        let scale = lanes.splat(params.scale);
        register_blocks!(L, task.attention.num_rows(task.unit), |first, T| {
            // Most rows of a block see the same; those that see less do not read the rest.
            let seen = task.visible(first).start..task.visible(first + T - 1).end;
            if !within(seen, tile.clone()).is_empty() {
                let mut queries = [&[][..]; T];
                for t in 0..T {
                    queries[t] = task.attention.query(task.unit, task.kv_head, first + t);
                }
                let mut sums = multiply::<L, T>(lanes, queries, keys, tile::zeros::<L, T>(lanes));
                for t in 0..T {
                    for sum in &mut sums[t] {
                        *sum = lanes.mul(*sum, scale);
                    }
                    let at = (first + t) * SPAN + tile.start % SPAN;
                    tile::store(lanes, sums[t], &mut scores[at..]);
                }
            }
        });
    }
}

/// Turns scores into exponentials and starts the partial results.
struct Softmax<'a> {
    task: &'a Task<'a>,
    scores: &'a mut [f32],
    partial: &'a mut [f32],
}

impl Kernel for Softmax<'_> {
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
            // Whole vectors of positions that are not seen would add nothing.
            let vectors = start / LANES * LANES..end.next_multiple_of(LANES);
            scores[vectors.start..start].fill(f32::NEG_INFINITY);
            scores[end..vectors.end].fill(f32::NEG_INFINITY);
            (partial[MAX], partial[SUM]) = exponentials(lanes, &mut scores[vectors]);
        }
    }
}

/// Mixes the values of a tile into the partial results.
struct Mix<'a> {
    task: &'a Task<'a>,
    tile: usize,
    values: &'a [PanelRow],
    scores: &'a [f32],
    partial: &'a mut [f32],
}

impl Kernel for Mix<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let task = self.task;
        register_blocks!(L, task.attention.num_rows(task.unit), |first, T| {
            let common = within(
                self.seen(first + T - 1).start..self.seen(first).end,
                self.tile * TILE..(self.tile + 1) * TILE,
            );
            // Positions that not all rows see are added row by row, before and after the others.
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

impl Mix<'_> {
    /// The positions of the tile that row `row` sees.
    #[inline(always)]
    fn seen(&self, row: usize) -> Range<usize> {
        within(self.task.visible(row), self.tile * TILE..(self.tile + 1) * TILE)
    }

    /// Adds the values at `positions` to the mixed values of `T` rows.
    #[inline(always)]
    fn add<L: Lanes, const T: usize>(&mut self, lanes: L, first: usize, positions: Range<usize>) {
        if positions.is_empty() {
            return;
        }
        let partial_len = self.task.attention.partial_len;
        let mut factors = [&[][..]; T];
        for t in 0..T {
            let row = &self.scores[(first + t) * SPAN..(first + t + 1) * SPAN];
            factors[t] = &row[positions.start % SPAN..][..positions.len()];
        }
        let place = positions.start % TILE..positions.start % TILE + positions.len();
        let columns = (MIXED..partial_len).step_by(PANEL);
        for (panel, column) in self.values.chunks_exact(TILE).zip(columns) {
            let mut sums = tile::zeros::<L, T>(lanes);
            for t in 0..T {
                sums[t] = tile::load(lanes, &self.partial[(first + t) * partial_len + column..]);
            }
            let sums = multiply::<L, T>(lanes, factors, &panel[place.clone()], sums);
            for t in 0..T {
                tile::store(
                    lanes,
                    sums[t],
                    &mut self.partial[(first + t) * partial_len + column..],
                );
            }
        }
    }
}
