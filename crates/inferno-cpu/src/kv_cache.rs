//! Keys and values in pages, laid out for attention.
//!
//! A block holds, for each layer keys then values, for each head, one *head region* of as many
//! bytes as its rows take in the cache's format. Within a region, keys stand component by
//! component (`[head_dim][block_tokens]`), so that a vector holds neighbouring positions, and values
//! position by position (`[block_tokens][head_dim]`). In Q8_0 the integers come first in that
//! order, then the scales: `[head_dim / 32][block_tokens]` and `[block_tokens][head_dim / 32]`.
//! In I16, whose sums are taken two products at a time, two components or positions stand side by
//! side: keys `[head_dim / 2][block_tokens][2]`, values `[block_tokens / 2][head_dim][2]`, the last
//! position of an odd number by itself; then `[block_tokens]` scales.

use std::ops::Range;
use std::slice::ChunksExactMut;

use inferno_backend::{BackendError, BlockId, KvDType, KvLayout};
use inferno_tensor::quant::QK;

use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::memory::Lines;
use crate::ops::integers::to_integers;

/// The paged keys and values of [`CpuBackend`](crate::CpuBackend).
#[derive(Debug)]
pub struct CpuKvCache {
    pub(crate) layout: KvLayout,
    region_bytes: usize,
    bytes: Lines,
}

/// Keys come before values in a layer's share of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plane {
    Keys,
    Values,
}

impl CpuKvCache {
    /// **Errors**: [`BackendError::KvHeadDim`] and [`BackendError::OutOfMemory`].
    pub(crate) fn new(layout: &KvLayout) -> Result<Self, BackendError> {
        let region_bytes = layout.block_tokens * layout.row_bytes()?;
        let bytes = Lines::zeroed(layout.total_bytes()?, "the KV cache")?;
        Ok(Self { layout: *layout, region_bytes, bytes })
    }

    /// One head's keys or values in one block of one layer.
    pub(crate) fn region(&self, block: BlockId, layer: usize, plane: Plane, head: usize) -> &[u8] {
        let region = plane as usize * self.layout.num_kv_heads + head;
        let at = self.layer_at(block, layer) + region * self.region_bytes;
        &self.bytes.get()[at..at + self.region_bytes]
    }

    /// Where the regions of a layer lie in a block: keys of all heads, then values of all heads.
    fn layer_at(&self, block: BlockId, layer: usize) -> usize {
        let regions = 2 * self.layout.num_kv_heads;
        (block.0 as usize * self.layout.num_layers + layer) * regions * self.region_bytes
    }

    /// The bytes of all blocks, and where the regions of `layer` lie in each.
    pub(crate) fn regions_mut(&mut self, layer: usize) -> (&mut [u8], Regions) {
        let regions = Regions {
            start: self.layer_at(BlockId(0), layer),
            block_bytes: self.layer_at(BlockId(1), 0),
            region_bytes: self.region_bytes,
        };
        (self.bytes.get_mut(), regions)
    }

    fn block_at(&self, block: BlockId) -> Range<usize> {
        self.layer_at(block, 0)..self.layer_at(block, self.layout.num_layers)
    }

    /// The planes of a block's regions, in their order.
    fn planes(&self) -> impl Iterator<Item = Plane> + use<> {
        let heads = self.layout.num_kv_heads;
        (0..2 * self.layout.num_layers * heads).map(move |region| match region / heads % 2 {
            0 => Plane::Keys,
            _ => Plane::Values,
        })
    }

    /// Appends a block's rows, one after the other, each in the cache's format.
    pub(crate) fn read_block(&self, block: BlockId, bytes: &mut Vec<u8>) {
        let rows = Rows::new(&self.layout);
        let regions =
            self.bytes.get::<u8>()[self.block_at(block)].chunks_exact(self.region_bytes.max(1));
        for (region, plane) in regions.zip(self.planes()) {
            for offset in 0..self.layout.block_tokens {
                let start = bytes.len();
                bytes.resize(start + rows.row_bytes(), 0);
                rows.get(plane, region, offset, &mut bytes[start..]);
            }
        }
    }

    /// Fills a block with what [`read_block`](Self::read_block) gave.
    ///
    /// **Errors**: [`BackendError::KvBlockSize`].
    pub(crate) fn write_block(&mut self, block: BlockId, bytes: &[u8]) -> Result<(), BackendError> {
        let range = self.block_at(block);
        if bytes.len() != range.len() {
            return Err(BackendError::KvBlockSize { expected: range.len(), found: bytes.len() });
        }
        let rows = Rows::new(&self.layout);
        let (planes, region_bytes) = (self.planes(), self.region_bytes.max(1));
        let regions = self.bytes.get_mut::<u8>()[range].chunks_exact_mut(region_bytes);
        for ((region, source), plane) in regions.zip(bytes.chunks_exact(region_bytes)).zip(planes) {
            for (offset, row) in source.chunks_exact(rows.row_bytes()).enumerate() {
                rows.put(plane, region, offset, row);
            }
        }
        Ok(())
    }
}

/// Where one layer's regions lie.
pub(crate) struct Regions {
    start: usize,
    block_bytes: usize,
    region_bytes: usize,
}

impl Regions {
    /// Region `number` of block `block`: keys of each head first, then values of each head.
    pub(crate) fn at(&self, block: usize, number: usize) -> Range<usize> {
        let at = self.start + block * self.block_bytes + number * self.region_bytes;
        at..at + self.region_bytes
    }
}

/// The most words that are encoded together: 32 values of F32, or a row of I16 of the widest head.
pub(crate) const MOST_WORDS: usize = (4 + 2 * 512) / 4;

/// How rows map to places in a region.
pub(crate) struct Rows {
    dtype: KvDType,
    head_dim: usize,
    block_tokens: usize,
    /// Values of a row that are encoded together.
    piece: usize,
    /// Bytes of one number.
    element: usize,
    /// Bytes of a scale before each piece.
    header: usize,
}

/// Where a piece stands in a region.
struct Place {
    /// Bytes that lie side by side: a number, or two.
    width: usize,
    /// Counted in these.
    first: usize,
    step: usize,
}

impl Rows {
    pub(crate) fn new(layout: &KvLayout) -> Self {
        let KvLayout { dtype, head_dim, block_tokens, .. } = *layout;
        let (piece, element, header) = match dtype {
            KvDType::F32 => (QK, 4, 0),
            KvDType::I16 => (head_dim, 2, 4),
            KvDType::F16 => (QK, 2, 0),
            KvDType::Q8_0 => (QK, 1, 2),
        };
        Self { dtype, head_dim, block_tokens, piece, element, header }
    }

    pub(crate) fn row_bytes(&self) -> usize {
        self.head_dim * self.element + self.head_dim / self.piece * self.header
    }

    /// The place of what begins with component `d` of position `offset`.
    fn place(&self, plane: Plane, offset: usize, d: usize) -> Place {
        let Self { head_dim, block_tokens, element: width, .. } = *self;
        match (plane, self.dtype) {
            (Plane::Keys, KvDType::I16) => {
                Place { width: 2 * width, first: d / 2 * block_tokens + offset, step: block_tokens }
            }
            (Plane::Keys, _) => {
                Place { width, first: d * block_tokens + offset, step: block_tokens }
            }
            (Plane::Values, KvDType::I16) if offset / 2 * 2 + 1 < block_tokens => {
                Place { width, first: (offset / 2 * head_dim + d) * 2 + offset % 2, step: 2 }
            }
            (Plane::Values, _) => Place { width, first: offset * head_dim + d, step: 1 },
        }
    }

    /// Where the scale of piece `piece` of position `offset` lies; empty without scales.
    fn header_at(&self, plane: Plane, offset: usize, piece: usize) -> Range<usize> {
        let index = match plane {
            Plane::Keys => piece * self.block_tokens + offset,
            Plane::Values => offset * (self.head_dim / self.piece) + piece,
        };
        let at = self.block_tokens * self.head_dim * self.element + index * self.header;
        at..at + self.header
    }

    fn put(&self, plane: Plane, region: &mut [u8], offset: usize, row: &[u8]) {
        for (piece, bytes) in row.chunks(self.header + self.piece * self.element).enumerate() {
            self.put_piece(plane, region, offset, piece, bytes);
        }
    }

    #[inline(always)]
    fn put_piece(
        &self,
        plane: Plane,
        region: &mut [u8],
        offset: usize,
        piece: usize,
        bytes: &[u8],
    ) {
        let (header, elements) = bytes.split_at(self.header);
        let place = &mut region[self.header_at(plane, offset, piece)];
        match (place.first_chunk_mut::<4>(), header.first_chunk()) {
            (Some(place), Some(header)) => *place = *header,
            _ => place.copy_from_slice(header),
        }
        let place = self.place(plane, offset, piece * self.piece);
        match place.width {
            4 => scatter::<4>(elements, region, place),
            2 => scatter::<2>(elements, region, place),
            _ => scatter::<1>(elements, region, place),
        }
    }

    /// Reads the row at place `offset` of a region, in the cache's format.
    pub(crate) fn get(&self, plane: Plane, region: &[u8], offset: usize, row: &mut [u8]) {
        let piece_bytes = self.header + self.piece * self.element;
        for (piece, bytes) in row.chunks_mut(piece_bytes).enumerate() {
            let (header, elements) = bytes.split_at_mut(self.header);
            header.copy_from_slice(&region[self.header_at(plane, offset, piece)]);
            let place = self.place(plane, offset, piece * self.piece);
            match place.width {
                4 => gather::<4>(elements, region, place),
                2 => gather::<2>(elements, region, place),
                _ => gather::<1>(elements, region, place),
            }
        }
    }
}

/// Encodes the values of one row into its place.
pub(crate) struct Encode<'a> {
    pub(crate) rows: &'a Rows,
    pub(crate) plane: Plane,
    pub(crate) region: &'a mut [u8],
    pub(crate) offset: usize,
    pub(crate) values: &'a [f32],
    /// The values that are encoded next.
    pub(crate) ahead: &'a [f32],
    /// Where they are encoded.
    pub(crate) memory: &'a mut [u32; MOST_WORDS],
}

impl Kernel for Encode<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { rows, plane, region, offset, values, ahead, memory } = self;
        // Rows lie too far apart for the processor to guess where the next is.
        for line in ahead.chunks(LANES) {
            lanes.prefetch(bytemuck::cast_slice(line), 0);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(memory);
        for (piece, values) in values.chunks(rows.piece).enumerate() {
            let bytes = &mut bytes[..rows.header + values.len() * rows.element];
            match rows.dtype {
                KvDType::I16 => {
                    let (header, integers) = bytes.split_at_mut(rows.header);
                    let scale = to_integers(lanes, values, bytemuck::cast_slice_mut(integers));
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

/// Writes numbers of `E` bytes to every `step`-th place of `region` from `first` on.
#[inline(always)]
fn scatter<const E: usize>(elements: &[u8], region: &mut [u8], place: Place) {
    let Place { first, step, .. } = place;
    if (step, E) == (2, 2) {
        let pairs = region[first / 2 * 4..].chunks_exact_mut(4);
        return fill_half(elements, pairs, first % 2);
    }
    let region = &mut region[first * E..];
    if step == 1 {
        region[..elements.len()].copy_from_slice(elements);
        return;
    }
    for (place, element) in region.chunks_mut(step * E).zip(elements.chunks_exact(E)) {
        place[..E].copy_from_slice(element);
    }
}

/// Writes numbers of 2 bytes to the first or the second place of pairs: by whole pairs, many at a time.
#[inline(always)]
fn fill_half(elements: &[u8], pairs: ChunksExactMut<'_, u8>, place: usize) {
    let shift = 16 * place;
    let others = !(0xffff << shift);
    for (pair, element) in pairs.zip(elements.chunks_exact(2)) {
        let old = u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
        let new = u32::from(u16::from_le_bytes([element[0], element[1]]));
        pair.copy_from_slice(&(old & others | new << shift).to_le_bytes());
    }
}

/// Reads them back.
fn gather<const E: usize>(elements: &mut [u8], region: &[u8], place: Place) {
    let Place { first, step, .. } = place;
    for (i, element) in elements.chunks_exact_mut(E).enumerate() {
        element.copy_from_slice(&region[(first + i * step) * E..][..E]);
    }
}
