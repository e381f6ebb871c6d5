//! Operations of recurrent layers.

pub(crate) mod conv;
pub(crate) mod gated_norm;
mod layer_state;
pub(crate) mod linear_attention;
mod linear_attention_inputs;
mod matrix_columns;
pub(crate) mod selective_scan;

use std::ops::Range;

use inferno_backend::{Batch, StateSlot};

/// The rows of one sequence in a pass, and where its state is.
#[derive(Clone)]
struct SequenceRows {
    rows: Range<usize>,
    slot: StateSlot,
    /// Whether the sequence begins with these rows, so that there is no state yet.
    is_new: bool,
    /// The row after which the state is copied, and the slot that receives the copy.
    checkpoint: Option<(usize, StateSlot)>,
}

impl SequenceRows {
    fn new(batch: &Batch, sequence: usize) -> Self {
        let state = batch.states()[sequence].expect("recurrent layers need a state");
        let rows = batch.rows(sequence);
        let is_new = batch.positions()[rows.start] == 0;
        let checkpoint = state
            .checkpoint
            .map(|checkpoint| (rows.start + checkpoint.num_rows - 1, checkpoint.slot));
        Self { rows, slot: state.slot, is_new, checkpoint }
    }
}
