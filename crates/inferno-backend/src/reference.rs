//! The naive backend: plain loops over `f32`, one row at a time, with sums in `f64`.
//!
//! It is meant to be correct and easy to read. Weights are expanded to `f32` when loaded, nothing is
//! quantized on the way, and every operation follows its definition. All other backends are tested
//! against it within a stated bound.

mod arithmetic;
mod attention;
mod experts;
mod memory;
mod product;
mod recurrent;
mod rope;
mod rows;

use std::borrow::Cow;

use inferno_tensor::Tensor;

use crate::{
    AttentionParams, Backend, BackendError, Batch, CandidateShape, ColumnBlocks, ConvParams,
    ConvWeights, CopySize, EmbeddingIndex, ExpertInput, ExpertParams, Function, Gate, GatedNorm,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm, Pass,
    QkNorm, QkvLayout, Rotation, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights,
    WeightPart,
};
use arithmetic::{add, evaluate, normalize, zeros};
use attention::ReferenceKvCache;
use experts::ReferenceRouting;
pub use product::ReferenceWeight;
use recurrent::ReferenceState;

/// The naive reference implementation of [`Backend`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReferenceBackend;

impl ReferenceBackend {
    /// Creates the reference backend, which has no settings.
    pub fn new() -> Self {
        Self
    }
}

/// Activations: rows x columns.
type Matrix = Tensor<f32>;

impl Backend for ReferenceBackend {
    type Pass<'a> = ReferencePass;

    fn describe(&self) -> String {
        "reference (naive loops, 1 thread)".to_owned()
    }

    fn begin(&self) -> ReferencePass {
        ReferencePass
    }
}

/// Operations that are executed at once.
#[derive(Debug)]
pub struct ReferencePass;

impl ReferencePass {
    /// The input rows of a product.
    fn input<'a>(&mut self, rows: usize, input: LinearInput<'a, Matrix>) -> Cow<'a, Matrix> {
        match input {
            LinearInput::Plain(x) => Cow::Borrowed(x),
            LinearInput::Normed { x, norm } => {
                let mut normed = x.clone();
                self.norm(rows, x, norm, &mut normed);
                Cow::Owned(normed)
            }
        }
    }
}

impl Pass<ReferenceBackend> for ReferencePass {
    fn submit(self) -> Result<(), BackendError> {
        Ok(())
    }

    fn embed(
        &mut self,
        batch: &Batch,
        index: EmbeddingIndex,
        table: &WeightPart,
        out: &mut Matrix,
    ) {
        for (row, &selected) in batch.table_rows(index).iter().enumerate() {
            table
                .decode_row(0, selected as usize, &mut out[[row]])
                .expect("the table's rows are as wide as `out`");
        }
    }

    fn gather_logit_rows(&mut self, batch: &Batch, x: &Matrix, out: &mut Matrix) {
        for (to, &from) in batch.logit_rows().iter().enumerate() {
            out[[to]].copy_from_slice(&x[[from]]);
        }
    }

    fn select_candidates(
        &mut self,
        rows: usize,
        shape: CandidateShape,
        logits: &Matrix,
        out: &mut Option<Matrix>,
    ) -> Result<(), BackendError> {
        let out = out.insert(zeros(&[rows, shape.row_len()], "candidates")?);
        (0..rows).for_each(|row| shape.select(&logits[[row]], &mut out[[row]]));
        Ok(())
    }

    fn apply(&mut self, rows: usize, function: Function, x: &mut Matrix) {
        for row in 0..rows {
            x[[row]].iter_mut().for_each(|x| *x = evaluate(function, *x));
        }
    }

    fn add_scaled(&mut self, rows: usize, x: &Matrix, factor: f32, out: &mut Matrix) {
        for row in 0..rows {
            out[[row]].iter_mut().zip(&x[[row]]).for_each(|(out, x)| *out += factor * x);
        }
    }

    fn gate(&mut self, rows: usize, function: Function, gate: &Matrix, out: &mut Matrix) {
        for row in 0..rows {
            let gates = rows::row_or_only(gate, row).iter().cycle();
            let pairs = out[[row]].iter_mut().zip(gates);
            pairs.for_each(|(out, &gate)| *out *= evaluate(function, gate));
        }
    }

    fn add_combinations(
        &mut self,
        rows: usize,
        width: usize,
        factors: &Matrix,
        x: &Matrix,
        out: &mut Matrix,
    ) {
        rows::add_combinations(rows, width, factors, x, out);
    }

    fn match_magnitude(&mut self, rows: usize, x: &Matrix, minimum: f32, out: &mut Matrix) {
        rows::match_magnitude(rows, x, minimum, out);
    }

    fn sparsify(&mut self, rows: usize, num_deviations: f32, x: &mut Matrix) {
        rows::sparsify(rows, num_deviations, x);
    }

    fn copy_columns(
        &mut self,
        CopySize { rows, blocks, width }: CopySize,
        (x, from): (&Matrix, ColumnBlocks),
        (out, to): (&mut Matrix, ColumnBlocks),
    ) {
        for (row, block) in (0..rows).flat_map(|row| (0..blocks).map(move |block| (row, block))) {
            let [from, to] = [from, to].map(|place| {
                let at = row * place.row_len + place.start + block * place.step;
                at..at + width
            });
            out.as_mut_slice()[to].copy_from_slice(&x.as_slice()[from]);
        }
    }

    fn norm(&mut self, rows: usize, x: &Matrix, norm: Norm<'_, Matrix>, out: &mut Matrix) {
        let Norm { kind, weight, bias, eps } = norm;
        for row in 0..rows {
            out[[row]].copy_from_slice(&x[[row]]);
            normalize(&mut out[[row]], kind, &weight[[0]], bias.map(|bias| &bias[[0]]), eps);
        }
    }

    fn linear<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, Matrix>>,
        weight: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        (0..rows).for_each(|row| out[[row]].fill(0.0));
        let x = self.input(rows, x.into());
        self.linear_add(rows, &x, weight, bias, out)
    }

    fn linear_add(
        &mut self,
        rows: usize,
        x: &Matrix,
        weight: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        for row in 0..rows {
            let out = &mut out[[row]];
            let mut term = vec![0.0; out.len()];
            weight.multiply(0, &x[[row]], &mut term);
            add(&term, out);
            if let Some(bias) = bias {
                add(&bias[[0]], out);
            }
        }
        Ok(())
    }

    fn linear_gated<'a>(
        &mut self,
        rows: usize,
        x: impl Into<LinearInput<'a, Matrix>>,
        gate_up: &ReferenceWeight,
        bias: Option<&Matrix>,
        gate: Gate,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        let x = self.input(rows, x.into());
        for row in 0..rows {
            let bias = bias.map(|bias| &bias[[0]]);
            gate_up.multiply_gated(0, &x[[row]], bias, gate, &mut out[[row]]);
        }
        Ok(())
    }

    fn rope(
        &mut self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, Matrix>>,
        rotation: Option<Rotation<'_, Matrix>>,
        qkv: &mut Matrix,
    ) {
        rope::rope(rows, layout, norm, rotation, qkv);
    }

    fn store_kv(
        &mut self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &Matrix,
        cache: &mut ReferenceKvCache,
    ) {
        cache.store(batch, layer, layout, qkv);
    }

    fn paged_attention(
        &mut self,
        batch: &Batch,
        params: &AttentionParams<'_, Matrix>,
        layout: &QkvLayout,
        qkv: &Matrix,
        cache: &ReferenceKvCache,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        attention::attend(batch, params, layout, qkv, cache, out);
        Ok(())
    }

    fn causal_conv(
        &mut self,
        batch: &Batch,
        params: &ConvParams,
        weights: ConvWeights<'_, Matrix>,
        x: &Matrix,
        state: &mut ReferenceState,
        out: &mut Matrix,
    ) {
        recurrent::causal_conv(batch, params, weights, x, state, out);
    }

    fn linear_attention(
        &mut self,
        batch: &Batch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, Matrix>,
        rows: LinearAttentionRows<'_, Matrix>,
        state: &mut ReferenceState,
        out: &mut Matrix,
    ) {
        recurrent::linear_attention(batch, params, weights, rows, state, out);
    }

    fn selective_scan(
        &mut self,
        batch: &Batch,
        params: &SelectiveScanParams,
        weights: SelectiveScanWeights<'_, Matrix>,
        rows: SelectiveScanRows<'_, Matrix>,
        state: &mut ReferenceState,
        out: &mut Matrix,
    ) {
        recurrent::selective_scan(batch, params, weights, rows, state, out);
    }

    fn gated_norm(&mut self, rows: usize, norm: GatedNorm<'_, Matrix>, x: &mut Matrix) {
        recurrent::gated_norm(rows, norm, x);
    }

    fn route_experts(
        &mut self,
        rows: usize,
        router_logits: &Matrix,
        selection_bias: Option<&Matrix>,
        params: &ExpertParams,
        routing: &mut ReferenceRouting,
    ) {
        routing.route(rows, router_logits, selection_bias, params);
    }

    fn repeat_rows(&mut self, rows: usize, times: usize, x: &Matrix, out: &mut Matrix) {
        for row in 0..rows * times {
            out[[row]].copy_from_slice(&x[[row / times]]);
        }
    }

    fn weigh_expert_inputs(
        &mut self,
        rows: usize,
        x: &Matrix,
        routing: &mut ReferenceRouting,
        out: &mut Matrix,
    ) {
        let used = routing.num_experts_used();
        for (slot, choice) in routing.slots().take(rows * used) {
            let inputs = x[[slot / used]].iter();
            out[[slot]].iter_mut().zip(inputs).for_each(|(out, x)| *out = choice.weight * x);
        }
        routing.reset_weights();
    }

    fn route_to_all(&mut self, rows: usize, routing: &mut ReferenceRouting) {
        routing.route_to_all(rows);
    }

    fn expert_linear(
        &mut self,
        routing: &ReferenceRouting,
        x: &Matrix,
        weight: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        for (slot, choice) in routing.slots() {
            weight.multiply(choice.expert, &x[[slot]], &mut out[[slot]]);
            if let Some(bias) = bias {
                add(&bias[[choice.expert]], &mut out[[slot]]);
            }
        }
        Ok(())
    }

    fn expert_linear_gated(
        &mut self,
        routing: &ReferenceRouting,
        (x, input): (&Matrix, ExpertInput),
        gate_up: &ReferenceWeight,
        bias: Option<&Matrix>,
        gate: Gate,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        for (slot, choice) in routing.slots() {
            let row = match input {
                ExpertInput::PerToken => slot / routing.num_experts_used(),
                ExpertInput::PerSlot => slot,
            };
            let bias = bias.map(|bias| &bias[[choice.expert]]);
            gate_up.multiply_gated(choice.expert, &x[[row]], bias, gate, &mut out[[slot]]);
        }
        Ok(())
    }

    fn combine_experts(
        &mut self,
        rows: usize,
        routing: &ReferenceRouting,
        y: &Matrix,
        accumulate: bool,
        out: &mut Matrix,
    ) {
        if !accumulate {
            (0..rows).for_each(|row| out[[row]].fill(0.0));
        }
        for (slot, choice) in routing.slots() {
            let token = slot / routing.num_experts_used();
            for (out, &y) in out[[token]].iter_mut().zip(&y[[slot]]) {
                *out += choice.weight * y;
            }
        }
    }
}
