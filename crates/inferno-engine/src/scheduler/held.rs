//! Sequences whose next token is not known yet although its row was computed: they keep their blocks and are not
//! computed until it is.

use super::{Scheduler, SequenceId};

impl Scheduler {
    /// Holds a running sequence from the [`commit`](Self::commit) of the current step until
    /// [`continue_held`](Self::continue_held). What its chunk's continuation contains as the next token is ignored.
    pub fn hold(&mut self, id: SequenceId) {
        if let Some(scheduled) = self.running.get_mut(&id) {
            scheduled.is_held = true;
        }
    }

    /// Continues a held sequence with its next token; `None` ends it.
    ///
    /// **Panics** when the sequence outgrows the [`capacity`](Self::capacity).
    pub fn continue_held(&mut self, id: SequenceId, next: Option<u32>) {
        let found = self.running.get_mut(&id).or_else(|| self.waiting.get_mut(&id));
        if found.is_some_and(|scheduled| std::mem::take(&mut scheduled.is_held)) {
            self.continue_with(id, next);
        }
    }
}
