//! One sequence: its tokens, its block table, and how many tokens are computed.
//!
//! Invariants: at most as many positions are computed as there are tokens, and every computed position has
//! a block.

use inferno_backend::{BlockId, LogitRows, SequenceChunk, StateSlot};

use crate::{BlockPool, EngineError};

/// Tokens with their blocks of the KV cache.
///
/// ```
/// use inferno_engine::{BlockPool, Sequence};
///
/// # fn main() -> Result<(), inferno_engine::EngineError> {
/// let mut pool = BlockPool::new(4);
/// let mut sequence = Sequence::new(16);
/// sequence.extend(&[7; 20]);
///
/// // Prefill in chunks of at most 12 tokens; only the last asks for logits.
/// while let Some(chunk) = sequence.next_chunk(12, &mut pool)? {
///     let num_tokens = chunk.tokens.len();
///     // … run it …
///     sequence.advance(num_tokens);
/// }
/// assert_eq!(sequence.num_computed(), 20);
/// assert_eq!(sequence.block_table().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sequence {
    tokens: Vec<u32>,
    num_computed: usize,
    block_tokens: usize,
    block_table: Vec<BlockId>,
    state_slot: Option<StateSlot>,
    second_segment: Option<usize>,
}

impl Sequence {
    /// Creates an empty sequence for a cache whose blocks hold `block_tokens` positions.
    pub fn new(block_tokens: usize) -> Self {
        Self {
            tokens: Vec::new(),
            num_computed: 0,
            block_tokens,
            block_table: Vec::new(),
            state_slot: None,
            second_segment: None,
        }
    }

    /// Sets the slot of its recurrent state, for sequences without a scheduler.
    pub(crate) fn with_state_slot(self, slot: StateSlot) -> Self {
        Self { state_slot: Some(slot), ..self }
    }

    /// Sets the position from which on tokens belong to the second of two segments.
    pub(crate) fn set_second_segment(&mut self, start: Option<usize>) {
        self.second_segment = start;
    }

    /// Returns the slot of its recurrent state, if it was set.
    pub(crate) fn state_slot(&self) -> Option<StateSlot> {
        self.state_slot
    }

    /// Returns all tokens.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the number of tokens, from the start, whose keys and values are in the cache.
    pub fn num_computed(&self) -> usize {
        self.num_computed
    }

    /// Returns the block table, from position 0 on.
    pub fn block_table(&self) -> &[BlockId] {
        &self.block_table
    }

    /// Appends tokens, to be computed later.
    pub fn extend(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Returns the number of tokens in the next chunk: those that are not computed, at most
    /// `max_num_tokens`, and at least one if there are any.
    pub fn next_len(&self, max_num_tokens: usize) -> usize {
        (self.tokens.len() - self.num_computed).min(max_num_tokens.max(1))
    }

    /// Returns the next `num_tokens` tokens to compute. Logits are requested for the last token of the
    /// sequence.
    ///
    /// **Panics** if fewer tokens are left.
    pub fn chunk(&self, num_tokens: usize) -> SequenceChunk<'_> {
        let (start, end) = (self.num_computed, self.num_computed + num_tokens);
        SequenceChunk {
            tokens: &self.tokens[start..end],
            start,
            block_table: &self.block_table,
            logits: if end == self.tokens.len() { LogitRows::Last } else { LogitRows::None },
            second_segment: self.second_segment,
        }
    }

    /// Reserves blocks for the next chunk of at most `max_num_tokens` tokens and returns it; `None` when
    /// everything is computed.
    ///
    /// **Errors**: [`EngineError::OutOfBlocks`] when the pool cannot cover the chunk; it is unchanged
    /// then.
    pub fn next_chunk(
        &mut self,
        max_num_tokens: usize,
        pool: &mut BlockPool,
    ) -> Result<Option<SequenceChunk<'_>>, EngineError> {
        let num_tokens = self.next_len(max_num_tokens);
        if num_tokens == 0 {
            return Ok(None);
        }
        self.reserve(self.num_computed + num_tokens, pool)?;
        Ok(Some(self.chunk(num_tokens)))
    }

    /// Allocates blocks until positions 0 to `end - 1` have one.
    ///
    /// **Errors**: [`EngineError::OutOfBlocks`] when there are too few; none is allocated then.
    pub fn reserve(&mut self, end: usize, pool: &mut BlockPool) -> Result<(), EngineError> {
        let needed = end.div_ceil(self.block_tokens).saturating_sub(self.block_table.len());
        if needed > pool.num_free() {
            return Err(EngineError::OutOfBlocks { needed, free: pool.num_free() });
        }
        self.block_table.extend((0..needed).map_while(|_| pool.allocate()));
        Ok(())
    }

    /// Records that the next `num_tokens` tokens are computed.
    ///
    /// **Panics** when there are fewer, or positions without a block among them.
    pub fn advance(&mut self, num_tokens: usize) {
        let computed = self.num_computed + num_tokens;
        assert!(computed <= self.tokens.len(), "more tokens computed than there are");
        assert!(computed <= self.block_table.len() * self.block_tokens, "no block for a position");
        self.num_computed = computed;
    }

    /// Starts an empty block table with computed blocks that other sequences may share.
    ///
    /// **Panics** when the sequence has blocks, or fewer tokens than these hold.
    pub fn adopt(&mut self, blocks: impl IntoIterator<Item = BlockId>) {
        assert!(self.block_table.is_empty(), "only the first blocks of a sequence are adopted");
        self.block_table.extend(blocks);
        self.advance(self.block_table.len() * self.block_tokens);
    }

    /// Replaces the block at `index` by one with the same contents.
    ///
    /// **Panics** when there is none.
    pub fn replace_block(&mut self, index: usize, block: BlockId) {
        self.block_table[index] = block;
    }

    /// Removes and returns the blocks from index `at` on; their positions are to be computed again.
    pub fn split_blocks(&mut self, at: usize) -> Vec<BlockId> {
        self.recompute_from(at * self.block_tokens);
        self.block_table.split_off(at.min(self.block_table.len()))
    }

    /// Marks all positions from `num_computed` on as not computed.
    pub fn recompute_from(&mut self, num_computed: usize) {
        self.num_computed = self.num_computed.min(num_computed);
    }

    /// Truncates to the first `len` tokens, and frees the blocks that only the others needed.
    pub fn truncate(&mut self, len: usize, pool: &mut BlockPool) {
        self.tokens.truncate(len);
        self.recompute_from(len);
        let kept = self.tokens.len().div_ceil(self.block_tokens).min(self.block_table.len());
        for block in self.block_table.drain(kept..) {
            pool.release(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Action {
        Extend(usize),
        Compute(usize),
        RecomputeFrom(usize),
        Truncate(usize),
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            (0usize..20).prop_map(Action::Extend),
            (1usize..20).prop_map(Action::Compute),
            (0usize..60).prop_map(Action::RecomputeFrom),
            (0usize..60).prop_map(Action::Truncate),
        ]
    }

    proptest! {
        #[test]
        fn two_sequences_never_hold_the_same_block_and_lose_none(
            block_tokens in 1usize..6,
            num_blocks in 0usize..20,
            actions in prop::collection::vec((0usize..2, action()), 0..80),
        ) {
            let mut pool = BlockPool::new(num_blocks);
            let mut sequences = [Sequence::new(block_tokens), Sequence::new(block_tokens)];
            for (which, action) in actions {
                let sequence = &mut sequences[which];
                let num_tokens = sequence.tokens().len();
                match action {
                    Action::Extend(count) => sequence.extend(&vec![1; count]),
                    Action::Compute(count) => {
                        let start = sequence.num_computed();
                        match sequence.next_chunk(count, &mut pool) {
                            Ok(Some(chunk)) => {
                                let end = chunk.start + chunk.tokens.len();
                                prop_assert_eq!(chunk.start, start);
                                prop_assert_eq!(end, num_tokens.min(start + count));
                                prop_assert_eq!(chunk.logits == LogitRows::Last, end == num_tokens);
                                prop_assert!(chunk.block_table.len() * block_tokens >= end);
                                sequence.advance(end - start);
                            }
                            Ok(None) => prop_assert_eq!(start, num_tokens),
                            Err(EngineError::OutOfBlocks { needed, free }) => {
                                prop_assert!(needed > free);
                                prop_assert_eq!(free, pool.num_free());
                            }
                            Err(error) => return Err(TestCaseError::fail(error.to_string())),
                        }
                    }
                    Action::RecomputeFrom(position) => sequence.recompute_from(position),
                    Action::Truncate(len) => {
                        sequence.truncate(len, &mut pool);
                        let len = len.min(num_tokens);
                        prop_assert_eq!(sequence.tokens().len(), len);
                        prop_assert!(sequence.block_table().len() <= len.div_ceil(block_tokens));
                    }
                }
                let [a, b] = &sequences;
                prop_assert!(a.block_table().iter().all(|block| !b.block_table().contains(block)));
                let held = a.block_table().len() + b.block_table().len();
                prop_assert_eq!(pool.num_free() + held, num_blocks);
            }
        }
    }
}
