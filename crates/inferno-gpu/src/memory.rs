//! The memory of a GPU.

pub(crate) mod allocation;
pub(crate) mod batch;
pub(crate) mod buffer;
mod download;
pub(crate) mod kv_cache;
pub(crate) mod routing;
pub(crate) mod staging;
pub(crate) mod state;
pub(crate) mod table;
mod upload;
pub(crate) mod weight;

use std::ops::Range;

use inferno_backend::{
    BackendError, Batch, BlockId, DeviceMemory, ExpertParams, KvBlockPart, KvLayout, PassShape,
    StateLayout, StateSlot, WeightPart,
};
use inferno_tensor::DType;

use crate::backend::GpuBackend;
use crate::ops::{attention, candidates, linear};
use batch::GpuBatch;
use buffer::GpuBuffer;
use kv_cache::GpuKvCache;
use routing::GpuRouting;
use state::GpuState;
use table::GpuTable;
use weight::GpuWeight;

impl DeviceMemory for GpuBackend {
    type Buffer = GpuBuffer;
    type Weight = GpuWeight;
    type Table = GpuTable;
    type KvCache = GpuKvCache;
    type RecurrentState = GpuState;
    type DeviceBatch = GpuBatch;
    type Routing = GpuRouting;

    fn alloc(&self, rows: usize, cols: usize) -> Result<GpuBuffer, BackendError> {
        self.alloc_matrix(rows, cols)
    }

    fn alloc_logits(&self, rows: usize, vocab_size: usize) -> Result<GpuBuffer, BackendError> {
        self.alloc_tiled(rows, vocab_size)
    }

    fn upload(&self, values: &[f32], buffer: &mut GpuBuffer) {
        assert!(values.len() <= buffer.rows() * buffer.cols(), "more values than the buffer has");
        let written = self.write(&buffer.memory, 0, bytemuck::cast_slice(values));
        written.unwrap_or_else(|error| self.defer(error));
    }

    fn download<'a>(
        &self,
        buffer: &'a GpuBuffer,
        values: Range<usize>,
        staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        self.download_values(buffer, values, staging)
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<GpuWeight, BackendError> {
        self.pack_weight(parts)
    }

    fn weight_bytes(&self, dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        weight::packed_bytes(dtype, experts, rows, cols)
    }

    fn scratch_bytes(&self, pass: &PassShape) -> usize {
        let operations = [
            linear::scratch_bytes(pass, self.has_matrices()),
            attention::scratch_bytes(pass),
            candidates::scratch_bytes(pass),
        ];
        operations.into_iter().fold(0, usize::saturating_add)
    }

    fn load_table(&self, part: &WeightPart) -> Result<GpuTable, BackendError> {
        Ok(GpuTable { part: part.clone() })
    }

    fn alloc_batch(&self) -> GpuBatch {
        GpuBatch::default()
    }

    fn upload_batch(&self, batch: &Batch, device_batch: &mut GpuBatch) {
        self.write_batch(batch, device_batch);
    }

    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<GpuKvCache, BackendError> {
        self.new_kv_cache(layout)
    }

    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<GpuRouting, BackendError> {
        self.allocate_routing(rows, params)
    }

    fn read_routing(
        &self,
        routing: &GpuRouting,
        experts: &mut Vec<u32>,
    ) -> Result<(), BackendError> {
        self.check()?;
        experts.resize(routing.slots(), 0);
        self.read(&routing.memory, 0, bytemuck::cast_slice_mut(experts))
    }

    fn assign_kv_window(&self, batch: &Batch, cache: &mut GpuKvCache) -> Result<(), BackendError> {
        self.assign_windows(batch, cache)
    }

    fn release_kv_window(&self, cache: &mut GpuKvCache, block: BlockId) {
        self.release_window(cache, block);
    }

    fn move_kv_window(&self, cache: &mut GpuKvCache, from: BlockId, to: BlockId) {
        self.move_window(cache, from, to);
    }

    fn read_kv_block(
        &self,
        cache: &GpuKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        self.save_block(cache, block, part, bytes)
    }

    fn write_kv_block(
        &self,
        cache: &mut GpuKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.restore_block(cache, block, part, bytes)
    }

    fn alloc_state(&self, layout: &StateLayout) -> Result<GpuState, BackendError> {
        GpuState::new(self, layout)
    }

    fn copy_state(&self, state: &mut GpuState, from: StateSlot, to: StateSlot) {
        state.copy(self, from, to);
    }

    fn read_state(
        &self,
        state: &GpuState,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        state.read(self, slot, bytes)
    }

    fn write_state(
        &self,
        state: &mut GpuState,
        slot: StateSlot,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        state.write(self, slot, bytes)
    }
}
