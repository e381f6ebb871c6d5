//! The free list of the KV cache.
//!
//! It holds only ids; the memory is the runner's. Invariant: every block is either in the free list or
//! allocated, never both.

use inferno_backend::BlockId;

/// The free list of a cache's blocks.
///
/// ```
/// use inferno_engine::BlockPool;
///
/// let mut pool = BlockPool::new(2);
/// let block = pool.allocate().expect("two are free");
/// assert_eq!(pool.num_free(), 1);
/// pool.release(block);
/// assert_eq!(pool.num_free(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct BlockPool {
    /// A stack, so that memory in use stays in use.
    free: Vec<BlockId>,
    is_held: Vec<bool>,
}

impl BlockPool {
    /// Creates a pool of blocks 0 to `num_blocks - 1`, all free.
    ///
    /// **Panics** when there are more blocks than a [`BlockId`] can represent.
    pub fn new(num_blocks: usize) -> Self {
        let end = u32::try_from(num_blocks).expect("a block id has 32 bits");
        Self { free: (0..end).rev().map(BlockId).collect(), is_held: vec![false; num_blocks] }
    }

    /// Returns the number of free blocks.
    pub fn num_free(&self) -> usize {
        self.free.len()
    }

    /// Allocates a free block; `None` when there is none.
    pub fn allocate(&mut self) -> Option<BlockId> {
        let block = self.free.pop()?;
        self.is_held[block.0 as usize] = true;
        Some(block)
    }

    /// Frees `block`.
    ///
    /// **Panics** when it is free already, or not in this pool.
    pub fn release(&mut self, block: BlockId) {
        let was_held = std::mem::take(&mut self.is_held[block.0 as usize]);
        assert!(was_held, "block {} is released, but nobody holds it", block.0);
        self.free.push(block);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Action {
        Allocate,
        Release(usize),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![Just(Action::Allocate), any::<usize>().prop_map(Action::Release),]
    }

    proptest! {
        #[test]
        fn no_block_is_lost_or_given_out_twice(
            num_blocks in 0usize..12,
            actions in prop::collection::vec(action(), 0..200),
        ) {
            let mut pool = BlockPool::new(num_blocks);
            let mut held: Vec<BlockId> = Vec::new();
            for action in actions {
                match action {
                    Action::Allocate => match pool.allocate() {
                        Some(block) => {
                            prop_assert!((block.0 as usize) < num_blocks);
                            prop_assert!(!held.contains(&block));
                            held.push(block);
                        }
                        None => prop_assert_eq!(held.len(), num_blocks),
                    },
                    Action::Release(which) if !held.is_empty() => {
                        pool.release(held.swap_remove(which % held.len()));
                    }
                    Action::Release(_) => {}
                }
                prop_assert_eq!(pool.num_free() + held.len(), num_blocks);
            }
        }
    }

    #[test]
    #[should_panic(expected = "block 0 is released, but nobody holds it")]
    fn releasing_a_free_block_is_a_mistake_in_the_program() {
        BlockPool::new(1).release(BlockId(0));
    }
}
