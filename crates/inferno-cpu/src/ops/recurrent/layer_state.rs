//! The state of one layer, to which the tasks of an operation write in parallel.

// Hands out parts of the state that do not overlap.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{StateLayout, StateSlot};

use super::SequenceRows;
use crate::disjoint::Disjoint;
use crate::recurrent_state::{BLOCK_COLS, CpuState, block_start, layer_start};

pub(super) struct LayerState<'a> {
    values: Disjoint<'a, f32>,
    layout: StateLayout,
    layer: usize,
}

/// A block of columns of a matrix, row by row, in the state of a sequence.
pub(super) struct StateBlock<'a> {
    pub(super) values: &'a mut [f32],
    /// The same block in the checkpoint, and the row after which it is copied.
    pub(super) checkpoint: Option<(usize, &'a mut [f32])>,
}

impl<'a> LayerState<'a> {
    /// **Panics** if there is no such layer.
    pub(super) fn new(state: &'a mut CpuState, layer: usize) -> Self {
        let layout = state.layout;
        assert!(layer < layout.num_layers, "layer {layer} of {}", layout.num_layers);
        Self { values: Disjoint::new(state.values_mut()), layout, layer }
    }

    pub(super) fn layout(&self) -> &StateLayout {
        &self.layout
    }

    /// Some of the inputs that the convolution stores in a slot.
    ///
    /// # Safety
    ///
    /// While they live, no other part of the same slot with one of them may be created.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub(super) unsafe fn conv_inputs(&self, slot: StateSlot, range: Range<usize>) -> &mut [f32] {
        assert!(range.end <= self.layout.conv_values, "inputs beyond those of the layer");
        let start = layer_start(&self.layout, slot, self.layer);
        // SAFETY: layers and slots do not overlap; the caller guarantees the rest.
        unsafe { self.values.part(start + range.start..start + range.end) }
    }

    /// The block of columns of a matrix that begins with `first_col`.
    ///
    /// # Safety
    ///
    /// While it lives, the same block of the same sequence may not be created again.
    #[inline(always)]
    pub(super) unsafe fn block(
        &self,
        sequence: &SequenceRows,
        matrix: usize,
        first_col: usize,
    ) -> StateBlock<'_> {
        let StateLayout { conv_values, matrices, .. } = &self.layout;
        assert!(matrix < matrices.count, "matrix {matrix} of {}", matrices.count);
        assert!(first_col % BLOCK_COLS == 0 && first_col < matrices.cols, "no block of columns");
        let (offset, block_cols) = block_start(matrices, matrix, first_col);
        let range = |slot| {
            let start = layer_start(&self.layout, slot, self.layer) + conv_values + offset;
            start..start + matrices.rows * block_cols
        };
        // SAFETY: slots, layers, matrices and their blocks do not overlap. No slot occurs twice in a batch, neither in
        // two sequences nor as state and checkpoint of one; the caller guarantees the rest.
        unsafe {
            StateBlock {
                values: self.values.part(range(sequence.slot)),
                checkpoint: sequence
                    .checkpoint
                    .map(|(last_row, slot)| (last_row, self.values.part(range(slot)))),
            }
        }
    }
}
