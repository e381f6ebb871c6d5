//! The memory of the reference backend, which is that of the host.

use std::ops::Range;

use inferno_tensor::DType;

use super::arithmetic::zeros;
use super::attention::ReferenceKvCache;
use super::experts::ReferenceRouting;
use super::product::ReferenceWeight;
use super::recurrent::ReferenceState;
use super::{Matrix, ReferenceBackend};
use crate::{
    BackendError, Batch, BlockId, DeviceMemory, ExpertParams, KvBlockPart, KvLayout, PassShape,
    StateLayout, StateSlot, WeightPart,
};

impl DeviceMemory for ReferenceBackend {
    type Buffer = Matrix;
    type Weight = ReferenceWeight;
    type Table = WeightPart;
    type KvCache = ReferenceKvCache;
    type RecurrentState = ReferenceState;
    type DeviceBatch = Batch;
    type Routing = ReferenceRouting;

    fn alloc(&self, rows: usize, cols: usize) -> Result<Matrix, BackendError> {
        zeros(&[rows, cols], "activations")
    }

    fn upload(&self, values: &[f32], buffer: &mut Matrix) {
        buffer.as_mut_slice()[..values.len()].copy_from_slice(values);
    }

    fn download<'a>(
        &self,
        buffer: &'a Matrix,
        values: Range<usize>,
        _staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        Ok(&buffer.as_slice()[values])
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<ReferenceWeight, BackendError> {
        ReferenceWeight::load(parts)
    }

    fn weight_bytes(&self, _dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        [rows, cols, size_of::<f32>()].into_iter().fold(experts, usize::saturating_mul)
    }

    fn scratch_bytes(&self, _pass: &PassShape) -> usize {
        0
    }

    fn load_table(&self, part: &WeightPart) -> Result<WeightPart, BackendError> {
        Ok(part.clone())
    }

    fn alloc_batch(&self) -> Batch {
        Batch::default()
    }

    fn upload_batch(&self, batch: &Batch, device_batch: &mut Batch) {
        device_batch.clone_from(batch);
    }

    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<ReferenceKvCache, BackendError> {
        ReferenceKvCache::new(layout)
    }

    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<ReferenceRouting, BackendError> {
        Ok(ReferenceRouting::new(rows, params))
    }

    fn read_routing(
        &self,
        routing: &ReferenceRouting,
        experts: &mut Vec<u32>,
    ) -> Result<(), BackendError> {
        experts.clear();
        experts.extend(routing.slots().map(|(_, choice)| choice.expert as u32));
        Ok(())
    }

    fn assign_kv_window(
        &self,
        batch: &Batch,
        cache: &mut ReferenceKvCache,
    ) -> Result<(), BackendError> {
        cache.windows.as_mut().map_or(Ok(()), |windows| windows.assign_all(batch))
    }

    fn release_kv_window(&self, cache: &mut ReferenceKvCache, block: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.release(block);
        }
    }

    fn move_kv_window(&self, cache: &mut ReferenceKvCache, from: BlockId, to: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.reassign(from, to);
        }
    }

    fn read_kv_block(
        &self,
        cache: &ReferenceKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        cache.read(block, part, bytes);
        Ok(())
    }

    fn write_kv_block(
        &self,
        cache: &mut ReferenceKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        cache.write(block, part, bytes)
    }

    fn alloc_state(&self, layout: &StateLayout) -> Result<ReferenceState, BackendError> {
        ReferenceState::new(layout)
    }

    fn copy_state(&self, state: &mut ReferenceState, from: StateSlot, to: StateSlot) {
        let values = state.slot(from).to_vec();
        state.slot_mut(to).copy_from_slice(&values);
    }

    fn read_state(
        &self,
        state: &ReferenceState,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        bytes.extend(state.slot(slot).iter().flat_map(|value| value.to_le_bytes()));
        Ok(())
    }

    fn write_state(
        &self,
        state: &mut ReferenceState,
        slot: StateSlot,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        let expected = state.slot_bytes();
        if bytes.len() != expected {
            return Err(BackendError::StateSize { expected, found: bytes.len() });
        }
        for (value, bytes) in state.slot_mut(slot).iter_mut().zip(bytes.chunks_exact(4)) {
            *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }
}
