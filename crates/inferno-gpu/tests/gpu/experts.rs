//! Mixture of experts: routing, products, combination.

use inferno_backend::{ExpertParams, Gating, ReferenceBackend};
use inferno_conformance::cases::{Random, bits, relative_error};
use inferno_conformance::experts::{
    HIDDEN, INNER, biased, forward, input_weighted, per_head, vanishing_probabilities,
};
use inferno_tensor::DType;

use crate::device::adapter;

/// Bound of the relative error of a feed-forward block with weights of `dtype`: rows are multiplied as integers of 16 bits
/// with weights that are integers.
fn bound(dtype: DType) -> f64 {
    if dtype == DType::F32 { 4e-6 } else { 1e-4 }
}

#[test]
fn experts_agree_with_the_reference() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(1);
    for (num_experts, num_experts_used) in [(8, 2), (5, 5), (3, 1), (128, 8)] {
        for normalize in [true, false] {
            let params = ExpertParams::softmax(num_experts, num_experts_used, normalize);
            for rows in [1, 2, 19, 80] {
                let logits = random.values(rows * num_experts);
                let logits: Vec<_> = logits.iter().map(|x| 3.0 * x).collect();
                let x = random.values(rows * HIDDEN);
                for dtype in [DType::F32, DType::Q8_0] {
                    let reference = ReferenceBackend::new();
                    let expected = forward(&reference, rows, &params, dtype, &logits, &x);
                    let found = forward(backend, rows, &params, dtype, &logits, &x);
                    let error = relative_error(&found, &expected);
                    assert!(error < bound(dtype), "{params:?} {rows} {dtype}: {error}");
                }
            }
        }
    }
}

#[test]
fn experts_of_the_sparse_mixer_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(37);
    let params =
        ExpertParams { gating: Gating::SparseMixer, ..ExpertParams::softmax(16, 2, false) };
    for (rows, offset) in [(1, 1.0), (19, 1.0), (80, -1.0), (70, 0.0)] {
        // Many logits are within the tolerance.
        let logits: Vec<_> = random.values(rows * 16).iter().map(|x| offset + 0.05 * x).collect();
        let x = random.values(rows * HIDDEN);
        let reference = ReferenceBackend::new();
        let expected = forward(&reference, rows, &params, DType::F32, &logits, &x);
        let found = forward(backend, rows, &params, DType::F32, &logits, &x);
        let error = relative_error(&found, &expected);
        assert!(error < bound(DType::F32), "{rows}: {error}");
    }
}

#[test]
fn biased_experts_of_the_best_groups_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(8);
    for (rows, accumulate, num_scored) in [(1, true, 2), (7, false, 1), (70, true, 2)] {
        let case = (rows, accumulate, num_scored);
        let logits: Vec<_> = random.values(rows * 12).iter().map(|x| 3.0 * x).collect();
        let x = random.values(rows * HIDDEN);
        let reference = biased(&ReferenceBackend::new(), case, &logits, &x);
        let error = relative_error(&biased(backend, case, &logits, &x), &reference);
        assert!(error < bound(DType::F32), "{rows}: {error}");
    }
}

#[test]
fn experts_whose_probabilities_vanish_have_no_effect() {
    adapter().into_iter().for_each(vanishing_probabilities);
}

#[test]
fn experts_with_weighted_inputs_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(30);
    for (rows, used) in [(1, 1), (7, 2), (70, 3)] {
        let params =
            ExpertParams { gating: Gating::Sigmoid, ..ExpertParams::softmax(5, used, false) };
        let (logits, x) = (random.values(rows * 5), random.values(rows * HIDDEN));
        let reference = input_weighted(&ReferenceBackend::new(), rows, &params, &logits, &x);
        let found = input_weighted(backend, rows, &params, &logits, &x);
        let error = relative_error(&found, &reference);
        assert!(error < bound(DType::F32), "{rows}: {error}");
    }
}

#[test]
fn a_token_alone_is_bit_identical_to_one_in_a_batch() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(2);
    let params = ExpertParams::softmax(6, 2, true);
    let rows = 70;
    let (logits, x) = (random.values(rows * 6), random.values(rows * HIDDEN));
    let together = forward(backend, rows, &params, DType::Q4_0, &logits, &x);
    for (first, rows) in [(0, 1), (33, 1), (69, 1), (10, 3), (20, 9)] {
        let logits = &logits[first * 6..(first + rows) * 6];
        let x = &x[first * HIDDEN..(first + rows) * HIDDEN];
        let alone = forward(backend, rows, &params, DType::Q4_0, logits, x);
        let expected = &together[first * HIDDEN..(first + rows) * HIDDEN];
        assert_eq!(bits(&alone), bits(expected), "{rows} rows from {first}");
    }
}

#[test]
fn ties_between_experts_go_to_the_lower_index() {
    let Some(backend) = adapter() else { return };
    let params = ExpertParams::softmax(4, 2, true);
    let x = Random::new(3).values(HIDDEN);
    let equal = forward(backend, 1, &params, DType::F32, &[0.0; 4], &x);
    let first = forward(backend, 1, &params, DType::F32, &[0.0, 0.0, -9.0, -9.0], &x);
    assert_eq!(bits(&equal), bits(&first));
}

#[test]
fn logits_that_are_not_numbers_select_some_experts() {
    let Some(backend) = adapter() else { return };
    let params = ExpertParams::softmax(4, 2, true);
    let mut random = Random::new(4);
    let x = random.values(2 * HIDDEN);
    let mut logits = random.values(8);
    let clean = forward(backend, 2, &params, DType::F32, &logits, &x);
    logits[..4].fill(f32::NAN);
    let found = forward(backend, 2, &params, DType::F32, &logits, &x);
    assert_eq!(bits(&found[HIDDEN..]), bits(&clean[HIDDEN..]));
}

#[test]
fn products_with_a_matrix_per_head_agree() {
    let Some(backend) = adapter() else { return };
    for rows in [1, 9, 40] {
        let x = Random::new(6).values(rows * 3 * (INNER + 4));
        let reference = per_head(&ReferenceBackend::new(), rows, &x);
        let error = relative_error(&per_head(backend, rows, &x), &reference);
        assert!(error < bound(DType::F32), "{rows}: {error}");
    }
}
