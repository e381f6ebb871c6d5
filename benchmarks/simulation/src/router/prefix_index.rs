//! Which replica has probably cached which prefixes.
//!
//! An approximation, as routers keep it: it knows which prompts were sent where, but not the replies, and not when a
//! replica evicts a block. Each replica's part is as large as its cache and evicts the least recently used blocks.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::num::NonZeroUsize;

use lru::LruCache;

/// Tokens of a block.
const BLOCK_TOKENS: usize = 16;

/// A hash of a block and all blocks before it.
pub(super) type Prefix = u64;

type StableHasher = BuildHasherDefault<DefaultHasher>;

/// The replicas that hold each prefix.
pub(super) struct PrefixIndex {
    holders: HashMap<Prefix, Vec<u32>, StableHasher>,
    /// The prefixes of each replica by last use.
    by_replica: Vec<LruCache<Prefix, (), StableHasher>>,
}

impl PrefixIndex {
    /// Creates an empty index for `num_replicas` caches of `cache_tokens` tokens.
    pub(super) fn new(num_replicas: usize, cache_tokens: usize) -> Self {
        let num_blocks =
            NonZeroUsize::new(cache_tokens / BLOCK_TOKENS).unwrap_or(NonZeroUsize::MIN);
        // Nothing is reserved for replicas that a policy does not look up.
        let empty = || LruCache::unbounded_with_hasher(StableHasher::default());
        let mut by_replica: Vec<_> = (0..num_replicas).map(|_| empty()).collect();
        by_replica.iter_mut().for_each(|replica| replica.resize(num_blocks));
        Self { holders: HashMap::default(), by_replica }
    }

    /// Returns the whole blocks of a prompt.
    pub(super) fn blocks(prompt: &[u32]) -> Vec<Prefix> {
        let hasher = StableHasher::default();
        let next = |before: &mut Prefix, block: &[u32]| {
            *before = hasher.hash_one((*before, block));
            Some(*before)
        };
        prompt.chunks_exact(BLOCK_TOKENS).scan(0, next).collect()
    }

    /// Returns the number of blocks of the longest known prefix, and the replicas that hold it.
    pub(super) fn longest_match(&self, blocks: &[Prefix]) -> (usize, &[u32]) {
        let known = blocks.iter().take_while(|block| self.holders.contains_key(block)).count();
        let holders = blocks[..known].last().and_then(|last| self.holders.get(last));
        (known, holders.map_or(&[], Vec::as_slice))
    }

    /// Records that `replica` computes a prompt.
    pub(super) fn insert(&mut self, replica: usize, blocks: &[Prefix]) {
        // The last block first, so that a prefix is evicted after all that extend it.
        for &block in blocks.iter().rev() {
            match self.by_replica[replica].push(block, ()) {
                Some((known, ())) if known == block => {}
                evicted => {
                    self.holders.entry(block).or_default().push(replica as u32);
                    if let Some((evicted, ())) = evicted {
                        self.remove_holder(evicted, replica);
                    }
                }
            }
        }
    }

    fn remove_holder(&mut self, block: Prefix, replica: usize) {
        if let Some(holders) = self.holders.get_mut(&block) {
            holders.retain(|&holder| holder as usize != replica);
            if holders.is_empty() {
                self.holders.remove(&block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_is_found_until_it_is_evicted() {
        let mut index = PrefixIndex::new(2, 4 * BLOCK_TOKENS);
        let blocks = |first: u32| PrefixIndex::blocks(&(first..first + 50).collect::<Vec<_>>());
        assert_eq!(blocks(0).len(), 3);
        index.insert(1, &blocks(0));
        assert_eq!(index.longest_match(&blocks(0)), (3, &[1][..]));
        assert_eq!(index.longest_match(&blocks(100)), (0, &[][..]));
        index.insert(0, &blocks(0)[..2]);
        assert_eq!(index.longest_match(&blocks(0)), (3, &[1][..]));
        assert_eq!(index.longest_match(&blocks(0)[..2]), (2, &[1, 0][..]));
        // Replica 1 has room for one of the three blocks, the first.
        index.insert(1, &blocks(100));
        assert_eq!(index.longest_match(&blocks(0)), (2, &[0][..]));
        assert_eq!(index.longest_match(&blocks(0)[..1]), (1, &[1, 0][..]));
        assert_eq!(index.longest_match(&blocks(100)), (3, &[1][..]));
    }
}
