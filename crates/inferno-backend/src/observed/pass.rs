//! The operations of an observed backend.

use std::mem;

use super::{
    AttentionOperation, ObservedBackend, ObservedBatch, ObservedMatrices, ObservedProduct,
    ObservedRouting, ObservedWeight, Operation, PassObserver, ProductOperation,
};
use crate::{
    AttentionParams, Backend, BackendError, CandidateShape, ColumnBlocks, ConvParams, ConvWeights,
    CopySize, EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, Pass,
    QkNorm, QkvLayout, Rope, Rotation, SelectiveScanParams, SelectiveScanRows,
    SelectiveScanWeights,
};

/// A pass of the backend `B` whose operations are observed.
pub struct ObservedPass<'a, B: Backend, O> {
    inner: B::Pass<'a>,
    backend: &'a ObservedBackend<B, O>,
    /// Memory for downloads.
    staging: Vec<f32>,
    /// Memory for the experts of the rows.
    experts: Vec<u32>,
}

impl<'a, B: Backend, O: PassObserver> ObservedPass<'a, B, O> {
    pub(super) fn new(backend: &'a ObservedBackend<B, O>) -> Self {
        let inner = backend.inner.begin();
        Self { inner, backend, staging: Vec::new(), experts: Vec::new() }
    }

    /// Issues an operation between two calls of the observer.
    fn issue<R>(
        &mut self,
        operation: Operation<'_>,
        issue: impl FnOnce(&mut B::Pass<'a>) -> R,
    ) -> R {
        if !O::OBSERVES_OPERATIONS {
            return issue(&mut self.inner);
        }
        self.backend.observer.begin();
        let result = issue(&mut self.inner);
        self.backend.observer.end(&operation);
        result
    }

    /// Issues a product of `rows` rows with the only matrix of `weight`.
    fn issue_product<R>(
        &mut self,
        rows: usize,
        weight: &ObservedWeight<B>,
        issue: impl FnOnce(&mut B::Pass<'a>) -> R,
    ) -> R {
        let product =
            ProductOperation { tensors: &weight.parts, num_products: rows, num_matrices: 1 };
        self.issue(Operation::Product(product), issue)
    }

    /// Issues a product with experts.
    ///
    /// **Errors**: those of `issue`; failures of the device.
    fn issue_experts(
        &mut self,
        routing: &ObservedRouting<B>,
        weight: &ObservedWeight<B>,
        issue: impl FnOnce(&mut B::Pass<'a>) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        if !O::OBSERVES_OPERATIONS {
            return issue(&mut self.inner);
        }
        self.inner.flush()?;
        self.backend.inner.read_routing(&routing.inner, &mut self.experts)?;
        let num_products = self.experts.len();
        self.experts.sort_unstable();
        self.experts.dedup();
        let num_matrices = self.experts.len();
        let product = ProductOperation { tensors: &weight.parts, num_products, num_matrices };
        self.issue(Operation::Product(product), issue)
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

impl<B: Backend, O: PassObserver> Pass<ObservedBackend<B, O>> for ObservedPass<'_, B, O> {
    fn submit(self) -> Result<(), BackendError> {
        self.inner.submit()
    }

    fn flush(&mut self) -> Result<(), BackendError> {
        self.inner.flush()
    }

    fn embed(
        &mut self,
        batch: &ObservedBatch<B>,
        index: EmbeddingIndex,
        table: &B::Table,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::Embedding, |pass| pass.embed(&batch.inner, index, table, out));
    }

    fn gather_logit_rows(&mut self, batch: &ObservedBatch<B>, x: &B::Buffer, out: &mut B::Buffer) {
        self.issue(Operation::Copy, |pass| pass.gather_logit_rows(&batch.inner, x, out));
    }

    fn select_candidates(
        &mut self,
        rows: usize,
        shape: CandidateShape,
        logits: &B::Buffer,
        out: &mut Option<B::Buffer>,
    ) -> Result<(), BackendError> {
        self.issue(Operation::SelectCandidates, |pass| {
            pass.select_candidates(rows, shape, logits, out)
        })
    }

    fn apply(&mut self, rows: usize, function: Function, x: &mut B::Buffer) {
        self.issue(Operation::Elementwise, |pass| pass.apply(rows, function, x));
    }

    fn add_scaled(&mut self, rows: usize, x: &B::Buffer, factor: f32, out: &mut B::Buffer) {
        self.issue(Operation::Elementwise, |pass| pass.add_scaled(rows, x, factor, out));
    }

    fn gate(&mut self, rows: usize, function: Function, gate: &B::Buffer, out: &mut B::Buffer) {
        self.issue(Operation::Elementwise, |pass| pass.gate(rows, function, gate, out));
    }

    fn add_combinations(
        &mut self,
        rows: usize,
        width: usize,
        factors: &B::Buffer,
        x: &B::Buffer,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::Elementwise, |pass| {
            pass.add_combinations(rows, width, factors, x, out)
        });
    }

    fn match_magnitude(&mut self, rows: usize, x: &B::Buffer, minimum: f32, out: &mut B::Buffer) {
        self.issue(Operation::Elementwise, |pass| pass.match_magnitude(rows, x, minimum, out));
    }

    fn sparsify(&mut self, rows: usize, num_deviations: f32, x: &mut B::Buffer) {
        self.issue(Operation::Elementwise, |pass| pass.sparsify(rows, num_deviations, x));
    }

    fn copy_columns(
        &mut self,
        size: CopySize,
        x: (&B::Buffer, ColumnBlocks),
        out: (&mut B::Buffer, ColumnBlocks),
    ) {
        self.issue(Operation::Copy, |pass| pass.copy_columns(size, x, out));
    }

    fn norm(&mut self, rows: usize, x: &B::Buffer, norm: Norm<'_, B::Buffer>, out: &mut B::Buffer) {
        self.issue(Operation::Norm, |pass| pass.norm(rows, x, norm, out));
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
        self.issue_product(rows, weight, |pass| pass.linear(rows, x, &weight.inner, bias, out))
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
        self.issue_product(rows, weight, |pass| pass.linear_add(rows, x, &weight.inner, bias, out))
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
        self.issue_product(rows, gate_up, |pass| {
            pass.linear_gated(rows, x, &gate_up.inner, bias, gate, out)
        })
    }

    fn rope(
        &mut self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, B::Buffer>>,
        rotation: Option<Rotation<'_, B::Buffer>>,
        qkv: &mut B::Buffer,
    ) {
        self.issue(Operation::Rope, |pass| pass.rope(rows, layout, norm, rotation, qkv));
    }

    fn store_kv(
        &mut self,
        batch: &ObservedBatch<B>,
        layer: usize,
        layout: &QkvLayout,
        qkv: &B::Buffer,
        cache: &mut B::KvCache,
    ) {
        self.issue(Operation::StoreKv, |pass| {
            pass.store_kv(&batch.inner, layer, layout, qkv, cache)
        });
    }

    fn rope_and_store_kv(
        &mut self,
        rows: usize,
        batch: &ObservedBatch<B>,
        layout: &QkvLayout,
        rope: Rope<'_, B::Buffer>,
        qkv: &mut B::Buffer,
        target: (usize, &mut B::KvCache),
    ) {
        self.issue(Operation::RopeAndStoreKv, |pass| {
            pass.rope_and_store_kv(rows, &batch.inner, layout, rope, qkv, target)
        });
    }

    fn paged_attention(
        &mut self,
        batch: &ObservedBatch<B>,
        params: &AttentionParams<'_, B::Buffer>,
        layout: &QkvLayout,
        qkv: &B::Buffer,
        cache: &B::KvCache,
        out: &mut B::Buffer,
    ) -> Result<(), BackendError> {
        let (mask, sequences) = (params.mask, &batch.sequences[..]);
        let attention = AttentionOperation { layout, mask, sequences };
        self.issue(Operation::Attention(attention), |pass| {
            pass.paged_attention(&batch.inner, params, layout, qkv, cache, out)
        })
    }

    fn causal_conv(
        &mut self,
        batch: &ObservedBatch<B>,
        params: &ConvParams,
        weights: ConvWeights<'_, B::Buffer>,
        x: &B::Buffer,
        state: &mut B::RecurrentState,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::Convolution, |pass| {
            pass.causal_conv(&batch.inner, params, weights, x, state, out)
        });
    }

    fn linear_attention(
        &mut self,
        batch: &ObservedBatch<B>,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, B::Buffer>,
        rows: LinearAttentionRows<'_, B::Buffer>,
        state: &mut B::RecurrentState,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::LinearAttention, |pass| {
            pass.linear_attention(&batch.inner, params, weights, rows, state, out)
        });
    }

    fn selective_scan(
        &mut self,
        batch: &ObservedBatch<B>,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, B::Buffer>,
        rows: SelectiveScanRows<'_, B::Buffer>,
        state: &mut B::RecurrentState,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::SelectiveScan, |pass| {
            pass.selective_scan(&batch.inner, params, weights, rows, state, out)
        });
    }

    fn gated_norm(&mut self, rows: usize, norm: GatedNorm<'_, B::Buffer>, x: &mut B::Buffer) {
        self.issue(Operation::Norm, |pass| pass.gated_norm(rows, norm, x));
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
        self.issue(Operation::RouteExperts, |pass| {
            pass.route_experts(rows, router_logits, selection_bias, params, &mut routing.inner)
        });
    }

    fn repeat_rows(&mut self, rows: usize, times: usize, x: &B::Buffer, out: &mut B::Buffer) {
        self.issue(Operation::Copy, |pass| pass.repeat_rows(rows, times, x, out));
    }

    fn weigh_expert_inputs(
        &mut self,
        rows: usize,
        x: &B::Buffer,
        routing: &mut ObservedRouting<B>,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::RouteExperts, |pass| {
            pass.weigh_expert_inputs(rows, x, &mut routing.inner, out)
        });
    }

    fn route_to_all(&mut self, rows: usize, routing: &mut ObservedRouting<B>) {
        routing.is_to_all = true;
        self.issue(Operation::RouteExperts, |pass| pass.route_to_all(rows, &mut routing.inner));
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
        self.issue_experts(routing, weight, |pass| {
            pass.expert_linear(&routing.inner, x, &weight.inner, bias, out)
        })
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
        self.issue_experts(routing, gate_up, |pass| {
            pass.expert_linear_gated(&routing.inner, x, &gate_up.inner, bias, gate, out)
        })
    }

    fn combine_experts(
        &mut self,
        rows: usize,
        routing: &ObservedRouting<B>,
        y: &B::Buffer,
        accumulate: bool,
        out: &mut B::Buffer,
    ) {
        self.issue(Operation::CombineExperts, |pass| {
            pass.combine_experts(rows, &routing.inner, y, accumulate, out)
        });
    }
}
