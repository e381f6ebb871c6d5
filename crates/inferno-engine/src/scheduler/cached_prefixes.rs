//! Reads and fills the blocks of the prefix cache, to save and load it.

use inferno_backend::{BlockId, KvBlockPart, StateSlot};

use super::Scheduler;
use super::kv_blocks::CachedBlock;
use crate::prefix_cache::PrefixNode;

impl Scheduler {
    /// Returns the blocks of the prefix cache, the most recently used first and none before its parent.
    pub(crate) fn cached_blocks(&self) -> Vec<CachedBlock> {
        self.blocks.cached()
    }

    /// Returns the checkpoints of the prefix cache: the index of each one's block in
    /// [`cached_blocks`](Self::cached_blocks), and its slot.
    pub(crate) fn cached_states(&self) -> Vec<(usize, StateSlot)> {
        self.blocks.cached_states()
    }

    /// Adds a checkpoint to a block of the prefix cache; the caller fills the slot. `None` if there is no slot, or the
    /// block has a checkpoint.
    pub(crate) fn insert_state(&mut self, node: PrefixNode) -> Option<StateSlot> {
        self.blocks.insert_state(node)
    }

    /// Adds a block to the prefix cache that the caller fills with the keys and values of `tokens`; returns no
    /// block if the cache has these tokens already. `None` if no block is free, or sharing is disabled.
    pub(crate) fn insert_cached(
        &mut self,
        parent: Option<PrefixNode>,
        tokens: &[u32],
    ) -> Option<(PrefixNode, Option<BlockId>)> {
        self.limits.prefix_cache.then(|| self.blocks.insert_cached(parent, tokens)).flatten()
    }

    /// Selects the part of an inserted block to fill: all of it, if `has_window` and there is memory left for its
    /// windowed layers.
    pub(crate) fn fill_inserted(&mut self, block: BlockId, has_window: bool) -> KvBlockPart {
        let windows = &mut self.blocks.windows;
        windows.release(block);
        if windows.is_limited() && (!has_window || windows.num_used() >= windows.capacity()) {
            return KvBlockPart::Unwindowed;
        }
        windows.use_block(block);
        KvBlockPart::All
    }

    /// Releases the blocks of [`insert_cached`](Self::insert_cached), in that order. Unless they were all
    /// filled, every unused block is evicted.
    pub(crate) fn release_inserted(&mut self, nodes: Vec<PrefixNode>, are_filled: bool) {
        self.blocks.release_inserted(nodes, are_filled);
    }
}
