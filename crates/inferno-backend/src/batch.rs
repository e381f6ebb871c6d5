//! The input of a forward pass: a ragged set of sequence chunks over the paged KV cache.
//!
//! Invariants of a built [`Batch`]: every array agrees with `cu_seqlens_q`; every position has a slot
//! in its sequence's block table; every sequence has at least one token; no slot of the recurrent state occurs twice,
//! neither in two sequences nor as the state and the checkpoint of one. Backends rely on these and do not check them
//! again.

use std::ops::Range;

use crate::{BackendError, BlockId, EmbeddingIndex, SequenceState, StateCheckpoint};

/// The tokens of a chunk for which logits are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogitRows {
    /// None: a chunk of a prompt that is not its last.
    None,
    /// The last token.
    Last,
    /// Every token: perplexity, speculative verification, prompt log-probabilities.
    All,
    /// The last tokens, this many, at most all of them: a continuation that is scored, after the end of its context.
    Tail(usize),
}

/// The part of a batch that belongs to one sequence: `tokens` at positions
/// `start..start + tokens.len()`.
#[derive(Debug, Clone, Copy)]
pub struct SequenceChunk<'a> {
    /// Tokens to compute; those before them are in the cache already.
    pub tokens: &'a [u32],
    /// Position of the first token.
    pub start: usize,
    /// The sequence's blocks, starting at position 0.
    pub block_table: &'a [BlockId],
    /// Tokens for which logits are computed.
    pub logits: LogitRows,
    /// The position from which on tokens belong to the second of two segments, such as the document of a query: their token
    /// type is 1, and that of other tokens 0.
    pub second_segment: Option<usize>,
}

/// A complete description of one forward pass, immutable once built.
///
/// Prefill, chunked prefill, decode and verification differ only in the batch's numbers.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    token_ids: Vec<u32>,
    token_types: Vec<u32>,
    positions: Vec<u32>,
    cu_seqlens_q: Vec<usize>,
    context_lens: Vec<usize>,
    block_tables: Vec<BlockId>,
    cu_blocks: Vec<usize>,
    slot_mapping: Vec<usize>,
    logit_rows: Vec<usize>,
    states: Vec<Option<SequenceState>>,
}

impl Clone for Batch {
    fn clone(&self) -> Self {
        let mut batch = Self::default();
        batch.clone_from(self);
        batch
    }

    /// Reuses the memory of every array, unlike the derived implementation.
    fn clone_from(&mut self, source: &Self) {
        self.token_ids.clone_from(&source.token_ids);
        self.token_types.clone_from(&source.token_types);
        self.positions.clone_from(&source.positions);
        self.cu_seqlens_q.clone_from(&source.cu_seqlens_q);
        self.context_lens.clone_from(&source.context_lens);
        self.block_tables.clone_from(&source.block_tables);
        self.cu_blocks.clone_from(&source.cu_blocks);
        self.slot_mapping.clone_from(&source.slot_mapping);
        self.logit_rows.clone_from(&source.logit_rows);
        self.states.clone_from(&source.states);
    }
}

impl Default for Batch {
    /// The empty batch.
    fn default() -> Self {
        Self {
            token_ids: Vec::new(),
            token_types: Vec::new(),
            positions: Vec::new(),
            cu_seqlens_q: vec![0],
            context_lens: Vec::new(),
            block_tables: Vec::new(),
            cu_blocks: vec![0],
            slot_mapping: Vec::new(),
            logit_rows: Vec::new(),
            states: Vec::new(),
        }
    }
}

impl Batch {
    /// Number of tokens, over all sequences.
    pub fn num_tokens(&self) -> usize {
        self.token_ids.len()
    }

    /// Number of sequences.
    pub fn num_sequences(&self) -> usize {
        self.context_lens.len()
    }

    /// Token ids of all sequences, concatenated.
    pub fn token_ids(&self) -> &[u32] {
        &self.token_ids
    }

    /// The token type of each token: 1 in the second segment of its sequence, 0 elsewhere.
    pub fn token_types(&self) -> &[u32] {
        &self.token_types
    }

    /// The row that `index` selects for each token.
    pub fn table_rows(&self, index: EmbeddingIndex) -> &[u32] {
        match index {
            EmbeddingIndex::Token => &self.token_ids,
            EmbeddingIndex::Position => &self.positions,
            EmbeddingIndex::TokenType => &self.token_types,
        }
    }

    /// Each token's position in its sequence.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The rows of sequence `sequence`.
    ///
    /// **Panics** if there is no such sequence.
    pub fn rows(&self, sequence: usize) -> Range<usize> {
        self.cu_seqlens_q[sequence]..self.cu_seqlens_q[sequence + 1]
    }

    /// Number of positions of each sequence after this pass.
    pub fn context_lens(&self) -> &[usize] {
        &self.context_lens
    }

    /// The blocks of sequence `sequence`, starting at position 0.
    ///
    /// **Panics** if there is no such sequence.
    pub fn block_table(&self, sequence: usize) -> &[BlockId] {
        &self.block_tables[self.cu_blocks[sequence]..self.cu_blocks[sequence + 1]]
    }

    /// The cache slot of each token's keys and values.
    pub fn slot_mapping(&self) -> &[usize] {
        &self.slot_mapping
    }

    /// The rows for which logits are computed, in ascending order.
    pub fn logit_rows(&self) -> &[usize] {
        &self.logit_rows
    }

    /// Where each sequence has its recurrent state, if it has one.
    pub fn states(&self) -> &[Option<SequenceState>] {
        &self.states
    }

    /// Clears the batch and returns a builder that reuses its memory.
    ///
    /// **Panics** if `block_tokens` is 0.
    pub fn into_builder(mut self, block_tokens: usize) -> BatchBuilder {
        assert!(block_tokens > 0, "a block holds at least one position");
        self.token_ids.clear();
        self.token_types.clear();
        self.positions.clear();
        self.cu_seqlens_q.truncate(1);
        self.context_lens.clear();
        self.block_tables.clear();
        self.cu_blocks.truncate(1);
        self.slot_mapping.clear();
        self.logit_rows.clear();
        self.states.clear();
        BatchBuilder { block_tokens, batch: self }
    }
}

/// Builds a [`Batch`] from sequence chunks.
///
/// ```
/// use inferno_backend::{BatchBuilder, BlockId, LogitRows, SequenceChunk};
///
/// # fn main() -> Result<(), inferno_backend::BackendError> {
/// let mut builder = BatchBuilder::new(16);
/// // A prompt of three tokens, and a sequence that decodes its 18th token.
/// builder.push(&SequenceChunk { tokens: &[5, 6, 7], start: 0, block_table: &[BlockId(9)], logits: LogitRows::Last, second_segment: None })?;
/// builder.push(&SequenceChunk { tokens: &[8], start: 17, block_table: &[BlockId(2), BlockId(4)], logits: LogitRows::Last, second_segment: None })?;
/// let batch = builder.build();
///
/// assert_eq!(batch.positions(), [0, 1, 2, 17]);
/// assert_eq!(batch.slot_mapping(), [144, 145, 146, 65]);
/// assert_eq!(batch.logit_rows(), [2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BatchBuilder {
    block_tokens: usize,
    batch: Batch,
}

impl BatchBuilder {
    /// Creates a builder for a cache whose blocks hold `block_tokens` positions.
    ///
    /// **Panics** if `block_tokens` is 0.
    pub fn new(block_tokens: usize) -> Self {
        Batch::default().into_builder(block_tokens)
    }

    /// Adds one sequence's chunk.
    ///
    /// **Errors**: [`BackendError::EmptyChunk`], [`BackendError::TailTooLong`], and
    /// [`BackendError::BlockTableTooShort`] if a position has no block. The builder is unchanged in any case.
    pub fn push(&mut self, chunk: &SequenceChunk<'_>) -> Result<(), BackendError> {
        self.push_with_state(chunk, None)
    }

    /// Adds one sequence's chunk, and where its recurrent state is.
    ///
    /// **Errors**: as [`push`](Self::push).
    ///
    /// **Panics** if a checkpoint is not after one of the rows, if it has the slot of the sequence's own state, and if
    /// sequences share a slot.
    pub fn push_with_state(
        &mut self,
        chunk: &SequenceChunk<'_>,
        state: Option<SequenceState>,
    ) -> Result<(), BackendError> {
        if chunk.tokens.is_empty() {
            return Err(BackendError::EmptyChunk);
        }
        match (chunk.logits, chunk.tokens.len()) {
            (LogitRows::Tail(num_rows), num_tokens) if num_rows > num_tokens => {
                return Err(BackendError::TailTooLong { num_rows, num_tokens });
            }
            _ => {}
        }
        let end = chunk.start.saturating_add(chunk.tokens.len());
        let needed = end.div_ceil(self.block_tokens);
        let Some(table) = chunk.block_table.get(..needed) else {
            return Err(BackendError::BlockTableTooShort {
                end,
                needed,
                found: chunk.block_table.len(),
            });
        };
        let batch = &mut self.batch;
        if let Some(state) = state {
            let own = state.slots();
            let mut others = batch.states.iter().flatten().flat_map(SequenceState::slots);
            assert!(others.all(|slot| !own.clone().any(|own| own == slot)), "slots are shared");
            if let Some(StateCheckpoint { num_rows, slot }) = state.checkpoint {
                assert_ne!(slot, state.slot, "a state and its checkpoint share a slot");
                assert!(
                    (1..=chunk.tokens.len()).contains(&num_rows),
                    "a checkpoint after {num_rows}"
                );
            }
        }
        batch.states.push(state);
        let first_row = batch.token_ids.len();
        batch.token_ids.extend_from_slice(chunk.tokens);
        for position in chunk.start..end {
            let block = table[position / self.block_tokens].0 as usize;
            let position_u32 = u32::try_from(position).expect("BlockId counts no more blocks");
            batch.positions.push(position_u32);
            let is_second = chunk.second_segment.is_some_and(|start| position >= start);
            batch.token_types.push(u32::from(is_second));
            batch.slot_mapping.push(block * self.block_tokens + position % self.block_tokens);
        }
        let rows = batch.token_ids.len();
        batch.logit_rows.extend(match chunk.logits {
            LogitRows::None => rows..rows,
            LogitRows::Last => rows - 1..rows,
            LogitRows::All => first_row..rows,
            LogitRows::Tail(num_rows) => rows - num_rows..rows,
        });
        batch.cu_seqlens_q.push(rows);
        batch.context_lens.push(end);
        batch.block_tables.extend_from_slice(table);
        batch.cu_blocks.push(batch.block_tables.len());
        Ok(())
    }

    /// Returns the batch.
    pub fn build(self) -> Batch {
        self.batch
    }
}
