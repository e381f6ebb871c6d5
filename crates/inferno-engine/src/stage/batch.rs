//! Batches in messages.

use std::collections::HashSet;

use inferno_backend::{
    Batch, BlockId, LogitRows, SequenceChunk, SequenceState, StateCheckpoint, StateLayout,
};
use inferno_model::{BatchLimits, CacheLayout};
use serde::{Deserialize, Serialize};

use super::StageError;
use super::message::{block, check_below, slot};
use crate::EngineError;

/// One sequence of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChunkMessage {
    tokens: Vec<u32>,
    start: u32,
    /// The position from which on tokens belong to the second segment.
    second_segment: Option<u32>,
    blocks: Vec<u32>,
    /// How many of the tokens, at the end, have rows.
    rows: u32,
    /// The slot of its recurrent state.
    state: Option<u32>,
    /// The number of rows before a checkpoint, and its slot.
    checkpoint: Option<(u32, u32)>,
}

impl ChunkMessage {
    pub(super) fn num_tokens(&self) -> usize {
        self.tokens.len()
    }
}

/// Returns the sequences of a batch.
pub(super) fn to_chunks(batch: &Batch) -> Vec<ChunkMessage> {
    let mut logit_rows = batch.logit_rows().iter().copied().peekable();
    let chunk = |index: usize| {
        let rows = batch.rows(index);
        let num_rows = std::iter::from_fn(|| logit_rows.next_if(|&row| row < rows.end)).count();
        let state = batch.states()[index];
        ChunkMessage {
            start: batch.positions()[rows.start],
            second_segment: rows
                .clone()
                .find(|&row| batch.token_types()[row] > 0)
                .map(|row| batch.positions()[row]),
            blocks: batch.block_table(index).iter().map(|block| block.0).collect(),
            rows: num_rows as u32,
            state: state.map(|state| state.slot.0),
            checkpoint: state
                .and_then(|state| state.checkpoint)
                .map(|StateCheckpoint { num_rows, slot }| (num_rows as u32, slot.0)),
            tokens: batch.token_ids()[rows].to_vec(),
        }
    };
    (0..batch.num_sequences()).map(chunk).collect()
}

/// The limits that a received batch is checked against.
pub(super) struct BatchBounds<'a> {
    pub(super) layout: &'a CacheLayout,
    pub(super) limits: BatchLimits,
    pub(super) context_length: usize,
}

impl BatchBounds<'_> {
    /// Builds the batch that `chunks` describe in the memory of `batch`.
    ///
    /// **Errors**: what is beyond the limits; two sequences that write to the same position or the same slot of
    /// recurrent state.
    pub(super) fn build(
        &self,
        chunks: &[ChunkMessage],
        batch: Batch,
    ) -> Result<Batch, EngineError> {
        let num_tokens: usize = chunks.iter().map(ChunkMessage::num_tokens).sum();
        check_below("the number of tokens", num_tokens, self.limits.max_num_tokens + 1)?;
        if chunks.is_empty() {
            return Err(StageError::Message { what: "a batch is empty" }.into());
        }
        let mut builder = batch.into_builder(self.layout.kv.block_tokens);
        let mut slots = HashSet::new();
        for chunk in chunks {
            let end = (chunk.start as usize).saturating_add(chunk.num_tokens());
            check_below("a position", end, self.context_length.saturating_add(1))?;
            let state = self.state(chunk)?;
            let own = state.iter().flat_map(|state| {
                [Some(state.slot), state.checkpoint.map(|checkpoint| checkpoint.slot)]
            });
            if !own.flatten().all(|slot| slots.insert(slot)) {
                return Err(StageError::Message { what: "two states share a slot" }.into());
            }
            let blocks: Result<Vec<BlockId>, StageError> =
                chunk.blocks.iter().map(|&id| block(id, self.layout.kv.num_blocks)).collect();
            let blocks = blocks?;
            check_below("the number of rows", chunk.rows as usize, chunk.num_tokens() + 1)?;
            let chunk = SequenceChunk {
                tokens: &chunk.tokens,
                start: chunk.start as usize,
                block_table: &blocks,
                logits: LogitRows::Tail(chunk.rows as usize),
                second_segment: chunk.second_segment.map(|start| start as usize),
            };
            builder.push_with_state(&chunk, state)?;
        }
        let batch = builder.build();
        let mut written = HashSet::new();
        match batch.slot_mapping().iter().all(|slot| written.insert(*slot)) {
            true => Ok(batch),
            false => Err(StageError::Message { what: "two tokens share a position" }.into()),
        }
    }

    fn state(&self, chunk: &ChunkMessage) -> Result<Option<SequenceState>, StageError> {
        let num_slots =
            self.layout.state.as_ref().map_or(0, |layout: &StateLayout| layout.num_slots);
        let Some(own) = chunk.state else {
            return match (num_slots, chunk.checkpoint) {
                (0, None) => Ok(None),
                _ => Err(StageError::Message { what: "a sequence has no recurrent state" }),
            };
        };
        let checkpoint = chunk.checkpoint.map(|(num_rows, id)| {
            let num_rows = num_rows as usize;
            if !(1..=chunk.tokens.len()).contains(&num_rows) {
                return Err(StageError::Message { what: "a checkpoint is outside of its chunk" });
            }
            Ok(StateCheckpoint { num_rows, slot: slot(id, num_slots)? })
        });
        let (slot, checkpoint) = (slot(own, num_slots)?, checkpoint.transpose()?);
        Ok(Some(SequenceState { slot, checkpoint }))
    }
}
