//! The naive backend: plain loops over `f32`, one row at a time, with sums in `f64`.
//!
//! It is meant to be correct and easy to read. Weights are expanded to `f32` when loaded, nothing is
//! quantized on the way, and every operation follows its definition. All other backends are tested
//! against it within a stated bound.

mod arithmetic;
mod attention;
mod experts;
mod recurrent;

use std::borrow::Cow;

use inferno_tensor::{DType, Tensor, quant};

use crate::{
    AttentionParams, Backend, BackendError, Batch, BlockId, ColumnBlocks, ConvParams, ConvWeights,
    CopySize, ExpertParams, Function, Gate, GatedNorm, KvBlockPart, KvLayout,
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, LinearInput, Norm,
    PassShape, QkNorm, QkvLayout, RopePairing, Rotation, StateLayout, StateSlot, WeightPart,
};
use arithmetic::{add, combine, dot, evaluate, normalize, zeros};
use attention::ReferenceKvCache;
use experts::ReferenceRouting;
use recurrent::ReferenceState;

/// The naive reference implementation of [`Backend`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReferenceBackend;

impl ReferenceBackend {
    /// Creates the reference backend, which has no settings.
    pub fn new() -> Self {
        Self
    }

    /// The input rows of a product.
    fn input<'a>(&self, rows: usize, input: LinearInput<'a, Matrix>) -> Cow<'a, Matrix> {
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

/// Activations: rows x columns.
type Matrix = Tensor<f32>;

/// Weights in single precision: experts x rows x columns.
#[derive(Debug)]
pub struct ReferenceWeight(Tensor<f32>);

impl Backend for ReferenceBackend {
    type Buffer = Matrix;
    type Weight = ReferenceWeight;
    type Table = WeightPart;
    type KvCache = ReferenceKvCache;
    type RecurrentState = ReferenceState;
    type DeviceBatch = Batch;
    type Routing = ReferenceRouting;

    fn describe(&self) -> String {
        "reference (naive loops, 1 thread)".to_owned()
    }

    fn alloc(&self, rows: usize, cols: usize) -> Result<Matrix, BackendError> {
        zeros(&[rows, cols], "activations")
    }

    fn upload(&self, values: &[f32], buffer: &mut Matrix) {
        buffer.as_mut_slice()[..values.len()].copy_from_slice(values);
    }

    fn download<'a>(
        &self,
        buffer: &'a Matrix,
        len: usize,
        _staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        Ok(&buffer.as_slice()[..len])
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<ReferenceWeight, BackendError> {
        let (num_experts, rows, cols) = WeightPart::stacked_shape(parts)?;
        let mut weight = zeros(&[num_experts, rows, cols], "weights")?;
        for expert in 0..num_experts {
            let sources =
                parts.iter().flat_map(|part| (0..part.rows()).map(move |row| (part, row)));
            for (stacked_row, (part, row)) in sources.enumerate() {
                let target = &mut weight[[expert, stacked_row]];
                quant::decode_row(part.dtype(), part.row(expert, row), target).map_err(
                    |source| BackendError::WeightShape { name: part.name().to_owned(), source },
                )?;
            }
        }
        Ok(ReferenceWeight(weight))
    }

    fn weight_bytes(&self, _dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        [rows, cols, size_of::<f32>()].into_iter().fold(experts, usize::saturating_mul)
    }

    /// Zero: operations release what they allocate.
    fn scratch_bytes(&self, _pass: &PassShape) -> usize {
        0
    }

    fn load_table(&self, part: &WeightPart) -> Result<WeightPart, BackendError> {
        Ok(part.clone())
    }

    fn alloc_batch(&self) -> Batch {
        Batch::default()
    }

    fn upload_batch(&self, batch: &Batch, device_batch: &mut Batch) {
        device_batch.clone_from(batch);
    }

    fn alloc_kv_cache(&self, layout: &KvLayout) -> Result<ReferenceKvCache, BackendError> {
        ReferenceKvCache::new(layout)
    }

    fn alloc_routing(
        &self,
        rows: usize,
        params: &ExpertParams,
    ) -> Result<ReferenceRouting, BackendError> {
        Ok(ReferenceRouting::new(rows, params))
    }

    fn assign_kv_window(
        &self,
        batch: &Batch,
        cache: &mut ReferenceKvCache,
    ) -> Result<(), BackendError> {
        cache.windows.as_mut().map_or(Ok(()), |windows| windows.assign_all(batch))
    }

    fn release_kv_window(&self, cache: &mut ReferenceKvCache, block: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.release(block);
        }
    }

    fn move_kv_window(&self, cache: &mut ReferenceKvCache, from: BlockId, to: BlockId) {
        if let Some(windows) = &mut cache.windows {
            windows.reassign(from, to);
        }
    }

    fn read_kv_block(
        &self,
        cache: &ReferenceKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        cache.read(block, part, bytes);
        Ok(())
    }

    fn write_kv_block(
        &self,
        cache: &mut ReferenceKvCache,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        cache.write(block, part, bytes)
    }

    fn alloc_state(&self, layout: &StateLayout) -> Result<ReferenceState, BackendError> {
        ReferenceState::new(layout)
    }

    fn copy_state(&self, state: &mut ReferenceState, from: StateSlot, to: StateSlot) {
        let values = state.slot(from).to_vec();
        state.slot_mut(to).copy_from_slice(&values);
    }

    fn read_state(
        &self,
        state: &ReferenceState,
        slot: StateSlot,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        bytes.extend(state.slot(slot).iter().flat_map(|value| value.to_le_bytes()));
        Ok(())
    }

    fn write_state(
        &self,
        state: &mut ReferenceState,
        slot: StateSlot,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        let expected = state.slot_bytes();
        if bytes.len() != expected {
            return Err(BackendError::StateSize { expected, found: bytes.len() });
        }
        for (value, bytes) in state.slot_mut(slot).iter_mut().zip(bytes.chunks_exact(4)) {
            *value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    }

    fn embed(&self, batch: &Batch, table: &WeightPart, out: &mut Matrix) {
        for (row, &token) in batch.token_ids().iter().enumerate() {
            quant::decode_row(table.dtype(), table.row(0, token as usize), &mut out[[row]])
                .expect("the table has rows of its own format and as wide as `out`");
        }
    }

    fn gather_logit_rows(&self, batch: &Batch, x: &Matrix, out: &mut Matrix) {
        for (to, &from) in batch.logit_rows().iter().enumerate() {
            out[[to]].copy_from_slice(&x[[from]]);
        }
    }

    fn apply(&self, rows: usize, function: Function, x: &mut Matrix) {
        for row in 0..rows {
            x[[row]].iter_mut().for_each(|x| *x = evaluate(function, *x));
        }
    }

    fn add_scaled(&self, rows: usize, x: &Matrix, factor: f32, out: &mut Matrix) {
        for row in 0..rows {
            out[[row]].iter_mut().zip(&x[[row]]).for_each(|(out, x)| *out += factor * x);
        }
    }

    fn gate(&self, rows: usize, function: Function, gate: &Matrix, out: &mut Matrix) {
        for row in 0..rows {
            let gates = gate[[row]].iter().cycle();
            let pairs = out[[row]].iter_mut().zip(gates);
            pairs.for_each(|(out, &gate)| *out *= evaluate(function, gate));
        }
    }

    fn copy_columns(
        &self,
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

    fn norm(&self, rows: usize, x: &Matrix, norm: Norm<'_, Matrix>, out: &mut Matrix) {
        let Norm { kind, weight, bias, eps } = norm;
        for row in 0..rows {
            out[[row]].copy_from_slice(&x[[row]]);
            normalize(&mut out[[row]], kind, &weight[[0]], bias.map(|bias| &bias[[0]]), eps);
        }
    }

    fn linear<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, Matrix>>,
        weight: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        (0..rows).for_each(|row| out[[row]].fill(0.0));
        self.linear_add(rows, &self.input(rows, x.into()), weight, bias, out)
    }

    fn linear_add(
        &self,
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
        &self,
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
        &self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, Matrix>>,
        rotation: Option<Rotation<'_, Matrix>>,
        qkv: &mut Matrix,
    ) {
        let (head_dim, [q_len, k_len, _]) = (layout.head_dim, layout.part_lens());
        for row in 0..rows {
            let (queries, others) = qkv[[row]].split_at_mut(q_len);
            let (keys, values) = others.split_at_mut(k_len);
            if let Some((norm, v)) = norm.as_ref().and_then(|norm| Some((norm, norm.v?))) {
                let weight = &v[[0]];
                let heads = values.chunks_exact_mut(layout.value_dim);
                heads.for_each(|head| normalize(head, norm.kind, weight, None, norm.eps));
            }
            let normalize_both = |after_rotation: bool, queries: &mut [f32], keys: &mut [f32]| {
                if let Some(norm) =
                    norm.as_ref().filter(|norm| norm.after_rotation == after_rotation)
                {
                    normalize_heads(norm, norm.q, head_dim, queries);
                    if let Some(k) = norm.k {
                        normalize_heads(norm, k, head_dim, keys);
                    }
                }
            };
            normalize_both(false, queries, keys);
            if let Some(rotation) = &rotation {
                let heads =
                    queries.chunks_exact_mut(head_dim).chain(keys.chunks_exact_mut(head_dim));
                heads.for_each(|head| rotate(rotation.pairing, &rotation.angles[[row]], head));
                if let Some(factors) = rotation.query_factors {
                    queries.iter_mut().for_each(|query| *query *= factors[[row]][0]);
                }
            }
            normalize_both(true, queries, keys);
        }
    }

    fn store_kv(
        &self,
        batch: &Batch,
        layer: usize,
        layout: &QkvLayout,
        qkv: &Matrix,
        cache: &mut ReferenceKvCache,
    ) {
        cache.store(batch, layer, layout, qkv);
    }

    fn paged_attention(
        &self,
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
        &self,
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
        &self,
        batch: &Batch,
        params: &LinearAttentionParams,
        weights: LinearAttentionWeights<'_, Matrix>,
        rows: LinearAttentionRows<'_, Matrix>,
        state: &mut ReferenceState,
        out: &mut Matrix,
    ) {
        recurrent::linear_attention(batch, params, weights, rows, state, out);
    }

    fn gated_norm(&self, rows: usize, norm: GatedNorm<'_, Matrix>, x: &mut Matrix) {
        recurrent::gated_norm(rows, norm, x);
    }

    fn route_experts(
        &self,
        rows: usize,
        router_logits: &Matrix,
        selection_bias: Option<&Matrix>,
        params: &ExpertParams,
        routing: &mut ReferenceRouting,
    ) {
        routing.route(rows, router_logits, selection_bias, params);
    }

    fn repeat_rows(&self, rows: usize, times: usize, x: &Matrix, out: &mut Matrix) {
        for row in 0..rows * times {
            out[[row]].copy_from_slice(&x[[row / times]]);
        }
    }

    fn scale_experts(&self, scales: &Matrix, routing: &mut ReferenceRouting) {
        routing.scale(&scales[[0]]);
    }

    fn route_to_all(&self, rows: usize, routing: &mut ReferenceRouting) {
        routing.route_to_all(rows);
    }

    fn expert_linear(
        &self,
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
        &self,
        routing: &ReferenceRouting,
        x: &Matrix,
        gate_up: &ReferenceWeight,
        bias: Option<&Matrix>,
        gate: Gate,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        for (slot, choice) in routing.slots() {
            let token = slot / routing.num_experts_used();
            let bias = bias.map(|bias| &bias[[choice.expert]]);
            gate_up.multiply_gated(choice.expert, &x[[token]], bias, gate, &mut out[[slot]]);
        }
        Ok(())
    }

    fn combine_experts(
        &self,
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

impl ReferenceWeight {
    /// `out = weight[expert] * x` for one row of activations.
    fn multiply(&self, expert: usize, x: &[f32], out: &mut [f32]) {
        for (row, out) in out.iter_mut().enumerate() {
            *out = dot(x, &self.0[[expert, row]]) as f32;
        }
    }

    /// The gated product of one row of activations.
    fn multiply_gated(
        &self,
        expert: usize,
        x: &[f32],
        bias: Option<&[f32]>,
        gate: Gate,
        out: &mut [f32],
    ) {
        let mut sums = vec![0.0; 2 * out.len()];
        assert_eq!(self.0.shape().dims()[1], sums.len(), "a gate and an up row per output");
        self.multiply(expert, x, &mut sums);
        if let Some(bias) = bias {
            add(bias, &mut sums);
        }
        let (gates, ups) = sums.split_at(out.len());
        for ((out, &x), &up) in out.iter_mut().zip(gates).zip(ups) {
            *out = combine(gate, x, up);
        }
    }
}

/// Normalizes the query heads or the key heads of a row, whose norm has the weight `weight`.
fn normalize_heads(norm: &QkNorm<'_, Matrix>, weight: &Matrix, head_dim: usize, heads: &mut [f32]) {
    let weight = &weight[[0]];
    let extent = if norm.whole { heads.len() } else { head_dim };
    let weights = weight.chunks_exact(extent).cycle();
    for (head, weight) in heads.chunks_exact_mut(extent).zip(weights) {
        normalize(head, norm.kind, weight, None, norm.eps);
    }
}

/// Rotates one head by the angles of its row.
fn rotate(pairing: RopePairing, angles: &[f32], head: &mut [f32]) {
    let pairs = angles.len() / 2;
    let (cos, sin) = angles.split_at(pairs);
    for pair in 0..pairs {
        let (i, j) = match pairing {
            RopePairing::Interleaved => (2 * pair, 2 * pair + 1),
            RopePairing::Halves => (pair, pair + pairs),
        };
        let (a, b) = (head[i], head[j]);
        head[i] = a * cos[pair] - b * sin[pair];
        head[j] = a * sin[pair] + b * cos[pair];
    }
}
