//! The naive backend: plain loops over `f32`, one row at a time, with sums in `f64`.
//!
//! It is meant to be correct and easy to read. Weights are expanded to `f32` when loaded, nothing is
//! quantized on the way, and every operation follows its definition. All other backends are tested
//! against it within a stated bound.

mod arithmetic;
mod attention;
mod experts;

use std::borrow::Cow;

use inferno_tensor::{DType, Tensor, quant};

use crate::{
    AttentionParams, Backend, BackendError, Batch, BlockId, ExpertParams, KvLayout, LinearInput,
    PassShape, QkNorm, QkvLayout, RopePairing, WeightPart,
};
use arithmetic::{add, dot, normalize, silu, zeros};
use attention::ReferenceKvCache;
use experts::ReferenceRouting;

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
            LinearInput::Normed { x, weight, eps } => {
                let mut normed = x.clone();
                self.rms_norm(rows, x, weight, eps, &mut normed);
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

    fn read_kv_block(
        &self,
        cache: &ReferenceKvCache,
        block: BlockId,
        bytes: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        bytes.extend_from_slice(cache.block(block));
        Ok(())
    }

    fn write_kv_block(
        &self,
        cache: &mut ReferenceKvCache,
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        let target = cache.block_mut(block);
        if bytes.len() != target.len() {
            return Err(BackendError::KvBlockSize { expected: target.len(), found: bytes.len() });
        }
        target.copy_from_slice(bytes);
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

    fn rms_norm(&self, rows: usize, x: &Matrix, weight: &Matrix, eps: f32, out: &mut Matrix) {
        for row in 0..rows {
            out[[row]].copy_from_slice(&x[[row]]);
            normalize(&mut out[[row]], &weight[[0]], eps);
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
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        let x = self.input(rows, x.into());
        for row in 0..rows {
            gate_up.multiply_gated(0, &x[[row]], bias, &mut out[[row]]);
        }
        Ok(())
    }

    fn rope(
        &self,
        rows: usize,
        layout: &QkvLayout,
        norm: Option<QkNorm<'_, Matrix>>,
        pairing: RopePairing,
        angles: &Matrix,
        qkv: &mut Matrix,
    ) {
        for row in 0..rows {
            let pairs = angles[[row]].len() / 2;
            let (cos, sin) = angles[[row]].split_at(pairs);
            let heads = qkv[[row]].chunks_exact_mut(layout.head_dim);
            for (index, head) in heads.take(layout.num_heads + layout.num_kv_heads).enumerate() {
                if let Some(QkNorm { q, k, eps }) = norm {
                    let weight = if index < layout.num_heads { q } else { k };
                    normalize(head, &weight[[0]], eps);
                }
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
        params: &AttentionParams,
        layout: &QkvLayout,
        qkv: &Matrix,
        cache: &ReferenceKvCache,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        attention::attend(batch, params, layout, qkv, cache, out);
        Ok(())
    }

    fn route_experts(
        &self,
        rows: usize,
        router_logits: &Matrix,
        params: &ExpertParams,
        routing: &mut ReferenceRouting,
    ) {
        routing.route(rows, router_logits, params);
    }

    fn expert_linear(
        &self,
        rows: usize,
        routing: &ReferenceRouting,
        x: &Matrix,
        weight: &ReferenceWeight,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        for (slot, choice) in routing.slots(rows) {
            weight.multiply(choice.expert, &x[[slot]], &mut out[[slot]]);
        }
        Ok(())
    }

    fn expert_linear_gated(
        &self,
        rows: usize,
        routing: &ReferenceRouting,
        x: &Matrix,
        gate_up: &ReferenceWeight,
        out: &mut Matrix,
    ) -> Result<(), BackendError> {
        for (slot, choice) in routing.slots(rows) {
            let token = slot / routing.num_experts_used();
            gate_up.multiply_gated(choice.expert, &x[[token]], None, &mut out[[slot]]);
        }
        Ok(())
    }

    fn combine_experts(
        &self,
        rows: usize,
        routing: &ReferenceRouting,
        y: &Matrix,
        out: &mut Matrix,
    ) {
        for (slot, choice) in routing.slots(rows) {
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

    /// `out = silu(gate * x + bias) * (up * x + bias)` for one row of activations.
    fn multiply_gated(&self, expert: usize, x: &[f32], bias: Option<&Matrix>, out: &mut [f32]) {
        let mut sums = vec![0.0; 2 * out.len()];
        assert_eq!(self.0.shape().dims()[1], sums.len(), "a gate and an up row per output");
        self.multiply(expert, x, &mut sums);
        if let Some(bias) = bias {
            add(&bias[[0]], &mut sums);
        }
        let (gate, up) = sums.split_at(out.len());
        for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
            *out = silu(gate) * up;
        }
    }
}
