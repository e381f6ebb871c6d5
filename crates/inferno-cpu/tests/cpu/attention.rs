//! Attention over the KV cache.

use crate::cases::{all, bits, matrix, read, relative_error, run, simplest};
use inferno_backend::{
    AttentionParams, AttentionWindow, BatchBuilder, BlockId, DeviceMemory, KvDType, KvLayout,
    KvValues, LARGEST_I16, LogitRows, Pass, ReferenceBackend, SequenceChunk,
};
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};

const fn separate(dim: usize) -> Option<KvValues> {
    Some(KvValues::Separate { dim })
}

/// Values that are the components of the keys from `start` on.
const fn in_keys(start: usize) -> Option<KvValues> {
    Some(KvValues::InKeys { start })
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
        Shape { block_tokens: 40, window: Some(AttentionWindow::Sliding(17)), ..shape },
        Shape { num_heads: 9, window: Some(AttentionWindow::Chunked(257)), ..shape },
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

fn shapes() -> Vec<Shape> {
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
                window: Some(AttentionWindow::Sliding(17)),
                ..SHAPE
            },
            // The window of the last rows of a task begins after the span boundary at 256.
            Shape { dtype, tokens: 290, window: Some(AttentionWindow::Sliding(3)), ..SHAPE },
            Shape {
                dtype,
                tokens: 520,
                num_heads: 20,
                num_kv_heads: 1,
                window: Some(AttentionWindow::Sliding(300)),
                ..SHAPE
            },
            Shape { dtype, tokens: 300, window: Some(AttentionWindow::Chunked(37)), ..SHAPE },
            Shape { dtype, tokens: 290, window: Some(AttentionWindow::Chunked(257)), ..SHAPE },
            Shape { dtype, tokens: 1, ..SHAPE },
            Shape {
                dtype,
                tokens: 300,
                softcap: Some(2.0),
                window: Some(AttentionWindow::Sliding(40)),
                ..SHAPE
            },
            Shape {
                dtype,
                tokens: 300,
                sinks: Some(1.5),
                window: Some(AttentionWindow::Sliding(5)),
                ..SHAPE
            },
            Shape { dtype, values: separate(64), tokens: 300, ..SHAPE },
            Shape { dtype, head_dim: 192, values: separate(128), num_kv_heads: 1, ..SHAPE },
            Shape { dtype, head_dim: 64, values: separate(32), tokens: 290, ..SHAPE },
            Shape { dtype, tokens: 70, sinks: Some(-90.0), softcap: Some(30.0), ..SHAPE },
        ]);
        shapes.extend(shapes_with_values_in_keys(dtype));
        if dtype != KvDType::Q8_0 {
            shapes.push(Shape { dtype, head_dim: 8, tokens: 20, block_tokens: 3, ..SHAPE });
            shapes.push(Shape { dtype, head_dim: 50, tokens: 20, block_tokens: 1, ..SHAPE });
        }
    }
    shapes
}

#[test]
fn attention_agrees_with_the_reference() {
    for shape in shapes() {
        let qkv = inputs(&shape, 1);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &blocks, &whole);
        let found = attend(&simplest(), &shape, &qkv, &blocks, &whole);
        let error = relative_error(&found, &expected);
        // I16 rounds queries and weights as well: to 2^-16 of the largest.
        let bound = if shape.dtype == KvDType::I16 { 1e-4 } else { 2e-6 };
        assert!(error < bound, "{shape:?}: {error}");
    }
}

#[test]
fn sums_of_the_largest_integers_fit() {
    // Each key and each value is the largest number or its negation. All but one of a query's low halves are the largest
    // magnitude, -128.
    let low_halves = (126 * 256 + 128) as f32 / LARGEST_I16;
    for (head_dim, values, query) in [
        (512, None, 1.0),
        (512, None, low_halves),
        (576, in_keys(64), low_halves),
        (1024, None, low_halves),
    ] {
        let shape = Shape { dtype: KvDType::I16, head_dim, values, tokens: 40, ..SHAPE };
        let [q_len, k_len, v_len] = shape.qkv().part_lens();
        let mut qkv = Vec::new();
        for token in 0..shape.tokens {
            let sign = if token % 3 == 0 { 1.0 } else { -1.0 };
            qkv.extend((0..q_len).map(|i| if i % head_dim == 0 { 1.0 } else { query }));
            qkv.extend(std::iter::repeat_n(sign, k_len + v_len));
        }
        for backend in all() {
            let found = attend(&backend, &shape, &qkv, &shape.blocks(), &[shape.tokens]);
            assert!(found.iter().all(|x| (x - 1.0).abs() < 1e-3), "{shape:?} {backend:?}");
        }
    }
}

#[test]
fn an_outlier_component_preserves_the_precision_of_others() {
    // Key biases of some models cause such outliers. The other components then have only low halves.
    let shape = Shape { dtype: KvDType::I16, head_dim: 64, ..SHAPE };
    let mut qkv = inputs(&shape, 12);
    for row in qkv.chunks_exact_mut(shape.qkv().row_len()) {
        let heads = row.chunks_exact_mut(shape.head_dim);
        for head in heads.take(shape.num_heads + shape.num_kv_heads) {
            head[5] = 100.0;
        }
    }
    let whole = [shape.tokens];
    let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &shape.blocks(), &whole);
    for backend in all() {
        let found = attend(&backend, &shape, &qkv, &shape.blocks(), &whole);
        let error = relative_error(&found, &expected);
        assert!(error < 5e-3, "{backend:?}: {error}");
    }
}

#[test]
fn sixteen_bit_integers_are_more_accurate_than_half_precision() {
    for shape in shapes().into_iter().filter(|shape| shape.dtype == KvDType::F32) {
        let qkv = inputs(&shape, 11);
        let attended =
            |backend: &dyn Fn(&Shape) -> Vec<f32>, dtype| backend(&Shape { dtype, ..shape });
        let whole = [shape.tokens];
        let exactly =
            |shape: &Shape| attend(&ReferenceBackend::new(), shape, &qkv, &shape.blocks(), &whole);
        let here = |shape: &Shape| attend(&simplest(), shape, &qkv, &shape.blocks(), &whole);
        let expected = attended(&exactly, KvDType::F32);
        let [i16, f16] = [KvDType::I16, KvDType::F16]
            .map(|dtype| relative_error(&attended(&here, dtype), &expected));
        assert!(i16 < f16, "{shape:?}: {i16} and {f16}");
    }
}

#[test]
fn attention_is_bit_identical_on_every_instruction_set_and_thread_count() {
    for shape in shapes() {
        let qkv = inputs(&shape, 2);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = bits(&attend(&simplest(), &shape, &qkv, &blocks, &whole));
        for backend in all() {
            let found = bits(&attend(&backend, &shape, &qkv, &blocks, &whole));
            assert_eq!(found, expected, "{shape:?} {backend:?}");
        }
    }
}

/// Single tokens at the start and around span boundaries (multiples of 256), chunks elsewhere.
fn mostly_single(tokens: usize) -> Vec<usize> {
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

#[test]
fn attention_is_bit_identical_for_every_chunking() {
    for shape in shapes() {
        let qkv = inputs(&shape, 3);
        let blocks = shape.blocks();
        let whole = bits(&attend(&simplest(), &shape, &qkv, &blocks, &[shape.tokens]));
        for backend in all().into_iter().rev().step_by(2) {
            for chunks in [
                vec![shape.tokens / 3, shape.tokens - shape.tokens / 3],
                mostly_single(shape.tokens),
            ] {
                let found = attend(&backend, &shape, &qkv, &blocks, &chunks);
                assert_eq!(bits(&found), whole, "{shape:?} {chunks:?} {backend:?}");
            }
        }
    }
}

#[test]
fn attention_does_not_depend_on_the_block_table() {
    for (dtype, head_dim, values) in
        KvDType::ALL.into_iter().flat_map(|dtype| [(dtype, 32, None), (dtype, 128, in_keys(64))])
    {
        let shape = Shape { dtype, head_dim, values, tokens: 300, ..SHAPE };
        let qkv = inputs(&shape, 4);
        for backend in all() {
            let whole = [shape.tokens];
            let expected = bits(&attend(&backend, &shape, &qkv, &shape.blocks(), &whole));
            for block_tokens in [1, 7, 16, 64, 1000] {
                let shape = Shape { block_tokens, ..shape };
                let mut blocks = shape.blocks();
                let count = blocks.len();
                blocks.rotate_left(1 % count);
                let found = bits(&attend(&backend, &shape, &qkv, &blocks, &whole));
                assert_eq!(found, expected, "{dtype} blocks of {block_tokens}, {backend:?}");
            }
        }
    }
}

#[test]
fn sequences_of_one_batch_are_independent() {
    let shape = Shape { tokens: 40, ..SHAPE };
    let layout = shape.qkv();
    let (first, second) = (inputs(&shape, 5), inputs(&shape, 6));
    // 25 tokens of one sequence and 40 of another, in interleaved blocks.
    let cache_layout = KvLayout { num_blocks: 6, ..shape.cache() };
    let tables = [[0, 2, 4].map(BlockId), [1, 3, 5].map(BlockId)];
    let tokens = [0; 40];
    for backend in all() {
        let alone = [
            attend(&backend, &shape, &first, &shape.blocks(), &[40]),
            attend(&backend, &shape, &second, &shape.blocks(), &[40]),
        ];
        let mut builder = BatchBuilder::new(16);
        for (table, count) in tables.iter().zip([25, 40]) {
            let (tokens, block_table) = (&tokens[..count], &table[..]);
            let chunk = SequenceChunk { tokens, start: 0, block_table, logits: LogitRows::None };
            builder.push(&chunk).expect("a chunk");
        }
        let mut batch = backend.alloc_batch();
        backend.upload_batch(&builder.build(), &mut batch);
        let mut cache = backend.alloc_kv_cache(&cache_layout).expect("memory");
        let rows = [&first[..25 * layout.row_len()], &second].concat();
        let rows = matrix(&backend, 65, layout.row_len(), &rows);
        run(&backend, |pass| pass.store_kv(&batch, 1, &layout, &rows, &mut cache));
        let mut out = backend.alloc(65, shape.out_len()).expect("memory");
        let params = AttentionParams::new(1, 1.0 / 32f32.sqrt());
        run(&backend, |pass| {
            pass.paged_attention(&batch, &params, &layout, &rows, &cache, &mut out)
        })
        .expect("memory");
        let found = read(&backend, &out, 65 * shape.out_len());
        let expected = [&alone[0][..25 * shape.out_len()], &alone[1]].concat();
        assert_eq!(bits(&found), bits(&expected), "{backend:?}");
    }
}

#[test]
fn masked_positions_do_not_affect_a_row() {
    // Keys and values of later tokens of the same chunk are NaN.
    for dtype in KvDType::ALL {
        let shape = Shape { dtype, tokens: 24, ..SHAPE };
        let mut qkv = inputs(&shape, 8);
        let clean = attend(&simplest(), &shape, &qkv, &shape.blocks(), &[24]);
        let row_len = shape.qkv().row_len();
        qkv[13 * row_len..].fill(f32::NAN);
        for backend in all() {
            let found = attend(&backend, &shape, &qkv, &shape.blocks(), &[24]);
            let seen = 13 * shape.out_len();
            assert_eq!(bits(&found[..seen]), bits(&clean[..seen]), "{dtype} {backend:?}");
            assert!(found[seen..].iter().all(|x| x.is_nan()), "{dtype} {backend:?}");
        }
    }
}
