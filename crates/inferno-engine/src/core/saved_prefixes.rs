//! The prefix cache in a file: the number of blocks and of positions in each, then for each block the
//! index of its parent plus one (u32; 0 for none), its tokens (u32), and its contents. Checkpoints of recurrent state
//! follow, the most recently used block last: the index of each one's block (u32) and its contents. Their number is
//! in the upper half of that of the positions.
//!
//! The most recently used block is first, and none precedes its parent. So a smaller cache can load the
//! first blocks of a file without the rest.

use std::path::Path;

use inferno_backend::StateLayout;

use super::state::CoreState;
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};
use crate::{EngineError, Runner};

pub(super) const SAVED_PREFIXES: Kind =
    Kind { name: "a saved prefix cache", magic: *b"INFERNOP", version: 1 };

/// Position of the number of states in the number that holds it.
const STATES_SHIFT: u32 = 32;

/// Splits the second count of a header into the number of states and that of the positions in a block.
fn split(positions: u64) -> (u64, u64) {
    (positions >> STATES_SHIFT, positions % (1 << STATES_SHIFT))
}

/// Size of a recurrent state, in bytes; 0 if the model has none.
fn state_bytes(runner: &dyn Runner) -> usize {
    runner.state_layout().map_or(0, StateLayout::slot_bytes)
}

/// Writes the prefix cache to `path`, and returns the number of blocks.
pub(super) fn save(core: &CoreState, path: &Path) -> Result<usize, EngineError> {
    let CoreState { scheduler, runner, .. } = core;
    let blocks = scheduler.cached_blocks();
    let layout = runner.kv_layout();
    let (block_tokens, block_bytes) = (layout.block_tokens as u64, layout.block_bytes()? as u64);
    let num_blocks = blocks.len() as u64;
    let states = scheduler.cached_states();
    let (num_states, state_bytes) = (states.len() as u64, state_bytes(&**runner) as u64);
    let header = Header {
        fingerprint: runner.fingerprint().0,
        counts: [num_blocks, num_states << STATES_SHIFT | block_tokens],
        block_bytes,
        // The cache itself is larger.
        file_bytes: HEADER_BYTES
            + num_blocks * (4 + 4 * block_tokens + block_bytes)
            + num_states * (4 + state_bytes)
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
        for &(place, slot) in states.iter().rev() {
            output.write(&(place as u32).to_le_bytes())?;
            bytes.clear();
            runner.read_state(slot, &mut bytes)?;
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
    let state_bytes = state_bytes(&**runner);
    let mut input = Input::open(path, &SAVED_PREFIXES, runner.fingerprint().0, |header| {
        let [num_blocks, positions] = header.counts;
        let (num_states, block_tokens) = split(positions);
        if num_states > num_blocks || (num_states > 0 && state_bytes == 0) {
            return Err(damaged(path, "more states than blocks"));
        }
        if (header.block_bytes, block_tokens) != (block_bytes as u64, layout.block_tokens as u64) {
            return Err(damaged(path, "block size differs"));
        }
        num_blocks
            .checked_mul(4 + 4 * block_tokens + header.block_bytes)
            .and_then(|blocks| blocks.checked_add(num_states.checked_mul(4 + state_bytes as u64)?))
            .and_then(|payload| payload.checked_add(HEADER_BYTES + CHECKSUM_BYTES))
            .ok_or_else(|| damaged(path, "inconsistent sizes"))
    })?;
    let [num_blocks, positions] = input.header.counts;
    let (num_states, _) = split(positions);
    let mut nodes = Vec::new();
    let mut insert_all = || {
        let (mut tokens, mut bytes) = (vec![0; layout.block_tokens], vec![0; block_bytes]);
        let mut is_full = false;
        for place in 0..num_blocks {
            let parent = input.read_u32()?;
            if u64::from(parent) > place {
                return Err(damaged(path, "a block precedes its parent"));
            }
            input.read_tokens(&mut tokens, *vocab_size)?;
            input.read(&mut bytes)?;
            if is_full {
                continue;
            }
            let parent = parent.checked_sub(1).map(|place| nodes[place as usize]);
            let Some((node, block)) = scheduler.insert_cached(parent, &tokens) else {
                if num_states == 0 {
                    break;
                }
                is_full = true;
                continue;
            };
            nodes.push(node);
            if let Some(block) = block {
                runner.write_kv_block(block, &bytes)?;
            }
        }
        bytes.resize(state_bytes, 0);
        for _ in 0..num_states {
            let place = input.read_u32()?;
            input.read(&mut bytes)?;
            let node = nodes.get(place as usize).copied();
            if let Some(slot) = node.and_then(|node| scheduler.insert_state(node)) {
                runner.write_state(slot, &bytes)?;
            }
        }
        Ok(())
    };
    let inserted = insert_all();
    let num_blocks = nodes.len();
    scheduler.release_inserted(nodes, inserted.is_ok());
    inserted.map(|()| num_blocks)
}
