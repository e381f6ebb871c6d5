//! Batches of cache events in MessagePack, as vLLM encodes them since 0.26: a batch is an array, and an event a map with its
//! name under `type`. (Before, events were arrays too; vllm-router rejects them.)

use std::time::{SystemTime, UNIX_EPOCH};

use inferno_engine::{BlockHash, CacheEvent};
use serde::Serialize;

/// The rank among servers with one cache each behind one address; there is only one.
const DATA_PARALLEL_RANK: u32 = 0;

/// The memory of the blocks. vLLM uses this name for the memory that the model computes in, on every device.
const MEDIUM: &str = "GPU";

/// Encodes `[seconds since 1970, [event, ...], rank]`; without events, the one that empties the router's index.
pub(super) fn encode(
    now: SystemTime,
    events: Option<&[CacheEvent]>,
    block_tokens: usize,
) -> Vec<u8> {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let encoded = match events {
        Some(events) => events.iter().map(|event| encoded(event, block_tokens)).collect(),
        None => vec![EncodedEvent::AllBlocksCleared],
    };
    rmp_serde::to_vec_named(&(seconds, encoded, DATA_PARALLEL_RANK))
        .expect("numbers and lists have an encoding")
}

fn encoded(event: &CacheEvent, block_size: usize) -> EncodedEvent<'_> {
    match event {
        CacheEvent::Stored { parent, blocks, tokens } => EncodedEvent::BlockStored {
            block_hashes: numbers(blocks),
            parent_block_hash: parent.map(|BlockHash(hash)| hash),
            token_ids: tokens,
            block_size,
            lora_id: None,
            medium: MEDIUM,
            lora_name: None,
        },
        CacheEvent::Removed { blocks } => {
            EncodedEvent::BlockRemoved { block_hashes: numbers(blocks), medium: MEDIUM }
        }
    }
}

/// An event with vLLM's names. Fields without a default there are present even if they have no value here.
#[derive(Serialize)]
#[serde(tag = "type")]
enum EncodedEvent<'a> {
    BlockStored {
        block_hashes: Vec<u64>,
        parent_block_hash: Option<u64>,
        token_ids: &'a [u32],
        block_size: usize,
        lora_id: Option<u32>,
        medium: &'static str,
        lora_name: Option<&'static str>,
    },
    BlockRemoved {
        block_hashes: Vec<u64>,
        medium: &'static str,
    },
    AllBlocksCleared,
}

fn numbers(blocks: &[BlockHash]) -> Vec<u64> {
    blocks.iter().map(|BlockHash(hash)| *hash).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn events_are_maps_in_an_array() {
        let events = [
            CacheEvent::Stored {
                parent: Some(BlockHash(u64::MAX)),
                blocks: vec![BlockHash(7), BlockHash(8)],
                tokens: vec![1, 2, 3, 4],
            },
            CacheEvent::Removed { blocks: vec![BlockHash(7)] },
        ];
        let decode = |bytes: &[u8]| rmp_serde::from_slice::<Value>(bytes).unwrap();
        let stored = json!({
            "type": "BlockStored", "block_hashes": [7, 8], "parent_block_hash": u64::MAX, "token_ids": [1, 2, 3, 4],
            "block_size": 2, "lora_id": null, "medium": "GPU", "lora_name": null,
        });
        let removed = json!({"type": "BlockRemoved", "block_hashes": [7], "medium": "GPU"});
        let now = UNIX_EPOCH + std::time::Duration::from_millis(1500);
        assert_eq!(decode(&encode(now, Some(&events), 2)), json!([1.5, [stored, removed], 0]));
        let cleared = json!([1.5, [{"type": "AllBlocksCleared"}], 0]);
        assert_eq!(decode(&encode(now, None, 2)), cleared);
    }
}
