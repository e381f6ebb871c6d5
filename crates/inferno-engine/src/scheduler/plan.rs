//! The plan of one step.

use inferno_backend::StateSlot;

use super::scheduled::Scheduled;
use super::{SchedulerLimits, SequenceId};
use crate::RowKind;

/// The plan of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The chunks to compute, in the order of the batch.
    pub chunks: Vec<PlannedChunk>,
    /// Copies of recurrent state to make before the step, in order: from which slot, and to which one.
    pub state_copies: Vec<(StateSlot, StateSlot)>,
    /// Sequences that run for the first time.
    pub admitted: Vec<Admission>,
    /// Sequences that lost their blocks and wait.
    pub preempted: Vec<SequenceId>,
    /// Sequences that were removed because their deadline passed.
    pub expired: Vec<SequenceId>,
}

/// One sequence's share of a step: its next tokens that are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedChunk {
    /// The sequence.
    pub id: SequenceId,
    /// Number of tokens.
    pub num_tokens: usize,
    /// How many of them, at the end, are drafts.
    pub num_drafts: usize,
    /// How many of them, at the end, have a row.
    pub num_rows: usize,
    /// What the rows hold.
    pub output: RowKind,
    /// Whether they end with the sequence's last token, after which a token is sampled or the sequence ends.
    pub is_last: bool,
    /// Whether they decode: one new token, of which the row holds logits. Accepted drafts that are computed again may
    /// precede it, and new drafts may follow.
    pub is_decode: bool,
}

/// How a sequence continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Continuation {
    /// Number of accepted drafts; those after them are dropped.
    pub num_accepted: usize,
    /// The token after them; `None` at the end of the sequence.
    pub next: Option<u32>,
}

/// A sequence that begins to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// The sequence.
    pub id: SequenceId,
    /// Tokens of its prompt that the prefix cache had.
    pub num_cached_tokens: usize,
}

impl Plan {
    /// Returns the number of tokens of the step, over all sequences.
    pub fn num_tokens(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.num_tokens).sum()
    }

    /// Returns the number of tokens of sequences that decode, with drafts.
    pub fn num_decode_tokens(&self) -> usize {
        let decodes = self.chunks.iter().filter(|chunk| chunk.is_decode);
        decodes.map(|chunk| chunk.num_tokens).sum()
    }

    /// Rows of logits in the step, over all sequences.
    pub fn num_logit_rows(&self) -> usize {
        self.chunks_with(RowKind::Logits).map(|(_, chunk)| chunk.num_rows).sum()
    }

    /// Returns the chunks whose rows hold `output`, with their indices. They can be computed in one batch.
    pub fn chunks_with(&self, output: RowKind) -> impl Iterator<Item = (usize, &PlannedChunk)> {
        self.chunks.iter().enumerate().filter(move |(_, chunk)| chunk.output == output)
    }

    /// Adds as many remaining tokens of a sequence as fit, at most `max_num_tokens`.
    pub(super) fn push(
        &mut self,
        id: SequenceId,
        scheduled: &Scheduled,
        max_num_tokens: usize,
        limits: &SchedulerLimits,
    ) {
        self.chunks.extend(self.fitting(id, scheduled, max_num_tokens, limits));
    }

    /// Replaces the chunk at `place` by one with as many tokens of its sequence as fit, `num_more` more at most.
    pub(super) fn grow(
        &mut self,
        place: usize,
        scheduled: &Scheduled,
        num_more: usize,
        limits: &SchedulerLimits,
    ) {
        let chunk = self.chunks.remove(place);
        let grown = self.fitting(chunk.id, scheduled, chunk.num_tokens + num_more, limits);
        self.chunks.insert(place, grown.unwrap_or(chunk));
    }

    /// The chunk of the next tokens of a sequence, at most `max_num_tokens`, that the limits of a step allow.
    fn fitting(
        &self,
        id: SequenceId,
        scheduled: &Scheduled,
        max_num_tokens: usize,
        limits: &SchedulerLimits,
    ) -> Option<PlannedChunk> {
        let budget = limits.max_num_batched_tokens - self.num_tokens();
        let output = scheduled.rows.output();
        let max_num_rows = match output {
            RowKind::Logits => limits.max_num_logit_rows - self.num_logit_rows(),
            RowKind::Hidden => usize::MAX,
        };
        let num_tokens = scheduled.fitting(budget.min(max_num_tokens), max_num_rows);
        if limits.whole_prompts && num_tokens < scheduled.num_left() {
            return None;
        }
        let num_rows = scheduled.num_rows(num_tokens);
        let is_last = num_tokens == scheduled.num_left();
        let is_decode = is_last && output == RowKind::Logits && scheduled.is_decoding();
        let num_drafts = 0;
        let chunk =
            PlannedChunk { id, num_tokens, num_drafts, num_rows, output, is_last, is_decode };
        (num_tokens > 0).then_some(chunk)
    }
}
