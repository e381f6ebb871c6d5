//! The memory of the CPU backend.

use std::ops::Range;

use inferno_backend::{
    BackendError, Batch, BlockId, DeviceMemory, ExpertParams, KvBlockPart, KvLayout, PassShape,
    StateLayout, StateSlot, WeightPart,
};
use inferno_tensor::DType;

use super::CpuBackend;
use crate::buffer::CpuBuffer;
use crate::kv_cache::CpuKvCache;
use crate::ops::attention;
use crate::ops::candidates;
use crate::ops::embedding::CpuTable;
use crate::ops::gated::GATED_LINES;
use crate::ops::routing::CpuRouting;
use crate::ops::workspace;
use crate::pack::{self, CpuWeight};
use crate::recurrent_state::CpuState;

impl DeviceMemory for CpuBackend {
    type Buffer = CpuBuffer;
    type Weight = CpuWeight;
    type Table = CpuTable;
    type KvCache = CpuKvCache;
    type RecurrentState = CpuState;
    type DeviceBatch = Batch;
    type Routing = CpuRouting;

    fn alloc(&self, rows: usize, cols: usize) -> Result<CpuBuffer, BackendError> {
        CpuBuffer::zeroed(rows, cols, &self.activations)
    }

    fn upload(&self, values: &[f32], buffer: &mut CpuBuffer) {
        buffer.values_mut()[..values.len()].copy_from_slice(values);
    }

    fn download<'a>(
        &self,
        buffer: &'a CpuBuffer,
        values: Range<usize>,
        _staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        Ok(&buffer.values()[values])
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<CpuWeight, BackendError> {
        CpuWeight::pack(parts, &self.pool, &self.weights)
    }

    fn weight_bytes(&self, dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        pack::weight_bytes(dtype, experts, rows, cols)
    }

    fn scratch_bytes(&self, pass: &PassShape) -> usize {
        let threads = self.num_threads();
        let attention = attention::max_scratch_bytes(
            self.level,
            threads,
            pass.max_num_tokens,
            &pass.attention,
            pass.kv_dtype,
        );
        let products =
            workspace::max_scratch_bytes(self.level, threads, GATED_LINES, &pass.products);
        products.saturating_add(attention).saturating_add(candidates::max_scratch_bytes(pass))
    }

    fn load_table(&self, part: &WeightPart) -> Result<CpuTable, BackendError> {
        Ok(CpuTable(part.clone()))
    }

    fn alloc_batch(&self) -> Batch {
        Batch::default()
    }

    fn upload_batch(&self, batch: &Batch, device_batch: &mut Batch) {
        device_batch.clone_from(batch);
    }

    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<CpuKvCache, BackendError> {
        let cache = CpuKvCache::new(layout)?;
        if self.populates_kv_cache {
            cache.populate();
        }
        Ok(cache)
    }

    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<CpuRouting, BackendError> {
        CpuRouting::new(rows, params)
    }

    fn read_routing(
        &self,
        routing: &CpuRouting,
        experts: &mut Vec<u32>,
    ) -> Result<(), BackendError> {
        experts.clear();
        experts.extend_from_slice(routing.experts());
        Ok(())
    }

    fn assign_kv_window(&self, batch: &Batch, cache: &mut CpuKvCache) -> Result<(), BackendError> {
        cache.windows.as_mut().map_or(Ok(()), |windows| windows.assign_all(batch))
    }

    fn release_kv_window(&self, cache: &mut CpuKvCache, block: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.release(block);
        }
    }

    fn move_kv_window(&self, cache: &mut CpuKvCache, from: BlockId, to: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.reassign(from, to);
        }
    }

    fn read_kv_block(
        &self,
        cache: &CpuKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        cache.read_block(block, part, bytes);
        Ok(())
    }

    fn write_kv_block(
        &self,
        cache: &mut CpuKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        cache.write_block(block, part, bytes)
    }

    fn alloc_state(&self, layout: &StateLayout) -> Result<CpuState, BackendError> {
        CpuState::new(layout)
    }

    fn copy_state(&self, state: &mut CpuState, from: StateSlot, to: StateSlot) {
        state.copy(from, to);
    }

    fn read_state(
        &self,
        state: &CpuState,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        state.read(slot, bytes);
        Ok(())
    }

    fn write_state(
        &self,
        state: &mut CpuState,
        slot: StateSlot,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        state.write(slot, bytes)
    }
}
