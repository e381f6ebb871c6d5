//! Drafts of a step.
//!
//! Rejected drafts are removed from the keys and values, but not from a recurrent state. So a pass with drafts stores
//! the state before them in a slot of its own. If drafts are rejected, it becomes the sequence's state, and the next pass
//! computes the accepted ones again, together with the token after them.

use super::scheduled::Scheduled;
use super::state_slots::StateSlots;
use super::{Plan, PlannedChunk, Scheduler, SchedulerLimits};

/// Maximum number of tokens of a step in which several sequences draft: that many rows cost little more
/// than one, as reading the weights takes most of the time. More cost more, and drafts are often wrong.
pub(super) const MAX_SPECULATIVE_TOKENS: usize = 16;

/// Returns how many of `max_num_sequences` sequences may have drafts in one step, which each need a token and a draft.
pub(crate) fn max_num_drafting(max_num_sequences: usize) -> usize {
    max_num_sequences.min(MAX_SPECULATIVE_TOKENS / 2)
}

impl Scheduler {
    /// Drafts that may be added to a chunk of `plan`: none unless all its chunks decode, and fewer the
    /// more chunks there are. Drafts only use blocks that no sequence holds.
    ///
    /// **Panics** when its sequence has ended since.
    pub fn room_for_drafts(&self, plan: &Plan, chunk: &PlannedChunk) -> usize {
        let SchedulerLimits { max_num_batched_tokens, max_num_logit_rows, .. } = self.limits;
        let limit = max_num_batched_tokens.min(max_num_logit_rows);
        let limit = match plan.chunks.len() {
            1 => limit,
            _ => limit.min(MAX_SPECULATIVE_TOKENS),
        };
        let planned = plan.chunks.iter().map(|chunk| chunk.num_tokens - chunk.num_drafts);
        let share = limit.saturating_sub(planned.sum()) / plan.chunks.len();
        // A chunk has a row for one token or for all, and those that are computed again need none.
        let has_one_token = chunk.num_tokens == 1;
        if share == 0 || !has_one_token || !plan.chunks.iter().all(|chunk| chunk.is_decode) {
            return 0;
        }
        let scheduled = &self.running[&chunk.id];
        share.min(self.blocks.room(&scheduled.sequence)).min(self.room_for_state(scheduled))
    }

    /// Drafts that the recurrent state of a sequence allows. A pass stores one state on its way, so drafts end with
    /// their block at the latest, and there are none if the checkpoint of a block is stored.
    fn room_for_state(&self, scheduled: &Scheduled) -> usize {
        let SchedulerLimits { block_tokens, prefix_cache, .. } = self.limits;
        let num_before = scheduled.sequence.num_computed() + 1;
        match self.blocks.states.are_needed() {
            true if !self.blocks.states.can_allocate() => 0,
            true if prefix_cache => num_before.next_multiple_of(block_tokens) - num_before,
            _ => usize::MAX,
        }
    }

    /// Adds drafts to a chunk that has [room](Self::room_for_drafts) for them.
    ///
    /// **Panics** when it has not, or its sequence has ended.
    pub fn draft(&mut self, chunk: &mut PlannedChunk, drafts: &[u32]) {
        if drafts.is_empty() {
            return;
        }
        let scheduled = self.running.get_mut(&chunk.id).expect("it runs");
        assert!(drafts.len() <= self.blocks.room(&scheduled.sequence), "no room for drafts");
        scheduled.sequence.extend(drafts);
        assert!(self.blocks.reserve(&mut scheduled.sequence), "there is room");
        if self.blocks.states.are_needed() {
            let num_before = scheduled.sequence.num_computed() + 1;
            let slot = self.blocks.states.allocate().expect("no slot for the state before drafts");
            let next = scheduled.state.next.replace((num_before, slot));
            assert!(next.is_none(), "a pass stores one state");
        }
        chunk.num_tokens += drafts.len();
        chunk.num_rows += drafts.len();
        chunk.num_drafts += drafts.len();
        self.counts.drafts += 1;
        self.counts.drafted_tokens += drafts.len() as u64;
    }
}

impl StateSlots {
    /// Ends a pass with drafts, of which the accepted ones are computed. If some are rejected, the state before the
    /// drafts becomes the sequence's state.
    pub(super) fn commit_drafts(&mut self, scheduled: &mut Scheduled, are_rejected: bool) {
        let Some((num_before, before)) = scheduled.state.next.take() else { return };
        let unused = match are_rejected {
            true => {
                scheduled.state.recompute_end = scheduled.sequence.num_computed();
                scheduled.sequence.recompute_from(num_before);
                scheduled.state.slot.replace(before)
            }
            false => Some(before),
        };
        if let Some(slot) = unused {
            self.release(slot);
        }
    }
}
