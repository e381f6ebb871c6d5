//! Norms, functions, rotary embedding, lookups and copies of rows.

use inferno_backend::{
    Backend, BatchBuilder, BlockId, CandidateShape, EmbeddingIndex, Function, LogitRows, Norm,
    NormKind, Pass, QkNorm, QkvLayout, RopePairing, Rotation, SequenceChunk,
};
use inferno_tensor::DType;

use crate::cases::{Random, matrix, read, run};

/// RMS norms of rows.
pub fn rms_norm<B: Backend>(backend: &B, rows: usize, x: &[f32], weight: &[f32]) -> Vec<f32> {
    let cols = weight.len();
    let x = matrix(backend, rows, cols, x);
    let weight = matrix(backend, 1, cols, weight);
    let mut out = backend.alloc(rows, cols).expect("memory");
    run(backend, |pass| pass.norm(rows, &x, Norm::rms(&weight, 1e-6), &mut out));
    read(backend, &out, rows * cols)
}

/// Layer norms of rows, with a bias.
pub fn layer_norm<B: Backend>(backend: &B, rows: usize, x: &[f32], weight: &[f32]) -> Vec<f32> {
    let cols = weight.len();
    let x = matrix(backend, rows, cols, x);
    let bias: Vec<f32> = weight.iter().map(|weight| 0.5 - weight).collect();
    let [weight, bias] = [weight, &bias].map(|values| matrix(backend, 1, cols, values));
    let norm = Norm { kind: NormKind::Layer, weight: &weight, bias: Some(&bias), eps: 1e-6 };
    let mut out = backend.alloc(rows, cols).expect("memory");
    run(backend, |pass| pass.norm(rows, &x, norm, &mut out));
    read(backend, &out, rows * cols)
}

/// The candidates of rows of `cols` logits, as a device stores them.
pub fn select_candidates<B: Backend>(
    backend: &B,
    cols: usize,
    shape: CandidateShape,
    logits: &[f32],
) -> Vec<f32> {
    let rows = logits.len() / cols;
    let logits = matrix(backend, rows, cols, logits);
    let mut out = None;
    run(backend, |pass| pass.select_candidates(rows, shape, &logits, &mut out)).expect("memory");
    let out = out.expect("a backend that selects candidates");
    read(backend, &out, rows * shape.row_len())
}

/// A function of each value.
pub fn apply<B: Backend>(backend: &B, rows: usize, function: Function, x: &[f32]) -> Vec<f32> {
    let mut buffer = matrix(backend, rows, x.len() / rows, x);
    run(backend, |pass| pass.apply(rows, function, &mut buffer));
    read(backend, &buffer, x.len())
}

/// Adds a multiple of rows to constant ones, and applies gates per value or per row.
pub fn add_and_gate<B: Backend>(
    backend: &B,
    function: Function,
    (rows, cols): (usize, usize),
    gate_cols: usize,
    x: &[f32],
    gate: &[f32],
) -> Vec<f32> {
    let gate = matrix(backend, rows, gate_cols, gate);
    let x = matrix(backend, rows, cols, x);
    let mut out = matrix(backend, rows, cols, &vec![0.25; rows * cols]);
    run(backend, |pass| pass.add_scaled(rows, &x, 1.5, &mut out));
    run(backend, |pass| pass.gate(rows, function, &gate, &mut out));
    read(backend, &out, rows * cols)
}

/// Combinations of three blocks with factors per row or for all rows, added to two.
pub fn add_combinations<B: Backend>(
    backend: &B,
    (rows, width): (usize, usize),
    x: &[f32],
    factors: &[f32],
) -> Vec<f32> {
    let x = matrix(backend, rows, 3 * width, x);
    let factors = matrix(backend, factors.len() / 6, 6, factors);
    let mut out = matrix(backend, rows, 2 * width, &vec![0.25; rows * 2 * width]);
    run(backend, |pass| pass.add_combinations(rows, width, &factors, &x, &mut out));
    // One gate for all rows.
    let gate: Vec<f32> = (0..2 * width).map(|column| column as f32 / width as f32).collect();
    let gate = matrix(backend, 1, 2 * width, &gate);
    run(backend, |pass| pass.gate(rows, Function::Scale { factor: 0.5 }, &gate, &mut out));
    read(backend, &out, rows * 2 * width)
}

/// Scales three blocks to the magnitude of rows.
pub fn match_magnitude<B: Backend>(
    backend: &B,
    (rows, width): (usize, usize),
    minimum: f32,
    x: &[f32],
    out: &[f32],
) -> Vec<f32> {
    let x = matrix(backend, rows, width, x);
    let mut out = matrix(backend, rows, 3 * width, out);
    run(backend, |pass| pass.match_magnitude(rows, &x, minimum, &mut out));
    read(backend, &out, rows * 3 * width)
}

/// Sets values below a cutoff to zero.
pub fn sparsify<B: Backend>(
    backend: &B,
    (rows, cols): (usize, usize),
    num_deviations: f32,
    x: &[f32],
) -> Vec<f32> {
    let mut x = matrix(backend, rows, cols, x);
    run(backend, |pass| pass.sparsify(rows, num_deviations, &mut x));
    read(backend, &x, rows * cols)
}

/// Norms of whole rows of heads or with a weight per head, after or before rotation, and query factors.
pub fn normed_rope<B: Backend>(
    backend: &B,
    layout: &QkvLayout,
    (kind, whole, after_rotation): (NormKind, bool, bool),
    weights: &[Vec<f32>; 3],
    angles: &[f32],
    qkv: &[f32],
) -> Vec<f32> {
    let rows = qkv.len() / layout.row_len();
    let mut buffer = matrix(backend, rows, layout.row_len(), qkv);
    let [q, k, v] = weights.each_ref().map(|weight| matrix(backend, 1, weight.len(), weight));
    let norm = QkNorm { q: &q, k: Some(&k), v: Some(&v), kind, eps: 1e-5, whole, after_rotation };
    let factors: Vec<f32> = (0..rows).map(|row| 1.0 + row as f32 / 100.0).collect();
    let factors = matrix(backend, rows, 1, &factors);
    let angles = matrix(backend, rows, angles.len() / rows, angles);
    let pairing = RopePairing::Halves;
    let rotation = Rotation { pairing, angles: Some(&angles), query_factors: Some(&factors) };
    run(backend, |pass| pass.rope(rows, layout, Some(norm), Some(rotation), &mut buffer));
    // Factors alone.
    let rotation = Rotation { pairing, angles: None, query_factors: Some(&factors) };
    run(backend, |pass| pass.rope(rows, layout, None, Some(rotation), &mut buffer));
    read(backend, &buffer, qkv.len())
}

/// Rotates heads, after norms of each head if there are any.
pub fn rope<B: Backend>(
    backend: &B,
    layout: &QkvLayout,
    norms: Option<&[Vec<f32>; 2]>,
    pairing: RopePairing,
    angles: &[f32],
    qkv: &[f32],
) -> Vec<f32> {
    let rows = qkv.len() / layout.row_len();
    let mut buffer = matrix(backend, rows, layout.row_len(), qkv);
    let angles = matrix(backend, rows, angles.len() / rows, angles);
    let norms =
        norms.map(|norms| norms.each_ref().map(|norm| matrix(backend, 1, norm.len(), norm)));
    let norm = norms.as_ref().map(|[q, k]| QkNorm::per_head(q, k, 1e-5));
    let rotation = Rotation { pairing, angles: Some(&angles), query_factors: None };
    run(backend, |pass| pass.rope(rows, layout, norm, Some(rotation), &mut buffer));
    read(backend, &buffer, qkv.len())
}

/// Looks up rows of a random table of 200 rows.
pub fn embed<B: Backend>(
    backend: &B,
    index: EmbeddingIndex,
    dtype: DType,
    cols: usize,
    tokens: &[u32],
) -> Vec<f32> {
    let table = Random::new(5).weight(dtype, 1, 200, cols);
    let table = backend.load_table(&table).expect("a table");
    let mut builder = BatchBuilder::new(16);
    let blocks: Vec<_> = (0..tokens.len().div_ceil(16) as u32).map(BlockId).collect();
    let logits = LogitRows::None;
    builder
        .push(&SequenceChunk {
            tokens,
            start: 0,
            block_table: &blocks,
            logits,
            second_segment: None,
        })
        .expect("a chunk");
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let mut out = backend.alloc(tokens.len(), cols).expect("memory");
    run(backend, |pass| pass.embed(&batch, index, &table, &mut out));
    read(backend, &out, tokens.len() * cols)
}

/// The logit rows of three chunks: 2, 5, 6, 7 and 8 of nine rows.
pub fn gather<B: Backend>(backend: &B, x: &[f32], cols: usize) -> Vec<f32> {
    let mut builder = BatchBuilder::new(16);
    let block_table = &[BlockId(0)];
    for (count, logits) in [(3, LogitRows::Last), (2, LogitRows::None), (4, LogitRows::All)] {
        let tokens = &[0; 4][..count];
        builder
            .push(&SequenceChunk { tokens, start: 0, block_table, logits, second_segment: None })
            .expect("a chunk");
    }
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let x = matrix(backend, 9, cols, x);
    let mut out = backend.alloc(5, cols).expect("memory");
    run(backend, |pass| pass.gather_logit_rows(&batch, &x, &mut out));
    read(backend, &out, 5 * cols)
}

/// Repeats each row.
pub fn repeat_rows<B: Backend>(backend: &B, rows: usize, times: usize, x: &[f32]) -> Vec<f32> {
    let cols = x.len() / rows;
    let x = matrix(backend, rows, cols, x);
    let mut out = backend.alloc(rows * times, cols).expect("memory");
    run(backend, |pass| pass.repeat_rows(rows, times, &x, &mut out));
    read(backend, &out, rows * times * cols)
}
