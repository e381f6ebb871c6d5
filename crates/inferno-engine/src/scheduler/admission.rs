//! Which waiting sequences start to run.

use std::ops::Bound;

use super::prefill::share_of_one;
use super::scheduled::Scheduled;
use super::{Admission, Plan, Scheduler};

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
            if candidate.is_held {
                continue;
            }
            let held_blocks = candidate.holds_blocks();
            let path = match held_blocks {
                true => Vec::new(),
                false => self.blocks.cached_prefix(candidate),
            };
            let is_shared = |running: &Scheduled| self.blocks.will_share(running, &path, candidate);
            if !held_blocks && plan.chunks.iter().any(|chunk| is_shared(&self.running[&chunk.id])) {
                self.num_deferred += 1;
                continue;
            }
            // Each running sequence may need a block soon; to take the last ones is to lose them.
            let Some(mut admitted) = self.waiting.remove(&id) else {
                break;
            };
            let num_cached = path.len() * self.limits.block_tokens;
            if !path.is_empty() {
                self.blocks.adopt(&mut admitted, path);
            }
            if !self.reserve_for_admission(&mut admitted) {
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
            let share = share_of_one(max_num_tokens - plan.num_tokens());
            plan.push(id, &admitted, share, &self.limits);
            self.running.insert(id, admitted);
        }
    }

    /// Reserves blocks for all tokens of a sequence that is about to run, and leaves one for each that
    /// runs already; false, and nothing is reserved, if there are too few.
    fn reserve_for_admission(&mut self, admitted: &mut Scheduled) -> bool {
        let margin = self.running.len();
        let num_missing = self.blocks.num_missing(&admitted.sequence, margin);
        if num_missing > 0 && num_missing > self.num_idle_blocks() {
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
