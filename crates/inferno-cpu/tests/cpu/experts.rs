//! Mixture of experts: routing, products, combination.

use crate::cases::{Random, all, backend, bits, matrix, relative_error, run, simplest};
use inferno_backend::{DeviceMemory, ExpertParams, Gating, Pass, ReferenceBackend};
use inferno_conformance::experts::{
    HIDDEN, INNER, biased, forward, input_weighted, per_head, vanishing_probabilities,
};
use inferno_cpu::Isa;
use inferno_tensor::DType;

#[test]
fn experts_agree_with_the_reference_and_with_each_other() {
    let mut random = Random::new(1);
    for (num_experts, num_experts_used) in [(8, 2), (5, 5), (3, 1), (128, 8)] {
        for normalize in [true, false] {
            let params = ExpertParams::softmax(num_experts, num_experts_used, normalize);
            for rows in [1, 2, 19, 80] {
                let logits: Vec<_> =
                    random.values(rows * num_experts).iter().map(|x| 3.0 * x).collect();
                let x = random.values(rows * HIDDEN);
                for (dtype, bound) in [(DType::F32, 2e-6), (DType::Q8_0, 0.02)] {
                    let expected = forward(&simplest(), rows, &params, dtype, &logits, &x);
                    let reference =
                        forward(&ReferenceBackend::new(), rows, &params, dtype, &logits, &x);
                    let error = relative_error(&expected, &reference);
                    assert!(error < bound, "{params:?} {rows} {dtype}: {error}");
                    for backend in all() {
                        let found = forward(&backend, rows, &params, dtype, &logits, &x);
                        assert_eq!(bits(&found), bits(&expected), "{params:?} {rows} {backend:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn experts_of_the_sparse_mixer_agree_with_the_reference() {
    let mut random = Random::new(37);
    for (rows, offset, normalize) in
        [(1, 1.0, false), (19, 1.0, true), (80, -1.0, false), (70, 0.0, true)]
    {
        // Sums of its weights are never divided by.
        let params =
            ExpertParams { gating: Gating::SparseMixer, ..ExpertParams::softmax(16, 2, normalize) };
        // Many logits are within the tolerance.
        let logits: Vec<_> = random.values(rows * 16).iter().map(|x| offset + 0.05 * x).collect();
        let x = random.values(rows * HIDDEN);
        let expected = forward(&simplest(), rows, &params, DType::F32, &logits, &x);
        let reference = forward(&ReferenceBackend::new(), rows, &params, DType::F32, &logits, &x);
        let error = relative_error(&expected, &reference);
        assert!(error < 2e-6, "{rows}: {error}");
        for backend in all() {
            let found = forward(&backend, rows, &params, DType::F32, &logits, &x);
            assert_eq!(bits(&found), bits(&expected), "{rows} {backend:?}");
        }
    }
}

#[test]
fn biased_experts_of_the_best_groups_agree_with_the_reference() {
    let mut random = Random::new(8);
    for (rows, accumulate, num_scored) in [(1, true, 2), (7, false, 1), (70, true, 2)] {
        let case = (rows, accumulate, num_scored);
        let logits: Vec<_> = random.values(rows * 12).iter().map(|x| 3.0 * x).collect();
        let x = random.values(rows * HIDDEN);
        let expected = biased(&simplest(), case, &logits, &x);
        let reference = biased(&ReferenceBackend::new(), case, &logits, &x);
        let error = relative_error(&expected, &reference);
        assert!(error < 2e-6, "{rows}: {error}");
        for backend in all() {
            let found = biased(&backend, case, &logits, &x);
            assert_eq!(bits(&found), bits(&expected), "{rows} {backend:?}");
        }
    }
}

#[test]
fn experts_whose_probabilities_vanish_have_no_effect() {
    vanishing_probabilities(&ReferenceBackend::new());
    all().iter().for_each(vanishing_probabilities);
}

#[test]
fn experts_with_weighted_inputs_agree_with_the_reference() {
    let mut random = Random::new(30);
    for (rows, used) in [(1, 1), (7, 2), (70, 3)] {
        let params =
            ExpertParams { gating: Gating::Sigmoid, ..ExpertParams::softmax(5, used, false) };
        let (logits, x) = (random.values(rows * 5), random.values(rows * HIDDEN));
        let expected = input_weighted(&simplest(), rows, &params, &logits, &x);
        let reference = input_weighted(&ReferenceBackend::new(), rows, &params, &logits, &x);
        let error = relative_error(&expected, &reference);
        assert!(error < 2e-6, "{rows}: {error}");
        for backend in all() {
            let found = input_weighted(&backend, rows, &params, &logits, &x);
            assert_eq!(bits(&found), bits(&expected), "{rows} {backend:?}");
        }
    }
}

#[test]
fn a_token_alone_is_bit_identical_to_one_in_a_batch() {
    let mut random = Random::new(2);
    let params = ExpertParams::softmax(6, 2, true);
    let rows = 70;
    let (logits, x) = (random.values(rows * 6), random.values(rows * HIDDEN));
    for backend in all() {
        let together = forward(&backend, rows, &params, DType::Q4_0, &logits, &x);
        for row in [0, 33, 69] {
            let logits = &logits[row * 6..(row + 1) * 6];
            let x = &x[row * HIDDEN..(row + 1) * HIDDEN];
            let alone = forward(&backend, 1, &params, DType::Q4_0, logits, x);
            let expected = &together[row * HIDDEN..(row + 1) * HIDDEN];
            assert_eq!(bits(&alone), bits(expected), "{row} {backend:?}");
        }
    }
}

#[test]
fn ties_between_experts_go_to_the_lower_index() {
    let params = ExpertParams::softmax(4, 2, true);
    let x = Random::new(3).values(HIDDEN);
    for backend in all() {
        let equal = forward(&backend, 1, &params, DType::F32, &[0.0; 4], &x);
        let first = forward(&backend, 1, &params, DType::F32, &[0.0, 0.0, -9.0, -9.0], &x);
        assert_eq!(bits(&equal), bits(&first), "{backend:?}");
    }
}

#[test]
fn products_with_a_matrix_per_head_agree_with_the_reference() {
    for rows in [1, 9, 40] {
        let x = Random::new(6).values(rows * 3 * (INNER + 4));
        let expected = per_head(&simplest(), rows, &x);
        let error = relative_error(&expected, &per_head(&ReferenceBackend::new(), rows, &x));
        assert!(error < 2e-6, "{rows}: {error}");
        for backend in all() {
            assert_eq!(bits(&per_head(&backend, rows, &x)), bits(&expected), "{backend:?}");
        }
    }
}

/// The rows of all experts are converted in one parallel step, however many experts there are.
#[test]
fn a_product_of_many_experts_runs_as_many_parallel_steps_as_one_of_two() {
    let steps = |num_experts: usize| {
        let backend = backend(Isa::Scalar, 2);
        let (rows, cols) = (80 * num_experts, 256);
        let mut random = Random::new(42);
        let weight = random.weight(DType::Q8_0, num_experts, 32, cols);
        let weight = backend.load_weight(&[weight]).expect("memory");
        let params = ExpertParams::softmax(num_experts, 1, true);
        let logits = matrix(&backend, rows, num_experts, &random.values(rows * num_experts));
        let mut routing = backend.alloc_routing(rows, &params).expect("memory");
        run(&backend, |pass| pass.route_experts(rows, &logits, None, &params, &mut routing));
        let x = matrix(&backend, rows, cols, &random.values(rows * cols));
        let mut out = backend.alloc(rows, 32).expect("memory");
        let before = backend.num_parallel_steps();
        run(&backend, |pass| pass.expert_linear(&routing, &x, &weight, None, &mut out))
            .expect("memory");
        backend.num_parallel_steps() - before
    };
    let expected = steps(2);
    assert!(expected > 0);
    assert_eq!(steps(16), expected);
}
