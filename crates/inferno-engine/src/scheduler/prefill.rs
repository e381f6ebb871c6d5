//! How the tokens of a step are shared by prompts.
//!
//! The first prompt in the order gets at least three quarters of them. The rest is for the others, the shortest
//! first, and for new sequences: a short prompt does not wait until a long one is computed. The remainder returns to
//! the first prompt. Rows of logits are shared in the same way: each prompt leaves a quarter of them, or one.

use super::scheduled::Scheduled;
use super::{Plan, Scheduler, SchedulerLimits};

/// Share of the prompt tokens of a step, as a divisor, that is reserved for all prompts but the first.
const OTHERS_DIVISOR: usize = 4;

impl Scheduler {
    /// Limits the prompt tokens of steps in which sequences decode; at least one prompt token is always computed.
    /// `None` removes the limit.
    pub fn limit_prefill(&mut self, max_num_tokens: Option<usize>) {
        self.max_prefill_tokens = max_num_tokens.unwrap_or(usize::MAX).max(1);
    }

    /// The limits for a prompt that leaves rows of logits for those after it: without any, none is admitted.
    pub(super) fn limits_of_one(&self, plan: &Plan) -> SchedulerLimits {
        if self.limits.whole_prompts {
            return self.limits;
        }
        let num_left = self.limits.max_num_logit_rows - plan.num_logit_rows();
        let reserved = (num_left / OTHERS_DIVISOR).max(1).min(num_left.saturating_sub(1));
        let max_num_logit_rows = self.limits.max_num_logit_rows - reserved;
        SchedulerLimits { max_num_logit_rows, ..self.limits }
    }

    /// Plans chunks of the prompts that are being computed and of those that are admitted.
    pub(super) fn plan_prefills(&mut self, plan: &mut Plan) {
        let num_decodes = plan.num_tokens();
        let is_decoding = self.running.values().any(Scheduled::is_decoding);
        let limit = if is_decoding { self.max_prefill_tokens } else { usize::MAX };
        let room = limit.min(self.limits.max_num_batched_tokens - num_decodes);
        let end = num_decodes + room;
        let mut prompts: Vec<_> = self.running.iter().filter(|(_, it)| !it.is_decoding()).collect();
        let first_prompt = plan.chunks.len();
        if let Some((&first, scheduled)) = prompts.first().copied() {
            let others = prompts.len() > 1 || self.waiting.values().any(|it| !it.is_held);
            let others = others && !self.limits.whole_prompts;
            if others {
                let share = room - room / OTHERS_DIVISOR;
                plan.push(first, scheduled, share, &self.limits_of_one(plan));
            } else {
                plan.push(first, scheduled, room, &self.limits);
            }
            prompts.remove(0);
        }
        prompts.sort_by_key(|(_, scheduled)| scheduled.num_left());
        for (&id, scheduled) in prompts {
            let share = share_of_one(end - plan.num_tokens(), &self.limits);
            plan.push(id, scheduled, share, &self.limits_of_one(plan));
        }
        if plan.preempted.is_empty() {
            self.admit(plan, end);
        }
        for place in first_prompt..plan.chunks.len() {
            let num_left = end - plan.num_tokens();
            let scheduled = &self.running[&plan.chunks[place].id];
            plan.grow(place, scheduled, num_left, &self.limits);
        }
    }
}

/// The tokens that one of several prompts may use if `num_left` are left: something is left for the next one.
/// Prompts that are computed whole may use all of them.
pub(super) fn share_of_one(num_left: usize, limits: &SchedulerLimits) -> usize {
    if limits.whole_prompts { num_left } else { num_left.div_ceil(2) }
}
