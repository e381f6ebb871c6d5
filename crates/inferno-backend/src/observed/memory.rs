//! The memory of an observed backend: that of the backend, with the tensors of weights and the positions of batches.

use std::ops::Range;

use inferno_tensor::DType;

use super::{ObservedBackend, PassObserver, WeightTensor};
use crate::{
    Backend, BackendError, Batch, BlockId, DeviceMemory, ExpertParams, KvBlockPart, KvLayout,
    PassShape, StateLayout, StateSlot, WeightPart,
};

/// A weight of the backend `B`, and the tensors whose products are observed.
pub struct ObservedWeight<B: Backend> {
    pub(super) inner: B::Weight,
    /// All tensors.
    pub(super) parts: Vec<WeightTensor>,
    /// Empty if none of the weight's tensors are of interest, or if they are observed with another weight.
    pub(super) tensors: Vec<String>,
    pub(super) cols: usize,
}

/// A batch of the backend `B`.
pub struct ObservedBatch<B: Backend> {
    pub(super) inner: B::DeviceBatch,
    /// The positions of the tokens of each sequence.
    pub(super) sequences: Vec<Range<usize>>,
}

/// A routing of the backend `B`.
pub struct ObservedRouting<B: Backend> {
    pub(super) inner: B::Routing,
    pub(super) num_experts: usize,
    pub(super) num_experts_used: usize,
    /// Whether the tokens were routed to every expert.
    pub(super) is_to_all: bool,
}

impl<B: Backend, O: PassObserver> ObservedBackend<B, O> {
    fn tensor(&self, part: &WeightPart) -> WeightTensor {
        let (dtype, rows, cols) = (part.dtype(), part.rows(), part.cols());
        let matrix_bytes = self.inner.weight_bytes(dtype, 1, rows, cols);
        WeightTensor { name: part.name().to_owned(), dtype, rows, cols, matrix_bytes }
    }
}

impl<B: Backend, O: PassObserver> DeviceMemory for ObservedBackend<B, O> {
    type Buffer = B::Buffer;
    type Weight = ObservedWeight<B>;
    type Table = B::Table;
    type KvCache = B::KvCache;
    type RecurrentState = B::RecurrentState;
    type DeviceBatch = ObservedBatch<B>;
    type Routing = ObservedRouting<B>;

    fn alloc(&self, rows: usize, cols: usize) -> Result<Self::Buffer, BackendError> {
        self.inner.alloc(rows, cols)
    }

    fn alloc_logits(&self, rows: usize, vocab_size: usize) -> Result<Self::Buffer, BackendError> {
        self.inner.alloc_logits(rows, vocab_size)
    }

    fn upload(&self, values: &[f32], buffer: &mut Self::Buffer) {
        self.inner.upload(values, buffer);
    }

    fn download<'a>(
        &self,
        buffer: &'a Self::Buffer,
        values: Range<usize>,
        staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        self.inner.download(buffer, values, staging)
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<Self::Weight, BackendError> {
        let cols = parts.first().map_or(0, WeightPart::cols);
        let tensors = self.claim(parts.iter().map(WeightPart::name));
        let inner = self.inner.load_weight(parts)?;
        let parts = parts.iter().map(|part| self.tensor(part)).collect();
        Ok(ObservedWeight { inner, parts, tensors, cols })
    }

    fn weight_bytes(&self, dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        self.inner.weight_bytes(dtype, experts, rows, cols)
    }

    fn scratch_bytes(&self, pass: &PassShape) -> usize {
        self.inner.scratch_bytes(pass)
    }

    fn load_table(&self, part: &WeightPart) -> Result<Self::Table, BackendError> {
        self.inner.load_table(part)
    }

    fn alloc_batch(&self) -> Self::DeviceBatch {
        ObservedBatch { inner: self.inner.alloc_batch(), sequences: Vec::new() }
    }

    fn upload_batch(&self, batch: &Batch, device_batch: &mut Self::DeviceBatch) {
        self.inner.upload_batch(batch, &mut device_batch.inner);
        device_batch.sequences.clear();
        device_batch.sequences.extend(
            batch.context_lens().iter().enumerate().map(|(sequence, &context_len)| {
                context_len - batch.rows(sequence).len()..context_len
            }),
        );
    }

    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<Self::KvCache, BackendError> {
        self.inner.alloc_kv_cache(layout)
    }

    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<Self::Routing, BackendError> {
        let inner = self.inner.alloc_routing(rows, params)?;
        let ExpertParams { num_experts, num_experts_used, .. } = *params;
        Ok(ObservedRouting { inner, num_experts, num_experts_used, is_to_all: false })
    }

    fn read_routing(
        &self,
        routing: &Self::Routing,
        experts: &mut Vec<u32>,
    ) -> Result<(), BackendError> {
        self.inner.read_routing(&routing.inner, experts)
    }

    fn assign_kv_window(
        &self,
        batch: &Batch,
        cache: &mut Self::KvCache,
    ) -> Result<(), BackendError> {
        self.inner.assign_kv_window(batch, cache)
    }

    fn release_kv_window(&self, cache: &mut Self::KvCache, block: BlockId) {
        self.inner.release_kv_window(cache, block);
    }

    fn move_kv_window(&self, cache: &mut Self::KvCache, from: BlockId, to: BlockId) {
        self.inner.move_kv_window(cache, from, to);
    }

    fn read_kv_block(
        &self,
        cache: &Self::KvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        self.inner.read_kv_block(cache, block, part, bytes)
    }

    fn write_kv_block(
        &self,
        cache: &mut Self::KvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.inner.write_kv_block(cache, block, part, bytes)
    }

    fn alloc_state(&self, layout: &StateLayout) -> Result<Self::RecurrentState, BackendError> {
        self.inner.alloc_state(layout)
    }

    fn copy_state(&self, state: &mut Self::RecurrentState, from: StateSlot, to: StateSlot) {
        self.inner.copy_state(state, from, to);
    }

    fn read_state(
        &self,
        state: &Self::RecurrentState,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        self.inner.read_state(state, slot, bytes)
    }

    fn write_state(
        &self,
        state: &mut Self::RecurrentState,
        slot: StateSlot,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.inner.write_state(state, slot, bytes)
    }
}
