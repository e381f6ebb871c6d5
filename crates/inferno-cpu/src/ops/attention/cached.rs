//! Reading the cache: a tile of its numbers becomes panels of `f32`, which is exact in every format.
//!
//! Keys stand component by component in a block and value rows position by position, so both are
//! vectors already: a panel of keys has a row a component and a column a position, the panels of
//! values have a row a position and a column a component.
//!
//! The next tile is asked for while one is read. Blocks lie far apart, and no processor guesses
//! where the next one is.

use std::marker::PhantomData;

use super::tile::{Line, PANEL, PanelRow, TILE};
use crate::isa::Kernel;
use crate::kv_cache::Plane;
use crate::lanes::{LANES, Lanes};
use crate::memory::LINE_BYTES;

/// Components that share a scale in a cache with scales.
const SCALED: usize = 32;

/// How the cache holds numbers.
pub(super) trait Element {
    /// Bytes of one.
    const BYTES: usize;
    /// Whether 32 components share a half-precision scale.
    const SCALES: bool;

    /// 16 numbers from the start of `bytes`; zeros in the lanes beyond its end.
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32;
}

pub(super) struct F32;
pub(super) struct F16;
pub(super) struct Q8_0;

/// What is left of a region, and zeros.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

impl Element for F32 {
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

impl Element for F16 {
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

impl Element for Q8_0 {
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

/// Neighbouring positions of one block, and where they go.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) region: &'a [u8],
    /// The region that is read when this tile is done.
    pub(super) ahead: &'a [u8],
    /// The first one's place in the block.
    pub(super) offset: usize,
    pub(super) count: usize,
    /// The first one's place in the tile.
    pub(super) at: usize,
}

/// Reads one run into the panels of its tile.
pub(super) struct Read<'a, E> {
    pub(super) plane: Plane,
    pub(super) run: Run<'a>,
    pub(super) block_tokens: usize,
    pub(super) head_dim: usize,
    pub(super) panels: &'a mut [PanelRow],
    pub(super) element: PhantomData<E>,
}

impl<E: Element> Kernel for Read<'_, E> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.plane {
            Plane::Keys => self.keys(lanes),
            Plane::Values => self.values(lanes),
        }
    }
}

impl<E: Element> Read<'_, E> {
    /// 16 numbers from number `index` of the region on.
    #[inline(always)]
    fn load<L: Lanes>(&self, lanes: L, index: usize) -> L::F32 {
        let at = index * E::BYTES;
        if at % LINE_BYTES < LANES * E::BYTES {
            lanes.prefetch(self.run.ahead, at);
        }
        E::load(lanes, &self.run.region[at..])
    }

    /// The bytes of the scales from number `index` on.
    #[inline(always)]
    fn scales(&self, index: usize) -> &[u8] {
        &self.run.region[self.block_tokens * self.head_dim * E::BYTES + 2 * index..]
    }

    #[inline(always)]
    fn keys<L: Lanes>(self, lanes: L) {
        let Run { offset, count, at, .. } = self.run;
        for first in (0..count).step_by(LANES) {
            let (offset, column) = (offset + first, at + first);
            for piece in (0..self.head_dim).step_by(SCALED) {
                let scale = match E::SCALES {
                    true => {
                        let index = piece / SCALED * self.block_tokens + offset;
                        F16::load(lanes, self.scales(index))
                    }
                    false => lanes.splat(1.0),
                };
                for d in piece..self.head_dim.min(piece + SCALED) {
                    let mut keys = self.load(lanes, d * self.block_tokens + offset);
                    if E::SCALES {
                        keys = lanes.mul(keys, scale);
                    }
                    // Lanes beyond the run are written over by the runs that follow.
                    let row: &mut [f32] = bytemuck::cast_slice_mut(&mut self.panels[d]);
                    let end = PANEL.min(column + LANES);
                    lanes.store_part(keys, &mut row[column..end]);
                }
            }
        }
    }

    #[inline(always)]
    fn values<L: Lanes>(self, lanes: L) {
        let Run { offset, count, at, .. } = self.run;
        for position in 0..count {
            for d in (0..self.head_dim).step_by(LANES) {
                let mut values = self.load(lanes, (offset + position) * self.head_dim + d);
                if E::SCALES {
                    let index = (offset + position) * (self.head_dim / SCALED) + d / SCALED;
                    let scale = self.scales(index);
                    let scale = half::f16::from_le_bytes([scale[0], scale[1]]).to_f32();
                    values = lanes.mul(values, lanes.splat(scale));
                }
                let row = &mut self.panels[d / PANEL * TILE + at + position];
                let Line(out) = &mut row[d % PANEL / LANES];
                lanes.store(values, out);
            }
        }
    }
}
