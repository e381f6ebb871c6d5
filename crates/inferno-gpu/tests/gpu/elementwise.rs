//! Norms, functions, rotary embedding, lookups and copies of rows.

use inferno_backend::{
    Backend, BatchBuilder, BlockId, EmbeddingIndex, Function, LogitRows, NormKind, Pass, QkvLayout,
    ReferenceBackend, RopePairing, SequenceChunk,
};
use inferno_conformance::cases::{Random, bits, matrix, read, relative_error, run};
use inferno_conformance::elementwise::{
    add_and_gate, add_combinations, apply, embed, gather, layer_norm, match_magnitude, normed_rope,
    repeat_rows, rms_norm, rope, sparsify,
};
use inferno_tensor::DType;

use crate::device::adapter;

/// Computes with both backends; checks that the results agree.
macro_rules! check {
    ($backend:expr, $what:expr, $compute:ident($($argument:expr),*)) => {{
        let reference = $compute(&ReferenceBackend::new(), $($argument),*);
        let found = $compute($backend, $($argument),*);
        let error = relative_error(&found, &reference);
        assert!(error < 2e-6, "{:?}: {error}", $what);
    }};
}

const SIZES: [(usize, usize); 6] = [(0, 16), (1, 1), (2, 31), (3, 64), (5, 1000), (300, 200)];

#[test]
fn rms_norm_agrees() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(1);
    for (rows, cols) in SIZES {
        let (x, weight) = (random.values(rows * cols), random.values(cols));
        check!(backend, (rows, cols), rms_norm(rows, &x, &weight));
    }
}

#[test]
fn layer_norm_agrees() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(2);
    for (rows, cols) in SIZES.into_iter().filter(|&(_, cols)| cols > 1) {
        let (x, weight) = (random.values(rows * cols), random.values(cols));
        let x: Vec<f32> = x.into_iter().map(|x| x + 0.7).collect();
        check!(backend, (rows, cols), layer_norm(rows, &x, &weight));
    }
}

#[test]
fn functions_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(3);
    let xielu = Function::Xielu { positive: 0.8, negative: 0.9, beta: 0.5, eps: -1e-6 };
    for function in [
        Function::Scale { factor: 0.3 },
        Function::SoftCap { cap: 5.0 },
        Function::Clamp { limit: 2.0 },
        Function::Silu,
        Function::Sigmoid,
        Function::Gelu,
        Function::GeluTanh,
        Function::Relu,
        Function::Softplus,
        Function::ReluSquared,
        xielu,
    ] {
        for (rows, cols) in SIZES.into_iter().filter(|&(_, cols)| cols > 16) {
            for scale in [0.5, 4.0, 200.0] {
                let x: Vec<f32> = random.values(rows * cols).iter().map(|x| scale * x).collect();
                check!(backend, (function, rows, cols, scale), apply(rows, function, &x));
            }
        }
        assert!(apply(backend, 1, function, &[f32::NAN])[0].is_nan(), "{function:?}");
    }
}

#[test]
fn scaled_sums_and_gates_of_columns_or_of_rows_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(4);
    for (rows, cols) in SIZES {
        for gate_cols in [cols, 1] {
            let (x, gate) = (random.values(rows * cols), random.values(rows * gate_cols));
            for function in [Function::Sigmoid, Function::GeluTanh] {
                let case = (rows, cols, gate_cols, function);
                let size = (rows, cols);
                check!(backend, case, add_and_gate(function, size, gate_cols, &x, &gate));
            }
        }
    }
}

#[test]
fn combinations_of_blocks_agree_with_factors_per_row_or_for_all_rows() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(14);
    for (rows, width) in SIZES {
        let x = random.values(rows * 3 * width);
        for num_factor_rows in [1, rows.max(1)] {
            let factors = random.values(6 * num_factor_rows);
            let case = (rows, width, num_factor_rows);
            check!(backend, case, add_combinations((rows, width), &x, &factors));
        }
    }
}

#[test]
fn blocks_are_scaled_to_the_magnitude_of_rows() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(15);
    for (rows, width) in SIZES {
        let (x, out) = (random.values(rows * width), random.values(rows * 3 * width));
        for minimum in [1e-5, 10.0] {
            let case = (rows, width, minimum);
            check!(backend, case, match_magnitude((rows, width), minimum, &x, &out));
        }
    }
}

#[test]
fn values_far_above_the_mean_remain() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(16);
    for (rows, cols) in SIZES {
        let x = random.values(rows * cols);
        for num_deviations in [0.5, -0.3] {
            check!(
                backend,
                (rows, cols, num_deviations),
                sparsify((rows, cols), num_deviations, &x)
            );
        }
    }
}

#[test]
fn norms_of_heads_agree_for_every_extent_and_order() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(6);
    let layout = QkvLayout::new(4, 2, 24);
    let rows = 40;
    let qkv = random.values(rows * layout.row_len());
    let angles = random.values(rows * 16);
    for kind in [NormKind::Rms, NormKind::Layer] {
        for (whole, lens) in [(true, [96, 48, 24]), (false, [96, 48, 24]), (false, [24, 24, 24])] {
            let weights = lens.map(|len| random.values(len));
            for after_rotation in [false, true] {
                let case = (kind, whole, after_rotation);
                check!(backend, (case, lens), normed_rope(&layout, case, &weights, &angles, &qkv));
            }
        }
    }
}

#[test]
fn rope_rotates_only_queries_and_keys_in_both_pairings() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(4);
    for pairing in [RopePairing::Interleaved, RopePairing::Halves] {
        for (head_dim, width, num_heads, num_kv_heads) in [
            (64, 64, 2, 1),
            (80, 72, 2, 1),
            (64, 32, 4, 2),
            (10, 6, 1, 1),
            (7, 4, 3, 1),
            (8, 0, 4, 2),
        ] {
            let rows = 60;
            let layout = QkvLayout::new(num_heads, num_kv_heads, head_dim);
            let qkv = random.values(rows * layout.row_len());
            let angles = random.values(rows * width);
            let norms = [(); 2].map(|()| random.values(head_dim));
            for norms in [None, Some(&norms)] {
                let case = (pairing, layout, width, norms.is_some());
                check!(backend, case, rope(&layout, norms, pairing, &angles, &qkv));
            }
        }
    }
}

#[test]
fn embeddings_of_every_format_are_looked_up() {
    let Some(backend) = adapter() else { return };
    let tokens: Vec<u32> = (0..200).map(|i| i * 7 % 50).collect();
    for dtype in DType::ALL {
        for index in [EmbeddingIndex::Token, EmbeddingIndex::Position] {
            let expected = embed(&ReferenceBackend::new(), index, dtype, 256, &tokens);
            assert_eq!(
                bits(&embed(backend, index, dtype, 256, &tokens)),
                bits(&expected),
                "{dtype}"
            );
        }
    }
}

/// A lookup in a pass that used its output before.
fn embed_and_add<B: Backend>(backend: &B) -> Vec<f32> {
    let (tokens, cols) = ([3, 0, 3], 64);
    let table = Random::new(5).weight(DType::F16, 1, 5, cols);
    let table = backend.load_table(&table).expect("a table");
    let mut builder = BatchBuilder::new(16);
    let (block_table, logits) = (&[BlockId(0)], LogitRows::None);
    let chunk =
        SequenceChunk { tokens: &tokens, start: 0, block_table, logits, second_segment: None };
    builder.push(&chunk).expect("a chunk");
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let mut x = backend.alloc(3, cols).expect("memory");
    let mut sum = matrix(backend, 3, cols, &[0.5; 3 * 64]);
    run(backend, |pass| {
        for index in [EmbeddingIndex::Token, EmbeddingIndex::Position, EmbeddingIndex::Token] {
            pass.embed(&batch, index, &table, &mut x);
            pass.add_scaled(3, &x, 2.0, &mut sum);
        }
    });
    read(backend, &sum, 3 * cols)
}

#[test]
fn lookups_follow_earlier_uses_of_their_output() {
    let Some(backend) = adapter() else { return };
    check!(backend, "three lookups", embed_and_add());
}

#[test]
fn logit_rows_are_gathered() {
    let Some(backend) = adapter() else { return };
    let x: Vec<f32> = (0..27).map(|x| x as f32).collect();
    let expected: Vec<f32> = (6..9).chain(15..27).map(|x| x as f32).collect();
    assert_eq!(gather(backend, &x, 3), expected);
}

#[test]
fn repeated_rows_agree() {
    let Some(backend) = adapter() else { return };
    for (rows, times, cols) in [(1, 1, 3), (3, 4, 17), (60, 8, 200)] {
        let x = Random::new(rows as u64).values(rows * cols);
        check!(backend, (rows, times), repeat_rows(rows, times, &x));
    }
}

/// The first and the last of many rows have the bits that they have alone.
#[test]
fn rows_are_independent_of_others() {
    let Some(backend) = adapter() else { return };
    let (rows, cols) = (70_000, 24);
    let mut random = Random::new(17);
    let (x, weight) = (random.values(rows * cols), random.values(cols));
    let together = rms_norm(backend, rows, &x, &weight);
    for row in [0, 65_535, rows - 1] {
        let range = row * cols..(row + 1) * cols;
        let alone = rms_norm(backend, 1, &x[range.clone()], &weight);
        assert_eq!(bits(&together[range]), bits(&alone), "row {row}");
    }
}
