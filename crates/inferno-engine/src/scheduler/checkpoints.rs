//! Which states are stored on the way, for later sequences that begin with the same tokens.
//!
//! Recurrent state cannot be truncated, so a prompt that shares blocks with an earlier one resumes from the last of
//! these blocks that has a checkpoint. Checkpoints are stored
//!
//! - before the last token of a prompt, at the last end of a block: for the same prompt, and for conversations whose
//!   template changes the answer;
//! - at the end of the last block of a sequence that is being computed, which moves along with it: for the next turn of
//!   a conversation, and after a preemption. A pass stores it on its way, unless drafts fill the block: it is then a copy
//!   of the sequence's own state, or that state itself if the sequence has ended;
//! - where prompts branch: at the end of the common blocks of a running prompt and one that waits for it, or of
//!   blocks that are cached without a checkpoint.

use inferno_backend::{SequenceState, StateCheckpoint, StateSlot};

use super::scheduled::{Retention, Scheduled};
use super::state_slots::StateSlots;
use super::{Plan, PlannedChunk, Scheduler, SequenceId};
use crate::prefix_cache::PrefixNode;

/// The recurrent state of a sequence.
#[derive(Debug, Default)]
pub(super) struct ScheduledState {
    /// The state of the computed tokens; `None` for a sequence without blocks.
    pub(super) slot: Option<StateSlot>,
    /// Ends of blocks at which later prompts branch off, in ascending order.
    pub(super) branches: Vec<usize>,
    /// The checkpoint of the current step: its position and its slot. With drafts, it is the state before them.
    pub(super) next: Option<(usize, StateSlot)>,
    /// The checkpoint that moves along.
    pub(super) moving: Option<PrefixNode>,
    /// The end of accepted drafts that are computed again, since the state after them is unknown; 0 if there were none.
    pub(super) recompute_end: usize,
}

impl ScheduledState {
    /// Stores a checkpoint at `position`, if it is not computed yet.
    pub(super) fn add_branch(&mut self, position: usize) {
        if let Err(place) = self.branches.binary_search(&position) {
            self.branches.insert(place, position);
        }
    }
}

impl Scheduled {
    /// The first branch after the computed tokens.
    pub(super) fn next_branch(&self) -> Option<usize> {
        let num_computed = self.sequence.num_computed();
        self.state.branches.iter().copied().find(|&position| position > num_computed)
    }
}

/// Whether a chunk ends the prompt, so that its checkpoint stays.
fn ends_prompt(chunk: &PlannedChunk) -> bool {
    chunk.is_last && !chunk.is_decode
}

impl Scheduler {
    /// Returns where the pass finds the recurrent state of a planned chunk; `None` for models without.
    ///
    /// **Panics** when its sequence has ended since.
    pub(crate) fn chunk_state(&self, chunk: &PlannedChunk) -> Option<SequenceState> {
        let scheduled = &self.running[&chunk.id];
        let num_computed = scheduled.sequence.num_computed();
        let checkpoint = scheduled
            .state
            .next
            .map(|(position, slot)| StateCheckpoint { num_rows: position - num_computed, slot });
        scheduled.state.slot.map(|slot| SequenceState { slot, checkpoint })
    }

    /// Selects the checkpoint of each chunk, as far as there are slots.
    pub(super) fn plan_checkpoints(&mut self, plan: &mut Plan) {
        if !self.blocks.states.are_needed() || !self.limits.prefix_cache {
            return;
        }
        for chunk in &plan.chunks {
            let scheduled = self.running.get_mut(&chunk.id).expect("it is planned");
            let start = scheduled.sequence.num_computed();
            let end = start + chunk.num_tokens;
            // The last token of a prompt is always computed, for its row.
            let last = if ends_prompt(chunk) { end - 1 } else { end };
            let position = match scheduled.next_branch().filter(|&position| position <= end) {
                Some(branch) => branch,
                None => last - last % self.limits.block_tokens,
            };
            let before = start.checked_sub(1).filter(|_| chunk.is_decode);
            if let Some(&node) = before
                .filter(|_| start.is_multiple_of(self.limits.block_tokens))
                .and_then(|last| scheduled.path.get(last / self.limits.block_tokens))
                && !self.blocks.states.has_checkpoint(node)
                && let Some(own) = scheduled.state.slot
                && let Some(slot) = self.blocks.states.allocate()
            {
                // The prompt filled its last block, or drafts did.
                plan.state_copies.push((own, slot));
                self.blocks.states.attach_moving(&mut scheduled.state, node, slot);
            }
            if position > start && scheduled.retention != Retention::ParkedUncomputed {
                let slot = self.blocks.states.allocate();
                scheduled.state.next = slot.map(|slot| (position, slot));
            }
        }
    }

    /// Adds the checkpoint of a computed chunk to the prefix cache.
    pub(super) fn commit_checkpoint(&mut self, chunk: &PlannedChunk) {
        let Some(scheduled) = self.running.get_mut(&chunk.id) else { return };
        let Some((position, slot)) = scheduled.state.next.take() else { return };
        let states = &mut self.blocks.states;
        let Some(&node) = scheduled.path.get(position / self.limits.block_tokens - 1) else {
            states.release(slot);
            return;
        };
        states.attach_moving(&mut scheduled.state, node, slot);
        if ends_prompt(chunk) || scheduled.state.branches.contains(&position) {
            scheduled.state.moving = None;
        }
    }

    /// Makes the state of a sequence that has ended the checkpoint of its last block, if it ends with that block.
    pub(super) fn store_last_state(&mut self, id: SequenceId) {
        let found = self.running.get_mut(&id).or_else(|| self.waiting.get_mut(&id));
        let Some(Scheduled { sequence, path, state, .. }) = found else { return };
        if sequence.num_computed() == path.len() * self.limits.block_tokens
            && let Some(&node) = path.last()
            && let Some(slot) = state.slot.take()
        {
            self.blocks.states.attach_moving(state, node, slot);
        }
    }
}

impl StateSlots {
    /// Makes `slot` the checkpoint of block `node`, as [`attach`](Self::attach) does. The one that moved along with the
    /// sequence so far is removed.
    fn attach_moving(&mut self, state: &mut ScheduledState, node: PrefixNode, slot: StateSlot) {
        let is_new = !self.has_checkpoint(node);
        self.attach(node, slot);
        if let Some(moved) = state.moving.take().filter(|&moved| moved != node) {
            self.detach(moved);
        }
        // A checkpoint that already existed is not tracked: other sequences rely on it.
        state.moving = is_new.then_some(node);
    }
}
