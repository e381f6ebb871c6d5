//! Keys and values in pages, laid out for attention.
//!
//! A block holds, for each layer, keys then values, and for each head one *head region* with all its rows in the
//! cache's format. Within a region, keys are stored component by component (`[head_dim][block_tokens]`), so that
//! a vector holds neighbouring positions, and values position by position (`[block_tokens][head_dim]`). In Q8_0
//! the integers come first in that order, then the scales: `[head_dim / 32][block_tokens]` and
//! `[block_tokens][head_dim / 32]`. In I16, whose dot products take two factors at a time, two components or
//! positions are adjacent: keys `[head_dim / 2][block_tokens][2]`, values `[block_tokens / 2][head_dim][2]`
//! (the last position of an odd number by itself); then `[block_tokens]` scales.

mod row_layout;

use std::ops::Range;

use inferno_backend::{BackendError, BlockId, KvLayout};

use crate::memory::AlignedArray;
pub(crate) use row_layout::{MAX_I16_HEAD_DIM, MAX_I16_ROW_BYTES, Plane, RowLayout};

/// The paged keys and values of [`CpuBackend`](crate::CpuBackend).
#[derive(Debug)]
pub struct CpuKvCache {
    pub(crate) layout: KvLayout,
    region_bytes: usize,
    bytes: AlignedArray,
}

impl CpuKvCache {
    /// **Errors**: [`BackendError::KvHeadDim`] and [`BackendError::OutOfMemory`].
    pub(crate) fn new(layout: &KvLayout) -> Result<Self, BackendError> {
        let region_bytes = layout.block_tokens * layout.row_bytes()?;
        let bytes = AlignedArray::zeroed(layout.total_bytes()?, "the KV cache")?;
        Ok(Self { layout: *layout, region_bytes, bytes })
    }

    /// One head's keys or values in one block of one layer.
    pub(crate) fn region(&self, block: BlockId, layer: usize, plane: Plane, head: usize) -> &[u8] {
        let region = plane as usize * self.layout.num_kv_heads + head;
        let at = self.layer_at(block, layer) + region * self.region_bytes;
        &self.bytes.get()[at..at + self.region_bytes]
    }

    /// Offset of the regions of a layer in a block: keys of all heads, then values of all heads.
    fn layer_at(&self, block: BlockId, layer: usize) -> usize {
        let regions = 2 * self.layout.num_kv_heads;
        (block.0 as usize * self.layout.num_layers + layer) * regions * self.region_bytes
    }

    /// The bytes of all blocks, and the locations of the regions of `layer`.
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

    /// The plane of each region of a block, in order.
    fn planes(&self) -> impl Iterator<Item = Plane> + use<> {
        let heads = self.layout.num_kv_heads;
        (0..2 * self.layout.num_layers * heads).map(move |region| match region / heads % 2 {
            0 => Plane::Keys,
            _ => Plane::Values,
        })
    }

    /// Appends a block's rows, one after the other, each in the cache's format.
    pub(crate) fn read_block(&self, block: BlockId, bytes: &mut Vec<u8>) {
        let rows = RowLayout::new(&self.layout);
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

    /// Fills a block with the result of [`read_block`](Self::read_block).
    ///
    /// **Errors**: [`BackendError::KvBlockSize`].
    pub(crate) fn write_block(&mut self, block: BlockId, bytes: &[u8]) -> Result<(), BackendError> {
        let range = self.block_at(block);
        if bytes.len() != range.len() {
            return Err(BackendError::KvBlockSize { expected: range.len(), found: bytes.len() });
        }
        let rows = RowLayout::new(&self.layout);
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

/// The locations of one layer's regions.
pub(crate) struct Regions {
    start: usize,
    block_bytes: usize,
    region_bytes: usize,
}

impl Regions {
    /// The bytes of region `number` of block `block`: keys of each head first, then values of each head.
    pub(crate) fn at(&self, block: usize, number: usize) -> Range<usize> {
        let at = self.start + block * self.block_bytes + number * self.region_bytes;
        at..at + self.region_bytes
    }
}
