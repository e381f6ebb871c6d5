//! The state of recurrent layers.
//!
//! A slot holds, for each layer, the inputs of the convolution (`[taps - 1][channels]`), then for each head its
//! matrix in blocks of [`BLOCK_COLS`] columns (the last one may be narrower), each `[key_dim][columns]`: what one
//! task of the scan reads and writes is contiguous. A selective scan stores its states as `[state_size][channels]`
//! instead.

use inferno_backend::{BackendError, StateLayout, StateSlot};

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
        let [from, to] = [from, to].map(|slot| self.layout.layer_at(slot, 0));
        let slot_values = self.layout.slot_values();
        self.values_mut().copy_within(from..from + slot_values, to);
    }

    /// Appends the contents of a slot.
    pub(crate) fn read(&self, slot: StateSlot, bytes: &mut Vec<u8>) {
        let at = self.layout.layer_at(slot, 0);
        let values: &[f32] = &self.values.get()[at..at + self.layout.slot_values()];
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// Fills a slot with the result of [`read`](Self::read).
    ///
    /// **Errors**: [`BackendError::StateSize`].
    pub(crate) fn write(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), BackendError> {
        let expected = self.layout.slot_bytes();
        if bytes.len() != expected {
            return Err(BackendError::StateSize { expected, found: bytes.len() });
        }
        let at = self.layout.layer_at(slot, 0);
        let values = self.values_mut()[at..].iter_mut();
        for (value, bytes) in values.zip(bytes.chunks_exact(size_of::<f32>())) {
            *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }
}

/// Locations in the state.
pub(crate) trait StateOffsets {
    /// The first value of a layer in a slot: that of its convolution.
    fn layer_at(&self, slot: StateSlot, layer: usize) -> usize;
    /// The first value of a layer's matrices in a slot.
    fn matrices_at(&self, slot: StateSlot, layer: usize) -> usize;
}

impl StateOffsets for StateLayout {
    fn layer_at(&self, slot: StateSlot, layer: usize) -> usize {
        slot.0 as usize * self.slot_values() + layer * self.layer_values()
    }

    fn matrices_at(&self, slot: StateSlot, layer: usize) -> usize {
        self.layer_at(slot, layer) + self.conv_values
    }
}
