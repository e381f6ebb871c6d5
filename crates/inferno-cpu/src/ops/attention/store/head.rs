//! Writing one head's keys or values of all rows.

// Writes to parts of the shared cache.
#![allow(unsafe_code)]

use inferno_backend::{Batch, KvDType, QkvLayout, largest_i16};

use super::rows::HeadRows;
use crate::disjoint::Disjoint;
use crate::isa::Level;
use crate::kv_cache::{CpuKvCache, MAX_I16_ROW_BYTES, Plane, Regions, RowLayout};
use crate::lanes::{Kernel, LANES, Lanes};
use crate::memory::LINE_BYTES;
use crate::ops::attention::transpose::transpose_f32;
use crate::ops::int16::quantize_row;
use crate::scratch::CacheLine;

/// The slots of a batch in one layer of the cache.
pub(super) struct CacheWriter<'a> {
    slots: &'a [usize],
    bytes: Disjoint<'a, u8>,
    regions: Regions<'a>,
    /// The rows of keys, and those of values.
    rows: [RowLayout; 2],
}

impl<'a> CacheWriter<'a> {
    pub(super) fn new(
        batch: &'a Batch,
        layout: &QkvLayout,
        layer: usize,
        cache: &'a mut CpuKvCache,
    ) -> Self {
        assert!(layout.has_kv, "a row holds keys and values");
        assert!(cache.layout.layers[layer].fits(layout), "the cache was made for these heads");
        let rows =
            [Plane::Keys, Plane::Values].map(|plane| RowLayout::new(&cache.layout, layer, plane));
        let (bytes, regions) = cache.regions_mut(layer);
        Self { slots: batch.slot_mapping(), bytes: Disjoint::new(bytes), regions, rows }
    }

    /// The planes that are stored: keys, and values unless they are components of keys.
    pub(super) fn planes(&self) -> &'static [Plane] {
        self.regions.planes()
    }

    /// Writes all rows of a head's keys or values.
    ///
    /// # Safety
    ///
    /// Calls that run at the same time must differ in the plane or the head.
    pub(super) unsafe fn store(
        &self,
        level: Level,
        plane: Plane,
        head: usize,
        values: impl HeadRows,
    ) {
        level.run(StoreHead {
            writer: self,
            rows: &self.rows[plane as usize],
            plane,
            head,
            values,
        });
    }
}

/// The largest number of words that are encoded together: 32 values of F32, or a row of I16 of the widest head.
const MAX_ENCODED_WORDS: usize = MAX_I16_ROW_BYTES / 4;

/// The widest head of which 16 keys are encoded together.
const MAX_VECTOR_DIM: usize = 256;

/// Columns of 16-bit integers in a cache line.
const LINE_INTEGERS: usize = 2 * LANES;

struct StoreHead<'a, R> {
    writer: &'a CacheWriter<'a>,
    rows: &'a RowLayout,
    plane: Plane,
    head: usize,
    values: R,
}

impl<R: HeadRows> Kernel for StoreHead<'_, R> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        if !self.writer.slots.is_empty() {
            self.prefetch_lines(lanes, 0);
        }
        let mut encoded = [0; MAX_ENCODED_WORDS];
        let mut first = 0;
        while first < self.writer.slots.len() {
            if self.has_vector_of_keys(first) {
                self.store_keys(lanes, first);
                first += LANES;
            } else {
                self.store_row(lanes, first, &mut encoded);
                first += 1;
            }
        }
    }
}

impl<'a, R: HeadRows> StoreHead<'a, R> {
    /// The region of the slot of row `row`, and the position in it.
    ///
    /// # Safety
    ///
    /// While the region lives, this function must not be called again.
    #[inline(always)]
    unsafe fn region(&self, row: usize) -> (&'a mut [u8], usize) {
        let (writer, block_tokens) = (self.writer, self.rows.block_tokens);
        let (block, offset) = (writer.slots[row] / block_tokens, writer.slots[row] % block_tokens);
        let range = writer.regions.at(block, self.plane, self.head);
        // SAFETY: the caller of `store` guarantees that calls differ in the plane or the head, and thereby in the regions, and
        // the caller of this function that this call has no other one.
        (unsafe { writer.bytes.part(range) }, offset)
    }

    /// Prefetches what is written after row `row`: within a run of positions, a share of the block that is written 16 rows later;
    /// else the cache lines of the next row, unless they are in the same block.
    #[inline(always)]
    fn prefetch_after<L: Lanes>(&self, lanes: L, row: usize) {
        let (slots, block_tokens) = (self.writer.slots, self.rows.block_tokens);
        let slot = slots[row];
        // One token for each of several sequences is no run, also if all of them are as long.
        let is_in_run =
            slots.get(row + 1) == Some(&(slot + 1)) || row > 0 && slots[row - 1] + 1 == slot;
        match slots.get(row + LANES) {
            Some(later) if is_in_run && later % LANES == slot % LANES => {
                // SAFETY: it is dropped at the end of the block.
                let (region, offset) = unsafe { self.region(row + LANES) };
                let share = region.len() / block_tokens;
                for line in region[offset * share..][..share].chunks(LINE_BYTES) {
                    lanes.prefetch(line, 0);
                }
            }
            _ => {
                let is_elsewhere = |next: &usize| next / block_tokens != slot / block_tokens;
                if slots.get(row + 1).is_some_and(is_elsewhere) {
                    self.prefetch_lines(lanes, row + 1);
                }
            }
        }
    }

    /// Prefetches the cache lines that the values of row `row` are written to.
    #[inline(always)]
    fn prefetch_lines<L: Lanes>(&self, lanes: L, row: usize) {
        // SAFETY: it is dropped when this function returns.
        let (region, offset) = unsafe { self.region(row) };
        for at in self.rows.lines(self.plane, offset) {
            lanes.prefetch(region, at);
        }
    }

    /// Whether row `first` and those after it are 16 keys that fill vectors of the cache.
    #[inline(always)]
    fn has_vector_of_keys(&self, first: usize) -> bool {
        let RowLayout { dtype, head_dim, block_tokens, .. } = *self.rows;
        let has_vectors = (self.plane, dtype) == (Plane::Keys, KvDType::I16)
            && head_dim % LINE_INTEGERS == 0
            && head_dim <= MAX_VECTOR_DIM
            && block_tokens % LANES == 0;
        let slots = &self.writer.slots[first..];
        has_vectors
            && slots[0] % LANES == 0
            && slots
                .get(..LANES)
                .is_some_and(|slots| slots.windows(2).all(|pair| pair[0] + 1 == pair[1]))
    }

    /// Stores 16 neighbouring keys.
    #[inline(always)]
    fn store_keys<L: Lanes>(&mut self, lanes: L, first: usize) {
        const MAX_LINES: usize = MAX_VECTOR_DIM / LINE_INTEGERS;
        let mut integers = [[CacheLine([0.0; LANES]); LANES]; MAX_LINES];
        let mut scales = [0.0; LANES];
        let head_dim = self.rows.head_dim;
        let mut memory = [CacheLine([0.0; LANES]); MAX_LINES];
        for (row, scale) in scales.iter_mut().enumerate() {
            self.prefetch_after(lanes, first + row);
            let values = self.values.row(lanes, first + row);
            let lines = &mut memory[..head_dim / LINE_INTEGERS];
            let memory = bytemuck::cast_slice_mut(lines);
            *scale = quantize_row(lanes, values, largest_i16(head_dim), memory);
            for (rows_of_line, line) in integers.iter_mut().zip(&*lines) {
                rows_of_line[row] = *line;
            }
        }
        let rows = self.rows;
        // SAFETY: the only one from here on.
        let (region, offset) = unsafe { self.region(first) };
        for (number, rows_of_line) in integers[..head_dim / LINE_INTEGERS].iter().enumerate() {
            for (pair, keys) in transpose_f32(lanes, rows_of_line).into_iter().enumerate() {
                let at = rows.key_pairs_at(offset, number * LANES + pair);
                let place = region[at..].first_chunk_mut().expect("16 pairs in a region");
                lanes.store_bytes(keys, place);
            }
        }
        for (row, scale) in scales.iter().enumerate() {
            region[rows.header_at(self.plane, offset + row, 0)]
                .copy_from_slice(&scale.to_le_bytes());
        }
    }

    /// Stores one row, which is first encoded in `encoded`.
    #[inline(always)]
    fn store_row<L: Lanes>(
        &mut self,
        lanes: L,
        row: usize,
        encoded: &mut [u32; MAX_ENCODED_WORDS],
    ) {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(encoded);
        let (rows, plane) = (self.rows, self.plane);
        self.prefetch_after(lanes, row);
        // SAFETY: the only one from here on.
        let (region, offset) = unsafe { self.region(row) };
        let values = self.values.row(lanes, row);
        for (piece, values) in values.chunks(rows.piece).enumerate() {
            let bytes = &mut bytes[..rows.header + values.len() * rows.element];
            match rows.dtype {
                KvDType::I16 => {
                    let (header, integers) = bytes.split_at_mut(rows.header);
                    let (largest, integers) =
                        (largest_i16(rows.head_dim), bytemuck::cast_slice_mut(integers));
                    let scale = quantize_row(lanes, values, largest, integers);
                    header.copy_from_slice(&scale.to_le_bytes());
                }
                KvDType::F16 if values.len() % LANES == 0 => {
                    for (values, bytes) in values.chunks(LANES).zip(bytes.chunks_mut(2 * LANES)) {
                        let bytes = bytes.first_chunk_mut().expect("2 bytes a value");
                        lanes.store_f16(lanes.load_part(values), bytes);
                    }
                }
                dtype => dtype.encode_row(values, bytes),
            }
            rows.put_piece(plane, region, offset, piece, bytes);
        }
    }
}
