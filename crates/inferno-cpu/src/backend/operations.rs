//! The dispatch to the operations.

use std::sync::MutexGuard;

use inferno_backend::{
    AttentionParams, Backend, BackendError, Batch, CandidateShape, ColumnBlocks, ConvParams,
    ConvWeights, CopySize, EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, Pass,
    QkNorm, QkvLayout, Rope, Rotation, SelectiveScanParams, SelectiveScanRows,
    SelectiveScanWeights,
};

use super::{CpuBackend, OperationMemory};
use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::kv_cache::CpuKvCache;
use crate::ops::attention::{self, QkvRows, paged_attention};
use crate::ops::candidates;
use crate::ops::elementwise;
use crate::ops::embedding::{self, CpuTable};
use crate::ops::experts;
use crate::ops::gated::linear_gated;
use crate::ops::linear::linear;
use crate::ops::norm;
use crate::ops::product::Epilogue;
use crate::ops::product_rows::ProductRows;
use crate::ops::recurrent::{conv, gated_norm, linear_attention, selective_scan};
use crate::ops::rope::rope;
use crate::ops::routing::CpuRouting;
use crate::ops::row_statistics;
use crate::pack::CpuWeight;
use crate::recurrent_state::CpuState;

/// Operations that are executed at once, with the threads and the scratch memory of a [`CpuBackend`].
pub struct CpuPass<'a> {
    backend: &'a CpuBackend,
    memory: MutexGuard<'a, OperationMemory>,
}

impl<'a> CpuPass<'a> {
    fn executor(&self) -> Executor<'a> {
        self.backend.executor()
    }

    fn product(
        &mut self,
        rows: usize,
        x: LinearInput<'_, CpuBuffer>,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        accumulate: bool,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        assert!(rows <= out.num_rows(), "{rows} rows into {}", out.num_rows());
        let epilogue =
            Epilogue { bias: bias.map(|bias| bias.rows(1)), accumulate, ..Epilogue::default() };
        let (executor, workspace) = (self.executor(), &mut self.memory.product);
        let rows = ProductRows::Same(rows);
        linear(executor, workspace, rows, x, weight, epilogue, out)
    }
}

impl Backend for CpuBackend {
    type Pass<'a> = CpuPass<'a>;

    fn describe(&self) -> String {
        let threads = self.num_threads();
        format!("cpu ({}, {threads} thread{})", self.isa(), if threads == 1 { "" } else { "s" })
    }

    fn begin(&self) -> CpuPass<'_> {
        CpuPass { backend: self, memory: self.workspace() }
    }
}

impl Pass<CpuBackend> for CpuPass<'_> {
    fn submit(self) -> Result<(), BackendError> {
        Ok(())
    }

    fn embed(
        &mut self,
        batch: &Batch,
        index: EmbeddingIndex,
        table: &CpuTable,
        out: &mut CpuBuffer,
    ) {
        embedding::embed(self.executor(), batch, index, table, out);
    }

    fn gather_logit_rows(&mut self, batch: &Batch, x: &CpuBuffer, out: &mut CpuBuffer) {
        embedding::gather(self.executor(), batch, x, out);
    }

    fn select_candidates(
        &mut self,
        rows: usize,
        shape: CandidateShape,
        logits: &CpuBuffer,
        out: &mut Option<CpuBuffer>,
    ) -> Result<(), BackendError> {
        let (executor, arena) = (self.executor(), &self.backend.activations);
        let workspace = &mut self.memory.candidates;
        candidates::select_candidates(executor, workspace, arena, (rows, shape), logits, out)
    }

    fn apply(&mut self, rows: usize, function: Function, x: &mut CpuBuffer) {
        elementwise::apply(self.executor(), rows, function, x);
    }

    fn add_scaled(&mut self, rows: usize, x: &CpuBuffer, factor: f32, out: &mut CpuBuffer) {
        elementwise::add_scaled(self.executor(), rows, x, factor, out);
    }

    fn gate(&mut self, rows: usize, function: Function, gate: &CpuBuffer, out: &mut CpuBuffer) {
        elementwise::gate(self.executor(), rows, function, gate, out);
    }

    fn add_combinations(
        &mut self,
        rows: usize,
        width: usize,
        factors: &CpuBuffer,
        x: &CpuBuffer,
        out: &mut CpuBuffer,
    ) {
        elementwise::add_combinations(self.executor(), rows, width, factors, x, out);
    }

    fn match_magnitude(&mut self, rows: usize, x: &CpuBuffer, minimum: f32, out: &mut CpuBuffer) {
        row_statistics::match_magnitude(self.executor(), rows, x, minimum, out);
    }

    fn sparsify(&mut self, rows: usize, num_deviations: f32, x: &mut CpuBuffer) {
        row_statistics::sparsify(self.executor(), rows, num_deviations, x);
    }

    fn copy_columns(
        &mut self,
        size: CopySize,
        x: (&CpuBuffer, ColumnBlocks),
        out: (&mut CpuBuffer, ColumnBlocks),
    ) {
        elementwise::copy_columns(size, x, out);
    }

    fn norm(&mut self, rows: usize, x: &CpuBuffer, norm: Norm<'_, CpuBuffer>, out: &mut CpuBuffer) {
        norm::norm(self.executor(), rows, x, norm.into(), out);
    }

    fn linear<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, CpuBuffer>>,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        self.product(rows, x.into(), weight, bias, false, out)
    }

    fn linear_add(
        &mut self,
        rows: usize,
        x: &CpuBuffer,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        self.product(rows, x.into(), weight, bias, true, out)
    }

    fn linear_gated<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, CpuBuffer>>,
        gate_up: &CpuWeight,
        bias: Option<&CpuBuffer>,
        gate: Gate,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        assert!(rows <= out.num_rows(), "{rows} rows into {}", out.num_rows());
        let weight = (gate_up, bias.map(|bias| bias.rows(1)));
        let (executor, workspace) = (self.executor(), &mut self.memory.product);
        let rows = ProductRows::Same(rows);
        linear_gated(executor, workspace, rows, x.into(), weight, gate, out)
    }

    fn rope(
        &mut self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, CpuBuffer>>,
        rotation: Option<Rotation<'_, CpuBuffer>>,
        qkv: &mut CpuBuffer,
    ) {
        rope(self.executor(), rows, layout, (norm, rotation), qkv);
    }

    fn store_kv(
        &mut self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &CpuBuffer,
        cache: &mut CpuKvCache,
    ) {
        attention::store_kv(self.executor(), batch, layout, qkv, (layer, cache));
    }

    fn rope_and_store_kv(
        &mut self,
        rows: usize,
        batch: &Batch,
        layout: &QkvLayout,
        rope: Rope<'_, CpuBuffer>,
        qkv: &mut CpuBuffer,
        target: (usize, &mut CpuKvCache),
    ) {
        assert_eq!(rows, batch.num_tokens(), "one row per token");
        attention::rope_and_store_kv(self.executor(), batch, layout, rope, qkv, target);
    }

    fn paged_attention(
        &mut self,
        batch: &Batch,
        params: &AttentionParams<'_, CpuBuffer>,
        layout: &QkvLayout,
        qkv: &CpuBuffer,
        cache: &CpuKvCache,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        let (executor, workspace) = (self.executor(), &mut self.memory.attention);
        let qkv = QkvRows { layout, values: qkv };
        paged_attention(executor, workspace, batch, params, qkv, cache, out)
    }

    fn causal_conv(
        &mut self,
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
        &mut self,
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

    fn selective_scan(
        &mut self,
        batch: &Batch,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, CpuBuffer>,
        rows: SelectiveScanRows<'_, CpuBuffer>,
        state: &mut CpuState,
        out: &mut CpuBuffer,
    ) {
        let executor = self.executor();
        selective_scan::selective_scan(executor, batch, params, weights, rows, state, out);
    }

    fn gated_norm(&mut self, rows: usize, norm: GatedNorm<'_, CpuBuffer>, x: &mut CpuBuffer) {
        gated_norm::gated_norm(self.executor(), rows, norm, x);
    }

    fn route_experts(
        &mut self,
        rows: usize,
        router_logits: &CpuBuffer,
        selection_bias: Option<&CpuBuffer>,
        params: &ExpertParams,
        routing: &mut CpuRouting,
    ) {
        routing.route(self.backend.level, rows, router_logits, selection_bias, params);
    }

    fn repeat_rows(&mut self, rows: usize, times: usize, x: &CpuBuffer, out: &mut CpuBuffer) {
        embedding::repeat(self.executor(), rows, times, x, out);
    }

    fn weigh_expert_inputs(
        &mut self,
        rows: usize,
        x: &CpuBuffer,
        routing: &mut CpuRouting,
        out: &mut CpuBuffer,
    ) {
        experts::weigh_inputs(self.executor(), rows, x, routing, out);
    }

    fn route_to_all(&mut self, rows: usize, routing: &mut CpuRouting) {
        routing.route_to_all(rows);
    }

    fn expert_linear(
        &mut self,
        routing: &CpuRouting,
        x: &CpuBuffer,
        weight: &CpuWeight,
        bias: Option<&CpuBuffer>,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        let (executor, workspace) = (self.executor(), &mut self.memory.product);
        experts::expert_linear(executor, workspace, routing, x, (weight, bias), out)
    }

    fn expert_linear_gated(
        &mut self,
        routing: &CpuRouting,
        x: (&CpuBuffer, ExpertInput),
        gate_up: &CpuWeight,
        bias: Option<&CpuBuffer>,
        gate: Gate,
        out: &mut CpuBuffer,
    ) -> Result<(), BackendError> {
        let (executor, workspace) = (self.executor(), &mut self.memory.product);
        experts::expert_linear_gated(executor, workspace, routing, x, (gate_up, bias), gate, out)
    }

    fn combine_experts(
        &mut self,
        rows: usize,
        routing: &CpuRouting,
        y: &CpuBuffer,
        accumulate: bool,
        out: &mut CpuBuffer,
    ) {
        experts::combine_experts(self.executor(), rows, routing, y, accumulate, out);
    }
}
