//! Recovery from the loss of a part of the runner, with the contents of the cache: every sequence is computed again.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::CoreState;
use crate::forward::RowKind;
use crate::scheduler::{Plan, PlannedChunk};

/// Passes in a row that may be lost. The requests of one more fail, since it may be their pass that crashes a stage.
const MAX_LOSSES: usize = 3;

/// Time between attempts to recover, in which requests are accepted and cancelled.
const RECOVERY_PAUSE: Duration = Duration::from_millis(20);

impl CoreState {
    /// Whether the requests of a pass that failed are computed again.
    pub(super) fn may_retry(&mut self) -> bool {
        let is_lost = self.runner.is_lost();
        self.num_losses = if is_lost { self.num_losses + 1 } else { 0 };
        if self.num_losses > MAX_LOSSES {
            self.num_losses = 0;
        }
        self.num_losses > 0
    }

    /// Removes the chunks from `plan` that the pass for `kind` and later ones would have computed.
    pub(super) fn withdraw_passes(&mut self, plan: &mut Plan, kind: RowKind) {
        // Passes for logits are first.
        self.withdraw(plan, |chunk| chunk.output == RowKind::Hidden || kind == RowKind::Logits);
    }

    /// Removes chunks from `plan`, which are computed again later.
    pub(super) fn withdraw(
        &mut self,
        plan: &mut Plan,
        is_withdrawn: impl Fn(&PlannedChunk) -> bool,
    ) {
        let chunks = std::mem::take(&mut plan.chunks);
        let continuations = std::mem::take(&mut self.continuations);
        for (chunk, continuation) in chunks.into_iter().zip(continuations) {
            if is_withdrawn(&chunk) {
                self.scheduler.withdraw_drafts(&chunk);
            } else {
                plan.chunks.push(chunk);
                self.continuations.push(continuation);
            }
        }
    }

    /// Discards the contents of the cache, and tries to recover the runner; false if that has not succeeded yet.
    pub(super) fn recover(&mut self) -> bool {
        let preempted = self.scheduler.discard_cache();
        self.record_preemptions(&preempted);
        match self.runner.recover() {
            Ok(true) => return true,
            Ok(false) => thread::sleep(RECOVERY_PAUSE),
            Err(error) => {
                self.is_device_lost = true;
                self.fail_all(&Arc::new(error));
            }
        }
        let expired = self.scheduler.expire(Instant::now());
        self.end_expired(&expired);
        false
    }
}
