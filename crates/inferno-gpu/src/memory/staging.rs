//! Memory of the host that small uploads pass through.
//!
//! It is reused, because `Queue::write_buffer` allocates memory for each upload, which takes longer than recording a layer.
//! An upload is written to mapped memory at once, and copied to its target at the beginning of the next submission.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of the largest upload, in bytes.
pub(crate) const MAX_STAGED_BYTES: usize = 2 << 20;

/// Buffers that are mapped, filled and copied from, each of [`MAX_STAGED_BYTES`].
const MAX_CHUNKS: usize = 8;

/// Uploads begin at multiples of this many bytes.
const ALIGNMENT: u64 = 16;

/// Uploads that were not submitted, and the memory of those that were.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// The chunks with uploads that were not submitted. Only the last one has room.
    filled: Vec<Chunk>,
    /// The chunks without such uploads; the device may still read those that are not mapped.
    others: Vec<Chunk>,
    copies: Vec<Copy>,
}

#[derive(Debug)]
struct Chunk {
    buffer: wgpu::Buffer,
    used: u64,
    /// Whether the host can write to it.
    is_mapped: Arc<AtomicBool>,
}

/// An upload.
#[derive(Debug)]
struct Copy {
    source: wgpu::Buffer,
    source_offset: u64,
    target: wgpu::Buffer,
    offset: u64,
    bytes: u64,
}

impl Staging {
    /// Adds an upload of at most [`MAX_STAGED_BYTES`] bytes, whose number and whose `offset` in `target` are multiples of 4.
    /// Returns whether there is room for it. `create` creates a mapped buffer of a size.
    pub(crate) fn add(
        &mut self,
        target: &wgpu::Buffer,
        offset: u64,
        data: &[u8],
        create: impl FnOnce(u64) -> Option<wgpu::Buffer>,
    ) -> bool {
        let bytes = data.len() as u64;
        let has_room = |chunk: &Chunk| chunk.buffer.size() - chunk.used >= bytes;
        if !self.filled.last().is_some_and(has_room) {
            let Some(chunk) = self.free_chunk(create) else { return false };
            self.filled.push(chunk);
        }
        let Some(chunk) = self.filled.last_mut() else { return false };
        let source_offset = chunk.used;
        let range = source_offset..source_offset + bytes;
        let Ok(mut view) = chunk.buffer.get_mapped_range_mut(range) else { return false };
        view.copy_from_slice(data);
        drop(view);
        chunk.used = (source_offset + bytes).next_multiple_of(ALIGNMENT).min(chunk.buffer.size());
        let (source, target) = (chunk.buffer.clone(), target.clone());
        self.copies.push(Copy { source, source_offset, target, offset, bytes });
        true
    }

    /// A mapped chunk.
    fn free_chunk(&mut self, create: impl FnOnce(u64) -> Option<wgpu::Buffer>) -> Option<Chunk> {
        let is_mapped = |chunk: &Chunk| chunk.is_mapped.load(Ordering::Acquire);
        if let Some(free) = self.others.iter().position(is_mapped) {
            return Some(self.others.swap_remove(free));
        }
        if self.filled.len() + self.others.len() == MAX_CHUNKS {
            return None;
        }
        let buffer = create(MAX_STAGED_BYTES as u64)?;
        Some(Chunk { buffer, used: 0, is_mapped: Arc::new(AtomicBool::new(true)) })
    }

    /// Whether there is an upload to `target` that was not submitted.
    pub(crate) fn has_target(&self, target: &wgpu::Buffer) -> bool {
        self.copies.iter().any(|copy| copy.target == *target)
    }

    /// Records the uploads that were not submitted.
    pub(crate) fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.filled.iter().for_each(|chunk| chunk.buffer.unmap());
        for Copy { source, source_offset, target, offset, bytes } in self.copies.drain(..) {
            encoder.copy_buffer_to_buffer(&source, source_offset, &target, offset, bytes);
        }
    }

    /// Takes back the memory of the uploads that were recorded, once the commands are submitted.
    pub(crate) fn recall(&mut self) {
        self.others.extend(self.filled.drain(..).map(Chunk::recall));
    }
}

impl Chunk {
    /// Maps the chunk once the device has read it. A chunk that cannot be mapped is not used again.
    fn recall(self) -> Self {
        self.is_mapped.store(false, Ordering::Relaxed);
        let is_mapped = Arc::clone(&self.is_mapped);
        self.buffer.map_async(wgpu::MapMode::Write, .., move |mapped| {
            is_mapped.store(mapped.is_ok(), Ordering::Release);
        });
        Self { used: 0, ..self }
    }
}
