//! The paged keys and values of all layers.

mod block;

use std::ops::Range;

use inferno_backend::{
    BackendError, Batch, BlockId, KvBlockPart, KvDType, KvLayer, KvLayout, KvWindowMap,
};

use super::allocation::{Allocation, Binding};
use crate::backend::GpuBackend;
pub(crate) use block::{KvBlockShape, chunk_values};

/// Maximum number of buffers of a layer, see `shaders/snippets/cache_read_parts.wgsl`.
pub(crate) const MAX_PARTS: usize = 4;

const WHAT: &str = "the KV cache";

/// The paged keys and values of all layers.
#[derive(Debug)]
pub struct GpuKvCache {
    layout: KvLayout,
    layers: Vec<LayerCache>,
    windows: Option<Windows>,
}

/// The blocks of one layer, in one buffer or several.
#[derive(Debug)]
struct LayerCache {
    shape: KvBlockShape,
    has_window: bool,
    parts: Vec<Allocation>,
    /// Number of blocks of a part.
    part_blocks: usize,
}

/// Which blocks have memory in windowed layers.
#[derive(Debug)]
struct Windows {
    map: KvWindowMap,
    /// The part of each block, on the device.
    places: Allocation,
}

impl LayerCache {
    /// Allocates `num_blocks` blocks.
    fn new(
        backend: &GpuBackend,
        shape: KvBlockShape,
        has_window: bool,
        num_blocks: usize,
    ) -> Result<Self, BackendError> {
        let block_bytes = shape.num_bytes().max(1);
        let limits = &backend.limits;
        let part_bytes = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let part_blocks = part_bytes as usize / block_bytes;
        if num_blocks > part_blocks.saturating_mul(MAX_PARTS) {
            let bytes = num_blocks.saturating_mul(block_bytes);
            let max = part_bytes.saturating_mul(MAX_PARTS as u64);
            return Err(BackendError::BufferTooLarge { what: WHAT, bytes, max });
        }
        let mut parts = Vec::with_capacity(MAX_PARTS);
        for first in (0..num_blocks).step_by(part_blocks.max(1)) {
            let num_blocks = part_blocks.min(num_blocks - first);
            parts.push(backend.allocate(num_blocks * block_bytes, WHAT)?);
        }
        Ok(Self { shape, has_window, parts, part_blocks })
    }

    /// The buffer of a block, and its location in it, in bytes.
    fn block(&self, place: usize) -> (&Allocation, u64) {
        let offset = place % self.part_blocks * self.shape.num_bytes();
        (&self.parts[place / self.part_blocks], offset as u64)
    }
}

impl GpuKvCache {
    /// The number of positions per block.
    pub(crate) fn block_tokens(&self) -> usize {
        self.layout.block_tokens
    }

    /// The storage format.
    pub(crate) fn dtype(&self) -> KvDType {
        self.layout.dtype
    }

    /// The heads of a layer.
    pub(crate) fn layer(&self, layer: usize) -> &KvLayer {
        &self.layout.layers[layer]
    }

    /// The buffers of a layer.
    pub(crate) fn parts(&self, layer: usize) -> &[Allocation] {
        &self.layers[layer].parts
    }

    /// The number of blocks in each of a layer's buffers.
    pub(crate) fn part_blocks(&self, layer: usize) -> usize {
        self.layers[layer].part_blocks
    }

    /// For a layer with a window, the memory of each block.
    pub(crate) fn places(&self, layer: usize) -> Option<Binding<'_>> {
        let windows = self.windows.as_ref().filter(|_| self.layers[layer].has_window);
        windows.map(|windows| (&windows.places).into())
    }

    /// The place of a block in the memory of a layer.
    ///
    /// **Panics** if it has none.
    fn place(&self, layer: &LayerCache, block: BlockId) -> usize {
        match &self.windows {
            Some(windows) if layer.has_window => {
                windows.map.part(block).expect("a block within the window has memory")
            }
            _ => block.0 as usize,
        }
    }

    /// The layers that belong to a part of a block, those without a window first.
    fn layers_of(&self, part: KvBlockPart) -> impl Iterator<Item = &LayerCache> {
        let unwindowed = self.layers.iter().filter(|layer| !layer.has_window);
        let windowed = self.layers.iter().filter(|layer| layer.has_window);
        unwindowed.chain(windowed.filter(move |_| part == KvBlockPart::All))
    }
}

impl GpuBackend {
    /// **Errors**: [`BackendError::KvHeadDim`], [`BackendError::KvHeadTooWide`] and [`BackendError::OutOfMemory`].
    pub(crate) fn new_kv_cache(&self, layout: &KvLayout) -> Result<GpuKvCache, BackendError> {
        layout.block_bytes()?;
        let &KvLayout { num_blocks, block_tokens, dtype, .. } = layout;
        // Shaders number blocks and positions with 32 bits.
        if num_blocks.saturating_mul(block_tokens) > u32::MAX as usize {
            let bytes = layout.total_bytes()?;
            return Err(BackendError::OutOfMemory { what: WHAT, bytes });
        }
        let mut layers = Vec::with_capacity(layout.layers.len());
        for layer in &layout.layers {
            let num_blocks = match layout.window {
                Some(window) if layer.is_windowed => window.num_blocks,
                _ => num_blocks,
            };
            let shape = KvBlockShape::new(layer, dtype, block_tokens);
            layers.push(LayerCache::new(self, shape, layout.has_window(layer), num_blocks)?);
        }
        let windows = match layout.window {
            Some(window) => Some(Windows {
                map: KvWindowMap::new(window, num_blocks, block_tokens),
                places: self.allocate(num_blocks.saturating_mul(size_of::<u32>()), WHAT)?,
            }),
            None => None,
        };
        Ok(GpuKvCache { layout: layout.clone(), layers, windows })
    }

    /// **Errors**: [`BackendError::KvWindowFull`], [`BackendError::OutOfMemory`], [`BackendError::DeviceLost`].
    pub(crate) fn assign_windows(
        &self,
        batch: &Batch,
        cache: &mut GpuKvCache,
    ) -> Result<(), BackendError> {
        let Some(windows) = &mut cache.windows else { return Ok(()) };
        let block_tokens = cache.layout.block_tokens;
        let mut changed: Option<Range<usize>> = None;
        let mut result = Ok(());
        for slot in batch.slot_mapping() {
            let block = BlockId((slot / block_tokens) as u32);
            if windows.map.part(block).is_some() {
                continue;
            }
            result = windows.map.assign(block).map(drop);
            if result.is_err() {
                break;
            }
            let index = block.0 as usize;
            let known = changed.unwrap_or(index..index + 1);
            changed = Some(known.start.min(index)..known.end.max(index + 1));
        }
        if let Some(changed) = changed {
            result = self.write_places(windows, changed).and(result);
        }
        result
    }

    /// Copies the parts of `blocks` to the device.
    ///
    /// **Errors**: as [`write`](Self::write).
    fn write_places(&self, windows: &Windows, blocks: Range<usize>) -> Result<(), BackendError> {
        let offset = (blocks.start * size_of::<u32>()) as u64;
        self.write(&windows.places, offset, bytemuck::cast_slice(&windows.map.parts()[blocks]))
    }

    /// Releases the memory of `block` in windowed layers. Passes do not read its place until it has another one.
    pub(crate) fn release_window(&self, cache: &mut GpuKvCache, block: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.map.release(block);
        }
    }

    /// Moves the memory of block `from` in windowed layers to block `to`.
    pub(crate) fn move_window(&self, cache: &mut GpuKvCache, from: BlockId, to: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.map.reassign(from, to);
            let written = self.write_places(windows, to.0 as usize..to.0 as usize + 1);
            written.unwrap_or_else(|error| self.defer(error));
        }
    }

    /// Appends the rows of a block, one after the other, each in the cache's format.
    ///
    /// **Errors**: [`BackendError::Device`].
    pub(crate) fn save_block(
        &self,
        cache: &GpuKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        self.check()?;
        let num_bytes = |layer: &LayerCache| layer.shape.num_bytes();
        let total: usize = cache.layers_of(part).map(num_bytes).sum();
        let mut encoded: Vec<u32> = vec![0; total / size_of::<u32>()];
        let sources = cache.layers_of(part).map(|layer| {
            let (memory, offset) = layer.block(cache.place(layer, block));
            (memory, offset, num_bytes(layer))
        });
        self.read_all(sources, bytemuck::cast_slice_mut(&mut encoded))?;
        let mut rest = &encoded[..];
        for layer in cache.layers_of(part) {
            let (words, others) = rest.split_at(num_bytes(layer) / size_of::<u32>());
            layer.shape.save(words, bytes);
            rest = others;
        }
        Ok(())
    }

    /// Fills a block with the result of [`save_block`](Self::save_block).
    ///
    /// **Errors**: [`BackendError::KvBlockSize`], [`BackendError::KvWindowFull`], [`BackendError::OutOfMemory`],
    /// [`BackendError::DeviceLost`].
    pub(crate) fn restore_block(
        &self,
        cache: &mut GpuKvCache,
        block: BlockId,
        part: KvBlockPart,
        mut bytes: &[u8],
    ) -> Result<(), BackendError> {
        let (expected, found) = (part.num_bytes(&cache.layout)?, bytes.len());
        if found != expected {
            return Err(BackendError::KvBlockSize { expected, found });
        }
        if let (Some(windows), KvBlockPart::All) = (&mut cache.windows, part) {
            windows.map.assign(block)?;
            self.write_places(windows, block.0 as usize..block.0 as usize + 1)?;
        }
        for layer in cache.layers_of(part) {
            let mut words = vec![0; layer.shape.num_bytes() / size_of::<u32>()];
            bytes = layer.shape.restore(bytes, &mut words);
            let (memory, offset) = layer.block(cache.place(layer, block));
            self.write(memory, offset, bytemuck::cast_slice(&words))?;
        }
        self.check()
    }
}
