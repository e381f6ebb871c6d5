//! The operations of an observed backend.

use std::mem;

use super::{
    ObservedBackend, ObservedMatrices, ObservedProduct, ObservedRouting, ObservedWeight,
    ProductObserver,
};
use crate::{
    AttentionParams, Backend, BackendError, CandidateShape, ColumnBlocks, ConvParams, ConvWeights,
    CopySize, EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, Pass,
    QkNorm, QkvLayout, Rope, Rotation, SelectiveScanParams, SelectiveScanRows,
    SelectiveScanWeights,
};

/// A pass of the backend `B` that downloads the inputs of products.
pub struct ObservedPass<'a, B: Backend, O> {
    inner: B::Pass<'a>,
    backend: &'a ObservedBackend<B, O>,
    /// Memory for downloads.
    staging: Vec<f32>,
    /// Memory for the experts of the rows.
    experts: Vec<u32>,
}

impl<'a, B: Backend, O: ProductObserver> ObservedPass<'a, B, O> {
    pub(super) fn new(backend: &'a ObservedBackend<B, O>) -> Self {
        let inner = backend.inner.begin();
        Self { inner, backend, staging: Vec::new(), experts: Vec::new() }
    }

    /// Shows the input of a product to the observer.
    ///
    /// **Errors**: out of memory, failures of the device.
    fn observe(
        &mut self,
        rows: usize,
        input: LinearInput<'_, B::Buffer>,
        weight: &ObservedWeight<B>,
        matrices: ObservedMatrices<'_>,
    ) -> Result<(), BackendError> {
        let ObservedWeight { ref tensors, cols, .. } = *weight;
        if tensors.is_empty() || rows == 0 {
            return Ok(());
        }
        let ObservedBackend { inner: backend, observer, .. } = self.backend;
        let normed;
        let x = match input {
            LinearInput::Plain(x) => x,
            LinearInput::Normed { x, norm } => {
                let mut out = backend.alloc(rows, cols)?;
                self.inner.norm(rows, x, norm, &mut out);
                normed = out;
                &normed
            }
        };
        self.inner.flush()?;
        let values = backend.download(x, 0..rows * cols, &mut self.staging)?;
        observer.observe(&ObservedProduct { tensors, cols, values, matrices });
        Ok(())
    }

    /// Shows the input of a product with experts to the observer.
    ///
    /// **Errors**: as [`observe`](Self::observe).
    fn observe_experts(
        &mut self,
        routing: &ObservedRouting<B>,
        (x, input): (&B::Buffer, ExpertInput),
        weight: &ObservedWeight<B>,
    ) -> Result<(), BackendError> {
        if weight.tensors.is_empty() {
            return Ok(());
        }
        let ObservedRouting { ref inner, num_experts: count, num_experts_used, is_to_all } =
            *routing;
        let mut chosen = mem::take(&mut self.experts);
        self.inner.flush()?;
        self.backend.inner.read_routing(inner, &mut chosen)?;
        let choices_per_row = match input {
            ExpertInput::PerToken => num_experts_used,
            ExpertInput::PerSlot => 1,
        };
        let matrices = match (is_to_all, input) {
            (true, ExpertInput::PerSlot) => ObservedMatrices::Each { count },
            _ => ObservedMatrices::Experts { count, chosen: &chosen, choices_per_row },
        };
        self.observe(chosen.len() / choices_per_row, x.into(), weight, matrices)?;
        self.experts = chosen;
        Ok(())
    }
}

impl<B: Backend, O: ProductObserver> Pass<ObservedBackend<B, O>> for ObservedPass<'_, B, O> {
    fn submit(self) -> Result<(), BackendError> {
        self.inner.submit()
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        self.inner.flush()
    }

    fn embed(
        &mut self,
        batch: &B::DeviceBatch,
        index: EmbeddingIndex,
        table: &B::Table,
        out: &mut B::Buffer,
    ) {
        self.inner.embed(batch, index, table, out);
    }

    fn gather_logit_rows(&mut self, batch: &B::DeviceBatch, x: &B::Buffer, out: &mut B::Buffer) {
        self.inner.gather_logit_rows(batch, x, out);
    }

    fn select_candidates(
        &mut self,
        rows: usize,
        shape: CandidateShape,
        logits: &B::Buffer,
        out: &mut Option<B::Buffer>,
    ) -> Result<(), BackendError> {
        self.inner.select_candidates(rows, shape, logits, out)
    }

    fn apply(&mut self, rows: usize, function: Function, x: &mut B::Buffer) {
        self.inner.apply(rows, function, x);
    }

    fn add_scaled(&mut self, rows: usize, x: &B::Buffer, factor: f32, out: &mut B::Buffer) {
        self.inner.add_scaled(rows, x, factor, out);
    }

    fn gate(&mut self, rows: usize, function: Function, gate: &B::Buffer, out: &mut B::Buffer) {
        self.inner.gate(rows, function, gate, out);
    }

    fn add_combinations(
        &mut self,
        rows: usize,
        width: usize,
        factors: &B::Buffer,
        x: &B::Buffer,
        out: &mut B::Buffer,
    ) {
        self.inner.add_combinations(rows, width, factors, x, out);
    }

    fn match_magnitude(&mut self, rows: usize, x: &B::Buffer, minimum: f32, out: &mut B::Buffer) {
        self.inner.match_magnitude(rows, x, minimum, out);
    }

    fn sparsify(&mut self, rows: usize, num_deviations: f32, x: &mut B::Buffer) {
        self.inner.sparsify(rows, num_deviations, x);
    }

    fn copy_columns(
        &mut self,
        size: CopySize,
        x: (&B::Buffer, ColumnBlocks),
        out: (&mut B::Buffer, ColumnBlocks),
    ) {
        self.inner.copy_columns(size, x, out);
    }

    fn norm(&mut self, rows: usize, x: &B::Buffer, norm: Norm<'_, B::Buffer>, out: &mut B::Buffer) {
        self.inner.norm(rows, x, norm, out);
    }

    fn linear<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, B::Buffer>>,
        weight: &ObservedWeight<B>,
        bias: Option<&B::Buffer>,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        let x = x.into();
        self.observe(rows, x, weight, ObservedMatrices::One)?;
        self.inner.linear(rows, x, &weight.inner, bias, out)
    }

    fn linear_add(
        &mut self,
        rows: usize,
        x: &B::Buffer,
        weight: &ObservedWeight<B>,
        bias: Option<&B::Buffer>,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        self.observe(rows, x.into(), weight, ObservedMatrices::One)?;
        self.inner.linear_add(rows, x, &weight.inner, bias, out)
    }

    fn linear_gated<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, B::Buffer>>,
        gate_up: &ObservedWeight<B>,
        bias: Option<&B::Buffer>,
        gate: Gate,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        let x = x.into();
        self.observe(rows, x, gate_up, ObservedMatrices::One)?;
        self.inner.linear_gated(rows, x, &gate_up.inner, bias, gate, out)
    }

    fn rope(
        &mut self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, B::Buffer>>,
        rotation: Option<Rotation<'_, B::Buffer>>,
        qkv: &mut B::Buffer,
    ) {
        self.inner.rope(rows, layout, norm, rotation, qkv);
    }

    fn store_kv(
        &mut self,
        batch: &B::DeviceBatch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &B::Buffer,
        cache: &mut B::KvCache,
    ) {
        self.inner.store_kv(batch, layer, layout, qkv, cache);
    }

    fn rope_and_store_kv(
        &mut self,
        rows: usize,
        batch: &B::DeviceBatch,
        layout: &QkvLayout,
        rope: Rope<'_, B::Buffer>,
        qkv: &mut B::Buffer,
        target: (usize, &mut B::KvCache),
    ) {
        self.inner.rope_and_store_kv(rows, batch, layout, rope, qkv, target);
    }

    fn paged_attention(
        &mut self,
        batch: &B::DeviceBatch,
        params: &AttentionParams<'_, B::Buffer>,
        layout: &QkvLayout,
        qkv: &B::Buffer,
        cache: &B::KvCache,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        self.inner.paged_attention(batch, params, layout, qkv, cache, out)
    }

    fn causal_conv(
        &mut self,
        batch: &B::DeviceBatch,
        params: &ConvParams,
        weights: ConvWeights<'_, B::Buffer>,
        x: &B::Buffer,
        state: &mut B::RecurrentState,
        out: &mut B::Buffer,
    ) {
        self.inner.causal_conv(batch, params, weights, x, state, out);
    }

    fn linear_attention(
        &mut self,
        batch: &B::DeviceBatch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, B::Buffer>,
        rows: LinearAttentionRows<'_, B::Buffer>,
        state: &mut B::RecurrentState,
        out: &mut B::Buffer,
    ) {
        self.inner.linear_attention(batch, params, weights, rows, state, out);
    }

    fn selective_scan(
        &mut self,
        batch: &B::DeviceBatch,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, B::Buffer>,
        rows: SelectiveScanRows<'_, B::Buffer>,
        state: &mut B::RecurrentState,
        out: &mut B::Buffer,
    ) {
        self.inner.selective_scan(batch, params, weights, rows, state, out);
    }

    fn gated_norm(&mut self, rows: usize, norm: GatedNorm<'_, B::Buffer>, x: &mut B::Buffer) {
        self.inner.gated_norm(rows, norm, x);
    }

    fn route_experts(
        &mut self,
        rows: usize,
        router_logits: &B::Buffer,
        selection_bias: Option<&B::Buffer>,
        params: &ExpertParams,
        routing: &mut ObservedRouting<B>,
    ) {
        routing.is_to_all = false;
        self.inner.route_experts(rows, router_logits, selection_bias, params, &mut routing.inner);
    }

    fn repeat_rows(&mut self, rows: usize, times: usize, x: &B::Buffer, out: &mut B::Buffer) {
        self.inner.repeat_rows(rows, times, x, out);
    }

    fn weigh_expert_inputs(
        &mut self,
        rows: usize,
        x: &B::Buffer,
        routing: &mut ObservedRouting<B>,
        out: &mut B::Buffer,
    ) {
        self.inner.weigh_expert_inputs(rows, x, &mut routing.inner, out);
    }

    fn route_to_all(&mut self, rows: usize, routing: &mut ObservedRouting<B>) {
        routing.is_to_all = true;
        self.inner.route_to_all(rows, &mut routing.inner);
    }

    fn expert_linear(
        &mut self,
        routing: &ObservedRouting<B>,
        x: &B::Buffer,
        weight: &ObservedWeight<B>,
        bias: Option<&B::Buffer>,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        self.observe_experts(routing, (x, ExpertInput::PerSlot), weight)?;
        self.inner.expert_linear(&routing.inner, x, &weight.inner, bias, out)
    }

    fn expert_linear_gated(
        &mut self,
        routing: &ObservedRouting<B>,
        x: (&B::Buffer, ExpertInput),
        gate_up: &ObservedWeight<B>,
        bias: Option<&B::Buffer>,
        gate: Gate,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        self.observe_experts(routing, x, gate_up)?;
        self.inner.expert_linear_gated(&routing.inner, x, &gate_up.inner, bias, gate, out)
    }

    fn combine_experts(
        &mut self,
        rows: usize,
        routing: &ObservedRouting<B>,
        y: &B::Buffer,
        accumulate: bool,
        out: &mut B::Buffer,
    ) {
        self.inner.combine_experts(rows, &routing.inner, y, accumulate, out);
    }
}
