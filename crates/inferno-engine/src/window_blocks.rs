//! Which blocks hold the keys and values of layers with a sliding window.
//!
//! Such layers need the last blocks of a sequence only. The memory of the cache for them is smaller than that for the
//! other layers, and moves from block to block: a block whose positions have left the window of every running sequence
//! loses it when another block needs it, the least recently used one first. A prefix can be reused only where the
//! blocks within the window before its end still have theirs.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use inferno_backend::{BlockId, KvLayout, KvWindow};

/// A change of the blocks that hold keys and values of windowed layers, in the order in which they are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowUpdate {
    /// The block no longer holds them.
    Release(BlockId),
    /// Those of the first block now belong to the second, which had none.
    Move(BlockId, BlockId),
}

/// The blocks with keys and values of windowed layers, by their last use. Without such layers it does nothing.
#[derive(Debug, Default)]
pub(crate) struct WindowBlocks {
    window: Option<KvWindow>,
    block_tokens: usize,
    last_use: HashMap<BlockId, u64>,
    by_last_use: BTreeSet<(u64, BlockId)>,
    step: u64,
    updates: Vec<WindowUpdate>,
}

impl WindowBlocks {
    pub(crate) fn new(window: Option<KvWindow>, block_tokens: usize) -> Self {
        Self { window, block_tokens, ..Self::default() }
    }

    pub(crate) fn of(layout: &KvLayout) -> Self {
        Self::new(layout.window, layout.block_tokens)
    }

    /// Whether fewer blocks than the cache has can hold something.
    pub(crate) fn is_limited(&self) -> bool {
        self.window.is_some()
    }

    /// Number of blocks that hold something.
    pub(crate) fn num_used(&self) -> usize {
        self.last_use.len()
    }

    /// Number of blocks that can.
    pub(crate) fn capacity(&self) -> usize {
        self.window.map_or(0, |window| window.num_blocks)
    }

    pub(crate) fn holds(&self, block: BlockId) -> bool {
        self.window.is_none() || self.last_use.contains_key(&block)
    }

    /// The largest number of positions, up to `num_computed`, after which a sequence with these blocks can be
    /// continued.
    pub(crate) fn num_usable(
        &self,
        num_computed: usize,
        block: impl Fn(usize) -> BlockId,
    ) -> usize {
        let Some(window) = self.window else { return num_computed };
        let mut usable = num_computed;
        loop {
            let blocks = window.blocks(usable, usable, self.block_tokens);
            match blocks.rev().find(|&index| !self.holds(block(index))) {
                Some(missing) => usable = missing * self.block_tokens,
                None => return usable,
            }
        }
    }

    /// Begins a step: blocks that are used in it are not released.
    pub(crate) fn begin_step(&mut self) {
        self.step += 1;
    }

    /// Uses the blocks of `table` for a pass over `positions`, which they hold afterwards.
    pub(crate) fn use_positions(&mut self, table: &[BlockId], positions: Range<usize>) {
        if let Some(window) = self.window {
            let blocks = window.blocks(positions.start, positions.end, self.block_tokens);
            table[blocks].iter().for_each(|&block| self.use_block(block));
        }
    }

    /// Marks a block as used in this step; it has window memory from then on.
    pub(crate) fn use_block(&mut self, block: BlockId) {
        if self.window.is_none() {
            return;
        }
        if let Some(last) = self.last_use.insert(block, self.step) {
            self.by_last_use.remove(&(last, block));
        }
        self.by_last_use.insert((self.step, block));
    }

    /// Releases a block.
    pub(crate) fn release(&mut self, block: BlockId) {
        if let Some(last) = self.last_use.remove(&block) {
            self.by_last_use.remove(&(last, block));
            self.updates.push(WindowUpdate::Release(block));
        }
    }

    /// Releases all blocks.
    pub(crate) fn release_all(&mut self) {
        let blocks: Vec<BlockId> = self.last_use.keys().copied().collect();
        blocks.into_iter().for_each(|block| self.release(block));
    }

    /// Replaces block `from` by `to`, which holds the same positions.
    pub(crate) fn replace(&mut self, from: BlockId, to: BlockId) {
        if let (Some(&last), false) = (self.last_use.get(&from), self.last_use.contains_key(&to)) {
            self.last_use.remove(&from);
            self.by_last_use.remove(&(last, from));
            self.last_use.insert(to, last);
            self.by_last_use.insert((last, to));
            self.updates.push(WindowUpdate::Move(from, to));
        }
    }

    /// Releases blocks beyond the capacity, and returns all changes since the last call.
    pub(crate) fn take_updates(&mut self) -> Vec<WindowUpdate> {
        while self.last_use.len() > self.capacity()
            && let Some(&(last, block)) = self.by_last_use.first()
            && last < self.step
        {
            self.release(block);
        }
        std::mem::take(&mut self.updates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window_blocks(window: usize, num_blocks: usize) -> WindowBlocks {
        WindowBlocks::new(Some(KvWindow { len: window, num_blocks }), 4)
    }

    fn table(len: u32) -> Vec<BlockId> {
        (0..len).map(BlockId).collect()
    }

    #[test]
    fn blocks_outside_the_window_are_released_when_others_need_the_memory() {
        let mut windows = window_blocks(6, 4);
        let table = table(8);
        let mut released = Vec::new();
        for start in (0..32).step_by(4) {
            windows.begin_step();
            windows.use_positions(&table, start..start + 4);
            released.extend(windows.take_updates());
            assert!(windows.num_used() <= 4);
            assert_eq!(windows.num_usable(start + 4, |index| table[index]), start + 4);
        }
        assert_eq!(released, [0, 1, 2, 3].map(|block| WindowUpdate::Release(BlockId(block))));
        // Position 20 and those before it need blocks 3 and 4.
        assert_eq!(windows.num_usable(20, |index| table[index]), 0);
        assert_eq!(windows.num_usable(24, |index| table[index]), 24);
    }

    #[test]
    fn a_replaced_block_passes_its_contents_to_the_other() {
        let mut windows = window_blocks(6, 4);
        windows.begin_step();
        windows.use_block(BlockId(3));
        windows.replace(BlockId(3), BlockId(5));
        assert!(windows.holds(BlockId(5)) && !windows.holds(BlockId(3)));
        windows.use_block(BlockId(3));
        // Both hold the same positions: nothing to move.
        windows.replace(BlockId(3), BlockId(5));
        assert_eq!(windows.take_updates(), [WindowUpdate::Move(BlockId(3), BlockId(5))]);
    }

    #[test]
    fn without_a_window_every_prefix_is_usable() {
        let mut windows = WindowBlocks::new(None, 4);
        windows.begin_step();
        windows.use_positions(&table(3), 0..12);
        assert_eq!(windows.num_usable(12, |index| BlockId(index as u32)), 12);
        assert_eq!((windows.num_used(), windows.take_updates()), (0, Vec::new()));
    }
}
