//! A session's state in a file: how many tokens there are and how many of them are computed, the
//! tokens (u32), and the blocks that hold the computed positions.

use std::path::Path;

use super::Session;
use crate::EngineError;
use crate::core::ModelInfo;
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};

pub(super) const SAVED_SESSION: Kind =
    Kind { name: "a saved session", magic: *b"INFERNOS", version: 1 };

/// Writes `session` to `path`.
pub(super) fn save(session: &Session, path: &Path) -> Result<(), EngineError> {
    let info = session.info();
    let block_bytes = info.layout.block_bytes()? as u64;
    let num_tokens = session.tokens.len() as u64;
    let mut core = session.core.lock()?;
    core.set_tokens(session.sequence, &session.tokens);
    let (num_computed, blocks) = core.computed_blocks(session.sequence);
    let payload_bytes = 4 * num_tokens + blocks.len() as u64 * block_bytes;
    let header = Header {
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
        for &block in blocks {
            bytes.clear();
            core.read_block(block, &mut bytes)?;
            output.write(&bytes)?;
        }
        Ok(())
    })
}

/// Reads `path` into `session`, once everything about it is checked.
pub(super) fn load(session: &mut Session, path: &Path) -> Result<(), EngineError> {
    let Session { core, sequence, tokens, .. } = session;
    let info = core.info();
    let file_bytes = |header: &Header| file_bytes(info, header, path);
    let mut input = Input::open(path, &SAVED_SESSION, info.fingerprint.0, file_bytes)?;
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
    let blocks = info.layout.blocks_for(num_computed as usize) as u64 * block_bytes;
    Ok(HEADER_BYTES + 4 * num_tokens + blocks + CHECKSUM_BYTES)
}
