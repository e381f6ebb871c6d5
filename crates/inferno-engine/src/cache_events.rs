//! Changes of the prefix cache, for routers that send requests to the server that has their prefix.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::PrefixNode;

/// Identifies a block's tokens together with all tokens before them.
///
/// The first eight bytes, big-endian, of the SHA-256 of the hash before it (eight bytes, big-endian, zero for the first block)
/// and the block's tokens (four bytes each, little-endian). It is the same on all servers with the same vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockHash(pub u64);

impl BlockHash {
    /// Computes the hash of a block that follows `parent`; `None` is the start of a sequence.
    pub fn new(parent: Option<Self>, tokens: &[u32]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(parent.map_or(0, |Self(hash)| hash).to_be_bytes());
        for token in tokens {
            hasher.update(token.to_le_bytes());
        }
        let digest = hasher.finalize();
        let first = *digest.first_chunk().expect("a digest has 32 bytes");
        Self(u64::from_be_bytes(first))
    }
}

/// A change of the prefix cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheEvent {
    /// Consecutive blocks were added.
    Stored {
        /// The block before the first; `None` at the start of a sequence.
        parent: Option<BlockHash>,
        /// The blocks, in order.
        blocks: Vec<BlockHash>,
        /// The tokens of all blocks.
        tokens: Vec<u32>,
    },
    /// Blocks were removed.
    Removed {
        /// The blocks, in the order of their removal.
        blocks: Vec<BlockHash>,
    },
}

/// Records the changes of a prefix cache until they are taken.
#[derive(Debug, Default)]
pub(crate) struct CacheEventLog {
    hashes: HashMap<PrefixNode, BlockHash>,
    events: Vec<CacheEvent>,
}

impl CacheEventLog {
    /// Records a new node, whose parent was recorded before.
    pub(crate) fn stored(&mut self, parent: Option<PrefixNode>, node: PrefixNode, tokens: &[u32]) {
        let parent = parent.map(|parent| self.hashes[&parent]);
        let hash = BlockHash::new(parent, tokens);
        self.hashes.insert(node, hash);
        match self.events.last_mut() {
            Some(CacheEvent::Stored { blocks, tokens: stored, .. })
                if blocks.last().copied() == parent =>
            {
                blocks.push(hash);
                stored.extend(tokens);
            }
            _ => {
                let (blocks, tokens) = (vec![hash], tokens.to_vec());
                self.events.push(CacheEvent::Stored { parent, blocks, tokens });
            }
        }
    }

    /// Records that a node was removed.
    pub(crate) fn removed(&mut self, node: PrefixNode) {
        let hash = self.hashes.remove(&node).expect("all nodes are recorded");
        match self.events.last_mut() {
            Some(CacheEvent::Removed { blocks }) => blocks.push(hash),
            _ => self.events.push(CacheEvent::Removed { blocks: vec![hash] }),
        }
    }

    /// Returns what was recorded since the last call.
    pub(crate) fn take(&mut self) -> Vec<CacheEvent> {
        std::mem::take(&mut self.events)
    }
}
