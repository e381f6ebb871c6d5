//! A sequence of the scheduler.

use std::time::Instant;

use super::RowRequest;
use super::checkpoints::ScheduledState;
use crate::Sequence;
use crate::prefix_cache::PrefixNode;

/// A sequence, and which of its blocks it shares.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) sequence: Sequence,
    /// The nodes of the prefix cache that hold its first blocks; the blocks after them are its own.
    pub(super) path: Vec<PrefixNode>,
    pub(super) deadline: Option<Instant>,
    pub(super) was_admitted: bool,
    /// Its next token is not known yet.
    pub(super) is_held: bool,
    pub(super) rows: RowRequest,
    /// The first position whose row is still wanted: the last one, unless [`RowRequest`] selects more.
    pub(super) rows_from: usize,
    pub(super) retention: Retention,
    pub(super) state: ScheduledState,
}

/// What happens to a sequence after its last token, and to a session's after each token.
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
            is_held: false,
            rows: RowRequest::Last,
            rows_from: 0,
            retention,
            state: ScheduledState::default(),
        }
    }

    /// Sets which rows of the tokens are wanted.
    pub(super) fn request_rows(&mut self, rows: RowRequest) {
        self.rows = rows;
        self.rows_from = match rows {
            RowRequest::Last | RowRequest::LastHidden => self.sequence.tokens().len() - 1,
            RowRequest::All | RowRequest::AllHidden => 0,
            RowRequest::From(position) => position,
        };
    }

    /// Whether it has blocks, in whatever state it is.
    pub(super) fn holds_blocks(&self) -> bool {
        !self.sequence.block_table().is_empty()
    }

    /// Whether all tokens but the last were computed, some of them perhaps as drafts that are computed again.
    pub(super) fn is_decoding(&self) -> bool {
        let num_known = self.sequence.num_computed().max(self.state.recompute_end);
        self.sequence.tokens().len() <= num_known + 1
    }

    /// Number of tokens that are not computed.
    pub(super) fn num_left(&self) -> usize {
        self.sequence.tokens().len() - self.sequence.num_computed()
    }

    /// Number of rows of the next `num_tokens` tokens, the last ones.
    pub(super) fn num_rows(&self, num_tokens: usize) -> usize {
        num_tokens.saturating_sub(self.num_left_without_rows())
    }

    /// Maximum number of the remaining tokens, up to `budget`, that have no more than `max_num_rows` rows.
    pub(super) fn fitting(&self, budget: usize, max_num_rows: usize) -> usize {
        // A chunk ends at a branch, so that the state there is stored.
        let branch = self.next_branch().map_or(usize::MAX, |at| at - self.sequence.num_computed());
        let num_tokens = self.num_left().min(budget).min(branch);
        match self.num_rows(num_tokens) <= max_num_rows {
            true => num_tokens,
            false => num_tokens.min(self.num_left_without_rows() + max_num_rows),
        }
    }

    /// Number of next tokens that have no row.
    fn num_left_without_rows(&self) -> usize {
        self.rows_from.saturating_sub(self.sequence.num_computed())
    }
}
