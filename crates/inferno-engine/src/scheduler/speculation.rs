//! Drafts of a step.

use super::{Plan, PlannedChunk, Scheduler, SchedulerLimits};

/// Maximum number of tokens of a step in which several sequences draft: that many rows cost little more
/// than one, as reading the weights takes most of the time. More cost more, and drafts are often wrong.
pub(super) const MAX_SPECULATIVE_TOKENS: usize = 16;

impl Scheduler {
    /// Drafts that may be added to a chunk of `plan`: none unless all its chunks decode, and fewer the
    /// more chunks there are. They take no block that a sequence uses. Models with recurrent layers have none.
    ///
    /// **Panics** when its sequence has ended since.
    pub fn room_for_drafts(&self, plan: &Plan, chunk: &PlannedChunk) -> usize {
        let SchedulerLimits { max_num_batched_tokens, max_num_logit_rows, .. } = self.limits;
        let limit = max_num_batched_tokens.min(max_num_logit_rows);
        let limit = match plan.chunks.len() {
            1 => limit,
            _ => limit.min(MAX_SPECULATIVE_TOKENS),
        };
        let share = limit.saturating_sub(plan.chunks.len()) / plan.chunks.len();
        // Rejected drafts would have to be removed from the recurrent state.
        if share == 0
            || self.blocks.states.are_needed()
            || !plan.chunks.iter().all(PlannedChunk::decodes)
        {
            return 0;
        }
        share.min(self.blocks.room(&self.running[&chunk.id].sequence))
    }

    /// Adds drafts to a chunk that has [room](Self::room_for_drafts) for them.
    ///
    /// **Panics** when it has not, or its sequence has ended.
    pub fn draft(&mut self, chunk: &mut PlannedChunk, drafts: &[u32]) {
        let scheduled = self.running.get_mut(&chunk.id).expect("it runs");
        assert!(drafts.len() <= self.blocks.room(&scheduled.sequence), "no room for drafts");
        scheduled.sequence.extend(drafts);
        assert!(self.blocks.reserve(&mut scheduled.sequence), "there is room");
        chunk.num_tokens += drafts.len();
        chunk.num_rows += drafts.len();
        chunk.num_drafts += drafts.len();
        self.counts.drafts += u64::from(!drafts.is_empty());
        self.counts.drafted_tokens += drafts.len() as u64;
    }
}
