//! A session's state in a file: how many tokens there are and how many of them are computed, the
//! tokens (u32), and the blocks that hold the computed positions.

use std::path::Path;

use super::context::Context;
use crate::EngineError;
use crate::state_file::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, Input, Kind, damaged};

pub(super) const SAVED_SESSION: Kind =
    Kind { name: "a saved session", magic: *b"INFERNOS", version: 1 };

/// Writes `context` to `path`.
pub(super) fn save(context: &Context, path: &Path) -> Result<(), EngineError> {
    let num_tokens = context.tokens().len() as u64;
    let block_bytes = context.block_bytes()? as u64;
    let payload_bytes = 4 * num_tokens + context.computed_blocks().len() as u64 * block_bytes;
    let header = Header {
        fingerprint: context.fingerprint().0,
        counts: [num_tokens, context.num_computed() as u64],
        block_bytes,
        file_bytes: HEADER_BYTES + payload_bytes + CHECKSUM_BYTES,
    };
    state_file::write(path, &SAVED_SESSION, header, |output| {
        for token in context.tokens() {
            output.put(&token.to_le_bytes())?;
        }
        let mut bytes = Vec::new();
        for &block in context.computed_blocks() {
            bytes.clear();
            context.read_block(block, &mut bytes)?;
            output.put(&bytes)?;
        }
        Ok(())
    })
}

/// Reads `path` into `context`, once everything about it is checked.
pub(super) fn load(
    context: &mut Context,
    vocab_size: usize,
    path: &Path,
) -> Result<(), EngineError> {
    let fingerprint = context.fingerprint().0;
    let file_bytes = |header: &Header| file_bytes(context, header, path);
    let mut input = Input::open(path, &SAVED_SESSION, fingerprint, file_bytes)?;
    // The header was checked against the context and the file's length, so these are small.
    let [num_tokens, num_computed] = input.header.counts;
    let mut tokens = vec![0; num_tokens as usize];
    input.take_tokens(&mut tokens, vocab_size)?;
    context.restore(&tokens, num_computed as usize, |block| input.take(block))
}

/// How long a file with this header is, if it fits the context.
fn file_bytes(context: &Context, header: &Header, path: &Path) -> Result<u64, EngineError> {
    let [num_tokens, num_computed] = header.counts;
    if num_tokens > context.context_length() as u64 {
        return Err(EngineError::StateTooLong {
            path: path.to_owned(),
            num_tokens,
            context_length: context.context_length(),
        });
    }
    if num_computed > num_tokens {
        return Err(damaged(path, "more tokens are computed than there are"));
    }
    let block_bytes = context.block_bytes()? as u64;
    if header.block_bytes != block_bytes {
        return Err(damaged(path, "its blocks have another size"));
    }
    // Both factors are bounded by this context now.
    let blocks = context.blocks_for(num_computed as usize) as u64 * block_bytes;
    Ok(HEADER_BYTES + 4 * num_tokens + blocks + CHECKSUM_BYTES)
}
