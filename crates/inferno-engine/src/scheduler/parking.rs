//! Sequences of sessions: parked between calls, and between the tokens that their callers request.
//!
//! A parked or waiting sequence may hold blocks, which it loses as soon as a running one finds none: parked
//! ones first, in the order of their last call, then the last that waits. Whole blocks stay in the prefix
//! cache as long as there is room.

use inferno_backend::{BlockId, StateSlot};

use super::scheduled::{Retention, Scheduled};
use super::{Plan, RowRequest, Scheduler, SequenceId};
use crate::WindowUpdate;

impl Scheduler {
    /// Adds an empty, parked sequence, which stays until it is removed. Without `keeps_kv` all of its tokens
    /// are computed again whenever it resumes.
    pub(crate) fn add_parked(&mut self, keeps_kv: bool) -> SequenceId {
        let retention = if keeps_kv { Retention::Parked } else { Retention::ParkedUncomputed };
        let id = self.next_id(0);
        self.parked.insert(id, Scheduled::new(self.limits.block_tokens, retention));
        id
    }

    /// Suspends a sequence until it [resumes](Self::resume).
    pub(super) fn park(&mut self, id: SequenceId) {
        let parked = self.running.remove(&id).or_else(|| self.waiting.remove(&id));
        if let Some(mut scheduled) = parked {
            scheduled.is_held = false;
            self.parked.insert(id, scheduled);
        }
    }

    /// Ends the computation of a sequence: those of sessions are parked, others removed.
    pub(crate) fn stop(&mut self, id: SequenceId) {
        let scheduled = self.running.get(&id).or_else(|| self.waiting.get(&id));
        match scheduled.map(|scheduled| scheduled.retention) {
            Some(Retention::Removed) => {
                self.store_last_state(id);
                self.remove(id);
            }
            Some(Retention::Parked | Retention::ParkedUncomputed) => self.park(id),
            None => {}
        }
    }

    /// Makes a parked sequence runnable; it keeps its place in the order.
    pub(crate) fn resume(&mut self, id: SequenceId) {
        let Some(mut scheduled) = self.parked.remove(&id) else {
            return;
        };
        self.blocks.rewind_to_window(&mut scheduled);
        let is_first = self.waiting.first_key_value().is_none_or(|(&first, _)| id < first);
        let can_run = self.running.len() < self.limits.max_num_sequences;
        // The next token gets its block when it is planned, as those of other running sequences do.
        let continues = scheduled.holds_blocks() && scheduled.is_decoding();
        match is_first && can_run && continues {
            true => self.running.insert(id, scheduled),
            false => self.waiting.insert(id, scheduled),
        };
    }

    /// Replaces the tokens of a parked sequence; the common prefix stays computed.
    ///
    /// **Panics** when it is not parked.
    pub(crate) fn set_parked_tokens(&mut self, id: SequenceId, tokens: &[u32]) {
        let scheduled = self.parked.get_mut(&id).expect("it is parked");
        let common = scheduled.sequence.tokens().iter().zip(tokens);
        let num_common = common.take_while(|(old, new)| old == new).count();
        self.blocks.truncate(scheduled, num_common);
        scheduled.sequence.extend(&tokens[num_common..]);
    }

    /// Moves a parked sequence behind all others in the order, for the row after its last token. Returns
    /// its new id; it stays parked.
    ///
    /// **Panics** when it is not parked, or has no tokens or more than [`capacity`](Self::capacity).
    pub(crate) fn requeue(&mut self, id: SequenceId) -> SequenceId {
        let mut scheduled = self.parked.remove(&id).expect("it is parked");
        let num_tokens = scheduled.sequence.tokens().len();
        assert!((1..=self.capacity()).contains(&num_tokens), "it could never run");
        if scheduled.num_left() == 0 {
            self.blocks.rewind(&mut scheduled, num_tokens - 1);
        }
        scheduled.request_rows(RowRequest::Last);
        let id = self.next_id(0);
        self.parked.insert(id, scheduled);
        id
    }

    /// Returns the number of computed positions of a parked sequence after which it can be continued, and the blocks
    /// that hold them.
    ///
    /// **Panics** when it is not parked.
    pub(crate) fn parked_blocks(&self, id: SequenceId) -> (usize, &[BlockId]) {
        let sequence = &self.parked[&id].sequence;
        let num_computed = self.blocks.num_continuable(sequence);
        let num_blocks = num_computed.div_ceil(self.limits.block_tokens);
        (num_computed, &sequence.block_table()[..num_blocks])
    }

    /// Returns the slot of a parked sequence's recurrent state, if anything of it is computed.
    ///
    /// **Panics** when it is not parked.
    pub(crate) fn parked_state(&self, id: SequenceId) -> Option<StateSlot> {
        self.parked[&id].state.slot
    }

    /// Reserves blocks for the first `num_computed` tokens of a parked sequence, of which nothing is
    /// computed. The caller applies the changes of windows, fills the blocks and calls
    /// [`finish_restore`](Self::finish_restore). `None` if there are not enough.
    ///
    /// **Panics** when it is not parked.
    pub(crate) fn restore(
        &mut self,
        id: SequenceId,
        num_computed: usize,
    ) -> Option<(Vec<BlockId>, Vec<WindowUpdate>)> {
        let mut scheduled = self.parked.remove(&id).expect("it is parked");
        let blocks = loop {
            if scheduled.state.slot.is_none() {
                scheduled.state.slot = self.blocks.states.allocate();
            }
            let has_state = scheduled.state.slot.is_some() || !self.blocks.states.are_needed();
            if has_state && self.blocks.reserve_until(&mut scheduled.sequence, num_computed) {
                break Some(scheduled.sequence.block_table().to_vec());
            }
            if !self.reclaim_idle() {
                break None;
            }
        };
        if blocks.is_none() {
            self.blocks.release(&mut scheduled);
        }
        self.parked.insert(id, scheduled);
        let blocks = blocks?;
        self.use_windows(&Plan::default());
        let windows = &mut self.blocks.windows;
        blocks.iter().for_each(|&block| windows.release(block));
        windows.use_positions(&blocks, num_computed..num_computed);
        Some((blocks, windows.take_updates()))
    }

    /// Records that the blocks of a [`restore`](Self::restore) were filled.
    ///
    /// **Panics** when the sequence is not parked or has too few blocks.
    pub(crate) fn finish_restore(&mut self, id: SequenceId, num_computed: usize) {
        let scheduled = self.parked.get_mut(&id).expect("it is parked");
        scheduled.sequence.advance(num_computed);
        self.blocks.publish(scheduled);
    }

    /// Number of blocks that would be unused if every sequence that does not run released its own. `admitted` is about
    /// to run.
    pub(super) fn num_reclaimable_blocks(&self, admitted: &Scheduled) -> usize {
        let mut idle = self.parked.values().chain(self.waiting.values());
        if !idle.any(Scheduled::holds_blocks) {
            return 0;
        }
        let held = self.blocks.num_held(self.running.values().chain([admitted]));
        self.blocks.usage().num_in_use().saturating_sub(held)
    }

    /// Releases the blocks of one sequence that does not run; false when none has any.
    pub(super) fn reclaim_idle(&mut self) -> bool {
        let parked = self.parked.values_mut();
        let mut idle = parked.chain(self.waiting.values_mut().rev());
        let Some(scheduled) = idle.find(|scheduled| scheduled.holds_blocks()) else {
            return false;
        };
        self.blocks.release(scheduled);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{Continuation, SchedulerLimits};

    const NUM_BLOCKS: usize = 12;
    /// Four blocks.
    const SHARED: [u32; 16] = [7; 16];

    fn scheduler() -> Scheduler {
        Scheduler::new(SchedulerLimits {
            num_blocks: NUM_BLOCKS,
            block_tokens: 4,
            max_num_sequences: 3,
            max_num_batched_tokens: 64,
            max_num_logit_rows: 3,
            prefix_cache: true,
            whole_prompts: false,
            num_state_slots: 0,
            window: None,
        })
    }

    /// Runs a step after which every sequence continues with `next`.
    fn step(scheduler: &mut Scheduler, next: Option<u32>) {
        let plan = scheduler.schedule(Instant::now());
        let continuation = Continuation { num_accepted: 0, next };
        scheduler.commit(&plan, &vec![continuation; plan.chunks.len()]);
    }

    /// A parked sequence of the shared tokens and one of its own.
    fn parked(scheduler: &mut Scheduler, own: u32) -> SequenceId {
        let id = scheduler.add_parked(true);
        scheduler.set_parked_tokens(id, &[&SHARED[..], &[own]].concat());
        let id = scheduler.requeue(id);
        scheduler.resume(id);
        step(scheduler, None);
        id
    }

    #[test]
    fn sequences_lose_blocks_only_if_that_admits_another() {
        let mut scheduler = scheduler();
        let sessions = [1, 2].map(|own| parked(&mut scheduler, own));
        let running = scheduler.add(&[&SHARED[..], &[3]].concat(), RowRequest::Last, 0, None);
        step(&mut scheduler, Some(4));
        assert_eq!(scheduler.block_usage().num_in_use(), 4 + 3);

        // It needs ten blocks, and one more for the running sequence. Five are unused, and each session has one of its
        // own; the other four are those of the running sequence.
        scheduler.add(&[9; 40], RowRequest::Last, 0, None);
        step(&mut scheduler, Some(5));
        assert_eq!((scheduler.num_running(), scheduler.num_waiting()), (1, 1));
        for id in sessions {
            assert_eq!(scheduler.parked_blocks(id).0, 17);
        }

        // Without the running sequence, the sessions alone hold the shared blocks.
        scheduler.remove(running);
        step(&mut scheduler, Some(6));
        assert_eq!((scheduler.num_running(), scheduler.num_waiting()), (1, 0));
    }
}
