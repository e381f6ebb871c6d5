//! The [`Backend`] of this crate: memory, and where each operation is found.

use std::sync::{Mutex, MutexGuard};

use inferno_backend::{
    AttentionParams, Backend, BackendError, Batch, BlockId, ExpertInput, ExpertParams, KvLayout,
    LinearInput, QkNorm, QkvLayout, RopePairing, WeightPart,
};
use inferno_tensor::DType;

use crate::isa::{Isa, Level};
use crate::kv_cache::CpuKvCache;
use crate::memory::{Arena, Lines};
use crate::ops;
use crate::ops::attention::{self, AttentionWorkspace};
use crate::ops::experts::{self, CpuRouting};
use crate::ops::gated::{GatedWorkspace, linear_gated};
use crate::ops::linear::{ProductInputs, Rows, linear};
use crate::ops::norm::{RmsNorm, rms_norm};
use crate::ops::product::Epilogue;
use crate::ops::rows::{self, CpuTable};
use crate::pack::{self, CpuWeight};
use crate::threads::{self, Pool};

/// How a [`CpuBackend`] is to be set up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuOptions {
    /// The instruction set; the fastest of this machine unless given.
    pub isa: Option<Isa>,
    /// Threads to compute with; one a processor that this process may use unless given.
    pub threads: Option<usize>,
}

/// Computes on the CPU.
///
/// Results have the same bits on every instruction set, with every number of threads, and in
/// whatever batch a row rides.
///
/// Threads may share a backend, and take turns: it has one pool and one workspace, which a product
/// or an attention holds from its start to its end, so another thread's operation waits for it. Who
/// wants computations side by side makes a backend for each, with a share of the processors.
pub struct CpuBackend {
    level: Level,
    pool: Pool,
    /// Where weights lie.
    weights: Arena,
    /// Where activations lie: a product of many rows writes to as many pages at a time as it has rows.
    activations: Arena,
    workspace: Mutex<Workspace>,
}

/// Memory that operations use and keep. It grows to what the largest batch needs, whatever the
/// length of its sequences.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) inputs: ProductInputs,
    pub(crate) gated: GatedWorkspace,
    pub(crate) attention: AttentionWorkspace,
}

impl CpuBackend {
    /// A backend with a pool of threads of its own.
    ///
    /// **Errors**: [`BackendError::Unavailable`] where the machine or this build lacks the
    /// instruction set, or the system refuses the threads.
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
        let pool = Pool::new(threads).map_err(|error| unavailable(error.to_string()))?;
        Ok(Self {
            level,
            pool,
            weights: Arena::default(),
            activations: Arena::default(),
            workspace: Mutex::default(),
        })
    }

    /// The instruction set that it computes with.
    pub fn isa(&self) -> Isa {
        self.level.isa()
    }

    /// The threads that it computes with.
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// Steps that several threads have taken part in, since the backend was made. Between two of them the
    /// threads wait for one another.
    pub fn num_parallel_steps(&self) -> usize {
        self.pool.num_steps()
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The memory of the operation that runs; another thread's operation waits for it.
    pub(crate) fn workspace(&self) -> MutexGuard<'_, Workspace> {
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
    ) {
        assert!(rows <= out.num_rows(), "{rows} rows into {}", out.num_rows());
        let epilogue = Epilogue { bias: bias.map(|bias| bias.rows(1)), accumulate };
        linear(self, Rows::Same(rows), x, weight, epilogue, out);
    }
}

impl std::fmt::Debug for CpuBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe())
    }
}

/// A row-major matrix of `f32` on the CPU.
#[derive(Debug)]
pub struct CpuBuffer {
    rows: usize,
    cols: usize,
    values: Lines,
}

impl CpuBuffer {
    fn zeroed(rows: usize, cols: usize, arena: &Arena) -> Result<Self, BackendError> {
        let bytes = rows.saturating_mul(cols).saturating_mul(size_of::<f32>());
        Ok(Self { rows, cols, values: arena.zeroed(bytes, "activations")? })
    }

    pub(crate) fn num_rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// The first `rows` rows.
    pub(crate) fn rows(&self, rows: usize) -> &[f32] {
        &self.values.get()[..rows * self.cols]
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        self.values.get_mut()
    }

    /// Calls `work(first_row, values)` for runs of the first `rows` rows, in parallel.
    pub(crate) fn split_rows(
        &mut self,
        pool: &Pool,
        rows: usize,
        work: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let cols = self.cols;
        let task_rows = ops::rows_a_task(cols);
        let values = &mut self.values_mut()[..rows * cols];
        pool.run_chunks(values, (task_rows * cols).max(1), |task, values, _| {
            work(task * task_rows, values);
        });
    }
}

impl Backend for CpuBackend {
    type Buffer = CpuBuffer;
    type Weight = CpuWeight;
    type Table = CpuTable;
    type KvCache = CpuKvCache;
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
        Ok(&buffer.values.get()[..len])
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<CpuWeight, BackendError> {
        CpuWeight::pack(parts, &self.pool, &self.weights)
    }

    fn weight_bytes(&self, dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        pack::weight_bytes(dtype, experts, rows, cols)
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

    fn read_kv_block(
        &self,
        cache: &CpuKvCache,
        block: BlockId,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        cache.read_block(block, bytes);
        Ok(())
    }

    fn write_kv_block(
        &self,
        cache: &mut CpuKvCache,
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        cache.write_block(block, bytes)
    }

    fn embed(&self, batch: &Batch, table: &CpuTable, out: &mut CpuBuffer) {
        rows::embed(self, batch, table, out);
    }

    fn gather_logit_rows(&self, batch: &Batch, x: &CpuBuffer, out: &mut CpuBuffer) {
        rows::gather(self, batch, x, out);
    }

    fn rms_norm(
        &self,
        rows: usize,
        x: &CpuBuffer,
        weight: &CpuBuffer,
        eps: f32,
        out: &mut CpuBuffer,
    ) {
        rms_norm(self, rows, x, RmsNorm { weight: weight.rows(1), eps }, out);
    }

    fn linear<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, CpuBuffer>>,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) {
        self.product(rows, x.into(), weight, bias, false, out);
    }

    fn linear_add(
        &self,
        rows: usize,
        x: &CpuBuffer,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) {
        self.product(rows, x.into(), weight, bias, true, out);
    }

    fn linear_gated<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, CpuBuffer>>,
        gate_up: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) {
        assert!(rows <= out.num_rows(), "{rows} rows into {}", out.num_rows());
        let bias = bias.map(|bias| bias.rows(1));
        linear_gated(self, Rows::Same(rows), x.into(), gate_up, bias, out);
    }

    fn rope(
        &self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, CpuBuffer>>,
        pairing: RopePairing,
        angles: &CpuBuffer,
        qkv: &mut CpuBuffer,
    ) {
        ops::rope::rope(self, rows, layout, norm, pairing, angles, qkv);
    }

    fn store_kv(
        &self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &CpuBuffer,
        cache: &mut CpuKvCache,
    ) {
        attention::store_kv(self, batch, layer, layout, qkv, cache);
    }

    fn paged_attention(
        &self,
        batch: &Batch,
        params: &AttentionParams,
        layout: &QkvLayout,
        qkv: &CpuBuffer,
        cache: &CpuKvCache,
        out: &mut CpuBuffer,
    ) {
        attention::paged_attention(self, batch, params, layout, qkv, cache, out);
    }

    fn route_experts(
        &self,
        rows: usize,
        router_logits: &CpuBuffer,
        params: &ExpertParams,
        routing: &mut CpuRouting,
    ) {
        routing.route(self, rows, router_logits, params);
    }

    fn expert_linear(
        &self,
        rows: usize,
        routing: &CpuRouting,
        input: ExpertInput,
        x: &CpuBuffer,
        weight: &CpuWeight,
        out: &mut CpuBuffer,
    ) {
        experts::expert_linear(self, rows, routing, input, x, weight, out);
    }

    fn expert_linear_gated(
        &self,
        rows: usize,
        routing: &CpuRouting,
        x: &CpuBuffer,
        gate_up: &CpuWeight,
        out: &mut CpuBuffer,
    ) {
        experts::expert_linear_gated(self, rows, routing, x, gate_up, out);
    }

    fn combine_experts(
        &self,
        rows: usize,
        routing: &CpuRouting,
        y: &CpuBuffer,
        out: &mut CpuBuffer,
    ) {
        experts::combine_experts(self, rows, routing, y, out);
    }
}
