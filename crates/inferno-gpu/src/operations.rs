//! The operations of a [`GpuPass`].

use inferno_backend::{
    AttentionParams, BackendError, ColumnBlocks, ConvParams, ConvWeights, CopySize, EmbeddingIndex,
    ExpertInput, ExpertParams, Function, Gate, GatedNorm, LinearAttentionParams,
    LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, Pass, QkNorm, QkvLayout,
    Rotation, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights,
};

use crate::backend::GpuBackend;
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::kv_cache::GpuKvCache;
use crate::memory::missing;
use crate::memory::routing::GpuRouting;
use crate::memory::state::GpuState;
use crate::memory::table::GpuTable;
use crate::memory::weight::GpuWeight;
use crate::ops::{elementwise, norm};
use crate::pass::GpuPass;

impl Pass<GpuBackend> for GpuPass<'_> {
    fn submit(self) -> Result<(), BackendError> {
        self.start()
    }

    fn embed(
        &mut self,
        _batch: &GpuBatch,
        _index: EmbeddingIndex,
        _table: &GpuTable,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("embed"));
    }

    fn gather_logit_rows(&mut self, _batch: &GpuBatch, _x: &GpuBuffer, _out: &mut GpuBuffer) {
        self.fail(missing("gather_logit_rows"));
    }

    fn apply(&mut self, rows: usize, function: Function, x: &mut GpuBuffer) {
        elementwise::apply(self, rows, function, x);
    }

    fn add_scaled(&mut self, rows: usize, x: &GpuBuffer, factor: f32, out: &mut GpuBuffer) {
        elementwise::add_scaled(self, rows, x, factor, out);
    }

    fn gate(&mut self, rows: usize, function: Function, gate: &GpuBuffer, out: &mut GpuBuffer) {
        elementwise::gate(self, rows, function, gate, out);
    }

    fn add_combinations(
        &mut self,
        _rows: usize,
        _width: usize,
        _factors: &GpuBuffer,
        _x: &GpuBuffer,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("add_combinations"));
    }

    fn match_magnitude(
        &mut self,
        _rows: usize,
        _x: &GpuBuffer,
        _minimum: f32,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("match_magnitude"));
    }

    fn sparsify(&mut self, _rows: usize, _num_deviations: f32, _x: &mut GpuBuffer) {
        self.fail(missing("sparsify"));
    }

    fn copy_columns(
        &mut self,
        _size: CopySize,
        _x: (&GpuBuffer, ColumnBlocks),
        _out: (&mut GpuBuffer, ColumnBlocks),
    ) {
        self.fail(missing("copy_columns"));
    }

    fn norm(&mut self, rows: usize, x: &GpuBuffer, norm: Norm<'_, GpuBuffer>, out: &mut GpuBuffer) {
        norm::norm(self, rows, x, norm, out);
    }

    fn linear<'a>(
        &mut self,
        _rows: usize,
        _x: impl Into<LinearInput<'a, GpuBuffer>>,
        _weight: &GpuWeight,
        _bias: Option<&GpuBuffer>,
        _out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        Err(missing("linear"))
    }

    fn linear_add(
        &mut self,
        _rows: usize,
        _x: &GpuBuffer,
        _weight: &GpuWeight,
        _bias: Option<&GpuBuffer>,
        _out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        Err(missing("linear_add"))
    }

    fn linear_gated<'a>(
        &mut self,
        _rows: usize,
        _x: impl Into<LinearInput<'a, GpuBuffer>>,
        _gate_up: &GpuWeight,
        _bias: Option<&GpuBuffer>,
        _gate: Gate,
        _out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        Err(missing("linear_gated"))
    }

    fn rope(
        &mut self,
        _rows: usize,
        _layout: &QkvLayout,
        _norm: Option<QkNorm<'_, GpuBuffer>>,
        _rotation: Option<Rotation<'_, GpuBuffer>>,
        _qkv: &mut GpuBuffer,
    ) {
        self.fail(missing("rope"));
    }

    fn store_kv(
        &mut self,
        _batch: &GpuBatch,
        _layer: usize,
        _layout: &QkvLayout,
        _qkv: &GpuBuffer,
        _cache: &mut GpuKvCache,
    ) {
        self.fail(missing("store_kv"));
    }

    fn paged_attention(
        &mut self,
        _batch: &GpuBatch,
        _params: &AttentionParams<'_, GpuBuffer>,
        _layout: &QkvLayout,
        _qkv: &GpuBuffer,
        _cache: &GpuKvCache,
        _out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        Err(missing("paged_attention"))
    }

    fn causal_conv(
        &mut self,
        _batch: &GpuBatch,
        _params: &ConvParams,
        _weights: ConvWeights<'_, GpuBuffer>,
        _x: &GpuBuffer,
        _state: &mut GpuState,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("causal_conv"));
    }

    fn linear_attention(
        &mut self,
        _batch: &GpuBatch,
        _params: &LinearAttentionParams,
        _weights: LinearAttentionWeights<'_, GpuBuffer>,
        _rows: LinearAttentionRows<'_, GpuBuffer>,
        _state: &mut GpuState,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("linear_attention"));
    }

    fn selective_scan(
        &mut self,
        _batch: &GpuBatch,
        _params: &SelectiveScanParams,
        _weights: SelectiveScanWeights<'_, GpuBuffer>,
        _rows: SelectiveScanRows<'_, GpuBuffer>,
        _state: &mut GpuState,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("selective_scan"));
    }

    fn gated_norm(&mut self, _rows: usize, _norm: GatedNorm<'_, GpuBuffer>, _x: &mut GpuBuffer) {
        self.fail(missing("gated_norm"));
    }

    fn route_experts(
        &mut self,
        _rows: usize,
        _router_logits: &GpuBuffer,
        _selection_bias: Option<&GpuBuffer>,
        _params: &ExpertParams,
        _routing: &mut GpuRouting,
    ) {
        self.fail(missing("route_experts"));
    }

    fn repeat_rows(&mut self, _rows: usize, _times: usize, _x: &GpuBuffer, _out: &mut GpuBuffer) {
        self.fail(missing("repeat_rows"));
    }

    fn weigh_expert_inputs(
        &mut self,
        _rows: usize,
        _x: &GpuBuffer,
        _routing: &mut GpuRouting,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("weigh_expert_inputs"));
    }

    fn route_to_all(&mut self, _rows: usize, _routing: &mut GpuRouting) {
        self.fail(missing("route_to_all"));
    }

    fn expert_linear(
        &mut self,
        _routing: &GpuRouting,
        _x: &GpuBuffer,
        _weight: &GpuWeight,
        _bias: Option<&GpuBuffer>,
        _out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        Err(missing("expert_linear"))
    }

    fn expert_linear_gated(
        &mut self,
        _routing: &GpuRouting,
        _x: (&GpuBuffer, ExpertInput),
        _gate_up: &GpuWeight,
        _bias: Option<&GpuBuffer>,
        _gate: Gate,
        _out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        Err(missing("expert_linear_gated"))
    }

    fn combine_experts(
        &mut self,
        _rows: usize,
        _routing: &GpuRouting,
        _y: &GpuBuffer,
        _accumulate: bool,
        _out: &mut GpuBuffer,
    ) {
        self.fail(missing("combine_experts"));
    }
}
