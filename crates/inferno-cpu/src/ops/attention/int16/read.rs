//! Reads of a span's integers and scales from the cache.
//!
//! Pairs have the same layout in the cache as in panels, 16 per cache line. Values that are components of keys, and blocks
//! without whole lines of positions or of components, are converted to that layout first, 16 positions at a time.

use std::ops::Range;

use super::matrix_unit::{STEP, VALUE_STEPS};
use super::positions::PositionGroup;
use super::span::{Int16Span, ReadPath, padded_dim, whole_vectors};
use crate::kv_cache::{MAX_I16_ROW_BYTES, Plane, RowLayout};
use crate::lanes::{ColumnTile, LANES, Lanes, VECTOR_BYTES};
use crate::ops::attention::inputs::{SPAN, TILE, VECTORS};
use crate::ops::attention::task::within;
use crate::ops::attention::transpose::transpose_pairs;
use crate::scratch::CacheLine;

impl<const IN_PLACE: bool> Int16Span<'_, IN_PLACE> {
    /// Reads the visible positions of the span into panels or tiles, and their scales.
    #[inline(always)]
    pub(super) fn read<L: Lanes>(&mut self, lanes: L) {
        let positions = self.task.positions();
        let start = self.task.span * SPAN;
        let mut first = positions.start / LANES * LANES;
        while first < positions.end {
            let here = within(positions.clone(), first..first + LANES);
            for plane in [Plane::Keys, Plane::Values] {
                let number = (first - start) / LANES;
                if whole_vectors(self.task.attention) {
                    self.read_scales(lanes, plane, number..number + 1);
                    if self.is_transposed(plane) {
                        self.transpose(lanes, number);
                    }
                } else {
                    self.stage(plane, here.clone());
                }
                match self.path {
                    ReadPath::Tiles => self.read_tiles(lanes, plane, number),
                    _ => self.read_pairs(lanes, plane, number),
                }
            }
            first += LANES;
        }
    }

    /// Reads the scales of some groups.
    #[inline(always)]
    pub(super) fn read_scales<L: Lanes>(&mut self, lanes: L, plane: Plane, groups: Range<usize>) {
        for number in groups {
            let (group, out) = match plane {
                Plane::Keys => (&self.groups.keys[number], &mut *self.memory.key_scales),
                Plane::Values => (&self.groups.values[number], &mut *self.memory.value_scales),
            };
            let scales = group.scales.first_chunk().expect("a block has whole vectors");
            lanes
                .store_part(lanes.load_f32(scales), &mut out[number * LANES..(number + 1) * LANES]);
        }
    }

    /// Converts up to 16 `positions` within a vector to the layout of a block of whole cache lines.
    #[inline(always)]
    fn stage(&mut self, plane: Plane, positions: Range<usize>) {
        let layout = &self.task.attention.cache.layout;
        let (stored, first) = self.task.attention.stored(plane);
        let rows = RowLayout::new(layout, self.task.attention.params.layer, stored);
        let block_tokens = layout.block_tokens;
        let dim = padded_dim(self.task.attention, plane);
        let stage: &mut [u8] = bytemuck::cast_slice_mut(self.memory.stage);
        stage.fill(0);
        let mut row = [0; MAX_I16_ROW_BYTES];
        let row = &mut row[..rows.row_bytes()];
        for position in positions {
            let region = self.task.bytes(plane, position);
            rows.get(stored, region, position % block_tokens, row);
            let (scale, integers) = row.split_at(size_of::<f32>());
            let scale = f32::from_le_bytes(scale.try_into().expect("it was split off"));
            let offset = position % LANES;
            for (d, integer) in integers[2 * first..].chunks_exact(2).enumerate() {
                let at = match plane {
                    Plane::Keys => (d / 2 * LANES + offset) * 2 + d % 2,
                    Plane::Values => (offset / 2 * dim + d) * 2 + offset % 2,
                };
                stage[2 * at..2 * at + 2].copy_from_slice(integer);
            }
            match plane {
                Plane::Keys => self.memory.key_scales[position % SPAN] = scale,
                Plane::Values => self.memory.value_scales[position % SPAN] = scale,
            }
        }
    }

    /// Whether these are values in the order of keys.
    #[inline(always)]
    fn is_transposed(&self, plane: Plane) -> bool {
        plane == Plane::Values && self.task.attention.has_values_in_keys()
    }

    /// Converts the values of group `number` of the span from the order of keys.
    #[inline(always)]
    fn transpose<L: Lanes>(&mut self, lanes: L, number: usize) {
        let columns = padded_dim(self.task.attention, Plane::Values) / LANES;
        let group = self.groups.values[number];
        for column in 0..columns {
            let first = column * LANES / 2;
            let mut rows = [group.line(lanes, first, 0); LANES / 2];
            for (row, pairs) in rows.iter_mut().enumerate() {
                *pairs = group.line(lanes, first + row, 0);
            }
            for (row, pairs) in transpose_pairs(lanes, rows).into_iter().enumerate() {
                let CacheLine(out) = &mut self.memory.stage[row * columns + column];
                lanes.store_bytes(pairs, bytemuck::cast_mut(out));
            }
        }
    }

    /// Group `number` of the span, in the cache or converted.
    #[inline(always)]
    fn source(&self, plane: Plane, number: usize) -> PositionGroup<'_> {
        if whole_vectors(self.task.attention) && !self.is_transposed(plane) {
            return match plane {
                Plane::Keys => self.groups.keys[number],
                Plane::Values => self.groups.values[number],
            };
        }
        let stride = match plane {
            Plane::Keys => VECTOR_BYTES,
            Plane::Values => 4 * padded_dim(self.task.attention, plane),
        };
        PositionGroup {
            bytes: bytemuck::cast_slice(self.memory.stage),
            stride,
            ..PositionGroup::EMPTY
        }
    }

    /// Copies group `number` of the span into its panels.
    #[inline(always)]
    fn read_pairs<L: Lanes>(&mut self, lanes: L, plane: Plane, number: usize) {
        let dim = padded_dim(self.task.attention, plane);
        match plane {
            Plane::Keys => {
                let panels = std::mem::take(&mut self.memory.keys);
                let group = self.source(plane, number);
                let (tile, vector) = (number * LANES / TILE, number % VECTORS);
                let panel = &mut panels[tile * dim / 2..(tile + 1) * dim / 2];
                for (row, out) in panel.iter_mut().enumerate() {
                    let CacheLine(out) = &mut out[vector];
                    lanes.store_bytes(group.line(lanes, row, 0), bytemuck::cast_mut(out));
                }
                self.memory.keys = panels;
            }
            Plane::Values => {
                let panels = std::mem::take(&mut self.memory.values);
                let group = self.source(plane, number);
                for row in 0..LANES / 2 {
                    for column in 0..dim / LANES {
                        let line = group.line(lanes, row, column * VECTOR_BYTES);
                        let panel = column / VECTORS * (SPAN / 2);
                        let CacheLine(out) =
                            &mut panels[panel + number * LANES / 2 + row][column % VECTORS];
                        lanes.store_bytes(line, bytemuck::cast_mut(out));
                    }
                }
                self.memory.values = panels;
            }
        }
    }

    /// Splits group `number` of the span into tiles of high halves and of low ones.
    #[inline(always)]
    fn read_tiles<L: Lanes>(&mut self, lanes: L, plane: Plane, number: usize) {
        let dim = padded_dim(self.task.attention, plane);
        match plane {
            Plane::Keys => {
                let panels = std::mem::take(&mut self.memory.keys);
                let tiles: &mut [ColumnTile] = bytemuck::cast_slice_mut(panels);
                let group = self.source(plane, number);
                let steps = dim / STEP;
                for four in 0..dim / 4 {
                    let first = group.line(lanes, 2 * four, 0);
                    let [high, low] = lanes.halves(first, group.line(lanes, 2 * four + 1, 0));
                    let tile = 2 * number * steps + 4 * four / STEP;
                    lanes.store_bytes(high, &mut tiles[tile][four % (STEP / 4)]);
                    lanes.store_bytes(low, &mut tiles[tile + steps][four % (STEP / 4)]);
                }
                self.memory.keys = panels;
            }
            Plane::Values => {
                let panels = std::mem::take(&mut self.memory.values);
                let tiles: &mut [ColumnTile] = bytemuck::cast_slice_mut(panels);
                let group = self.source(plane, number);
                for four in 0..LANES / 4 {
                    for column in 0..dim / LANES {
                        let at = column * VECTOR_BYTES;
                        let first = group.line(lanes, 2 * four, at);
                        let [high, low] = lanes.halves(first, group.line(lanes, 2 * four + 1, at));
                        let position = number * LANES + 4 * four;
                        let tile = 2 * column * VALUE_STEPS + position / STEP;
                        let line = position % STEP / 4;
                        lanes.store_bytes(high, &mut tiles[tile][line]);
                        lanes.store_bytes(low, &mut tiles[tile + VALUE_STEPS][line]);
                    }
                }
                self.memory.values = panels;
            }
        }
    }
}
