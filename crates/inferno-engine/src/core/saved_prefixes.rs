//! The prefix cache in a file: the number of blocks and of positions in each, then for each block the
//! index of its parent plus one (u32; 0 for none), its tokens (u32), and its contents. Checkpoints of recurrent state
//! follow, the most recently used block last: the index of each one's block (u32) and its contents. Their number is
//! in the upper half of that of the positions.
//!
//! Blocks without keys and values of windowed layers are marked by the highest bit of their parent. Models with such layers
//! have no recurrent state, and the number of these blocks is stored in its place.
//!
//! The most recently used block is first, and none precedes its parent. So a smaller cache can load the
//! first blocks of a file without the rest.

use std::path::Path;

use inferno_backend::{KvBlockPart, StateLayout};

use super::state::CoreState;
use crate::scheduler::{CachedBlock, Plan};
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};
use crate::{EngineError, Runner};

/// Set in the parent of blocks that are saved without windowed layers.
const PARTIAL_FLAG: u32 = 1 << 31;

pub(super) const SAVED_PREFIXES: Kind =
    Kind { name: "a saved prefix cache", magic: *b"INFERNOP", version: 1 };

/// Position of the number of states, or of blocks without windowed layers, in the number that holds it.
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
pub(super) fn save(core: &mut CoreState, path: &Path) -> Result<usize, EngineError> {
    core.apply_window_updates();
    let CoreState { scheduler, runner, .. } = core;
    let blocks = scheduler.cached_blocks();
    let layout = runner.kv_layout();
    let (block_tokens, block_bytes) = (layout.block_tokens as u64, layout.block_bytes()? as u64);
    let num_blocks = blocks.len() as u64;
    let states = scheduler.cached_states();
    let (num_states, state_bytes) = (states.len() as u64, state_bytes(&**runner) as u64);
    let is_partial = |cached: &&CachedBlock| !cached.has_window;
    let num_partial = blocks.iter().filter(is_partial).count() as u64;
    let missing_bytes = num_partial * (block_bytes - layout.unwindowed_bytes()? as u64);
    let header = Header {
        fingerprint: runner.fingerprint().0,
        // A cache has states or windows, not both.
        counts: [num_blocks, (num_states + num_partial) << STATES_SHIFT | block_tokens],
        block_bytes,
        // The cache itself is larger.
        file_bytes: HEADER_BYTES + num_blocks * (4 + 4 * block_tokens + block_bytes)
            - missing_bytes
            + num_states * (4 + state_bytes)
            + CHECKSUM_BYTES,
    };
    state_file::write(path, &SAVED_PREFIXES, header, |output| {
        let mut bytes = Vec::new();
        for cached in &blocks {
            // A cache has fewer blocks than a block id can name.
            let parent = cached.parent.map_or(0, |place| place as u32 + 1);
            let (part, flag) = match cached.has_window {
                true => (KvBlockPart::All, 0),
                false => (KvBlockPart::Unwindowed, PARTIAL_FLAG),
            };
            output.write(&(parent | flag).to_le_bytes())?;
            for token in &*cached.tokens {
                output.write(&token.to_le_bytes())?;
            }
            bytes.clear();
            runner.read_kv_block(cached.block, part, &mut bytes)?;
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
    let layout = runner.kv_layout().clone();
    let [block_bytes, partial_bytes] = [layout.block_bytes()?, layout.unwindowed_bytes()?];
    let missing_bytes = (block_bytes - partial_bytes) as u64;
    let state_bytes = state_bytes(&**runner);
    // The upper half of the second count: states, or blocks without windowed layers.
    let counts = |count: u64| match layout.window {
        Some(_) => [0, count],
        None => [count, 0],
    };
    let mut input = Input::open(path, &SAVED_PREFIXES, runner.fingerprint().0, |header| {
        let [num_blocks, positions] = header.counts;
        let (count, block_tokens) = split(positions);
        let [num_states, num_partial] = counts(count);
        if count > num_blocks || (num_states > 0 && state_bytes == 0) {
            return Err(damaged(path, "more states than blocks"));
        }
        if (header.block_bytes, block_tokens) != (block_bytes as u64, layout.block_tokens as u64) {
            return Err(damaged(path, "block size differs"));
        }
        let missing_bytes = num_partial.checked_mul(missing_bytes);
        num_blocks
            .checked_mul(4 + 4 * block_tokens + header.block_bytes)
            .and_then(|payload| payload.checked_sub(missing_bytes?))
            .and_then(|blocks| blocks.checked_add(num_states.checked_mul(4 + state_bytes as u64)?))
            .and_then(|payload| payload.checked_add(HEADER_BYTES + CHECKSUM_BYTES))
            .ok_or_else(|| damaged(path, "inconsistent sizes"))
    })?;
    let [num_blocks, positions] = input.header.counts;
    let [num_states, mut num_partial] = counts(split(positions).0);
    let mut nodes = Vec::new();
    let mut insert_all = || {
        let (mut tokens, mut bytes) = (vec![0; layout.block_tokens], vec![0; block_bytes]);
        let mut is_full = false;
        for place in 0..num_blocks {
            let parent = input.read_u32()?;
            let is_partial = parent & PARTIAL_FLAG != 0;
            let parent = parent & !PARTIAL_FLAG;
            num_partial = num_partial
                .checked_sub(u64::from(is_partial))
                .ok_or_else(|| damaged(path, "more partial blocks than counted"))?;
            if u64::from(parent) > place {
                return Err(damaged(path, "a block precedes its parent"));
            }
            input.read_tokens(&mut tokens, *vocab_size)?;
            let saved_bytes = if is_partial { partial_bytes } else { block_bytes };
            let bytes = &mut bytes[..saved_bytes];
            input.read(bytes)?;
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
                let part = scheduler.fill_inserted(block, !is_partial);
                runner.update_windows(&scheduler.take_window_updates(&Plan::default()));
                runner.write_kv_block(block, part, &bytes[..part.num_bytes(&layout)?])?;
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
