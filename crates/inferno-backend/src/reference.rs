//! The naive backend: plain loops over `f32`, one row at a time, sums kept in `f64`.
//!
//! It exists to be right and easily read. Weights are expanded to `f32` when loaded, nothing is
//! quantized on the way, and no operation is cleverer than its definition. Every other backend is
//! tested against it within a stated bound.

mod attention;
mod experts;

use std::borrow::Cow;

use bytes::Bytes;
use inferno_tensor::{DType, quant};

use crate::{
    AttentionParams, Backend, BackendError, Batch, BlockId, ExpertInput, ExpertParams, KvLayout,
    LinearInput, QkNorm, QkvLayout, RopePairing, WeightPart,
};
use attention::ReferenceKvCache;
use experts::ReferenceRouting;

/// The naive reference implementation of [`Backend`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ReferenceBackend;

impl ReferenceBackend {
    /// The reference backend; it has no settings.
    pub fn new() -> Self {
        Self
    }

    /// The rows that a product takes.
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

/// A row-major matrix of `f32`.
#[derive(Debug, Clone)]
pub struct Matrix {
    cols: usize,
    values: Vec<f32>,
}

impl Matrix {
    fn zeros(rows: usize, cols: usize, what: &'static str) -> Result<Self, BackendError> {
        let values = zeroed(rows.saturating_mul(cols), what)?;
        Ok(Self { cols, values })
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// The `head_dim` values of one head of one row.
    fn head(&self, row: usize, head: usize, head_dim: usize) -> &[f32] {
        &self.row(row)[head * head_dim..(head + 1) * head_dim]
    }

    fn head_mut(&mut self, row: usize, head: usize, head_dim: usize) -> &mut [f32] {
        &mut self.row_mut(row)[head * head_dim..(head + 1) * head_dim]
    }
}

/// One dense matrix an expert.
#[derive(Debug)]
pub struct ReferenceWeight {
    experts: Vec<Matrix>,
}

/// Rows in the file's own format, decoded when looked up.
#[derive(Debug)]
pub struct ReferenceTable {
    dtype: DType,
    row_bytes: usize,
    bytes: Bytes,
}

impl Backend for ReferenceBackend {
    type Buffer = Matrix;
    type Weight = ReferenceWeight;
    type Table = ReferenceTable;
    type KvCache = ReferenceKvCache;
    type DeviceBatch = Batch;
    type Routing = ReferenceRouting;

    fn describe(&self) -> String {
        "reference (naive loops, 1 thread)".to_owned()
    }

    fn alloc(&self, rows: usize, cols: usize) -> Result<Matrix, BackendError> {
        Matrix::zeros(rows, cols, "activations")
    }

    fn upload(&self, values: &[f32], buffer: &mut Matrix) {
        buffer.values[..values.len()].copy_from_slice(values);
    }

    fn download<'a>(
        &self,
        buffer: &'a Matrix,
        len: usize,
        _staging: &'a mut Vec<f32>,
    ) -> Result<&'a [f32], BackendError> {
        Ok(&buffer.values[..len])
    }

    fn load_weight(&self, parts: &[WeightPart]) -> Result<ReferenceWeight, BackendError> {
        let (num_experts, rows, cols) = WeightPart::stacked_shape(parts)?;
        let mut experts = Vec::with_capacity(num_experts);
        for expert in 0..num_experts {
            let mut matrix = Matrix::zeros(rows, cols, "weights")?;
            let sources =
                parts.iter().flat_map(|part| (0..part.rows()).map(move |row| (part, row)));
            for (out_row, (part, row)) in sources.enumerate() {
                quant::decode_row(part.dtype(), part.row(expert, row), matrix.row_mut(out_row))
                    .map_err(|source| BackendError::WeightShape {
                        name: part.name().to_owned(),
                        source,
                    })?;
            }
            experts.push(matrix);
        }
        Ok(ReferenceWeight { experts })
    }

    fn weight_bytes(&self, _dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
        [rows, cols, size_of::<f32>()].into_iter().fold(experts, usize::saturating_mul)
    }

    fn load_table(&self, part: &WeightPart) -> Result<ReferenceTable, BackendError> {
        Ok(ReferenceTable {
            dtype: part.dtype(),
            row_bytes: part.row_bytes(),
            bytes: part.bytes().clone(),
        })
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

    fn embed(&self, batch: &Batch, table: &ReferenceTable, out: &mut Matrix) {
        for (row, &token) in batch.token_ids().iter().enumerate() {
            let at = token as usize * table.row_bytes;
            quant::decode_row(
                table.dtype,
                &table.bytes[at..at + table.row_bytes],
                out.row_mut(row),
            )
            .expect("the table's rows were checked when it was loaded");
        }
    }

    fn gather_logit_rows(&self, batch: &Batch, x: &Matrix, out: &mut Matrix) {
        for (to, &from) in batch.logit_rows().iter().enumerate() {
            out.row_mut(to).copy_from_slice(x.row(from));
        }
    }

    fn rms_norm(&self, rows: usize, x: &Matrix, weight: &Matrix, eps: f32, out: &mut Matrix) {
        for row in 0..rows {
            let target = out.row_mut(row);
            target.copy_from_slice(x.row(row));
            normalize(target, weight.row(0), eps);
        }
    }

    fn linear<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, Matrix>>,
        weight: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) {
        out.values[..rows * out.cols].fill(0.0);
        self.linear_add(rows, &self.input(rows, x.into()), weight, bias, out);
    }

    fn linear_add(
        &self,
        rows: usize,
        x: &Matrix,
        weight: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) {
        let mut term = vec![0.0; out.cols];
        for row in 0..rows {
            product(x.row(row), &weight.experts[0], &mut term);
            let target = out.row_mut(row);
            add(&term, target);
            if let Some(bias) = bias {
                add(bias.row(0), target);
            }
        }
    }

    fn linear_gated<'a>(
        &self,
        rows: usize,
        x: impl Into<LinearInput<'a, Matrix>>,
        gate_up: &ReferenceWeight,
        bias: Option<&Matrix>,
        out: &mut Matrix,
    ) {
        let x = self.input(rows, x.into());
        for row in 0..rows {
            gated_product(x.row(row), &gate_up.experts[0], bias, out.row_mut(row));
        }
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
        let pairs = angles.cols / 2;
        for row in 0..rows {
            let (cos, sin) = angles.row(row).split_at(pairs);
            for index in 0..layout.num_heads + layout.num_kv_heads {
                let head = qkv.head_mut(row, index, layout.head_dim);
                if let Some(QkNorm { q, k, eps }) = norm {
                    let weight = if index < layout.num_heads { q } else { k };
                    normalize(head, weight.row(0), eps);
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
    ) {
        attention::attend(batch, params, layout, qkv, cache, out);
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
        input: ExpertInput,
        x: &Matrix,
        weight: &ReferenceWeight,
        out: &mut Matrix,
    ) {
        for (slot, choice) in routing.slots(rows) {
            let source = match input {
                ExpertInput::PerToken => slot / routing.num_experts_used(),
                ExpertInput::PerSlot => slot,
            };
            product(x.row(source), &weight.experts[choice.expert], out.row_mut(slot));
        }
    }

    fn expert_linear_gated(
        &self,
        rows: usize,
        routing: &ReferenceRouting,
        x: &Matrix,
        gate_up: &ReferenceWeight,
        out: &mut Matrix,
    ) {
        for (slot, choice) in routing.slots(rows) {
            let source = x.row(slot / routing.num_experts_used());
            gated_product(source, &gate_up.experts[choice.expert], None, out.row_mut(slot));
        }
    }

    fn combine_experts(
        &self,
        rows: usize,
        routing: &ReferenceRouting,
        y: &Matrix,
        out: &mut Matrix,
    ) {
        for (slot, choice) in routing.slots(rows) {
            let target = out.row_mut(slot / routing.num_experts_used());
            for (out, &y) in target.iter_mut().zip(y.row(slot)) {
                *out += choice.weight * y;
            }
        }
    }
}

/// `len` zeros, or the error that there is no room for them.
fn zeroed<T: Clone + Default>(len: usize, what: &'static str) -> Result<Vec<T>, BackendError> {
    let mut values = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    values.try_reserve_exact(len).map_err(|_| BackendError::OutOfMemory { what, bytes })?;
    values.resize(len, T::default());
    Ok(values)
}

/// `out = weight * x` for one row of activations.
fn product(x: &[f32], weight: &Matrix, out: &mut [f32]) {
    for (row, out) in out.iter_mut().enumerate() {
        *out = dot(x, weight.row(row)) as f32;
    }
}

/// `out = silu(gate * x + bias) * (up * x + bias)` for one row of activations.
fn gated_product(x: &[f32], gate_up: &Matrix, bias: Option<&Matrix>, out: &mut [f32]) {
    let mut sums = vec![0.0; 2 * out.len()];
    assert_eq!(gate_up.values.len(), sums.len() * x.len(), "a gate and an up projection a value");
    product(x, gate_up, &mut sums);
    if let Some(bias) = bias {
        add(bias.row(0), &mut sums);
    }
    let (gate, up) = sums.split_at(out.len());
    for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
        *out = gate / (1.0 + (-gate).exp()) * up;
    }
}

fn add(term: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(term).for_each(|(out, term)| *out += term);
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn normalize(x: &mut [f32], weight: &[f32], eps: f32) {
    let mean_square = dot(x, x) / x.len() as f64;
    let factor = (1.0 / (mean_square + f64::from(eps)).sqrt()) as f32;
    x.iter_mut().zip(weight).for_each(|(x, weight)| *x = *x * factor * weight);
}
