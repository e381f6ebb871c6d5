//! What one forward pass is to compute.

use super::SequenceId;

/// One step, as the scheduler wants it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What is computed, in the order of the batch.
    pub chunks: Vec<PlannedChunk>,
    /// Sequences that run for the first time.
    pub admitted: Vec<Admission>,
    /// Sequences that lost their blocks and wait again.
    pub preempted: Vec<SequenceId>,
    /// Sequences that ended because their deadline passed.
    pub expired: Vec<SequenceId>,
}

/// One sequence's share of a step: its next tokens that are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedChunk {
    /// The sequence.
    pub id: SequenceId,
    /// How many tokens.
    pub num_tokens: usize,
    /// Whether they end with the last one, after which a token is sampled.
    pub samples: bool,
}

/// A sequence that begins to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// The sequence.
    pub id: SequenceId,
    /// Tokens of its prompt that were computed already, for another sequence.
    pub num_cached_tokens: usize,
}

impl Plan {
    /// Tokens of the step, over all sequences.
    pub fn num_tokens(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.num_tokens).sum()
    }

    /// Adds as many of the `num_left` tokens of a sequence as the `budget` allows.
    pub(super) fn push(&mut self, id: SequenceId, num_left: usize, budget: usize) {
        let num_tokens = num_left.min(budget);
        self.chunks.push(PlannedChunk { id, num_tokens, samples: num_tokens == num_left });
    }
}
