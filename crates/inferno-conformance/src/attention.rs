//! Shapes of attention, and sequences that share a batch.

use inferno_backend::{
    AttentionMask, AttentionParams, AttentionWindow, Backend, BatchBuilder, BlockId, KvBlockPart,
    KvDType, KvLayer, KvLayout, KvValues, KvWindow, LogitRows, NormKind, Pass, QkNorm, QkvLayout,
    RopePairing, Rotation, SequenceChunk,
};

use crate::cases::{Random, matrix, read, run};
use crate::heads::{Distances, SHAPE, Shape, attend, inputs};

/// Values with rows of their own.
pub const fn separate(dim: usize) -> Option<KvValues> {
    Some(KvValues::Separate { dim })
}

/// Values that are the components of the keys from `start` on.
pub const fn in_keys(start: usize) -> Option<KvValues> {
    Some(KvValues::InKeys { start })
}

/// A causal mask with a window.
const fn window(window: AttentionWindow) -> AttentionMask {
    AttentionMask::Causal(Some(window))
}

/// A mask without a direction.
pub const fn bidirectional(reach: Option<usize>) -> AttentionMask {
    AttentionMask::Bidirectional { reach }
}

/// Shapes with masks without a direction, which are computed in one chunk, with and without effects of distances.
pub fn bidirectional_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for dtype in KvDType::ALL {
        let shape = Shape { dtype, mask: bidirectional(None), ..SHAPE };
        shapes.extend([
            shape,
            Shape { tokens: 1, ..shape },
            Shape {
                tokens: 600,
                num_heads: 3,
                num_kv_heads: 1,
                distances: Distances::Slopes,
                ..shape
            },
            Shape { tokens: 33, head_dim: 64, num_heads: 6, distances: Distances::Slopes, ..shape },
            Shape {
                tokens: 600,
                num_heads: 3,
                num_kv_heads: 1,
                distances: Distances::Table(128),
                ..shape
            },
            Shape {
                tokens: 33,
                head_dim: 64,
                num_heads: 6,
                distances: Distances::Table(9),
                ..shape
            },
            Shape { tokens: 300, mask: bidirectional(Some(8)), ..shape },
            Shape {
                tokens: 520,
                mask: bidirectional(Some(140)),
                distances: Distances::Slopes,
                ..shape
            },
            Shape { tokens: 270, mask: bidirectional(Some(0)), block_tokens: 40, ..shape },
            Shape { tokens: 40, mask: bidirectional(Some(17)), block_tokens: 5, ..shape },
            Shape { tokens: 290, mask: bidirectional(Some(1)), num_kv_heads: 1, ..shape },
            Shape {
                tokens: 70,
                softcap: Some(2.0),
                sinks: Some(1.5),
                distances: Distances::Slopes,
                ..shape
            },
        ]);
    }
    shapes
}

/// One key head that contains the value.
fn shapes_with_values_in_keys(dtype: KvDType) -> Vec<Shape> {
    let shape =
        Shape { dtype, num_kv_heads: 1, head_dim: 192, values: in_keys(64), tokens: 290, ..SHAPE };
    let mut shapes = vec![
        shape,
        Shape { head_dim: 576, num_heads: 17, tokens: 20, ..shape },
        Shape { num_heads: 6, num_kv_heads: 2, head_dim: 128, tokens: 70, ..shape },
        Shape { num_heads: 2, block_tokens: 5, tokens: 40, ..shape },
        Shape { block_tokens: 40, mask: window(AttentionWindow::Sliding(17)), ..shape },
        Shape { num_heads: 9, mask: window(AttentionWindow::Chunked(257)), ..shape },
        Shape { head_dim: 64, values: in_keys(24), num_heads: 8, sinks: Some(1.5), ..shape },
        Shape { head_dim: 64, values: in_keys(0), softcap: Some(2.0), ..shape },
        Shape { head_dim: 96, values: in_keys(33), block_tokens: 3, tokens: 30, ..shape },
    ];
    if dtype != KvDType::Q8_0 {
        shapes.push(Shape {
            head_dim: 50,
            values: in_keys(7),
            block_tokens: 1,
            tokens: 20,
            ..shape
        });
        shapes.push(Shape { head_dim: 24, values: in_keys(8), ..shape });
    }
    shapes
}

/// Shapes of all formats: with and without windows, caps and sinks, and with values in rows and in keys.
pub fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for dtype in KvDType::ALL {
        shapes.extend([
            Shape { dtype, ..SHAPE },
            Shape { dtype, tokens: 600, num_heads: 3, num_kv_heads: 1, ..SHAPE },
            Shape { dtype, num_heads: 7, num_kv_heads: 1, head_dim: 64, tokens: 33, ..SHAPE },
            Shape { dtype, num_heads: 1, num_kv_heads: 1, block_tokens: 5, tokens: 40, ..SHAPE },
            Shape {
                dtype,
                block_tokens: 40,
                tokens: 90,
                mask: window(AttentionWindow::Sliding(17)),
                ..SHAPE
            },
            // The window of the last rows of a task begins after the span boundary at 256.
            Shape { dtype, tokens: 290, mask: window(AttentionWindow::Sliding(3)), ..SHAPE },
            Shape {
                dtype,
                tokens: 520,
                num_heads: 20,
                num_kv_heads: 1,
                mask: window(AttentionWindow::Sliding(300)),
                ..SHAPE
            },
            Shape { dtype, tokens: 300, mask: window(AttentionWindow::Chunked(37)), ..SHAPE },
            Shape { dtype, tokens: 290, mask: window(AttentionWindow::Chunked(257)), ..SHAPE },
            Shape { dtype, tokens: 1, ..SHAPE },
            Shape { dtype, tokens: 300, distances: Distances::Slopes, softcap: Some(2.0), ..SHAPE },
            Shape { dtype, tokens: 300, distances: Distances::Table(30), ..SHAPE },
            Shape {
                dtype,
                tokens: 300,
                softcap: Some(2.0),
                mask: window(AttentionWindow::Sliding(40)),
                ..SHAPE
            },
            Shape {
                dtype,
                tokens: 300,
                sinks: Some(1.5),
                mask: window(AttentionWindow::Sliding(5)),
                ..SHAPE
            },
            Shape { dtype, values: separate(64), tokens: 300, ..SHAPE },
            Shape { dtype, head_dim: 192, values: separate(128), num_kv_heads: 1, ..SHAPE },
            Shape { dtype, head_dim: 64, values: separate(32), tokens: 290, ..SHAPE },
            Shape { dtype, tokens: 70, sinks: Some(-90.0), softcap: Some(30.0), ..SHAPE },
        ]);
        if dtype == KvDType::I16 {
            // Heads of whole vectors over several spans; the window of the last rows begins within a vector.
            let shape = Shape { dtype, head_dim: 64, num_kv_heads: 1, tokens: 600, ..SHAPE };
            shapes.extend([
                Shape { num_heads: 3, ..shape },
                Shape { num_heads: 1, mask: window(AttentionWindow::Sliding(300)), ..shape },
                Shape {
                    head_dim: 128,
                    num_heads: 7,
                    tokens: 530,
                    distances: Distances::Slopes,
                    softcap: Some(2.0),
                    ..shape
                },
            ]);
        }
        shapes.extend(shapes_with_values_in_keys(dtype));
        if dtype != KvDType::Q8_0 {
            shapes.push(Shape { dtype, head_dim: 8, tokens: 20, block_tokens: 3, ..SHAPE });
            shapes.push(Shape { dtype, head_dim: 50, tokens: 20, block_tokens: 1, ..SHAPE });
        }
    }
    shapes
}

/// Single tokens at the start and around span boundaries (multiples of 256), chunks elsewhere.
pub fn mostly_single(tokens: usize) -> Vec<usize> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < tokens {
        let single = start < 40 || start % 256 > 250 || start % 256 < 5 || tokens - start < 5;
        let chunk = if single { 1 } else { usize::min(64, 251 - start % 256) };
        chunks.push(chunk.min(tokens - start));
        start += chunk;
    }
    chunks
}

/// Attention of `first_tokens` tokens of one sequence and those of `shape` of another, which are more, in interleaved blocks
/// and one batch, and that of each sequence alone.
pub fn two_sequences<B: Backend>(
    backend: &B,
    shape: &Shape,
    first_tokens: usize,
    seed: u64,
) -> (Vec<f32>, Vec<f32>) {
    let layout = shape.qkv();
    let (first, second) = (inputs(shape, seed), inputs(shape, seed + 1));
    let blocks = shape.tokens.div_ceil(shape.block_tokens) as u32;
    let cache_layout = KvLayout { num_blocks: 2 * blocks as usize, ..shape.cache() };
    let tables = [0, 1].map(|first| (0..blocks).map(move |block| BlockId(2 * block + first)));
    let tokens = vec![0; shape.tokens];
    let short = Shape { tokens: first_tokens, ..*shape };
    let first = &first[..first_tokens * layout.row_len()];
    let alone = [
        attend(backend, &short, first, &short.blocks(), &[first_tokens]),
        attend(backend, shape, &second, &shape.blocks(), &[shape.tokens]),
    ];
    let mut builder = BatchBuilder::new(shape.block_tokens);
    for (table, count) in tables.into_iter().zip([first_tokens, shape.tokens]) {
        let block_table: Vec<_> = table.take(count.div_ceil(shape.block_tokens)).collect();
        let chunk = SequenceChunk {
            tokens: &tokens[..count],
            start: 0,
            block_table: &block_table,
            logits: LogitRows::None,
            second_segment: None,
        };
        builder.push(&chunk).expect("a chunk");
    }
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let mut cache = backend.alloc_kv_cache(&cache_layout).expect("memory");
    let num_tokens = first_tokens + shape.tokens;
    let rows = matrix(backend, num_tokens, layout.row_len(), &[first, &second].concat());
    run(backend, |pass| pass.store_kv(&batch, 1, &layout, &rows, &mut cache));
    let mut out = backend.alloc(num_tokens, shape.out_len()).expect("memory");
    let scale = 1.0 / (shape.head_dim as f32).sqrt();
    let params = AttentionParams { mask: shape.mask, ..AttentionParams::new(1, scale) };
    run(backend, |pass| pass.paged_attention(&batch, &params, &layout, &rows, &cache, &mut out))
        .expect("memory");
    let found = read(backend, &out, num_tokens * shape.out_len());
    (found, alone.concat())
}

/// Attends to one sequence in chunks of `chunk` tokens, in a layer that has memory for the blocks of its window alone.
pub fn attend_in_window<B: Backend>(
    backend: &B,
    shape: &Shape,
    qkv: &[f32],
    chunk: usize,
) -> Vec<f32> {
    let (layout, window) = (shape.qkv(), shape.mask.window().expect("a window"));
    let kv_window = KvWindow::for_sequences(window.max_len(), shape.block_tokens, 1, chunk);
    let layer = KvLayer { is_windowed: true, ..layout.kv_layer() };
    let kv = KvLayout { layers: vec![layer], window: Some(kv_window), ..shape.cache() };
    let mut cache = backend.alloc_kv_cache(&kv).expect("memory");
    let params = AttentionParams {
        mask: AttentionMask::Causal(Some(window)),
        ..AttentionParams::new(0, 1.0 / (shape.head_dim as f32).sqrt())
    };
    let (blocks, mut result) = (shape.blocks(), Vec::new());
    let mut batch = backend.alloc_batch();
    for start in (0..shape.tokens).step_by(chunk) {
        let tokens = vec![0; chunk.min(shape.tokens - start)];
        let end = start + tokens.len();
        let needed = kv_window.blocks(start, end, shape.block_tokens);
        for &block in &blocks[..needed.start] {
            backend.release_kv_window(&mut cache, block);
        }
        let mut builder = BatchBuilder::new(shape.block_tokens);
        let (block_table, logits) = (&blocks[..], LogitRows::None);
        builder
            .push(&SequenceChunk {
                tokens: &tokens,
                start,
                block_table,
                logits,
                second_segment: None,
            })
            .expect("a chunk");
        let built = builder.build();
        backend.assign_kv_window(&built, &mut cache).expect("memory of the window");
        backend.upload_batch(&built, &mut batch);
        let rows = &qkv[start * layout.row_len()..end * layout.row_len()];
        let rows = matrix(backend, tokens.len(), layout.row_len(), rows);
        let mut out = backend.alloc(tokens.len(), shape.out_len()).expect("memory");
        run(backend, |pass| {
            pass.store_kv(&batch, 0, &layout, &rows, &mut cache);
            pass.paged_attention(&batch, &params, &layout, &rows, &cache, &mut out)
        })
        .expect("memory");
        result.extend(read(backend, &out, tokens.len() * shape.out_len()));
    }
    result
}

/// Attends to zeros: `tokens` tokens after `start` others.
pub fn attend_after<B: Backend>(
    backend: &B,
    layout: &QkvLayout,
    kv_dtype: KvDType,
    start: usize,
    tokens: usize,
) {
    let context = start + tokens;
    let kv = KvLayout {
        layers: vec![KvLayer::new(layout.num_kv_heads, layout.head_dim)],
        window: None,
        block_tokens: 16,
        num_blocks: context.div_ceil(16),
        dtype: kv_dtype,
    };
    let cache = backend.alloc_kv_cache(&kv).expect("memory");
    let table: Vec<BlockId> = (0..kv.num_blocks as u32).map(BlockId).collect();
    let tokens = vec![0; tokens];
    let logits = LogitRows::None;
    let chunk =
        SequenceChunk { tokens: &tokens, start, block_table: &table, logits, second_segment: None };
    let mut builder = BatchBuilder::new(16);
    builder.push(&chunk).expect("the table covers it");
    let qkv = backend.alloc(tokens.len(), layout.row_len()).expect("memory");
    let mut out = backend.alloc(tokens.len(), layout.out_len()).expect("memory");
    let params = AttentionParams::new(0, 1.0);
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    run(backend, |pass| pass.paged_attention(&batch, &params, layout, &qkv, &cache, &mut out))
        .expect("memory");
}

/// How [`rope_and_store`] changes heads of 64 components, of which it rotates 40.
#[derive(Debug, Clone, Copy)]
pub struct RopeCase {
    /// See [`Rotation::pairing`].
    pub pairing: RopePairing,
    /// Norms of the heads, if they have any.
    pub norm: Option<NormKind>,
    /// See [`QkNorm::after_rotation`].
    pub after_rotation: bool,
    /// Whether each head has weights of its own.
    pub has_head_weights: bool,
    /// See [`QkNorm::whole`].
    pub whole: bool,
    /// Whether values are normalized and queries are multiplied by a factor per row.
    pub has_more: bool,
}

/// All ways to change heads that differ in the code they run.
pub fn rope_cases() -> Vec<RopeCase> {
    let plain = RopeCase {
        pairing: RopePairing::Halves,
        norm: None,
        after_rotation: false,
        has_head_weights: false,
        whole: false,
        has_more: false,
    };
    let normed = RopeCase { norm: Some(NormKind::Rms), ..plain };
    vec![
        plain,
        RopeCase { pairing: RopePairing::Interleaved, ..plain },
        normed,
        RopeCase { after_rotation: true, ..normed },
        RopeCase { norm: Some(NormKind::Layer), has_head_weights: true, ..plain },
        RopeCase { whole: true, ..normed },
        RopeCase { has_more: true, ..normed },
    ]
}

/// The queries after [`Pass::rope_and_store_kv`], then the stored keys and values.
pub fn rope_and_store<B: Backend>(backend: &B, case: &RopeCase, seed: u64) -> Vec<f32> {
    const TOKENS: usize = 20;
    const ROTATED: usize = 40;
    let shape = Shape { head_dim: 64, tokens: TOKENS, dtype: KvDType::F32, ..SHAPE };
    let layout = shape.qkv();
    let mut random = Random::new(seed);
    let mut rows = matrix(backend, TOKENS, layout.row_len(), &inputs(&shape, seed));
    let mut vector = |len: usize| matrix(backend, 1, len, &random.values(len));
    let heads = |count: usize| if case.has_head_weights || case.whole { count } else { 1 };
    let q = vector(heads(layout.num_heads) * layout.head_dim);
    let k = vector(heads(layout.num_kv_heads) * layout.head_dim);
    let v = vector(layout.head_dim);
    let norm = case.norm.map(|kind| QkNorm {
        kind,
        whole: case.whole,
        after_rotation: case.after_rotation,
        k: Some(&k),
        v: case.has_more.then_some(&v),
        ..QkNorm::per_head(&q, &k, 1e-5)
    });
    let angles = matrix(backend, TOKENS, ROTATED, &random.values(TOKENS * ROTATED));
    let factors = matrix(backend, TOKENS, 1, &random.values(TOKENS));
    let query_factors = case.has_more.then_some(&factors);
    let rotation = Rotation { pairing: case.pairing, angles: Some(&angles), query_factors };
    let mut builder = BatchBuilder::new(shape.block_tokens);
    let block_table = &[BlockId(1), BlockId(0)];
    let tokens = &[0; TOKENS];
    let chunk = SequenceChunk {
        tokens,
        start: 0,
        block_table,
        logits: LogitRows::None,
        second_segment: None,
    };
    builder.push(&chunk).expect("a chunk");
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
    run(backend, |pass| {
        let rope = (norm, Some(rotation));
        pass.rope_and_store_kv(TOKENS, &batch, &layout, rope, &mut rows, (1, &mut cache));
    });
    let [q_len, ..] = layout.part_lens();
    let changed = read(backend, &rows, TOKENS * layout.row_len());
    let queries = changed.chunks_exact(layout.row_len()).flat_map(|row| row[..q_len].to_vec());
    let mut result: Vec<f32> = queries.collect();
    let mut bytes = Vec::new();
    for block in [0, 1] {
        let part = KvBlockPart::All;
        backend.read_kv_block(&cache, BlockId(block), part, &mut bytes).expect("a working device");
    }
    let values = bytes.chunks_exact(4);
    result.extend(values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    result
}
