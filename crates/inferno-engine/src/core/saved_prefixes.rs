//! The prefix cache in a file: the number of blocks and of positions in each, then for each block the
//! index of its parent plus one (u32; 0 for none), its tokens (u32), and its contents.
//!
//! The most recently used block is first, and none precedes its parent. So a smaller cache can load the
//! first blocks of a file without the rest.

use std::path::Path;

use super::state::CoreState;
use crate::EngineError;
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};

pub(super) const SAVED_PREFIXES: Kind =
    Kind { name: "a saved prefix cache", magic: *b"INFERNOP", version: 1 };

/// Writes the prefix cache to `path`, and returns the number of blocks.
pub(super) fn save(core: &CoreState, path: &Path) -> Result<usize, EngineError> {
    let CoreState { scheduler, runner, .. } = core;
    let blocks = scheduler.cached_blocks();
    let layout = runner.kv_layout();
    let (block_tokens, block_bytes) = (layout.block_tokens as u64, layout.block_bytes()? as u64);
    let num_blocks = blocks.len() as u64;
    let header = Header {
        fingerprint: runner.fingerprint().0,
        counts: [num_blocks, block_tokens],
        block_bytes,
        // The cache itself is larger.
        file_bytes: HEADER_BYTES
            + num_blocks * (4 + 4 * block_tokens + block_bytes)
            + CHECKSUM_BYTES,
    };
    state_file::write(path, &SAVED_PREFIXES, header, |output| {
        let mut bytes = Vec::new();
        for cached in &blocks {
            // A cache has fewer blocks than a block id can name.
            let parent = cached.parent.map_or(0, |place| place as u32 + 1);
            output.write(&parent.to_le_bytes())?;
            for token in &*cached.tokens {
                output.write(&token.to_le_bytes())?;
            }
            bytes.clear();
            runner.read_kv_block(cached.block, &mut bytes)?;
            output.write(&bytes)?;
        }
        Ok(true)
    })?;
    Ok(blocks.len())
}

/// Loads `path` into free blocks, after checking all of it. Returns the number of blocks.
pub(super) fn load(core: &mut CoreState, path: &Path) -> Result<usize, EngineError> {
    let CoreState { scheduler, runner, vocab_size, .. } = core;
    let layout = *runner.kv_layout();
    let block_bytes = layout.block_bytes()?;
    let mut input = Input::open(path, &SAVED_PREFIXES, runner.fingerprint().0, |header| {
        let [num_blocks, block_tokens] = header.counts;
        if (header.block_bytes, block_tokens) != (block_bytes as u64, layout.block_tokens as u64) {
            return Err(damaged(path, "block size differs"));
        }
        num_blocks
            .checked_mul(4 + 4 * block_tokens + header.block_bytes)
            .and_then(|payload| payload.checked_add(HEADER_BYTES + CHECKSUM_BYTES))
            .ok_or_else(|| damaged(path, "inconsistent sizes"))
    })?;
    let mut nodes = Vec::new();
    let mut insert_all = || {
        let (mut tokens, mut bytes) = (vec![0; layout.block_tokens], vec![0; block_bytes]);
        for place in 0..input.header.counts[0] {
            let parent = input.read_u32()?;
            if u64::from(parent) > place {
                return Err(damaged(path, "a block precedes its parent"));
            }
            input.read_tokens(&mut tokens, *vocab_size)?;
            input.read(&mut bytes)?;
            let parent = parent.checked_sub(1).map(|place| nodes[place as usize]);
            let Some((node, block)) = scheduler.insert_cached(parent, &tokens) else {
                break;
            };
            nodes.push(node);
            if let Some(block) = block {
                runner.write_kv_block(block, &bytes)?;
            }
        }
        Ok(())
    };
    let inserted = insert_all();
    let num_blocks = nodes.len();
    scheduler.release_inserted(nodes, inserted.is_ok());
    inserted.map(|()| num_blocks)
}
