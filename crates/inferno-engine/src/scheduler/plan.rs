//! What one forward pass is to compute.

use super::scheduled::Scheduled;
use super::{SchedulerLimits, SequenceId};
use crate::RowKind;

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
    /// How many of them, at the end, are drafts, which stand or fall with what is sampled.
    pub num_drafts: usize,
    /// How many of them, to the last one, give a row.
    pub num_rows: usize,
    /// What the rows hold.
    pub output: RowKind,
    /// Whether they end with the sequence's last one, after which a token is sampled or nothing is
    /// left to do.
    pub is_last: bool,
}

/// How a sequence goes on after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Continuation {
    /// Drafts that were right; those after them are dropped.
    pub num_accepted: usize,
    /// The token after that; none where the sequence ends.
    pub next: Option<u32>,
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

    /// RowRequest of logits of the step, over all sequences.
    pub fn num_logit_rows(&self) -> usize {
        self.chunks_with(RowKind::Logits).map(|(_, chunk)| chunk.num_rows).sum()
    }

    /// The chunks whose rows hold this, with their places. They can be computed in one batch.
    pub fn chunks_with(&self, output: RowKind) -> impl Iterator<Item = (usize, &PlannedChunk)> {
        self.chunks.iter().enumerate().filter(move |(_, chunk)| chunk.output == output)
    }

    /// Adds as many tokens of a sequence as are left and fit; none where there is no room.
    pub(super) fn push(&mut self, id: SequenceId, scheduled: &Scheduled, limits: &SchedulerLimits) {
        let budget = limits.max_num_batched_tokens - self.num_tokens();
        let output = scheduled.rows.output();
        let max_num_rows = match output {
            RowKind::Logits => limits.max_num_logit_rows - self.num_logit_rows(),
            RowKind::Hidden => usize::MAX,
        };
        let num_tokens = scheduled.fitting(budget, max_num_rows);
        if num_tokens > 0 {
            let num_rows = scheduled.num_rows(num_tokens);
            let is_last = num_tokens == scheduled.num_left();
            self.chunks.push(PlannedChunk {
                id,
                num_tokens,
                num_drafts: 0,
                num_rows,
                output,
                is_last,
            });
        }
    }
}
