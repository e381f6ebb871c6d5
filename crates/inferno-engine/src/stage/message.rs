//! The messages between a head and its stages.
//!
//! A message is a MessagePack value with a payload of raw bytes: rows of single-precision values in little-endian
//! order, or the contents of a block or of a state. What a message describes is checked before it is used.

use std::ops::Range;

use inferno_backend::{BlockId, CandidateShape, KvBlockPart, KvDType, StateSlot};
use inferno_model::{BatchLimits, StageRows};
use serde::{Deserialize, Serialize};

use super::StageError;
use super::batch::ChunkMessage;
use crate::{EngineError, Fingerprint, RunnerOptions, WindowUpdate};

/// A message from the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Allocates a cache and buffers; the first message of a connection. Reply: [`Reply::Opened`].
    Open(OpenMessage),
    /// Computes a batch. Payload: the residual stream of the stage before it, if there is one. Reply: [`Reply::Done`]
    /// with the rows.
    Pass { chunks: Vec<ChunkMessage>, rows: RowsMessage },
    /// Neighboring rows of logits of the last pass. Reply: [`Reply::Done`] with the values.
    ReadLogits { start: usize, end: usize },
    /// Pairs of a block and the block that its window memory moves to; released without one. No reply.
    UpdateWindows(Vec<(u32, Option<u32>)>),
    /// Copies a recurrent state. No reply.
    CopyState { from: u32, to: u32 },
    /// Reply: [`Reply::Done`] with the contents.
    ReadBlock { block: u32, is_whole: bool },
    /// Payload: the contents. Reply: [`Reply::Done`].
    WriteBlock { block: u32, is_whole: bool },
    /// Reply: [`Reply::Done`] with the state.
    ReadState { slot: u32 },
    /// Payload: the state. Reply: [`Reply::Done`].
    WriteState { slot: u32 },
}

/// A message from a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The stage is ready for passes.
    Opened { layers: Range<usize>, devices: Vec<String>, has_long_rotary: bool },
    /// The request succeeded; the payload is its result.
    Done,
    /// The request failed, and the next one may succeed.
    Failed { message: String },
}

/// The model and the cache that a head expects of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenMessage {
    pub(super) fingerprint: u64,
    context_length: Option<usize>,
    cache_tokens: Option<usize>,
    kv_dtype: Option<String>,
    max_num_tokens: usize,
    max_num_logit_rows: usize,
    max_num_sequences: Option<usize>,
    prefix_cache: bool,
    speculation: bool,
}

impl OpenMessage {
    pub(crate) fn new(model: Fingerprint, options: &RunnerOptions) -> Self {
        let &RunnerOptions { context_length, cache_tokens, kv_dtype, limits, .. } = options;
        let &RunnerOptions { max_num_sequences, prefix_cache, speculation, .. } = options;
        Self {
            fingerprint: model.0,
            context_length,
            cache_tokens,
            kv_dtype: kv_dtype.map(|dtype| dtype.name().to_owned()),
            max_num_tokens: limits.max_num_tokens,
            max_num_logit_rows: limits.max_num_logit_rows,
            max_num_sequences,
            prefix_cache,
            speculation,
        }
    }

    /// **Errors**: an unknown format of the KV cache.
    pub(super) fn options(&self) -> Result<RunnerOptions, EngineError> {
        let &Self { context_length, cache_tokens, max_num_tokens, max_num_logit_rows, .. } = self;
        let &Self { max_num_sequences, prefix_cache, speculation, .. } = self;
        let kv_dtype = self.kv_dtype.as_deref().map(str::parse::<KvDType>).transpose()?;
        let limits = BatchLimits { max_num_tokens, max_num_logit_rows };
        Ok(RunnerOptions {
            context_length,
            cache_tokens,
            kv_dtype,
            limits,
            max_num_sequences,
            prefix_cache,
            speculation,
            captures_hidden: false,
        })
    }
}

/// What a pass returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RowsMessage {
    Logits,
    /// The largest logits of each row, as [`CandidateRows`](inferno_backend::CandidateRows) stores them.
    Candidates {
        count: usize,
        vocab_size: usize,
    },
    Hidden,
    Residual,
}

impl From<StageRows> for RowsMessage {
    fn from(rows: StageRows) -> Self {
        match rows {
            StageRows::Logits => Self::Logits,
            StageRows::Candidates(CandidateShape { count, vocab_size }) => {
                Self::Candidates { count, vocab_size }
            }
            StageRows::Hidden => Self::Hidden,
            StageRows::Residual => Self::Residual,
        }
    }
}

impl From<RowsMessage> for StageRows {
    fn from(rows: RowsMessage) -> Self {
        match rows {
            RowsMessage::Logits => Self::Logits,
            RowsMessage::Candidates { count, vocab_size } => {
                Self::Candidates(CandidateShape { count, vocab_size })
            }
            RowsMessage::Hidden => Self::Hidden,
            RowsMessage::Residual => Self::Residual,
        }
    }
}

pub(super) fn from_updates(updates: &[WindowUpdate]) -> Vec<(u32, Option<u32>)> {
    let pair = |&update: &WindowUpdate| match update {
        WindowUpdate::Release(block) => (block.0, None),
        WindowUpdate::Move(from, to) => (from.0, Some(to.0)),
    };
    updates.iter().map(pair).collect()
}

/// **Errors**: [`StageError::OutOfRange`].
pub(super) fn to_updates(
    pairs: &[(u32, Option<u32>)],
    num_blocks: usize,
) -> Result<Vec<WindowUpdate>, StageError> {
    let update = |&(from, to): &(u32, Option<u32>)| {
        let from = block(from, num_blocks)?;
        Ok(match to {
            None => WindowUpdate::Release(from),
            Some(to) => WindowUpdate::Move(from, block(to, num_blocks)?),
        })
    };
    pairs.iter().map(update).collect()
}

/// **Errors**: [`StageError::OutOfRange`].
pub(super) fn block(id: u32, num_blocks: usize) -> Result<BlockId, StageError> {
    check_below("a block", id as usize, num_blocks)?;
    Ok(BlockId(id))
}

/// **Errors**: [`StageError::OutOfRange`].
pub(super) fn slot(id: u32, num_slots: usize) -> Result<StateSlot, StageError> {
    check_below("a slot of recurrent state", id as usize, num_slots)?;
    Ok(StateSlot(id))
}

pub(super) fn block_part(is_whole: bool) -> KvBlockPart {
    if is_whole { KvBlockPart::All } else { KvBlockPart::Unwindowed }
}

/// **Errors**: [`StageError::OutOfRange`].
pub(super) fn check_below(
    what: &'static str,
    found: usize,
    limit: usize,
) -> Result<(), StageError> {
    match found < limit {
        true => Ok(()),
        false => Err(StageError::OutOfRange { what, found, limit }),
    }
}
