//! The memory of layers with a sliding window, which fewer blocks have than that of other layers.

use std::ops::Range;

use crate::{BackendError, Batch, BlockId};

/// The memory of layers that attend to a limited number of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvWindow {
    /// Maximum number of positions that a token attends to in these layers, including its own.
    pub len: usize,
    /// Number of blocks that can hold keys and values of these layers at a time.
    pub num_blocks: usize,
}

impl KvWindow {
    /// Memory for the windows of `max_num_sequences` sequences and one more, in passes of up to `max_num_tokens`
    /// tokens.
    pub fn for_sequences(
        len: usize,
        block_tokens: usize,
        max_num_sequences: usize,
        max_num_tokens: usize,
    ) -> Self {
        // A window and a chunk begin and end within a block.
        let per_sequence = len.div_ceil(block_tokens).saturating_add(3);
        let num_blocks = per_sequence
            .saturating_mul(max_num_sequences.saturating_add(1))
            .saturating_add(max_num_tokens.div_ceil(block_tokens));
        Self { len, num_blocks }
    }

    /// The indices of the blocks that a pass over positions `start..end` reads or writes, where blocks hold
    /// `block_tokens` positions. The position before the window counts, so that the last token can be computed
    /// again.
    pub fn blocks(&self, start: usize, end: usize, block_tokens: usize) -> Range<usize> {
        start.saturating_sub(self.len) / block_tokens..end.div_ceil(block_tokens)
    }
}

/// Which part of the memory of windowed layers belongs to which block of the cache.
#[derive(Debug)]
pub struct KvWindowMap {
    block_tokens: usize,
    /// The part of each block, or [`NO_PART`](Self::NO_PART).
    parts: Vec<u32>,
    free: Vec<u32>,
}

impl KvWindowMap {
    const NO_PART: u32 = u32::MAX;

    /// Creates a map of `num_blocks` blocks without memory to `window.num_blocks` parts.
    pub fn new(window: KvWindow, num_blocks: usize, block_tokens: usize) -> Self {
        let num_parts = u32::try_from(window.num_blocks).unwrap_or(Self::NO_PART);
        Self {
            block_tokens,
            parts: vec![Self::NO_PART; num_blocks],
            free: (0..num_parts).rev().collect(),
        }
    }

    /// The part of each block; out of range for blocks without one.
    pub fn parts(&self) -> &[u32] {
        &self.parts
    }

    /// The part of `block`, if it has one.
    pub fn part(&self, block: BlockId) -> Option<usize> {
        let part = self.parts[block.0 as usize];
        (part != Self::NO_PART).then_some(part as usize)
    }

    /// Assigns memory to `block` unless it has some, and returns its part.
    ///
    /// **Errors**: [`BackendError::KvWindowFull`].
    pub fn assign(&mut self, block: BlockId) -> Result<usize, BackendError> {
        if let Some(part) = self.part(block) {
            return Ok(part);
        }
        let part = self.free.pop().ok_or(BackendError::KvWindowFull)?;
        self.parts[block.0 as usize] = part;
        Ok(part as usize)
    }

    /// Assigns memory to each block that `batch` writes to.
    ///
    /// **Errors**: [`BackendError::KvWindowFull`].
    pub fn assign_all(&mut self, batch: &Batch) -> Result<(), BackendError> {
        for slot in batch.slot_mapping() {
            self.assign(BlockId((slot / self.block_tokens) as u32))?;
        }
        Ok(())
    }

    /// Releases the memory of `block`, if it has some.
    pub fn release(&mut self, block: BlockId) {
        let part = std::mem::replace(&mut self.parts[block.0 as usize], Self::NO_PART);
        if part != Self::NO_PART {
            self.free.push(part);
        }
    }

    /// Assigns the memory of block `from` to `to`.
    pub fn reassign(&mut self, from: BlockId, to: BlockId) {
        self.release(to);
        self.parts.swap(from.0 as usize, to.0 as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_belongs_to_one_block_at_a_time() {
        let mut map = KvWindowMap::new(KvWindow { len: 5, num_blocks: 2 }, 4, 4);
        let blocks = [0, 1, 2, 3].map(BlockId);
        let first = map.assign(blocks[3]).expect("free memory");
        assert_eq!(map.assign(blocks[3]).expect("it has memory"), first);
        let second = map.assign(blocks[0]).expect("free memory");
        assert_ne!(first, second);
        assert!(matches!(map.assign(blocks[1]), Err(BackendError::KvWindowFull)));
        map.reassign(blocks[3], blocks[2]);
        assert_eq!((map.part(blocks[2]), map.part(blocks[3])), (Some(first), None));
        map.release(blocks[0]);
        assert_eq!(map.assign(blocks[1]).expect("free memory"), second);
    }

    #[test]
    fn a_pass_needs_the_blocks_of_its_window() {
        let window = KvWindow { len: 6, num_blocks: 4 };
        assert_eq!(window.blocks(0, 0, 4), 0..0);
        assert_eq!(window.blocks(6, 7, 4), 0..2);
        assert_eq!(window.blocks(10, 11, 4), 1..3);
    }
}
