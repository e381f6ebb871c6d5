//! Batches of cache events in MessagePack: arrays, as vLLM's structures are encoded.

use std::time::{SystemTime, UNIX_EPOCH};

use inferno_engine::{BlockHash, CacheEvent};
use serde::{Serialize, Serializer};

/// The rank among servers with one cache each behind one address; there is only one.
const DATA_PARALLEL_RANK: u32 = 0;

/// Encodes `[seconds since 1970, [event, ...], rank]`; without events, the one that says that the cache is empty.
pub(super) fn encode(
    now: SystemTime,
    events: Option<&[CacheEvent]>,
    block_tokens: usize,
) -> Vec<u8> {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let encoded = match events {
        Some(events) => events.iter().map(|event| encoded(event, block_tokens)).collect(),
        None => vec![EncodedEvent::Cleared],
    };
    rmp_serde::to_vec(&(seconds, encoded, DATA_PARALLEL_RANK))
        .expect("numbers and lists have an encoding")
}

fn encoded(event: &CacheEvent, block_size: usize) -> EncodedEvent<'_> {
    match event {
        CacheEvent::Stored { parent, blocks, tokens } => {
            EncodedEvent::Stored { parent: *parent, blocks, tokens, block_size }
        }
        CacheEvent::Removed { blocks } => EncodedEvent::Removed { blocks },
    }
}

/// An event: its name, then its fields.
enum EncodedEvent<'a> {
    Stored {
        parent: Option<BlockHash>,
        blocks: &'a [BlockHash],
        tokens: &'a [u32],
        block_size: usize,
    },
    Removed {
        blocks: &'a [BlockHash],
    },
    Cleared,
}

/// A field that has no value here: an adapter, or the kind of the memory.
const NO_VALUE: Option<()> = None;

impl Serialize for EncodedEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // block_hashes, parent_block_hash, token_ids, block_size, lora_id, medium, lora_name
            Self::Stored { parent, blocks, tokens, block_size } => (
                "BlockStored",
                numbers(blocks),
                parent.map(|BlockHash(hash)| hash),
                tokens,
                block_size,
                NO_VALUE,
                NO_VALUE,
                NO_VALUE,
            )
                .serialize(serializer),
            // block_hashes, medium
            Self::Removed { blocks } => {
                ("BlockRemoved", numbers(blocks), NO_VALUE).serialize(serializer)
            }
            Self::Cleared => ("AllBlocksCleared",).serialize(serializer),
        }
    }
}

fn numbers(blocks: &[BlockHash]) -> Vec<u64> {
    blocks.iter().map(|BlockHash(hash)| *hash).collect()
}
