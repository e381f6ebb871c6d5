//! Operations of recurrent layers.

pub(crate) mod conv;
pub(crate) mod gated_norm;
pub(crate) mod linear_attention;
mod matrix_columns;
pub(crate) mod selective_scan;

use std::ops::Range;

use inferno_backend::{Batch, StateCheckpoint, StateSlot};

/// The rows of one sequence in a pass, and where its state is.
#[derive(Clone)]
struct SequenceRows {
    rows: Range<usize>,
    slot: StateSlot,
    /// Whether the sequence begins with these rows, so that there is no state yet.
    is_new: bool,
    checkpoint: Option<StateCheckpoint>,
}

impl SequenceRows {
    fn new(batch: &Batch, sequence: usize) -> Self {
        let state = batch.states()[sequence].expect("recurrent layers need a state");
        let rows = batch.rows(sequence);
        let is_new = batch.positions()[rows.start] == 0;
        Self { rows, slot: state.slot, is_new, checkpoint: state.checkpoint }
    }

    /// The slot that receives a copy of the state after `row`, if there is one.
    #[inline(always)]
    fn checkpoint_after(&self, row: usize) -> Option<StateSlot> {
        let checkpoint = self.checkpoint?;
        (self.rows.start + checkpoint.num_rows == row + 1).then_some(checkpoint.slot)
    }
}
