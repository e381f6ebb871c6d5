//! The tokens of sequences that decode, and the blocks for them.

use super::{Plan, Scheduler};

impl Scheduler {
    /// Plans the last token of each sequence that decodes, with a block for it. Accepted drafts that are computed again
    /// precede it, as far as a token is left for each other sequence.
    pub(super) fn plan_decodes(&mut self, plan: &mut Plan) {
        let decodes = self.running.iter().filter(|(_, it)| it.is_decoding() && !it.is_held);
        let decodes: Vec<_> = decodes.map(|(&id, _)| id).collect();
        for (place, &id) in decodes.iter().enumerate() {
            let num_others = decodes.len() - place - 1;
            while let Some(scheduled) = self.running.get_mut(&id) {
                if self.blocks.reserve(&mut scheduled.sequence) {
                    let num_left = self.limits.max_num_batched_tokens - plan.num_tokens();
                    plan.push(id, scheduled, num_left - num_others, &self.limits);
                    break;
                }
                if !self.reclaim_idle() {
                    self.preempt_last(plan);
                }
            }
        }
    }

    /// Releases the blocks of the last running sequence in the order, which waits from then on.
    fn preempt_last(&mut self, plan: &mut Plan) {
        let Some((id, mut scheduled)) = self.running.pop_last() else {
            return;
        };
        self.blocks.release(&mut scheduled);
        self.waiting.insert(id, scheduled);
        self.counts.preemptions += 1;
        plan.preempted.push(id);
    }
}
