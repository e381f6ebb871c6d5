//! The state of recurrent layers.
//!
//! A slot holds, for each layer, the inputs of the convolution (`[taps - 1][channels]`), then for each head its
//! matrix in blocks of [`BLOCK_COLS`] columns (the last one may be narrower), each `[rows][columns]`: what one
//! task of a scan reads and writes is contiguous. Saved states have whole rows instead.

use std::ops::Range;

use inferno_backend::{BackendError, StateLayout, StateMatrices, StateSlot};

use crate::memory::AlignedArray;

/// Columns of a block of a matrix.
pub(crate) const BLOCK_COLS: usize = 32;

/// The recurrent state of [`CpuBackend`](crate::CpuBackend).
#[derive(Debug)]
pub struct CpuState {
    pub(crate) layout: StateLayout,
    values: AlignedArray,
}

impl CpuState {
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn new(layout: &StateLayout) -> Result<Self, BackendError> {
        let values = AlignedArray::zeroed(layout.total_bytes(), "the recurrent state")?;
        Ok(Self { layout: *layout, values })
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        self.values.get_mut()
    }

    /// Copies slot `from` to slot `to`.
    pub(crate) fn copy(&mut self, from: StateSlot, to: StateSlot) {
        let slot_values = self.layout.slot_values();
        let [from, to] = [from, to].map(|slot| layer_start(&self.layout, slot, 0));
        self.values_mut().copy_within(from..from + slot_values, to);
    }

    /// Appends the contents of a slot in the order of saved states.
    pub(crate) fn read(&self, slot: StateSlot, bytes: &mut Vec<u8>) {
        let start = layer_start(&self.layout, slot, 0);
        let values: &[f32] = &self.values.get()[start..];
        let values = saved_order(&self.layout).flat_map(|part| &values[part]);
        bytes.extend(values.flat_map(|value| value.to_le_bytes()));
    }

    /// Fills a slot with the result of [`read`](Self::read).
    ///
    /// **Errors**: [`BackendError::StateSize`].
    pub(crate) fn write(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), BackendError> {
        let expected = self.layout.slot_bytes();
        if bytes.len() != expected {
            return Err(BackendError::StateSize { expected, found: bytes.len() });
        }
        let layout = self.layout;
        let values = &mut self.values_mut()[layer_start(&layout, slot, 0)..];
        let places = saved_order(&layout).flatten();
        for (place, bytes) in places.zip(bytes.chunks_exact(size_of::<f32>())) {
            values[place] = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }
}

/// The first value of a layer in a slot: that of its convolution, whose inputs precede the matrices.
pub(crate) fn layer_start(layout: &StateLayout, slot: StateSlot, layer: usize) -> usize {
    slot.0 as usize * layout.slot_values() + layer * layout.layer_values()
}

/// The first value of a block of a matrix, relative to the first one of all matrices, and the number of its columns,
/// if `first_col` is the first of them.
pub(crate) fn block_start(
    matrices: &StateMatrices,
    matrix: usize,
    first_col: usize,
) -> (usize, usize) {
    let StateMatrices { rows, cols, .. } = *matrices;
    ((matrix * cols + first_col) * rows, BLOCK_COLS.min(cols - first_col))
}

/// The parts of a slot in the order of saved states.
fn saved_order(layout: &StateLayout) -> impl Iterator<Item = Range<usize>> + '_ {
    let StateLayout { num_layers, conv_values, matrices, .. } = layout;
    (0..*num_layers).flat_map(move |layer| {
        let conv_start = layer * layout.layer_values();
        let matrices_start = conv_start + conv_values;
        let rows =
            (0..matrices.count).flat_map(|matrix| (0..matrices.rows).map(move |row| (matrix, row)));
        let parts = rows.flat_map(move |(matrix, row)| {
            (0..matrices.cols).step_by(BLOCK_COLS).map(move |first_col| {
                let (block, block_cols) = block_start(matrices, matrix, first_col);
                let start = matrices_start + block + row * block_cols;
                start..start + block_cols
            })
        });
        std::iter::once(conv_start..matrices_start).chain(parts)
    })
}
