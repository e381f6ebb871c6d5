//! The tokens of sequences that decode, and the blocks for them.

use super::{Plan, Scheduler};

impl Scheduler {
    /// Plans one token for each sequence that has one to compute, with a block for it.
    pub(super) fn plan_decodes(&mut self, plan: &mut Plan) {
        let decodes = self.running.iter().filter(|(_, scheduled)| scheduled.num_left() == 1);
        let decodes: Vec<_> = decodes.map(|(&id, _)| id).collect();
        for id in decodes {
            while let Some(scheduled) = self.running.get_mut(&id) {
                if self.blocks.reserve(&mut scheduled.sequence) {
                    plan.push(id, scheduled, 1, &self.limits);
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
