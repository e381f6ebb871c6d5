//! The state of recurrent layers.
//!
//! Each layer has two buffers: the inputs of its convolution, and its matrices. Both hold one row per slot.

use inferno_backend::{BackendError, StateLayout, StateSlot};

use super::allocation::Allocation;
use crate::backend::GpuBackend;
use crate::ops::copy;
use crate::pass::GpuPass;

/// The state of recurrent layers.
#[derive(Debug)]
pub struct GpuState {
    layout: StateLayout,
    layers: Vec<StateLayer>,
}

/// The state of one layer.
#[derive(Debug)]
pub(crate) struct StateLayer {
    pub(crate) conv: Allocation,
    pub(crate) matrices: Allocation,
}

impl GpuState {
    /// **Errors**: [`BackendError::OutOfMemory`]; [`BackendError::BufferTooLarge`] if kernels could not bind all slots of a
    /// layer.
    pub(crate) fn new(backend: &GpuBackend, layout: &StateLayout) -> Result<Self, BackendError> {
        let allocate = |values: usize| {
            let bytes = values.saturating_mul(layout.num_slots).saturating_mul(size_of::<f32>());
            backend.allocate(bytes, "the recurrent state")
        };
        let layer = |_| {
            let conv = allocate(layout.conv_values)?;
            Ok(StateLayer { conv, matrices: allocate(layout.matrices.num_values())? })
        };
        let layers = (0..layout.num_layers).map(layer).collect::<Result<_, _>>()?;
        Ok(Self { layout: *layout, layers })
    }

    /// The state of layer `layer`.
    pub(crate) fn layer(&self, layer: usize) -> &StateLayer {
        &self.layers[layer]
    }

    /// Each buffer and the number of its values per slot, in the order of saved states.
    fn buffers(&self) -> impl Iterator<Item = (&Allocation, usize)> {
        let StateLayout { conv_values, matrices, .. } = self.layout;
        self.layers.iter().flat_map(move |layer| {
            [(&layer.conv, conv_values), (&layer.matrices, matrices.num_values())]
        })
    }

    /// Copies slot `from` to slot `to`. A failure is reported by the next pass.
    pub(crate) fn copy(&mut self, backend: &GpuBackend, from: StateSlot, to: StateSlot) {
        let mut pass = GpuPass::new(backend);
        for (memory, values) in self.buffers() {
            copy::copy_slot(&mut pass, memory, values, [from, to]);
        }
        if let Err(error) = pass.start() {
            backend.defer(error);
        }
    }

    /// Appends the contents of a slot: for each layer the inputs of the convolution, then the matrices.
    ///
    /// **Errors**: [`BackendError::Device`].
    pub(crate) fn read(
        &self,
        backend: &GpuBackend,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        backend.check()?;
        let first = bytes.len();
        bytes.resize(first + self.layout.slot_bytes(), 0);
        let sources = self.buffers().map(|(memory, values)| {
            let len = values * size_of::<f32>();
            (memory, (slot.0 as usize * len) as u64, len)
        });
        backend.read_all(sources, &mut bytes[first..])
    }

    /// Fills a slot with the result of [`read`](Self::read).
    ///
    /// **Errors**: [`BackendError::StateSize`], [`BackendError::OutOfMemory`], [`BackendError::DeviceLost`].
    pub(crate) fn write(
        &mut self,
        backend: &GpuBackend,
        slot: StateSlot,
        mut bytes: &[u8],
    ) -> Result<(), BackendError> {
        let expected = self.layout.slot_bytes();
        if bytes.len() != expected {
            return Err(BackendError::StateSize { expected, found: bytes.len() });
        }
        for (memory, values) in self.buffers() {
            let (part, rest) = bytes.split_at(values * size_of::<f32>());
            backend.write(memory, (slot.0 as usize * part.len()) as u64, part)?;
            bytes = rest;
        }
        backend.check()
    }
}
