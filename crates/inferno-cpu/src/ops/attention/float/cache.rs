//! Reads of the cache, with its numbers converted to `f32`, which is exact in every format.
//!
//! Keys are stored component by component in a block and values position by position, so both are vectors already: a
//! panel of keys has one row per component and one column per position, a panel of values one row per position and one
//! column per component. For many rows a tile is read into panels first ([`ReadRun`]); for few, rows of panels are read
//! in place ([`CachedKeys`], [`CachedValues`]). Values that are components of keys are transposed while they are read into
//! panels.
//!
//! The next tile is prefetched while one is read: blocks are too far apart for the hardware prefetcher.

// Registers are indexed by number; iterators over them are not always inlined.
#![allow(clippy::needless_range_loop)]

use std::marker::PhantomData;
use std::ops::Range;

use super::panel::{Panel, PanelRow, RowVectors};
use crate::kv_cache::Plane;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::memory::LINE_BYTES;
use crate::ops::attention::inputs::{PANEL, TILE, VECTORS};
use crate::ops::attention::task::SpanTask;
use crate::ops::attention::transpose::transpose_f32;
use crate::scratch::CacheLine;

/// Components that share a scale in Q8_0.
const SCALED: usize = 32;

/// A number format of the cache.
pub(in crate::ops::attention) trait Element {
    /// Bytes per number.
    const BYTES: usize;
    /// Whether 32 components share a half-precision scale.
    const SCALES: bool;

    /// Loads up to 16 numbers from the start of `bytes`; the other lanes are zero.
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32;
}

pub(in crate::ops::attention) struct F32Element;
pub(in crate::ops::attention) struct F16Element;
pub(in crate::ops::attention) struct Q8_0Element;

/// `bytes` padded with zeros.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

impl Element for F32Element {
    const BYTES: usize = 4;
    const SCALES: bool = false;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        match bytes.first_chunk() {
            Some(all) => lanes.load_f32(all),
            None => lanes.load_f32(&padded(bytes)),
        }
    }
}

impl Element for F16Element {
    const BYTES: usize = 2;
    const SCALES: bool = false;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        match bytes.first_chunk() {
            Some(all) => lanes.load_f16(all),
            None => lanes.load_f16(&padded(bytes)),
        }
    }
}

impl Element for Q8_0Element {
    const BYTES: usize = 1;
    const SCALES: bool = true;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        match bytes.first_chunk() {
            Some(all) => lanes.load_i8(all),
            None => lanes.load_i8(&padded(bytes)),
        }
    }
}

/// One head's keys or values in one block.
#[derive(Clone, Copy)]
pub(super) struct Region<'a> {
    pub(super) bytes: &'a [u8],
    /// The region that is read after this tile.
    pub(super) ahead: &'a [u8],
    pub(super) block_tokens: usize,
    /// Components of a row of the region.
    pub(super) head_dim: usize,
    /// The order of its rows.
    order: Plane,
    /// The first component that is read.
    first: usize,
}

impl<'a> Region<'a> {
    /// The region of a position's keys or values.
    #[inline(always)]
    pub(super) fn new(task: &SpanTask<'a>, plane: Plane, position: usize) -> Self {
        let cache = task.attention.cache;
        let block_tokens = cache.layout.block_tokens;
        let (order, first) = task.attention.stored(plane);
        let head_dim = task.attention.dim(order);
        let region = |plane, position| task.bytes(plane, position);
        // The next tile, or after the last one the first tile of values, or of the following keys.
        let positions = task.positions();
        let next = position + TILE;
        let ahead = match plane {
            _ if next < positions.end => region(plane, next),
            Plane::Keys => {
                let first = positions.start + position % TILE;
                region(Plane::Values, first.min(positions.end - 1))
            }
            Plane::Values => {
                let last = task.attention.batch.context_lens()[task.unit.sequence] - 1;
                region(Plane::Keys, next.min(last))
            }
        };
        Self { bytes: region(plane, position), ahead, block_tokens, head_dim, order, first }
    }

    /// 16 numbers from number `index` on.
    #[inline(always)]
    fn load<E: Element, L: Lanes>(&self, lanes: L, index: usize) -> L::F32 {
        let at = index * E::BYTES;
        if at % LINE_BYTES < LANES * E::BYTES {
            lanes.prefetch(self.ahead, at);
        }
        E::load(lanes, &self.bytes[at..])
    }

    /// The bytes of the scales from number `index` on.
    #[inline(always)]
    fn scales<E: Element>(&self, index: usize) -> &[u8] {
        &self.bytes[self.block_tokens * self.head_dim * E::BYTES + 2 * index..]
    }

    /// Component `d` of 16 positions from offset `offset` of the block on.
    #[inline(always)]
    fn keys<E: Element, L: Lanes>(&self, lanes: L, offset: usize, d: usize) -> L::F32 {
        let keys = self.load::<E, L>(lanes, d * self.block_tokens + offset);
        match E::SCALES {
            true => {
                let scales = self.scales::<E>(d / SCALED * self.block_tokens + offset);
                lanes.mul(keys, F16Element::load(lanes, scales))
            }
            false => keys,
        }
    }

    /// 16 components from `d` on of the position at offset `offset` of the block.
    #[inline(always)]
    fn values<E: Element, L: Lanes>(&self, lanes: L, offset: usize, d: usize) -> L::F32 {
        let values = self.load::<E, L>(lanes, offset * self.head_dim + d);
        match E::SCALES {
            true => {
                let scale = self.scales::<E>(offset * (self.head_dim / SCALED) + d / SCALED);
                let scale = half::f16::from_le_bytes([scale[0], scale[1]]).to_f32();
                lanes.mul(values, lanes.splat(scale))
            }
            false => values,
        }
    }
}

/// A tile of keys, read in place, in blocks of whole vectors of positions.
pub(super) struct CachedKeys<'a, E> {
    /// The region of each 16 positions, and their offset in its block.
    pub(super) vectors: [(Region<'a>, usize); VECTORS],
    pub(super) element: PhantomData<E>,
}

impl<'a, E> CachedKeys<'a, E> {
    /// The keys of a tile. Positions that no row sees are replaced by others.
    #[inline(always)]
    pub(super) fn new(task: &SpanTask<'a>, tile: usize) -> Self {
        let seen = task.positions();
        let block_tokens = task.attention.cache.layout.block_tokens;
        let mut vectors = [(Region::new(task, Plane::Keys, seen.start), 0); VECTORS];
        for v in 0..VECTORS {
            let position = tile * TILE + v * LANES;
            let near = position.clamp(seen.start, seen.end - 1);
            vectors[v] = (Region::new(task, Plane::Keys, near), position % block_tokens);
        }
        Self { vectors, element: PhantomData }
    }
}

impl<E> Clone for CachedKeys<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for CachedKeys<'_, E> {}

impl<E: Element> Panel for CachedKeys<'_, E> {
    #[inline(always)]
    fn num_rows(&self) -> usize {
        self.vectors[0].0.head_dim
    }

    #[inline(always)]
    fn row<L: Lanes>(&self, lanes: L, k: usize) -> RowVectors<L> {
        let mut row = [lanes.splat(0.0); VECTORS];
        for v in 0..VECTORS {
            let (region, offset) = &self.vectors[v];
            row[v] = region.keys::<E, L>(lanes, *offset, k);
        }
        row
    }
}

/// 64 components from `column` on of `count` positions, read in place.
pub(super) struct CachedValues<'a, E> {
    pub(super) region: Region<'a>,
    /// Offset of the first position in the block.
    pub(super) offset: usize,
    pub(super) count: usize,
    pub(super) column: usize,
    pub(super) element: PhantomData<E>,
}

impl<E> Clone for CachedValues<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for CachedValues<'_, E> {}

impl<E: Element> Panel for CachedValues<'_, E> {
    #[inline(always)]
    fn num_rows(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn row<L: Lanes>(&self, lanes: L, k: usize) -> RowVectors<L> {
        let mut row = [lanes.splat(0.0); VECTORS];
        for v in 0..VECTORS {
            let d = self.column + v * LANES;
            row[v] = self.region.values::<E, L>(lanes, self.offset + k, d);
        }
        row
    }
}

/// Neighbouring positions of one block.
#[derive(Clone, Copy)]
pub(super) struct PositionRun<'a> {
    pub(super) region: Region<'a>,
    /// Offset of the first position in the block.
    pub(super) offset: usize,
    pub(super) count: usize,
    /// Offset of the first position in the tile.
    pub(super) at: usize,
}

/// Splits positions by block.
#[inline(always)]
pub(super) fn runs(task: SpanTask<'_>, plane: Plane, positions: Range<usize>) -> Runs<'_> {
    Runs { task, plane, positions }
}

/// The runs of [`runs`]. Not a closure, which would not be inlined into the kernels.
pub(super) struct Runs<'a> {
    task: SpanTask<'a>,
    plane: Plane,
    positions: Range<usize>,
}

impl<'a> Iterator for Runs<'a> {
    type Item = PositionRun<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<PositionRun<'a>> {
        let Range { start, end } = self.positions;
        let block_tokens = self.task.attention.cache.layout.block_tokens;
        let offset = start % block_tokens;
        let count = (block_tokens - offset).min(end - start);
        if count == 0 {
            return None;
        }
        self.positions.start += count;
        let region = Region::new(&self.task, self.plane, start);
        Some(PositionRun { region, offset, count, at: start % TILE })
    }
}

/// Reads one run into the panels of its tile.
pub(super) struct ReadRun<'a, E> {
    pub(super) plane: Plane,
    pub(super) run: PositionRun<'a>,
    pub(super) panels: &'a mut [PanelRow],
    pub(super) element: PhantomData<E>,
}

impl<E: Element> Kernel for ReadRun<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let PositionRun { region, offset, count, at } = self.run;
        match (self.plane, region.order) {
            (Plane::Keys, _) => {
                for first in (0..count).step_by(LANES) {
                    let column = at + first;
                    for d in 0..region.head_dim {
                        let keys = region.keys::<E, L>(lanes, offset + first, d);
                        // Lanes beyond the run are overwritten by the runs that follow.
                        let row: &mut [f32] = bytemuck::cast_slice_mut(&mut self.panels[d]);
                        lanes.store_part(keys, &mut row[column..PANEL.min(column + LANES)]);
                    }
                }
            }
            (Plane::Values, Plane::Values) => {
                for position in 0..count {
                    for d in (0..region.head_dim).step_by(LANES) {
                        let values = region.values::<E, L>(lanes, offset + position, d);
                        let row = &mut self.panels[d / PANEL * TILE + at + position];
                        let CacheLine(out) = &mut row[d % PANEL / LANES];
                        lanes.store(values, out);
                    }
                }
            }
            (Plane::Values, Plane::Keys) => self.transpose(lanes),
        }
    }
}

impl<E: Element> ReadRun<'_, E> {
    /// Reads values that are components of keys.
    #[inline(always)]
    fn transpose<L: Lanes>(self, lanes: L) {
        let PositionRun { region, offset, count, at } = self.run;
        let value_dim = region.head_dim - region.first;
        let mut components = [CacheLine([0.0; LANES]); LANES];
        for first in (0..count).step_by(LANES) {
            for d in (0..value_dim).step_by(LANES) {
                for (component, CacheLine(out)) in (d..value_dim).zip(&mut components) {
                    let component = region.first + component;
                    lanes.store(region.keys::<E, L>(lanes, offset + first, component), out);
                }
                let columns = transpose_f32(lanes, &components);
                let panel = &mut self.panels[d / PANEL * TILE + at + first..];
                for (row, column) in panel[..LANES.min(count - first)].iter_mut().zip(columns) {
                    let CacheLine(out) = &mut row[d % PANEL / LANES];
                    lanes.store_bytes(column, bytemuck::cast_mut(out));
                }
            }
        }
    }
}
