//! One span of positions for one unit of rows: scores, exponentials, mixed values.
//!
//! A span is cut into tiles of 64 positions. Each tile of keys or values is read from the cache
//! once: by many rows from panels that it was read into, by few from where it lies.

// Registers are named by number; an iterator over them is not always inlined.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;
use std::ops::Range;

use inferno_backend::KvDType;

use super::cached::{self, Element, Keys, Read, Region, Run, Values};
use super::integer::{self, Way};
use super::merge::{MAX, MIXED, SUM};
use super::plan::Unit;
use super::tile::{self, Line, PANEL, Panel, PanelRow, TILE, VECTORS, multiply, register_blocks};
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
    /// What is computed after it, whose keys are asked for meanwhile.
    pub(super) next: Option<&'a Task<'a>>,
}

/// Lines of scores, [`SPAN`] of each row, and of panels, [`TILE`] rows for every [`PANEL`] components.
fn scratch_lines(attention: &Attention<'_>, num_rows: usize) -> [usize; 2] {
    let panels = TILE * attention.layout.head_dim.next_multiple_of(PANEL);
    [num_rows * SPAN / LANES, panels / LANES]
}

/// Rows that read the cache where it lies: as few as cost less to convert its numbers for than to
/// keep them in panels.
const FEW_ROWS: usize = 4;

impl<'a> Task<'a> {
    /// Lines of memory that a task of so many rows takes.
    pub(super) fn num_lines(attention: &Attention<'_>, num_rows: usize) -> usize {
        match attention.cache.layout.dtype {
            KvDType::I16 => integer::Memory::num_lines(attention, num_rows),
            _ => scratch_lines(attention, num_rows).iter().sum(),
        }
    }

    /// What is done once for all spans of a task, in the memory that these are then given.
    pub(super) fn prepare(&self, level: Level, memory: &mut [Line]) {
        if self.attention.cache.layout.dtype == KvDType::I16 {
            let (task, way) = (self, Way::of(self, level));
            let memory = integer::Memory::new(self.attention, self.num_rows(), memory);
            level.run(integer::Queries { task, way, memory });
        }
    }

    /// Computes the partial result of every row.
    pub(super) fn run(&self, level: Level, memory: &mut [Line], partial: &mut [f32]) {
        match self.attention.cache.layout.dtype {
            KvDType::F32 => self.run_with::<cached::F32>(level, memory, partial),
            KvDType::F16 => self.run_with::<cached::F16>(level, memory, partial),
            KvDType::Q8_0 => self.run_with::<cached::Q8_0>(level, memory, partial),
            KvDType::I16 => {
                let (task, way) = (self, Way::of(self, level));
                let memory = integer::Memory::new(self.attention, self.num_rows(), memory);
                match way {
                    Way::InPlace => {
                        level.run(integer::Span::<true>::new(task, way, memory, partial));
                    }
                    _ => level.run(integer::Span::<false>::new(task, way, memory, partial)),
                }
            }
        }
    }

    fn num_rows(&self) -> usize {
        self.attention.num_rows(self.unit)
    }

    fn run_with<E: Element>(&self, level: Level, memory: &mut [Line], partial: &mut [f32]) {
        let [scores, _] = scratch_lines(self.attention, self.num_rows());
        // A tile of keys, or of values, is as many rows for every panel of components.
        let (scores, panels) = memory.split_at_mut(scores);
        let scores: &mut [f32] = bytemuck::cast_slice_mut(scores);
        let panels: &mut [PanelRow] = bytemuck::cast_slice_mut(panels);
        let kv = &self.attention.cache.layout;
        let positions = self.positions();
        let tiles = positions.start / TILE..positions.end.div_ceil(TILE);
        let whole_vectors = kv.block_tokens % LANES == 0 && kv.head_dim % PANEL == 0;
        let few = whole_vectors && self.attention.num_rows(self.unit) <= FEW_ROWS;
        let element = PhantomData::<E>;
        if few {
            level.run(ScoresWhereTheyLie { task: self, tiles, scores, element });
            level.run(Softmax { task: self, scores, partial });
            let mixture = Mixture { task: self, scores, partial };
            level.run(MixWhereTheyLie { mixture, element });
            return;
        }
        for tile in tiles.clone() {
            self.read::<E>(level, Plane::Keys, tile, panels);
            level.run(Scores { task: self, tile, keys: &panels[..kv.head_dim], scores });
        }
        level.run(Softmax { task: self, scores, partial });
        for tile in tiles {
            self.read::<E>(level, Plane::Values, tile, panels);
            let mixture = Mixture { task: self, scores, partial: &mut *partial };
            level.run(Mix { mixture, tile, values: panels });
        }
    }

    /// The positions of the span that some row sees. Later rows see later positions: the first row
    /// tells the start, the last one the end.
    pub(super) fn positions(&self) -> Range<usize> {
        let last = self.attention.num_rows(self.unit) - 1;
        let seen = self.visible(0).start..self.visible(last).end;
        within(seen, self.span * SPAN..(self.span + 1) * SPAN)
    }

    /// The positions that row `row` of the unit sees.
    #[inline(always)]
    pub(super) fn visible(&self, row: usize) -> Range<usize> {
        self.attention.visible(self.unit, row)
    }

    /// Reads the positions of a tile that some row sees into their places in the panels.
    fn read<E: Element>(&self, level: Level, plane: Plane, tile: usize, panels: &mut [PanelRow]) {
        let positions = within(self.positions(), tile * TILE..(tile + 1) * TILE);
        for run in self.runs(plane, positions) {
            level.run(Read { plane, run, panels: &mut *panels, element: PhantomData::<E> });
        }
    }

    /// Cuts positions where blocks end.
    #[inline(always)]
    fn runs(&self, plane: Plane, positions: Range<usize>) -> impl Iterator<Item = Run<'a>> {
        let task = *self;
        let block_tokens = task.attention.cache.layout.block_tokens;
        let mut position = positions.start;
        std::iter::from_fn(move || {
            let offset = position % block_tokens;
            let count = (block_tokens - offset).min(positions.end - position);
            let at = position % TILE;
            (count > 0).then(|| {
                let region = task.region(plane, position);
                position += count;
                Run { region, offset, count, at }
            })
        })
    }

    /// Where a position's keys or values of this head lie.
    #[inline(always)]
    pub(super) fn region(&self, plane: Plane, position: usize) -> Region<'a> {
        let cache = self.attention.cache;
        let (block_tokens, head_dim) = (cache.layout.block_tokens, cache.layout.head_dim);
        let region = |plane, position| self.bytes(plane, position);
        // What is read after this tile: the next one, or the first of those that come after the last
        // tile of keys, or of values.
        let positions = self.positions();
        let next = position + TILE;
        let ahead = match plane {
            _ if next < positions.end => region(plane, next),
            Plane::Keys => {
                let first = positions.start + position % TILE;
                region(Plane::Values, first.min(positions.end - 1))
            }
            Plane::Values => {
                let last = self.attention.batch.context_lens()[self.unit.sequence] - 1;
                region(Plane::Keys, next.min(last))
            }
        };
        Region { bytes: region(plane, position), ahead, block_tokens, head_dim }
    }

    /// The bytes of that region.
    #[inline(always)]
    pub(super) fn bytes(&self, plane: Plane, position: usize) -> &'a [u8] {
        let Attention { params, cache, batch, .. } = self.attention;
        let block = batch.block_table(self.unit.sequence)[position / cache.layout.block_tokens];
        cache.region(block, params.layer, plane, self.kv_head)
    }

    /// The keys of a tile where they lie. Positions that no row sees are not looked for: others
    /// stand in for them.
    #[inline(always)]
    fn keys<E>(&self, tile: usize) -> Keys<'a, E> {
        let seen = self.positions();
        let block_tokens = self.attention.cache.layout.block_tokens;
        let mut vectors = [(self.region(Plane::Keys, seen.start), 0); VECTORS];
        for v in 0..VECTORS {
            let position = tile * TILE + v * LANES;
            let near = position.clamp(seen.start, seen.end - 1);
            vectors[v] = (self.region(Plane::Keys, near), position % block_tokens);
        }
        Keys { vectors, element: PhantomData }
    }
}

/// What both ranges hold; empty, and within `outer`, where they have nothing in common.
#[inline(always)]
pub(super) fn within(inner: Range<usize>, outer: Range<usize>) -> Range<usize> {
    let start = inner.start.clamp(outer.start, outer.end);
    start..inner.end.clamp(start, outer.end)
}

/// The scores of a tile's positions.
#[inline(always)]
fn score<L: Lanes>(lanes: L, task: &Task<'_>, tile: usize, keys: impl Panel, scores: &mut [f32]) {
    let tile = tile * TILE..(tile + 1) * TILE;
    let scale = lanes.splat(task.attention.params.scale);
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
                for v in 0..VECTORS {
                    sums[t][v] = lanes.mul(sums[t][v], scale);
                }
                let at = (first + t) * SPAN + tile.start % SPAN;
                tile::store(lanes, sums[t], &mut scores[at..]);
            }
        }
    });
}

/// The scores of a tile that was read.
struct Scores<'a> {
    task: &'a Task<'a>,
    tile: usize,
    keys: &'a [PanelRow],
    scores: &'a mut [f32],
}

impl Kernel for Scores<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        score(lanes, self.task, self.tile, self.keys, self.scores);
    }
}

/// The scores of a span whose keys are read where they lie.
struct ScoresWhereTheyLie<'a, E> {
    task: &'a Task<'a>,
    tiles: Range<usize>,
    scores: &'a mut [f32],
    element: PhantomData<E>,
}

impl<E: Element> Kernel for ScoresWhereTheyLie<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for tile in self.tiles {
            score(lanes, self.task, tile, self.task.keys::<E>(tile), self.scores);
        }
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

/// Values mixed with the exponentials of their scores.
struct Mixture<'a> {
    task: &'a Task<'a>,
    scores: &'a [f32],
    partial: &'a mut [f32],
}

impl Mixture<'_> {
    /// Adds values of the positions from `position` on, components from `column` on, to what is
    /// mixed for `T` rows.
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
        let mut sums = tile::zeros::<L, T>(lanes);
        for t in 0..T {
            let row = &self.scores[(first + t) * SPAN..(first + t + 1) * SPAN];
            factors[t] = &row[position % SPAN..][..values.num_rows()];
            let mixed = &self.partial[(first + t) * partial_len + MIXED + column..];
            sums[t] = tile::load(lanes, mixed);
        }
        let sums = multiply::<L, T>(lanes, factors, values, sums);
        for t in 0..T {
            let mixed = &mut self.partial[(first + t) * partial_len + MIXED + column..];
            tile::store(lanes, sums[t], mixed);
        }
    }
}

/// Mixes the values of a tile that was read.
struct Mix<'a> {
    mixture: Mixture<'a>,
    tile: usize,
    values: &'a [PanelRow],
}

impl Kernel for Mix<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let task = self.mixture.task;
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
        within(self.mixture.task.visible(row), self.tile * TILE..(self.tile + 1) * TILE)
    }

    /// Adds the values at `positions` to what is mixed for `T` rows.
    #[inline(always)]
    fn add<L: Lanes, const T: usize>(&mut self, lanes: L, first: usize, positions: Range<usize>) {
        if positions.is_empty() {
            return;
        }
        let place = positions.start % TILE..positions.start % TILE + positions.len();
        for (number, panel) in self.values.chunks_exact(TILE).enumerate() {
            let (column, values) = (number * PANEL, &panel[place.clone()]);
            self.mixture.add::<L, T>(lanes, first, positions.start, column, values);
        }
    }
}

/// Mixes the values of a span that are read where they lie.
struct MixWhereTheyLie<'a, E> {
    mixture: Mixture<'a>,
    element: PhantomData<E>,
}

impl<E: Element> Kernel for MixWhereTheyLie<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let task = self.mixture.task;
        let mut position = task.positions().start;
        for run in task.runs(Plane::Values, task.positions()) {
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

impl<E: Element> MixWhereTheyLie<'_, E> {
    /// Adds the values at `positions` of a run to what is mixed for `T` rows.
    #[inline(always)]
    fn add<L: Lanes, const T: usize>(
        &mut self,
        lanes: L,
        first: usize,
        positions: Range<usize>,
        run: &Run<'_>,
    ) {
        if positions.is_empty() {
            return;
        }
        let region = run.region;
        let (offset, count) = (positions.start % region.block_tokens, positions.len());
        for column in (0..region.head_dim).step_by(PANEL) {
            let values = Values::<E> { region, offset, count, column, element: PhantomData };
            self.mixture.add::<L, T>(lanes, first, positions.start, column, values);
        }
    }
}
