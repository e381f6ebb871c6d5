//! Records what a step computed.

use super::scheduled::Retention;
use super::{Continuation, Plan, Scheduler, SequenceId};

impl Scheduler {
    /// Records that `plan` was computed, and how each of its chunks continues, which counts if it ends
    /// with the sequence's last token. Chunks whose sequence no longer runs are ignored.
    ///
    /// **Panics** when there are more or fewer continuations than chunks, more drafts are accepted
    /// than there were, or a sequence outgrows the [`capacity`](Self::capacity).
    pub fn commit(&mut self, plan: &Plan, continuations: &[Continuation]) {
        assert_eq!(plan.chunks.len(), continuations.len(), "one for each chunk");
        for (chunk, &Continuation { num_accepted, next }) in plan.chunks.iter().zip(continuations) {
            let Some(scheduled) = self.running.get_mut(&chunk.id) else {
                continue;
            };
            scheduled.sequence.advance(chunk.num_tokens);
            let are_rejected = num_accepted < chunk.num_drafts;
            if chunk.num_drafts > 0 {
                assert!(num_accepted <= chunk.num_drafts, "more are accepted than were drafted");
                self.blocks.drop_last(&mut scheduled.sequence, chunk.num_drafts - num_accepted);
                self.counts.accepted_tokens += num_accepted as u64;
                for count in self.counts.accepted_at.iter_mut().take(num_accepted) {
                    *count += 1;
                }
            }
            scheduled.rows_from = scheduled.rows_from.max(scheduled.sequence.num_computed());
            if chunk.num_drafts > 0 {
                self.blocks.states.commit_drafts(scheduled, are_rejected);
            }
            self.blocks.publish(scheduled);
            self.commit_checkpoint(chunk);
            let scheduled = &self.running[&chunk.id];
            if chunk.is_last && !scheduled.is_held {
                self.continue_with(chunk.id, next);
            }
        }
    }

    /// Extends a running or waiting sequence with its next token, or ends it.
    pub(super) fn continue_with(&mut self, id: SequenceId, next: Option<u32>) {
        let found = self.running.get_mut(&id).or_else(|| self.waiting.get_mut(&id));
        let Some(scheduled) = found else { return };
        if let Some(token) = next {
            scheduled.sequence.extend(&[token]);
            let len = scheduled.sequence.tokens().len();
            assert!(len <= self.limits.capacity(), "a sequence outgrows the cache");
        }
        if scheduled.retention == Retention::ParkedUncomputed {
            self.blocks.rewind(scheduled, 0);
        }
        if next.is_none() || scheduled.retention != Retention::Removed {
            self.stop(id);
        }
    }
}
