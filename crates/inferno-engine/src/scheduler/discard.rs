//! The loss of the cache's contents.

use super::{PlannedChunk, Scheduler, SequenceId};

impl Scheduler {
    /// Removes the drafts of a chunk that was not computed.
    pub(crate) fn withdraw_drafts(&mut self, chunk: &PlannedChunk) {
        if let Some(scheduled) = self.running.get_mut(&chunk.id) {
            self.blocks.drop_last(&mut scheduled.sequence, chunk.num_drafts);
        }
    }

    /// Releases all blocks and states, so that every sequence is computed again and nothing is cached. Running sequences
    /// wait from then on; returns them.
    pub(crate) fn discard_cache(&mut self) -> Vec<SequenceId> {
        let preempted: Vec<SequenceId> = self.running.keys().copied().collect();
        self.waiting.append(&mut self.running);
        for scheduled in self.waiting.values_mut().chain(self.parked.values_mut()) {
            self.blocks.release(scheduled);
        }
        self.blocks.discard_cached();
        self.counts.preemptions += preempted.len() as u64;
        preempted
    }
}
