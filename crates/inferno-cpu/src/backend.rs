//! The [`Backend`] of this crate: its memory, and the dispatch to the operations.

use std::sync::{Mutex, MutexGuard};

use inferno_backend::{
    AttentionParams, Backend, BackendError, Batch, BlockId, ColumnBlocks, ConvParams, ConvWeights,
    CopySize, ExpertParams, Function, Gate, GatedNorm, KvBlockPart, KvLayout,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm,
    PassShape, QkNorm, QkvLayout, Rotation, StateLayout, StateSlot, WeightPart,
};
use inferno_tensor::DType;

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::isa::{Isa, Level};
use crate::kv_cache::CpuKvCache;
use crate::memory::Arena;
use crate::ops::attention::{self, AttentionWorkspace, QkvRows, paged_attention};
use crate::ops::elementwise;
use crate::ops::embedding::{self, CpuTable};
use crate::ops::experts;
use crate::ops::gated::{GATED_LINES, linear_gated};
use crate::ops::linear::linear;
use crate::ops::norm;
use crate::ops::product::Epilogue;
use crate::ops::product_rows::ProductRows;
use crate::ops::recurrent::{conv, gated_norm, linear_attention};
use crate::ops::rope::rope;
use crate::ops::routing::CpuRouting;
use crate::ops::workspace::{self, ProductWorkspace};
use crate::pack::{self, CpuWeight};
use crate::recurrent_state::CpuState;
use crate::threads::{self, ThreadPool};

/// Settings of a [`CpuBackend`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuOptions {
    /// The instruction set (default: the fastest of this machine).
    pub isa: Option<Isa>,
    /// Number of threads (default: one per processor that is available to this process).
    pub threads: Option<usize>,
}

/// Computes on the CPU.
///
/// Results have the same bits on every instruction set, with every number of threads, and in every batch.
///
/// A backend can be shared between threads, but products and attention run one at a time: they use the backend's
/// thread pool and scratch memory exclusively. To run computations in parallel, create one backend for each, with
/// a share of the processors.
pub struct CpuBackend {
    level: Level,
    pool: ThreadPool,
    /// Memory of weights.
    weights: Arena,
    /// Memory of activations: a product of many rows writes to as many pages at a time as it has rows.
    activations: Arena,
    workspace: Mutex<OperationMemory>,
}

/// Memory that operations keep between calls. It grows to what the largest batch needs, independently of the
/// lengths of its sequences.
#[derive(Debug)]
pub(crate) struct OperationMemory {
    product: ProductWorkspace,
    pub(crate) attention: AttentionWorkspace,
}

impl CpuBackend {
    /// Creates a backend with its own thread pool.
    ///
    /// **Errors**: [`BackendError::Unavailable`] if the machine or this build does not support the instruction
    /// set, or the threads cannot be started.
    pub fn new(options: CpuOptions) -> Result<Self, BackendError> {
        let level = Level::choose(options.isa)?;
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(available);
        let unavailable = |reason| BackendError::Unavailable {
            what: format!("a pool of {threads} threads"),
            reason,
        };
        if threads == 0 {
            return Err(unavailable("it needs at least one".to_owned()));
        }
        let pool = ThreadPool::new(threads).map_err(|error| unavailable(error.to_string()))?;
        let workspace = OperationMemory {
            product: ProductWorkspace::new(threads),
            attention: AttentionWorkspace::new(threads),
        };
        Ok(Self {
            level,
            pool,
            weights: Arena::default(),
            activations: Arena::default(),
            workspace: Mutex::new(workspace),
        })
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.level.isa()
    }

    /// Number of threads.
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// Number of steps that ran on several threads since the backend was created. The threads synchronize
    /// between two of them.
    pub fn num_parallel_steps(&self) -> usize {
        self.pool.num_steps()
    }

    /// Bytes of scratch memory that operations have allocated so far. They keep it for later calls.
    pub fn allocated_scratch_bytes(&self) -> usize {
        let workspace = self.workspace();
        workspace.product.num_bytes() + workspace.attention.num_bytes()
    }

    pub(crate) fn executor(&self) -> Executor<'_> {
        Executor { level: self.level, pool: &self.pool }
    }

    /// Locks the memory of operations.
    pub(crate) fn workspace(&self) -> MutexGuard<'_, OperationMemory> {
        threads::lock(&self.workspace)
    }

    fn product(
        &self,
        rows: usize,
        x: LinearInput<'_, CpuBuffer>,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        accumulate: bool,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        assert!(rows <= out.num_rows(), "{rows} rows into {}", out.num_rows());
        let epilogue = Epilogue { bias: bias.map(|bias| bias.rows(1)), accumulate };
        let (rows, workspace) = (ProductRows::Same(rows), &mut self.workspace().product);
        linear(self.executor(), workspace, rows, x, weight, epilogue, out)
    }
}

impl std::fmt::Debug for CpuBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Backend for CpuBackend {
    type Buffer = CpuBuffer;
    type Weight = CpuWeight;
    type Table = CpuTable;
    type KvCache = CpuKvCache;
    type RecurrentState = CpuState;
    type DeviceBatch = Batch;
    type Routing = CpuRouting;

    fn describe(&self) -> String {
        let threads = self.num_threads();
        format!("cpu ({}, {threads} thread{})", self.isa(), if threads == 1 { "" } else { "s" })
    }

    fn alloc(&self, rows: usize, cols: usize) -> Result<CpuBuffer, BackendError> {
        CpuBuffer::zeroed(rows, cols, &self.activations)
    }

    fn upload(&self, values: &[f32], buffer: &mut CpuBuffer) {
        buffer.values_mut()[..values.len()].copy_from_slice(values);
    }

    fn download<'a>(
        &self,
        buffer: &'a CpuBuffer,
        len: usize,
        _staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        Ok(&buffer.values()[..len])
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
            threads,
            pass.max_num_tokens,
            &pass.attention,
            pass.kv_dtype,
        );
        workspace::max_scratch_bytes(threads, GATED_LINES, &pass.products).saturating_add(attention)
    }

    fn load_table(&self, part: &WeightPart) -> Result<CpuTable, BackendError> {
        CpuTable::new(part)
    }

    fn alloc_batch(&self) -> Batch {
        Batch::default()
    }

    fn upload_batch(&self, batch: &Batch, device_batch: &mut Batch) {
        device_batch.clone_from(batch);
    }

    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<CpuKvCache, BackendError> {
        CpuKvCache::new(layout)
    }

    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<CpuRouting, BackendError> {
        CpuRouting::new(rows, params)
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

    fn embed(&self, batch: &Batch, table: &CpuTable, out: &mut CpuBuffer) {
        embedding::embed(self.executor(), batch, table, out);
    }

    fn gather_logit_rows(&self, batch: &Batch, x: &CpuBuffer, out: &mut CpuBuffer) {
        embedding::gather(self.executor(), batch, x, out);
    }

    fn apply(&self, rows: usize, function: Function, x: &mut CpuBuffer) {
        elementwise::apply(self.executor(), rows, function, x);
    }

    fn add_scaled(&self, rows: usize, x: &CpuBuffer, factor: f32, out: &mut CpuBuffer) {
        elementwise::add_scaled(self.executor(), rows, x, factor, out);
    }

    fn gate(&self, rows: usize, function: Function, gate: &CpuBuffer, out: &mut CpuBuffer) {
        elementwise::gate(self.executor(), rows, function, gate, out);
    }

    fn copy_columns(
        &self,
        size: CopySize,
        x: (&CpuBuffer, ColumnBlocks),
        out: (&mut CpuBuffer, ColumnBlocks),
    ) {
        elementwise::copy_columns(size, x, out);
    }

    fn norm(&self, rows: usize, x: &CpuBuffer, norm: Norm<'_, CpuBuffer>, out: &mut CpuBuffer) {
        norm::norm(self.executor(), rows, x, norm.into(), out);
    }

    fn linear<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, CpuBuffer>>,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        self.product(rows, x.into(), weight, bias, false, out)
    }

    fn linear_add(
        &self,
        rows: usize,
        x: &CpuBuffer,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        self.product(rows, x.into(), weight, bias, true, out)
    }

    fn linear_gated<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, CpuBuffer>>,
        gate_up: &CpuWeight,
        bias: Option<&CpuBuffer>,
        gate: Gate,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        assert!(rows <= out.num_rows(), "{rows} rows into {}", out.num_rows());
        let weight = (gate_up, bias.map(|bias| bias.rows(1)));
        let (rows, workspace) = (ProductRows::Same(rows), &mut self.workspace().product);
        linear_gated(self.executor(), workspace, rows, x.into(), weight, gate, out)
    }

    fn rope(
        &self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, CpuBuffer>>,
        rotation: Option<Rotation<'_, CpuBuffer>>,
        qkv: &mut CpuBuffer,
    ) {
        rope(self.executor(), rows, layout, norm, rotation, qkv);
    }

    fn store_kv(
        &self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &CpuBuffer,
        cache: &mut CpuKvCache,
    ) {
        attention::store_kv(self.executor(), batch, layer, layout, qkv, cache);
    }

    fn paged_attention(
        &self,
        batch: &Batch,
        params: &AttentionParams<'_, CpuBuffer>,
        layout: &QkvLayout,
        qkv: &CpuBuffer,
        cache: &CpuKvCache,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        let (qkv, workspace) = (QkvRows { layout, values: qkv }, &mut self.workspace().attention);
        paged_attention(self.executor(), workspace, batch, params, qkv, cache, out)
    }

    fn causal_conv(
        &self,
        batch: &Batch,
        params: &ConvParams,
        weights: ConvWeights<'_, CpuBuffer>,
        x: &CpuBuffer,
        state: &mut CpuState,
        out: &mut CpuBuffer,
    ) {
        conv::causal_conv(self.executor(), batch, params, weights, x, state, out);
    }

    fn linear_attention(
        &self,
        batch: &Batch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, CpuBuffer>,
        rows: LinearAttentionRows<'_, CpuBuffer>,
        state: &mut CpuState,
        out: &mut CpuBuffer,
    ) {
        let executor = self.executor();
        linear_attention::linear_attention(executor, batch, params, &weights, rows, state, out);
    }

    fn gated_norm(&self, rows: usize, norm: GatedNorm<'_, CpuBuffer>, x: &mut CpuBuffer) {
        gated_norm::gated_norm(self.executor(), rows, norm, x);
    }

    fn route_experts(
        &self,
        rows: usize,
        router_logits: &CpuBuffer,
        selection_bias: Option<&CpuBuffer>,
        params: &ExpertParams,
        routing: &mut CpuRouting,
    ) {
        routing.route(self.level, rows, router_logits, selection_bias, params);
    }

    fn repeat_rows(&self, rows: usize, times: usize, x: &CpuBuffer, out: &mut CpuBuffer) {
        embedding::repeat(self.executor(), rows, times, x, out);
    }

    fn scale_experts(&self, scales: &CpuBuffer, routing: &mut CpuRouting) {
        routing.scale(scales);
    }

    fn route_to_all(&self, rows: usize, routing: &mut CpuRouting) {
        routing.route_to_all(rows);
    }

    fn expert_linear(
        &self,
        routing: &CpuRouting,
        x: &CpuBuffer,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        let workspace = &mut self.workspace().product;
        experts::expert_linear(self.executor(), workspace, routing, x, (weight, bias), out)
    }

    fn expert_linear_gated(
        &self,
        routing: &CpuRouting,
        x: &CpuBuffer,
        gate_up: &CpuWeight,
        bias: Option<&CpuBuffer>,
        gate: Gate,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        let (executor, workspace) = (self.executor(), &mut self.workspace().product);
        experts::expert_linear_gated(executor, workspace, routing, x, (gate_up, bias), gate, out)
    }

    fn combine_experts(
        &self,
        rows: usize,
        routing: &CpuRouting,
        y: &CpuBuffer,
        accumulate: bool,
        out: &mut CpuBuffer,
    ) {
        experts::combine_experts(self.executor(), rows, routing, y, accumulate, out);
    }
}
