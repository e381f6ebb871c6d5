//! The operations of a [`GpuPass`].

use inferno_backend::{
    AttentionParams, BackendError, CandidateShape, ColumnBlocks, ConvParams, ConvWeights, CopySize,
    EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm, LinearAttentionParams,
    LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, Pass, QkNorm, QkvLayout, Rope,
    Rotation, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights,
};

use crate::backend::GpuBackend;
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::kv_cache::GpuKvCache;
use crate::memory::routing::GpuRouting;
use crate::memory::state::GpuState;
use crate::memory::table::GpuTable;
use crate::memory::weight::GpuWeight;
use crate::ops::linear::Epilogue;
use crate::ops::{
    attention, candidates, conv, copy, elementwise, experts, linear, linear_attention, norm, rope,
    rows, selective_scan, store_kv,
};
use crate::pass::GpuPass;

impl Pass<GpuBackend> for GpuPass<'_> {
    fn submit(mut self) -> Result<(), BackendError> {
        self.start()
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        self.start()
    }

    fn embed(
        &mut self,
        batch: &GpuBatch,
        index: EmbeddingIndex,
        table: &GpuTable,
        out: &mut GpuBuffer,
    ) {
        copy::embed(self, batch, index, table, out);
    }

    fn gather_logit_rows(&mut self, batch: &GpuBatch, x: &GpuBuffer, out: &mut GpuBuffer) {
        copy::gather_logit_rows(self, batch, x, out);
    }

    fn select_candidates(
        &mut self,
        rows: usize,
        shape: CandidateShape,
        logits: &GpuBuffer,
        out: &mut Option<GpuBuffer>,
    ) -> Result<(), BackendError> {
        candidates::select_candidates(self, rows, shape, logits, out)
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
        rows: usize,
        width: usize,
        factors: &GpuBuffer,
        x: &GpuBuffer,
        out: &mut GpuBuffer,
    ) {
        rows::add_combinations(self, rows, width, factors, x, out);
    }

    fn match_magnitude(&mut self, rows: usize, x: &GpuBuffer, minimum: f32, out: &mut GpuBuffer) {
        rows::match_magnitude(self, rows, x, minimum, out);
    }

    fn sparsify(&mut self, rows: usize, num_deviations: f32, x: &mut GpuBuffer) {
        rows::sparsify(self, rows, num_deviations, x);
    }

    fn copy_columns(
        &mut self,
        size: CopySize,
        x: (&GpuBuffer, ColumnBlocks),
        out: (&mut GpuBuffer, ColumnBlocks),
    ) {
        copy::copy_columns(self, size, (x.0.into(), x.1), out);
    }

    fn norm(&mut self, rows: usize, x: &GpuBuffer, norm: Norm<'_, GpuBuffer>, out: &mut GpuBuffer) {
        norm::norm(self, rows, x, norm, out);
    }

    fn linear<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, GpuBuffer>>,
        weight: &GpuWeight,
        bias: Option<&GpuBuffer>,
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        let epilogue = Epilogue { bias, gate: None, is_sum: false };
        linear::linear(self, rows, x.into(), weight, epilogue, out)
    }

    fn linear_add(
        &mut self,
        rows: usize,
        x: &GpuBuffer,
        weight: &GpuWeight,
        bias: Option<&GpuBuffer>,
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        let epilogue = Epilogue { bias, gate: None, is_sum: true };
        linear::linear(self, rows, x.into(), weight, epilogue, out)
    }

    fn linear_gated<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, GpuBuffer>>,
        gate_up: &GpuWeight,
        bias: Option<&GpuBuffer>,
        gate: Gate,
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        let epilogue = Epilogue { bias, gate: Some(gate), is_sum: false };
        linear::linear(self, rows, x.into(), gate_up, epilogue, out)
    }

    fn rope(
        &mut self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, GpuBuffer>>,
        rotation: Option<Rotation<'_, GpuBuffer>>,
        qkv: &mut GpuBuffer,
    ) {
        rope::rope(self, rows, layout, norm, rotation, qkv);
    }

    fn store_kv(
        &mut self,
        batch: &GpuBatch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &GpuBuffer,
        cache: &mut GpuKvCache,
    ) {
        store_kv::store_kv(self, batch, layer, layout, None, qkv, cache);
    }

    fn rope_and_store_kv(
        &mut self,
        rows: usize,
        batch: &GpuBatch,
        layout: &QkvLayout,
        rope: Rope<'_, GpuBuffer>,
        qkv: &mut GpuBuffer,
        (layer, cache): (usize, &mut GpuKvCache),
    ) {
        if store_kv::is_fusible(&rope) {
            store_kv::store_kv(self, batch, layer, layout, Some(rope), qkv, cache);
        } else {
            rope::rope(self, rows, layout, rope.0, rope.1, qkv);
            store_kv::store_kv(self, batch, layer, layout, None, qkv, cache);
        }
    }

    fn paged_attention(
        &mut self,
        batch: &GpuBatch,
        params: &AttentionParams<'_, GpuBuffer>,
        layout: &QkvLayout,
        qkv: &GpuBuffer,
        cache: &GpuKvCache,
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        attention::paged_attention(self, batch, params, layout, qkv, cache, out)
    }

    fn causal_conv(
        &mut self,
        batch: &GpuBatch,
        params: &ConvParams,
        weights: ConvWeights<'_, GpuBuffer>,
        x: &GpuBuffer,
        state: &mut GpuState,
        out: &mut GpuBuffer,
    ) {
        conv::causal_conv(self, batch, params, weights, x, state, out);
    }

    fn linear_attention(
        &mut self,
        batch: &GpuBatch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, GpuBuffer>,
        rows: LinearAttentionRows<'_, GpuBuffer>,
        state: &mut GpuState,
        out: &mut GpuBuffer,
    ) {
        linear_attention::linear_attention(self, batch, params, weights, rows, state, out);
    }

    fn selective_scan(
        &mut self,
        batch: &GpuBatch,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, GpuBuffer>,
        rows: SelectiveScanRows<'_, GpuBuffer>,
        state: &mut GpuState,
        out: &mut GpuBuffer,
    ) {
        selective_scan::selective_scan(self, batch, params, weights, rows, state, out);
    }

    fn gated_norm(&mut self, rows: usize, norm: GatedNorm<'_, GpuBuffer>, x: &mut GpuBuffer) {
        norm::gated_norm(self, rows, norm, x);
    }

    fn route_experts(
        &mut self,
        rows: usize,
        router_logits: &GpuBuffer,
        selection_bias: Option<&GpuBuffer>,
        params: &ExpertParams,
        routing: &mut GpuRouting,
    ) {
        experts::route_experts(self, rows, router_logits, selection_bias, params, routing);
    }

    fn repeat_rows(&mut self, rows: usize, times: usize, x: &GpuBuffer, out: &mut GpuBuffer) {
        copy::repeat_rows(self, rows, times, x, out);
    }

    fn weigh_expert_inputs(
        &mut self,
        rows: usize,
        x: &GpuBuffer,
        routing: &mut GpuRouting,
        out: &mut GpuBuffer,
    ) {
        experts::weigh_expert_inputs(self, rows, x, routing, out);
    }

    fn route_to_all(&mut self, rows: usize, routing: &mut GpuRouting) {
        experts::route_to_all(self, rows, routing);
    }

    fn expert_linear(
        &mut self,
        routing: &GpuRouting,
        x: &GpuBuffer,
        weight: &GpuWeight,
        bias: Option<&GpuBuffer>,
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        let input = (x, ExpertInput::PerSlot);
        experts::expert_linear(self, routing, input, weight, (bias, None), out)
    }

    fn expert_linear_gated(
        &mut self,
        routing: &GpuRouting,
        x: (&GpuBuffer, ExpertInput),
        gate_up: &GpuWeight,
        bias: Option<&GpuBuffer>,
        gate: Gate,
        out: &mut GpuBuffer,
    ) -> Result<(), BackendError> {
        experts::expert_linear(self, routing, x, gate_up, (bias, Some(gate)), out)
    }

    fn combine_experts(
        &mut self,
        rows: usize,
        routing: &GpuRouting,
        y: &GpuBuffer,
        accumulate: bool,
        out: &mut GpuBuffer,
    ) {
        experts::combine_experts(self, rows, routing, y, accumulate, out);
    }
}
