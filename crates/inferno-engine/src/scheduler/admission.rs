//! Which waiting sequences start to run.

use std::ops::Bound;

use super::prefill::share_of_one;
use super::scheduled::Scheduled;
use super::{Admission, Plan, Scheduler, SequenceId};
use crate::prefix_cache::PrefixNode;

impl Scheduler {
    /// Admits sequences while the step has fewer than `max_num_tokens` tokens, in their order. None overtakes one that
    /// does not find enough blocks.
    pub(super) fn admit(&mut self, plan: &mut Plan, max_num_tokens: usize) {
        let mut last = None;
        while plan.num_tokens() < max_num_tokens
            && plan.num_logit_rows() < self.limits.max_num_logit_rows
            && self.running.len() < self.limits.max_num_sequences
        {
            let after = last.map_or(Bound::Unbounded, Bound::Excluded);
            let mut rest = self.waiting.range((after, Bound::Unbounded));
            let Some((&id, candidate)) = rest.next() else {
                break;
            };
            last = Some(id);
            let num_left = max_num_tokens - plan.num_tokens();
            if self.limits.whole_prompts && candidate.num_left() > num_left {
                break;
            }
            if candidate.is_held {
                continue;
            }
            let held_blocks = candidate.holds_blocks();
            let (mut path, num_usable) = match held_blocks {
                true => (Vec::new(), 0),
                false => self.blocks.cached_prefix(candidate),
            };
            if !held_blocks && self.prefix_is_in_progress(plan, id, &path, num_usable) {
                self.num_deferred += 1;
                continue;
            }
            let Some(mut admitted) = self.waiting.remove(&id) else {
                break;
            };
            let num_usable = num_usable.min(self.blocks.num_with_window(&path));
            let num_cached = num_usable * self.limits.block_tokens;
            if num_usable < path.len() {
                if self.blocks.states.are_needed() {
                    self.blocks.add_branch(&mut admitted, path.len());
                }
                path.truncate(num_usable);
            }
            if held_blocks {
                self.blocks.rewind_to_window(&mut admitted);
            }
            if !path.is_empty() {
                self.blocks.adopt(&mut admitted, path);
            }
            // Leaves one free block per running sequence, or the next decode step would preempt the admitted one.
            let has_blocks = self.reserve_for_admission(&mut admitted);
            if !has_blocks || !self.prepare_state(&mut admitted, plan) {
                if !held_blocks {
                    self.blocks.release(&mut admitted);
                }
                self.waiting.insert(id, admitted);
                break;
            }
            if !std::mem::replace(&mut admitted.was_admitted, true) {
                self.counts.prefix_queries += admitted.sequence.tokens().len() as u64;
                self.counts.prefix_hits += num_cached as u64;
                plan.admitted.push(Admission { id, num_cached_tokens: num_cached });
            }
            let share = share_of_one(max_num_tokens - plan.num_tokens(), &self.limits);
            plan.push(id, &admitted, share, &self.limits_of_one(plan));
            self.running.insert(id, admitted);
        }
    }

    /// Whether a sequence of the plan will soon have computed more of the beginning of a waiting one than is cached.
    fn prefix_is_in_progress(
        &mut self,
        plan: &Plan,
        waiting: SequenceId,
        path: &[PrefixNode],
        num_usable: usize,
    ) -> bool {
        let Self { blocks, running, waiting: candidates, .. } = self;
        let Some(candidate) = candidates.get(&waiting) else {
            return false;
        };
        let has_state = blocks.states.are_needed();
        plan.chunks.iter().any(|chunk| {
            running.get_mut(&chunk.id).is_some_and(|running| match has_state {
                true => blocks.will_checkpoint(running, num_usable, candidate),
                false => blocks.will_share(running, path, candidate),
            })
        })
    }

    /// Ensures that a sequence with blocks has the state of its computed tokens; false if there is no slot.
    fn prepare_state(&mut self, admitted: &mut Scheduled, plan: &mut Plan) -> bool {
        if !self.blocks.states.are_needed() || admitted.state.slot.is_some() {
            return true;
        }
        let last = admitted.path.last().copied();
        let checkpoint = last.and_then(|node| self.blocks.states.use_checkpoint(node));
        let slot = loop {
            match self.blocks.states.allocate() {
                Some(slot) => break slot,
                None if self.reclaim_idle() => {}
                None => return false,
            }
        };
        plan.state_copies.extend(checkpoint.map(|checkpoint| (checkpoint, slot)));
        admitted.state.slot = Some(slot);
        true
    }

    /// Reserves blocks for all tokens of a sequence that is about to run, and leaves one for each that
    /// runs already; false, and nothing is reserved, if there are too few.
    fn reserve_for_admission(&mut self, admitted: &mut Scheduled) -> bool {
        let margin = self.running.len();
        let num_missing = self.blocks.num_missing(&admitted.sequence, margin);
        if num_missing > 0 && num_missing > self.num_reclaimable_blocks(admitted) {
            return false;
        }
        while self.blocks.num_missing(&admitted.sequence, margin) > 0 {
            if !self.reclaim_idle() {
                return false;
            }
        }
        self.blocks.reserve(&mut admitted.sequence)
    }
}
