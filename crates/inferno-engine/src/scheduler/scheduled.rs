//! A sequence in the scheduler's hands.

use std::time::Instant;

use super::Rows;
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
    pub(super) rows: Rows,
    /// The first position of which the row is still wanted: the last one, unless `Rows` asks for all.
    pub(super) rows_from: usize,
}

impl Scheduled {
    pub(super) fn new(
        tokens: &[u32],
        rows: Rows,
        block_tokens: usize,
        deadline: Option<Instant>,
    ) -> Self {
        let mut sequence = Sequence::new(block_tokens);
        sequence.extend(tokens);
        let rows_from = match rows {
            Rows::Last | Rows::LastHidden => tokens.len() - 1,
            Rows::All | Rows::AllHidden => 0,
        };
        Self { sequence, path: Vec::new(), deadline, was_admitted: false, rows, rows_from }
    }

    /// Tokens that are not computed.
    pub(super) fn num_left(&self) -> usize {
        self.sequence.tokens().len() - self.sequence.num_computed()
    }

    /// The rows that the next `num_tokens` tokens give. A chunk gives none, one or all.
    pub(super) fn num_rows(&self, num_tokens: usize) -> usize {
        if self.num_left_without_rows() >= num_tokens {
            0
        } else if self.rows_from + 1 == self.sequence.tokens().len() {
            1
        } else {
            num_tokens
        }
    }

    /// The most of the tokens that are left, up to `budget`, that give no more than `max_num_rows`.
    pub(super) fn fitting(&self, budget: usize, max_num_rows: usize) -> usize {
        let num_tokens = self.num_left().min(budget);
        match self.num_rows(num_tokens) <= max_num_rows {
            true => num_tokens,
            false => num_tokens.min(self.num_left_without_rows().max(max_num_rows)),
        }
    }

    /// The next tokens that give no row.
    fn num_left_without_rows(&self) -> usize {
        self.rows_from.saturating_sub(self.sequence.num_computed())
    }
}
