//! A sequence in the scheduler's hands.

use std::time::Instant;

use crate::Sequence;
use crate::prefix_cache::PrefixNode;

/// A sequence, and which of its blocks it shares.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) sequence: Sequence,
    /// Where the first blocks of its table stand in the prefix cache; the blocks after them are its
    /// own.
    pub(super) path: Vec<PrefixNode>,
    pub(super) deadline: Option<Instant>,
    pub(super) was_admitted: bool,
}

impl Scheduled {
    pub(super) fn new(tokens: Vec<u32>, block_tokens: usize, deadline: Option<Instant>) -> Self {
        let mut sequence = Sequence::new(block_tokens);
        sequence.extend(&tokens);
        Self { sequence, path: Vec::new(), deadline, was_admitted: false }
    }

    /// Tokens that are not computed.
    pub(super) fn num_left(&self) -> usize {
        self.sequence.tokens().len() - self.sequence.num_computed()
    }
}
