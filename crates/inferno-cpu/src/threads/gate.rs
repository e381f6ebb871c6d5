//! Where workers enter and leave steps.

pub(super) use super::sync::GATE_WORKERS;
use super::sync::atomic::{AtomicUsize, Ordering};

/// The state of the step for some workers: from the lowest bits up, the number of workers inside, whether the step is
/// open, and the number of the step.
// Each gate has a pair of cache lines to itself, since processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Gate {
    state: AtomicUsize,
}

const OPEN: usize = 1 << 15;
const NUMBER: usize = 1 << 16;

fn inside(state: usize) -> usize {
    state % OPEN
}

fn is_open(state: usize) -> bool {
    state & OPEN != 0
}

fn number(state: usize) -> usize {
    state / NUMBER
}

impl Gate {
    /// Opens the next step, and publishes to those who enter what this thread has written. The last step must be
    /// closed, with no worker inside.
    pub(super) fn open(&self) {
        let last = self.state.load(Ordering::Relaxed);
        debug_assert!(!is_open(last) && inside(last) == 0, "a step of its own");
        let next = number(last).wrapping_add(1).wrapping_mul(NUMBER);
        self.state.store(next | OPEN, Ordering::Release);
    }

    /// Closes the step: no further worker enters it.
    pub(super) fn close(&self) {
        self.state.fetch_and(!OPEN, Ordering::Relaxed);
    }

    /// Whether all workers have left. If so, what they have written is visible.
    pub(super) fn is_empty(&self) -> bool {
        inside(self.state.load(Ordering::Acquire)) == 0
    }

    /// Whether the step is open.
    pub(super) fn is_open(&self) -> bool {
        is_open(self.state.load(Ordering::Relaxed))
    }

    /// Whether a step other than `seen` is open.
    pub(super) fn has_new_step(&self, seen: usize) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        is_open(state) && number(state) != seen
    }

    /// Enters the step and returns its number, unless it is closed.
    pub(super) fn enter(&self) -> Option<usize> {
        let enter = |state| is_open(state).then_some(state + 1);
        let entry = self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter);
        entry.ok().map(number)
    }

    /// Leaves the step; returns whether this worker was the last in a closed step.
    pub(super) fn leave(&self) -> bool {
        let left = self.state.fetch_sub(1, Ordering::Release);
        inside(left) == 1 && !is_open(left)
    }
}
