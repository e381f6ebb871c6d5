//! A sequence in the scheduler's hands.

use std::time::Instant;

use super::RowRequest;
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
    pub(super) rows: RowRequest,
    /// The first position of which the row is still wanted: the last one, unless [`RowRequest`] asks for all.
    pub(super) rows_from: usize,
    pub(super) retention: Retention,
}

/// What becomes of a sequence after its last token, and of a session's after each token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    /// It is removed at its end.
    Removed,
    /// It is parked with its keys and values.
    Parked,
    /// It is parked, and everything is computed again each time that it resumes.
    ParkedUncomputed,
}

impl Scheduled {
    /// Creates an empty sequence.
    pub(super) fn new(block_tokens: usize, retention: Retention) -> Self {
        Self {
            sequence: Sequence::new(block_tokens),
            path: Vec::new(),
            deadline: None,
            was_admitted: false,
            rows: RowRequest::Last,
            rows_from: 0,
            retention,
        }
    }

    /// Sets which rows of the tokens are wanted.
    pub(super) fn request_rows(&mut self, rows: RowRequest) {
        self.rows = rows;
        self.rows_from = match rows {
            RowRequest::Last | RowRequest::LastHidden => self.sequence.tokens().len() - 1,
            RowRequest::All | RowRequest::AllHidden => 0,
        };
    }

    /// Whether it has blocks, in whatever state it is.
    pub(super) fn holds_blocks(&self) -> bool {
        !self.sequence.block_table().is_empty()
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
