//! Normalization, rotary embedding, embedding lookup and row gathering.

use crate::cases::{Random, all, backend, bits, relative_error, simplest};
use inferno_backend::{
    Backend, BackendError, EmbeddingIndex, Function, NormKind, QkvLayout, ReferenceBackend,
    RopePairing,
};
use inferno_conformance::elementwise::{
    add_and_gate, add_combinations, apply, embed, gather, layer_norm, match_magnitude, normed_rope,
    repeat_rows, rms_norm, rope, sparsify,
};
use inferno_cpu::{CpuBackend, CpuOptions, Isa};
use inferno_tensor::DType;

/// Computes with every backend; checks that all results are bit-identical and agree with the
/// reference.
macro_rules! check {
    ($what:expr, $compute:ident($($argument:expr),*)) => {{
        let expected = $compute(&simplest(), $($argument),*);
        let reference = $compute(&ReferenceBackend::new(), $($argument),*);
        let error = relative_error(&expected, &reference);
        assert!(error < 1e-6, "{:?}: {error}", $what);
        for backend in all() {
            let found = $compute(&backend, $($argument),*);
            assert_eq!(bits(&found), bits(&expected), "{:?} {backend:?}", $what);
        }
    }};
}

/// Few rows for one thread, and enough rows to be shared between threads.
const SIZES: [(usize, usize); 6] = [(0, 16), (1, 1), (2, 31), (3, 64), (5, 1000), (300, 200)];

#[test]
fn rms_norm_agrees() {
    let mut random = Random::new(1);
    for (rows, cols) in SIZES {
        let (x, weight) = (random.values(rows * cols), random.values(cols));
        check!((rows, cols), rms_norm(rows, &x, &weight));
    }
}

#[test]
fn layer_norm_agrees() {
    let mut random = Random::new(2);
    for (rows, cols) in SIZES.into_iter().filter(|&(_, cols)| cols > 1) {
        let (x, weight) = (random.values(rows * cols), random.values(cols));
        let x: Vec<f32> = x.into_iter().map(|x| x + 0.7).collect();
        check!((rows, cols), layer_norm(rows, &x, &weight));
    }
}

#[test]
fn functions_agree() {
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
                check!((function, rows, cols, scale), apply(rows, function, &x));
            }
        }
        for backend in all() {
            assert!(apply(&backend, 1, function, &[f32::NAN])[0].is_nan(), "{function:?}");
        }
    }
}

#[test]
fn scaled_sums_and_gates_of_columns_or_of_rows_agree() {
    let mut random = Random::new(4);
    for (rows, cols) in SIZES {
        for gate_cols in [cols, 1] {
            let (x, gate) = (random.values(rows * cols), random.values(rows * gate_cols));
            for function in [Function::Sigmoid, Function::GeluTanh] {
                let case = (rows, cols, gate_cols, function);
                check!(case, add_and_gate(function, (rows, cols), gate_cols, &x, &gate));
            }
        }
    }
}

#[test]
fn combinations_of_blocks_agree_with_factors_per_row_or_for_all_rows() {
    let mut random = Random::new(14);
    for (rows, width) in SIZES {
        let x = random.values(rows * 3 * width);
        for num_factor_rows in [1, rows.max(1)] {
            let factors = random.values(6 * num_factor_rows);
            let case = (rows, width, num_factor_rows);
            check!(case, add_combinations((rows, width), &x, &factors));
        }
    }
}

#[test]
fn blocks_are_scaled_to_the_magnitude_of_rows() {
    let mut random = Random::new(15);
    for (rows, width) in SIZES {
        let (x, out) = (random.values(rows * width), random.values(rows * 3 * width));
        for minimum in [1e-5, 10.0] {
            let case = (rows, width, minimum);
            check!(case, match_magnitude((rows, width), minimum, &x, &out));
        }
    }
    let found =
        match_magnitude(&simplest(), (1, 2), 1e-5, &[3.0, 4.0], &[0.0, 0.5, 1.0, 1.0, 0.0, 0.0]);
    for (found, expected) in found.iter().zip([0.0, 5.0, 3.5355, 3.5355, 0.0, 0.0]) {
        assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
    }
}

#[test]
fn values_far_above_the_mean_remain() {
    let mut random = Random::new(16);
    for (rows, cols) in SIZES {
        let x = random.values(rows * cols);
        for num_deviations in [0.5, -0.3] {
            check!((rows, cols, num_deviations), sparsify((rows, cols), num_deviations, &x));
        }
    }
    // The mean is 4, the deviation 2.
    let found = sparsify(&simplest(), (1, 4), 0.5, &[2.0, 6.0, 2.0, 6.0]);
    assert_eq!(found, [0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn norms_of_heads_agree_for_every_extent_and_order() {
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
                check!((case, lens), normed_rope(&layout, case, &weights, &angles, &qkv));
            }
        }
    }
}

#[test]
fn rope_rotates_only_queries_and_keys_in_both_pairings() {
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
            let turns = random.values(rows * width / 2);
            let angles: Vec<f32> = turns
                .chunks(usize::max(width / 2, 1))
                .flat_map(|row| row.iter().map(|a| a.cos()).chain(row.iter().map(|a| a.sin())))
                .collect();
            let norms = [(); 2].map(|()| random.values(head_dim));
            for norms in [None, Some(&norms)] {
                let case = (pairing, layout, width, norms.is_some());
                check!(case, rope(&layout, norms, pairing, &angles, &qkv));
            }
        }
    }
}

#[test]
fn embeddings_of_every_format_are_looked_up() {
    let tokens: Vec<u32> = (0..200).map(|i| i * 7 % 50).collect();
    for dtype in DType::ALL {
        for index in [EmbeddingIndex::Token, EmbeddingIndex::Position] {
            check!(dtype, embed(index, dtype, 256, &tokens));
        }
    }
}

#[test]
fn logit_rows_are_gathered() {
    let x: Vec<f32> = (0..27).map(|x| x as f32).collect();
    let expected: Vec<f32> = (6..9).chain(15..27).map(|x| x as f32).collect();
    for backend in all() {
        assert_eq!(gather(&backend, &x, 3), expected);
    }
}

#[test]
fn a_backend_describes_itself() {
    assert_eq!(simplest().describe(), "cpu (scalar, 1 thread)");
    assert_eq!(backend(Isa::Scalar, 3).describe(), "cpu (scalar, 3 threads)");
    let default = CpuBackend::new(CpuOptions::default()).expect("this machine's own");
    assert_eq!(Some(default.isa()), Isa::available().pop());
    assert!(default.num_threads() >= 1);
}

#[test]
fn a_pool_without_threads_is_rejected() {
    let refused = CpuBackend::new(CpuOptions { isa: None, threads: Some(0) });
    assert!(matches!(refused, Err(BackendError::Unavailable { .. })));
}

#[test]
fn repeated_rows_agree() {
    for (rows, times, cols) in [(1, 1, 3), (3, 4, 17), (60, 8, 200)] {
        let x = Random::new(rows as u64).values(rows * cols);
        check!((rows, times), repeat_rows(rows, times, &x));
    }
}
