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
use crate::prefix_cache::PrefixNode;
use crate::scheduler::Plan;
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};
use crate::{EngineError, Runner};

/// Set in the parent of blocks that are saved without windowed layers.
const PARTIAL_FLAG: u32 = 1 << 31;

pub(super) const SAVED_PREFIXES: Kind =
    Kind { name: "a saved prefix cache", magic: *b"INFERNOP", version: 2 };

/// Position of the number of states, or of blocks without windowed layers, in the number that holds it.
const STATES_SHIFT: u32 = 32;

/// The sizes of the parts of a file, which follow from the model.
struct PartSizes {
    /// Positions in a block.
    block_tokens: u64,
    block_bytes: u64,
    /// Size of a block without its windowed layers, in bytes.
    partial_block_bytes: u64,
    /// Size of a recurrent state, in bytes; 0 if the model has none.
    state_bytes: u64,
    has_window: bool,
}

/// The numbers of the parts of a file.
#[derive(Clone, Copy)]
struct PartCounts {
    num_blocks: u64,
    /// Blocks that are saved without windowed layers. A cache has such blocks or states, not both.
    num_partial: u64,
    num_states: u64,
}

impl PartSizes {
    fn of(runner: &dyn Runner) -> Result<Self, EngineError> {
        let layout = runner.kv_layout();
        Ok(Self {
            block_tokens: layout.block_tokens as u64,
            block_bytes: layout.block_bytes()? as u64,
            partial_block_bytes: layout.unwindowed_bytes()? as u64,
            state_bytes: runner.state_layout().map_or(0, StateLayout::slot_bytes) as u64,
            has_window: layout.window.is_some(),
        })
    }

    /// The counts as the header stores them.
    fn header_counts(&self, counts: PartCounts) -> [u64; 2] {
        let PartCounts { num_blocks, num_partial, num_states } = counts;
        [num_blocks, (num_states + num_partial) << STATES_SHIFT | self.block_tokens]
    }

    /// The inverse of [`header_counts`](Self::header_counts).
    ///
    /// **Errors**: the sizes or counts cannot belong to this model; the message says why.
    fn counts_of(&self, header: &Header) -> Result<PartCounts, &'static str> {
        let [num_blocks, positions] = header.counts;
        let count = positions >> STATES_SHIFT;
        let (num_partial, num_states) = if self.has_window { (count, 0) } else { (0, count) };
        if count > num_blocks || (num_states > 0 && self.state_bytes == 0) {
            return Err("more states than blocks");
        }
        let block_tokens = positions % (1 << STATES_SHIFT);
        if (header.block_bytes, block_tokens) != (self.block_bytes, self.block_tokens) {
            return Err("block size differs");
        }
        Ok(PartCounts { num_blocks, num_partial, num_states })
    }

    /// Size of a file with these parts, in bytes; `None` if it is not a possible size.
    fn file_bytes(&self, counts: PartCounts) -> Option<u64> {
        let PartCounts { num_blocks, num_partial, num_states } = counts;
        let missing = num_partial.checked_mul(self.block_bytes - self.partial_block_bytes)?;
        let blocks = num_blocks.checked_mul(4 + 4 * self.block_tokens + self.block_bytes)?;
        let states = num_states.checked_mul(4 + self.state_bytes)?;
        blocks.checked_sub(missing)?.checked_add(states)?.checked_add(HEADER_BYTES + CHECKSUM_BYTES)
    }
}

/// Writes the prefix cache to `path`, and returns the number of blocks.
pub(super) fn save(core: &mut CoreState, path: &Path) -> Result<usize, EngineError> {
    core.apply_window_updates();
    let CoreState { scheduler, runner, .. } = core;
    let sizes = PartSizes::of(&**runner)?;
    let (blocks, states) = (scheduler.cached_blocks(), scheduler.cached_states());
    let counts = PartCounts {
        num_blocks: blocks.len() as u64,
        num_partial: blocks.iter().filter(|cached| !cached.has_window).count() as u64,
        num_states: states.len() as u64,
    };
    let header = Header {
        kv_dtype: Some(runner.kv_layout().dtype),
        fingerprint: runner.fingerprint().0,
        counts: sizes.header_counts(counts),
        block_bytes: sizes.block_bytes,
        file_bytes: sizes.file_bytes(counts).expect("the cache itself is larger"),
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
    let sizes = PartSizes::of(&*core.runner)?;
    let counts_of = |header: &Header| sizes.counts_of(header).map_err(|why| damaged(path, why));
    let identity = (core.runner.fingerprint().0, core.runner.kv_layout().dtype);
    let mut input = Input::open(path, &SAVED_PREFIXES, identity, |header| {
        let file_bytes = sizes.file_bytes(counts_of(header)?);
        file_bytes.ok_or_else(|| damaged(path, "inconsistent sizes"))
    })?;
    let counts = counts_of(&input.header)?;
    let mut nodes = Vec::new();
    let inserted = insert_blocks(core, &mut input, &sizes, counts, &mut nodes)
        .and_then(|()| insert_states(core, &mut input, &sizes, counts, &nodes));
    let num_blocks = nodes.len();
    core.scheduler.release_inserted(nodes, inserted.is_ok());
    inserted.map(|()| num_blocks)
}

/// Inserts the blocks that fit into the cache, and appends their nodes to `nodes`.
fn insert_blocks(
    core: &mut CoreState,
    input: &mut Input<'_>,
    sizes: &PartSizes,
    counts: PartCounts,
    nodes: &mut Vec<PrefixNode>,
) -> Result<(), EngineError> {
    let CoreState { scheduler, runner, vocab_size, .. } = core;
    let layout = runner.kv_layout().clone();
    let mut tokens = vec![0; layout.block_tokens];
    let mut bytes = vec![0; sizes.block_bytes as usize];
    let mut num_partial = counts.num_partial;
    let mut is_full = false;
    for place in 0..counts.num_blocks {
        let parent = input.read_u32()?;
        let is_partial = parent & PARTIAL_FLAG != 0;
        let parent = parent & !PARTIAL_FLAG;
        num_partial = num_partial
            .checked_sub(u64::from(is_partial))
            .ok_or_else(|| input.damaged("more partial blocks than counted"))?;
        if u64::from(parent) > place {
            return Err(input.damaged("a block precedes its parent"));
        }
        input.read_tokens(&mut tokens, *vocab_size)?;
        let saved_bytes = if is_partial { sizes.partial_block_bytes } else { sizes.block_bytes };
        let bytes = &mut bytes[..saved_bytes as usize];
        input.read(bytes)?;
        if is_full {
            continue;
        }
        let parent = parent.checked_sub(1).map(|place| nodes[place as usize]);
        let Some((node, block)) = scheduler.insert_cached(parent, &tokens) else {
            // The states after the blocks are read in any case.
            is_full = true;
            if counts.num_states == 0 {
                break;
            }
            continue;
        };
        nodes.push(node);
        if let Some(block) = block {
            let part = scheduler.fill_inserted(block, !is_partial);
            runner.update_windows(&scheduler.take_window_updates(&Plan::default()));
            runner.write_kv_block(block, part, &bytes[..part.num_bytes(&layout)?])?;
        }
    }
    Ok(())
}

/// Inserts the recurrent states whose blocks were inserted.
fn insert_states(
    core: &mut CoreState,
    input: &mut Input<'_>,
    sizes: &PartSizes,
    counts: PartCounts,
    nodes: &[PrefixNode],
) -> Result<(), EngineError> {
    let CoreState { scheduler, runner, .. } = core;
    let mut bytes = vec![0; sizes.state_bytes as usize];
    for _ in 0..counts.num_states {
        let place = input.read_u32()?;
        input.read(&mut bytes)?;
        let node = nodes.get(place as usize).copied();
        if let Some(slot) = node.and_then(|node| scheduler.insert_state(node)) {
            runner.write_state(slot, &bytes)?;
        }
    }
    Ok(())
}
