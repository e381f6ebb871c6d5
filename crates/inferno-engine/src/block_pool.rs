//! Which blocks of the KV cache are free, and how many hold on to each of the others.
//!
//! Only ids and counts live here; the memory is the runner's. Invariant: every block is either free
//! or has a count above zero, so that free and in use are the whole cache at any time.

use inferno_backend::BlockId;

/// The free list and the reference counts of a cache's blocks.
///
/// ```
/// use inferno_engine::BlockPool;
///
/// let mut pool = BlockPool::new(2);
/// let block = pool.allocate().expect("two are free");
/// pool.share(block);
/// pool.release(block);
/// assert_eq!((pool.num_free(), pool.num_in_use()), (1, 1));
/// pool.release(block);
/// assert_eq!((pool.num_free(), pool.num_in_use()), (2, 0));
/// ```
#[derive(Debug, Clone)]
pub struct BlockPool {
    /// The last one is the next to be given out, so that memory in use stays in use.
    free: Vec<BlockId>,
    reference_counts: Vec<u32>,
}

impl BlockPool {
    /// A pool of blocks 0 to `num_blocks - 1`, all free.
    ///
    /// **Panics** when there are more blocks than a [`BlockId`] can name.
    pub fn new(num_blocks: usize) -> Self {
        let end = u32::try_from(num_blocks).expect("a block id has 32 bits");
        Self {
            free: (0..end).rev().map(BlockId).collect(),
            reference_counts: vec![0; num_blocks],
        }
    }

    /// Blocks in all.
    pub fn num_total(&self) -> usize {
        self.reference_counts.len()
    }

    /// Blocks that nobody holds.
    pub fn num_free(&self) -> usize {
        self.free.len()
    }

    /// Blocks that somebody holds.
    pub fn num_in_use(&self) -> usize {
        self.num_total() - self.num_free()
    }

    /// How many hold `block`.
    ///
    /// **Panics** when the pool has no such block.
    pub fn reference_count(&self, block: BlockId) -> u32 {
        self.reference_counts[block.0 as usize]
    }

    /// Takes a free block, held once; `None` when all are in use.
    pub fn allocate(&mut self) -> Option<BlockId> {
        let block = self.free.pop()?;
        self.reference_counts[block.0 as usize] = 1;
        Some(block)
    }

    /// Holds `block` once more.
    ///
    /// **Panics** when it is free: who shares a block must hold it.
    pub fn share(&mut self, block: BlockId) {
        let count = &mut self.reference_counts[block.0 as usize];
        assert!(
            *count > 0,
            "block {} is shared, but nobody holds it",
            block.0
        );
        *count += 1;
    }

    /// Holds `block` once less; it is free when nobody does.
    ///
    /// **Panics** when it is free already.
    pub fn release(&mut self, block: BlockId) {
        let count = &mut self.reference_counts[block.0 as usize];
        assert!(
            *count > 0,
            "block {} is released, but nobody holds it",
            block.0
        );
        *count -= 1;
        if *count == 0 {
            self.free.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Action {
        Allocate,
        Share(usize),
        Release(usize),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            Just(Action::Allocate),
            any::<usize>().prop_map(Action::Share),
            any::<usize>().prop_map(Action::Release),
        ]
    }

    proptest! {
        #[test]
        fn no_block_is_lost_or_given_out_twice(
            num_blocks in 0usize..12,
            actions in prop::collection::vec(action(), 0..200),
        ) {
            let mut pool = BlockPool::new(num_blocks);
            // One entry a holder.
            let mut held: Vec<BlockId> = Vec::new();
            for action in actions {
                match action {
                    Action::Allocate => match pool.allocate() {
                        Some(block) => {
                            prop_assert!(!held.contains(&block));
                            held.push(block);
                        }
                        None => prop_assert_eq!(pool.num_free(), 0),
                    },
                    Action::Share(which) if !held.is_empty() => {
                        let block = held[which % held.len()];
                        pool.share(block);
                        held.push(block);
                    }
                    Action::Release(which) if !held.is_empty() => {
                        pool.release(held.swap_remove(which % held.len()));
                    }
                    Action::Share(_) | Action::Release(_) => {}
                }
                let mut counts: HashMap<BlockId, u32> = HashMap::new();
                for &block in &held {
                    *counts.entry(block).or_default() += 1;
                }
                prop_assert_eq!(pool.num_in_use(), counts.len());
                prop_assert_eq!(pool.num_free() + pool.num_in_use(), num_blocks);
                for (block, count) in counts {
                    prop_assert_eq!(pool.reference_count(block), count);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "block 0 is released, but nobody holds it")]
    fn releasing_a_free_block_is_a_mistake_in_the_program() {
        BlockPool::new(1).release(BlockId(0));
    }
}
