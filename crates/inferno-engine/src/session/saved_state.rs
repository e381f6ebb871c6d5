//! A session's state in a file: how many tokens there are and how many of them are computed, the
//! tokens (u32), the blocks that hold the computed positions, and the recurrent state after them if the model has one.

use std::path::Path;

use inferno_backend::BlockId;

use super::Session;
use crate::EngineError;
use crate::core::ModelInfo;
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};

pub(super) const SAVED_SESSION: Kind =
    Kind { name: "a saved session", magic: *b"INFERNOS", version: 2 };

/// Blocks that are copied at a time.
const BLOCKS_PER_COPY: usize = 8;

/// Writes `session` to `path`. The core is locked only while blocks are copied to memory, so that others are not
/// delayed by the disk. If the session loses blocks to them meanwhile, those are written that are left.
pub(super) fn save(session: &Session, path: &Path) -> Result<(), EngineError> {
    let (core, sequence) = (&session.core, session.sequence);
    loop {
        let (num_computed, blocks) = {
            let mut state = core.lock()?;
            state.set_tokens(sequence, &session.tokens);
            let (num_computed, blocks) = state.computed_blocks(sequence);
            (num_computed, blocks.to_vec())
        };
        let layout = &session.info().layout;
        let copy = |first: usize, copied: &[BlockId], bytes: &mut Vec<u8>| {
            let mut state = core.lock()?;
            if state.computed_blocks(sequence) != (num_computed, &blocks[..]) {
                return Ok(false);
            }
            for (index, &block) in (first..).zip(copied) {
                state.read_block(block, layout.part_of_block(index, num_computed), bytes)?;
            }
            Ok(true)
        };
        let copy_state = |bytes: &mut Vec<u8>| {
            let mut state = core.lock()?;
            if state.computed_blocks(sequence) != (num_computed, &blocks[..]) {
                return Ok(false);
            }
            state.read_state(sequence, bytes)?;
            Ok(true)
        };
        if write(session, path, num_computed, &blocks, copy, copy_state)? {
            return Ok(());
        }
    }
}

/// Writes `session` with the blocks of its first `num_computed` tokens, which `copy` appends to a buffer, some from an
/// index on, and the recurrent state after them, which `copy_state` appends. False, and nothing is written, if they have
/// changed.
fn write(
    session: &Session,
    path: &Path,
    num_computed: usize,
    blocks: &[BlockId],
    copy: impl Fn(usize, &[BlockId], &mut Vec<u8>) -> Result<bool, EngineError>,
    copy_state: impl Fn(&mut Vec<u8>) -> Result<bool, EngineError>,
) -> Result<bool, EngineError> {
    let info = session.info();
    let block_bytes = info.layout.block_bytes()? as u64;
    let num_tokens = session.tokens.len() as u64;
    let state_bytes = state_bytes(info, num_computed as u64);
    let payload_bytes =
        4 * num_tokens + info.layout.saved_bytes(num_computed)? as u64 + state_bytes;
    let header = Header {
        kv_dtype: Some(info.layout.dtype),
        fingerprint: info.fingerprint.0,
        counts: [num_tokens, num_computed as u64],
        block_bytes,
        file_bytes: HEADER_BYTES + payload_bytes + CHECKSUM_BYTES,
    };
    state_file::write(path, &SAVED_SESSION, header, |output| {
        for token in &session.tokens {
            output.write(&token.to_le_bytes())?;
        }
        let mut bytes = Vec::new();
        for (number, copied) in blocks.chunks(BLOCKS_PER_COPY).enumerate() {
            bytes.clear();
            if !copy(number * BLOCKS_PER_COPY, copied, &mut bytes)? {
                return Ok(false);
            }
            output.write(&bytes)?;
        }
        bytes.clear();
        if state_bytes > 0 && !copy_state(&mut bytes)? {
            return Ok(false);
        }
        output.write(&bytes)?;
        Ok(true)
    })
}

/// Reads `path` into `session`, once everything about it is checked.
pub(super) fn load(session: &mut Session, path: &Path) -> Result<(), EngineError> {
    let Session { core, sequence, tokens, .. } = session;
    let info = core.info();
    let file_bytes = |header: &Header| file_bytes(info, header, path);
    let identity = (info.fingerprint.0, info.layout.dtype);
    let mut input = Input::open(path, &SAVED_SESSION, identity, file_bytes)?;
    // The header was checked against the context and the file's length, so these are small.
    let [num_tokens, num_computed] = input.header.counts;
    let mut loaded = vec![0; num_tokens as usize];
    input.read_tokens(&mut loaded, info.vocab_size)?;
    let mut state = core.lock()?;
    tokens.clear();
    state.restore(*sequence, &loaded, num_computed as usize, |block| input.read(block))?;
    *tokens = loaded;
    Ok(())
}

/// Returns the length of a file with this header, if it fits the context.
fn file_bytes(info: &ModelInfo, header: &Header, path: &Path) -> Result<u64, EngineError> {
    let [num_tokens, num_computed] = header.counts;
    if num_tokens > info.context_length as u64 {
        return Err(EngineError::StateTooLong {
            path: path.to_owned(),
            num_tokens,
            context_length: info.context_length,
        });
    }
    if num_computed > num_tokens {
        return Err(damaged(path, "more tokens are computed than stored"));
    }
    let block_bytes = info.layout.block_bytes()? as u64;
    if header.block_bytes != block_bytes {
        return Err(damaged(path, "block size differs"));
    }
    // Both factors are bounded by this context now.
    let blocks = info.layout.saved_bytes(num_computed as usize)? as u64;
    let state_bytes = state_bytes(info, num_computed);
    Ok(HEADER_BYTES + 4 * num_tokens + blocks + state_bytes + CHECKSUM_BYTES)
}

/// Size of the recurrent state after `num_computed` tokens, in bytes.
fn state_bytes(info: &ModelInfo, num_computed: u64) -> u64 {
    if num_computed > 0 { info.state_bytes as u64 } else { 0 }
}
