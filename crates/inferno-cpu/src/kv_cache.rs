//! Keys and values in pages, laid out for attention.
//!
//! A block holds, for each layer, keys then values, and for each head one *head region* with all its rows in the
//! cache's format. Values that are components of the keys have no regions. Within a region, keys are stored component
//! by component (`[head_dim][block_tokens]`), so that a vector holds neighbouring positions, and values position by
//! position (`[block_tokens][head_dim]`). In Q8_0 the integers come first in that order, then the scales:
//! `[head_dim / 32][block_tokens]` and `[block_tokens][head_dim / 32]`. In I16, whose dot products take two factors at a
//! time, two components or positions are adjacent: keys `[head_dim / 2][block_tokens][2]`, values
//! `[block_tokens / 2][head_dim][2]` (the last position of an odd number by itself); then `[block_tokens]` scales.

mod row_layout;

use std::ops::Range;

use inferno_backend::{BackendError, BlockId, KvBlockPart, KvLayout, KvValues, KvWindowMap};

use crate::memory::AlignedArray;
pub(crate) use row_layout::{MAX_I16_ROW_BYTES, Plane, RowLayout};

/// Bytes that are [populated](CpuKvCache::populate): many short conversations.
const POPULATED_BYTES: usize = 512 << 20;

/// The bytes to populate of the memories of layers without and with a window, whose blocks have these sizes: those of as
/// many blocks of both. If layers with a window have less memory than that (`windowed_bytes`), the others get the rest.
fn populated_bytes(block_bytes: [usize; 2], windowed_bytes: usize) -> [usize; 2] {
    let num_blocks = POPULATED_BYTES / block_bytes[0].saturating_add(block_bytes[1]).max(1);
    let windowed = windowed_bytes.min(num_blocks * block_bytes[1]);
    let num_unwindowed = (POPULATED_BYTES - windowed) / block_bytes[0].max(1);
    [num_unwindowed * block_bytes[0], windowed]
}

/// The paged keys and values of [`CpuBackend`](crate::CpuBackend).
#[derive(Debug)]
pub struct CpuKvCache {
    pub(crate) layout: KvLayout,
    layers: Vec<LayerRegions>,
    /// Layers whose blocks all have memory.
    blocks: BlockMemory,
    /// Layers with a window, whose blocks have memory by way of `windows`.
    windowed_blocks: BlockMemory,
    pub(crate) windows: Option<KvWindowMap>,
}

/// The memory of blocks of equal size.
#[derive(Debug)]
struct BlockMemory {
    block_bytes: usize,
    bytes: AlignedArray,
}

impl BlockMemory {
    fn new(block_bytes: usize, num_blocks: usize) -> Result<Self, BackendError> {
        let bytes = AlignedArray::zeroed(block_bytes.saturating_mul(num_blocks), "the KV cache")?;
        Ok(Self { block_bytes, bytes })
    }
}

/// The locations of a layer's regions in a block of its memory: keys of all heads, then values of all heads, if they
/// have regions.
#[derive(Debug, Clone, Copy)]
struct LayerRegions {
    start: usize,
    num_heads: usize,
    planes: &'static [Plane],
    key_bytes: usize,
    value_bytes: usize,
    has_window: bool,
}

impl LayerRegions {
    fn num_bytes(&self) -> usize {
        self.num_heads * (self.key_bytes + self.value_bytes)
    }

    /// The region of a head's keys or values.
    #[inline(always)]
    fn region_of(&self, plane: Plane, head: usize) -> Range<usize> {
        let &Self { num_heads, key_bytes, value_bytes, .. } = self;
        let (at, bytes) = match plane {
            Plane::Keys => (head * key_bytes, key_bytes),
            Plane::Values => (num_heads * key_bytes + head * value_bytes, value_bytes),
        };
        self.start + at..self.start + at + bytes
    }
}

impl CpuKvCache {
    /// **Errors**: [`BackendError::KvHeadDim`], [`BackendError::KvHeadTooWide`] and
    /// [`BackendError::OutOfMemory`].
    pub(crate) fn new(layout: &KvLayout) -> Result<Self, BackendError> {
        let &KvLayout { num_blocks, block_tokens, window, .. } = layout;
        let (all_bytes, unwindowed_bytes) = (layout.block_bytes()?, layout.unwindowed_bytes()?);
        let num_windowed = window.map_or(0, |window| window.num_blocks);
        let blocks = BlockMemory::new(unwindowed_bytes, num_blocks)?;
        let windowed_blocks = BlockMemory::new(all_bytes - unwindowed_bytes, num_windowed)?;
        let mut starts = [0; 2];
        let mut layers = Vec::with_capacity(layout.layers.len());
        for layer in &layout.layers {
            let region_bytes = |dim| Ok(block_tokens * layout.dtype.row_bytes(dim)?);
            let has_window = layout.has_window(layer);
            let start = &mut starts[usize::from(has_window)];
            let (planes, value_bytes): (&[_], _) = match layer.values {
                KvValues::Separate { dim } => (&[Plane::Keys, Plane::Values], region_bytes(dim)?),
                KvValues::InKeys { .. } => (&[Plane::Keys], 0),
            };
            let regions = LayerRegions {
                start: *start,
                num_heads: layer.num_heads,
                planes,
                key_bytes: region_bytes(layer.key_dim)?,
                value_bytes,
                has_window,
            };
            *start += regions.num_bytes();
            layers.push(regions);
        }
        let windows = window.map(|window| KvWindowMap::new(window, num_blocks, block_tokens));
        Ok(Self { layout: layout.clone(), layers, blocks, windowed_blocks, windows })
    }

    /// Makes the system provide memory for the blocks that are allocated first, before they are written.
    pub(crate) fn populate(&self) {
        let memories = [&self.blocks, &self.windowed_blocks];
        let windowed_bytes = self.windowed_blocks.bytes.get::<u8>().len();
        let bytes = populated_bytes(memories.map(|memory| memory.block_bytes), windowed_bytes);
        for (memory, bytes) in memories.into_iter().zip(bytes) {
            memory.bytes.populate(bytes);
        }
    }

    /// One head's keys or values in one block of one layer; empty for values that are components of the keys.
    ///
    /// **Panics** if the layer has a window and the block has no memory for such layers.
    #[inline(always)]
    pub(crate) fn region(&self, block: BlockId, layer: usize, plane: Plane, head: usize) -> &[u8] {
        let regions = &self.layers[layer];
        let (memory, block) = match &self.windows {
            Some(windows) if regions.has_window => {
                (&self.windowed_blocks, windows.parts()[block.0 as usize])
            }
            _ => (&self.blocks, block.0),
        };
        let Range { start, end } = regions.region_of(plane, head);
        let at = block as usize * memory.block_bytes;
        &memory.bytes.get()[at + start..at + end]
    }

    /// The bytes of all blocks of `layer`, and the locations of its regions.
    pub(crate) fn regions_mut(&mut self, layer: usize) -> (&mut [u8], Regions<'_>) {
        let layer = self.layers[layer];
        let (memory, parts) = match &self.windows {
            Some(windows) if layer.has_window => (&mut self.windowed_blocks, Some(windows.parts())),
            _ => (&mut self.blocks, None),
        };
        let regions = Regions { layer, block_bytes: memory.block_bytes, parts };
        (memory.bytes.get_mut(), regions)
    }

    /// The layers that belong to a part of a block, those without a window first.
    fn layers_of(&self, part: KvBlockPart) -> Vec<usize> {
        let has_window = |&layer: &usize| self.layers[layer].has_window;
        let (windowed, mut layers): (Vec<_>, Vec<_>) = (0..self.layers.len()).partition(has_window);
        if part == KvBlockPart::All {
            layers.extend(windowed);
        }
        layers
    }

    /// Appends the rows of a block, one after the other, each in the cache's format.
    pub(crate) fn read_block(&self, block: BlockId, part: KvBlockPart, bytes: &mut Vec<u8>) {
        for layer in self.layers_of(part) {
            for &plane in self.layers[layer].planes {
                let rows = RowLayout::new(&self.layout, layer, plane);
                for head in 0..self.layers[layer].num_heads {
                    let region = self.region(block, layer, plane, head);
                    for offset in 0..self.layout.block_tokens {
                        let start = bytes.len();
                        bytes.resize(start + rows.row_bytes(), 0);
                        rows.get(plane, region, offset, &mut bytes[start..]);
                    }
                }
            }
        }
    }

    /// Fills a block with the result of [`read_block`](Self::read_block).
    ///
    /// **Errors**: [`BackendError::KvBlockSize`], [`BackendError::KvWindowFull`].
    pub(crate) fn write_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        mut bytes: &[u8],
    ) -> Result<(), BackendError> {
        let (expected, found) = (part.num_bytes(&self.layout)?, bytes.len());
        if found != expected {
            return Err(BackendError::KvBlockSize { expected, found });
        }
        if let (Some(windows), KvBlockPart::All) = (&mut self.windows, part) {
            windows.assign(block)?;
        }
        for layer in self.layers_of(part) {
            let rows = [Plane::Keys, Plane::Values]
                .map(|plane| RowLayout::new(&self.layout, layer, plane));
            let num_heads = self.layers[layer].num_heads;
            let (memory, regions) = self.regions_mut(layer);
            for &plane in regions.planes() {
                let rows = &rows[plane as usize];
                for head in 0..num_heads {
                    let region = &mut memory[regions.at(block.0 as usize, plane, head)];
                    let (source, rest) = bytes.split_at(region.len());
                    for (offset, row) in source.chunks_exact(rows.row_bytes().max(1)).enumerate() {
                        rows.put(plane, region, offset, row);
                    }
                    bytes = rest;
                }
            }
        }
        Ok(())
    }
}

/// The locations of one layer's regions.
pub(crate) struct Regions<'a> {
    layer: LayerRegions,
    block_bytes: usize,
    /// The memory of each block, if the layer has a window.
    parts: Option<&'a [u32]>,
}

impl Regions<'_> {
    /// The planes that have regions: keys, and values unless they are components of keys.
    pub(crate) fn planes(&self) -> &'static [Plane] {
        self.layer.planes
    }

    /// The bytes of a head's keys or values in block `block`.
    #[inline(always)]
    pub(crate) fn at(&self, block: usize, plane: Plane, head: usize) -> Range<usize> {
        let block = self.parts.map_or(block, |parts| parts[block] as usize);
        let at = block * self.block_bytes;
        let region = self.layer.region_of(plane, head);
        at + region.start..at + region.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_with_and_without_a_window_share_the_populated_bytes() {
        const MIB: usize = 1 << 20;
        assert_eq!(populated_bytes([2 * MIB, 0], 0), [512 * MIB, 0]);
        // As many blocks of both.
        assert_eq!(populated_bytes([MIB, 3 * MIB], 900 * MIB), [128 * MIB, 384 * MIB]);
        // Layers with a window have memory for 10 blocks.
        assert_eq!(populated_bytes([MIB, 3 * MIB], 30 * MIB), [482 * MIB, 30 * MIB]);
        for sizes in [[0, 0], [300 * MIB, 300 * MIB], [7, 1000], [usize::MAX, usize::MAX]] {
            for windowed_bytes in [0, 5000, usize::MAX] {
                let bytes = populated_bytes(sizes, windowed_bytes);
                assert!(bytes.into_iter().sum::<usize>() <= POPULATED_BYTES);
            }
        }
    }
}
