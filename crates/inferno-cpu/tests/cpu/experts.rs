//! Mixture of experts: routing, products, combination.

use crate::cases::{Random, SILU, all, bits, matrix, read, relative_error, run, simplest};
use inferno_backend::{
    Backend, ColumnBlocks, CopySize, ExpertGroups, ExpertInput, ExpertParams, Gate, Gating, Pass,
    ReferenceBackend,
};
use inferno_tensor::DType;

const HIDDEN: usize = 64;
const INNER: usize = 96;

/// A feed-forward block: gate and up of the experts, down from them, into the residual stream.
fn forward<B: Backend>(
    backend: &B,
    rows: usize,
    params: &ExpertParams,
    dtype: DType,
    logits: &[f32],
    x: &[f32],
) -> Vec<f32> {
    let mut random = Random::new(9);
    let ExpertParams { num_experts, num_experts_used: used, .. } = *params;
    let gate_up = [(); 2].map(|()| random.weight(dtype, num_experts, INNER, HIDDEN));
    let down = random.weight(dtype, num_experts, HIDDEN, INNER);
    let (gate_up, down) = (
        backend.load_weight(&gate_up).expect("a weight"),
        backend.load_weight(&[down]).expect("a weight"),
    );
    let logits = matrix(backend, rows, num_experts, logits);
    let input = matrix(backend, rows, HIDDEN, x);
    let mut routing = backend.alloc_routing(rows, params).expect("memory");
    let mut inner = backend.alloc(rows * used, INNER).expect("memory");
    let mut outer = backend.alloc(rows * used, HIDDEN).expect("memory");
    let mut out = matrix(backend, rows, HIDDEN, x);
    // Twice, as every layer uses the same routing buffer.
    for _ in 0..2 {
        run(backend, |pass| pass.route_experts(rows, &logits, None, params, &mut routing));
        run(backend, |pass| {
            pass.expert_linear_gated(
                &routing,
                (&input, ExpertInput::PerToken),
                &gate_up,
                None,
                SILU,
                &mut inner,
            )
        })
        .expect("memory");
        run(backend, |pass| pass.expert_linear(&routing, &inner, &down, None, &mut outer))
            .expect("memory");
        run(backend, |pass| pass.combine_experts(rows, &routing, &outer, true, &mut out));
    }
    read(backend, &out, rows * HIDDEN)
}

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

/// Outputs of experts with biases, chosen by sigmoids within groups, next to what `out` holds or instead of it.
fn biased<B: Backend>(
    backend: &B,
    (rows, accumulate, num_scored): (usize, bool, usize),
    logits: &[f32],
    x: &[f32],
) -> Vec<f32> {
    let mut random = Random::new(19);
    let params = ExpertParams {
        gating: Gating::Sigmoid,
        scale: 2.5,
        groups: Some(ExpertGroups { num_groups: 4, num_groups_used: 2, num_scored }),
        ..ExpertParams::softmax(12, 3, true)
    };
    let weights = [(INNER, HIDDEN), (INNER, HIDDEN), (HIDDEN, INNER)];
    let [gate, up, down] =
        weights.map(|(rows, cols)| random.weight(DType::F32, params.num_experts, rows, cols));
    let scales = |rows: usize| (0..12 * rows).map(|row| 1.0 + (row / rows) as f32 / 8.0).collect();
    let (up, down) = (up.with_scales(scales(INNER)), down.with_scales(scales(HIDDEN)));
    let (gate_up, down) = (
        backend.load_weight(&[gate, up]).expect("a weight"),
        backend.load_weight(&[down]).expect("a weight"),
    );
    let [selection, gate_up_bias, down_bias] = [(1, 12), (12, 2 * INNER), (12, HIDDEN)]
        .map(|(rows, cols)| matrix(backend, rows, cols, &random.values(rows * cols)));
    let logits = matrix(backend, rows, params.num_experts, logits);
    let input = matrix(backend, rows, HIDDEN, x);
    let mut routing = backend.alloc_routing(rows, &params).expect("memory");
    let mut inner = backend.alloc(rows * 3, INNER).expect("memory");
    let mut outer = backend.alloc(rows * 3, HIDDEN).expect("memory");
    let mut out = matrix(backend, rows, HIDDEN, x);
    let gate = Gate::Clamped { alpha: 1.702, limit: 1.0 };
    let (gate_up_bias, down_bias) = (Some(&gate_up_bias), Some(&down_bias));
    run(backend, |pass| pass.route_experts(rows, &logits, Some(&selection), &params, &mut routing));
    run(backend, |pass| {
        pass.expert_linear_gated(
            &routing,
            (&input, ExpertInput::PerToken),
            &gate_up,
            gate_up_bias,
            gate,
            &mut inner,
        )
    })
    .expect("memory");
    run(backend, |pass| pass.expert_linear(&routing, &inner, &down, down_bias, &mut outer))
        .expect("memory");
    run(backend, |pass| pass.combine_experts(rows, &routing, &outer, accumulate, &mut out));
    read(backend, &out, rows * HIDDEN)
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

/// Experts whose weights are factors on their inputs.
fn input_weighted<B: Backend>(
    backend: &B,
    rows: usize,
    params: &ExpertParams,
    logits: &[f32],
    x: &[f32],
) -> Vec<f32> {
    let mut random = Random::new(29);
    let ExpertParams { num_experts, num_experts_used: used, .. } = *params;
    let gate_up = [(); 2].map(|()| random.weight(DType::F32, num_experts, INNER, HIDDEN));
    let down = random.weight(DType::F32, num_experts, HIDDEN, INNER);
    let (gate_up, down) = (
        backend.load_weight(&gate_up).expect("a weight"),
        backend.load_weight(&[down]).expect("a weight"),
    );
    let logits = matrix(backend, rows, num_experts, logits);
    let x = matrix(backend, rows, HIDDEN, x);
    let mut routing = backend.alloc_routing(rows, params).expect("memory");
    let mut inner = backend.alloc(rows * used, INNER).expect("memory");
    let mut outer = backend.alloc(rows * used, HIDDEN).expect("memory");
    let mut out = backend.alloc(rows, HIDDEN).expect("memory");
    run(backend, |pass| pass.route_experts(rows, &logits, None, params, &mut routing));
    run(backend, |pass| pass.weigh_expert_inputs(rows, &x, &mut routing, &mut outer));
    let input = (&outer, ExpertInput::PerSlot);
    run(backend, |pass| {
        pass.expert_linear_gated(&routing, input, &gate_up, None, SILU, &mut inner)
    })
    .expect("memory");
    run(backend, |pass| pass.expert_linear(&routing, &inner, &down, None, &mut outer))
        .expect("memory");
    run(backend, |pass| pass.combine_experts(rows, &routing, &outer, true, &mut out));
    read(backend, &out, rows * HIDDEN)
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

/// The product of each head's columns with a matrix of its own.
fn per_head<B: Backend>(backend: &B, rows: usize, x: &[f32]) -> Vec<f32> {
    const HEADS: usize = 3;
    let weight = Random::new(5).weight(DType::F32, HEADS, 20, INNER);
    let weight = backend.load_weight(&[weight]).expect("a weight");
    let params = ExpertParams::softmax(HEADS, HEADS, false);
    let mut routing = backend.alloc_routing(rows, &params).expect("memory");
    run(backend, |pass| pass.route_to_all(rows, &mut routing));
    // Each head has four columns that are not multiplied.
    let row_len = HEADS * (INNER + 4);
    let source = matrix(backend, rows, row_len, x);
    let mut heads = backend.alloc(rows * HEADS, INNER).expect("memory");
    let size = CopySize { rows, blocks: HEADS, width: INNER };
    let from = ColumnBlocks { row_len, start: 4, step: INNER + 4 };
    let to = ColumnBlocks { row_len: HEADS * INNER, start: 0, step: INNER };
    run(backend, |pass| pass.copy_columns(size, (&source, from), (&mut heads, to)));
    let mut out = backend.alloc(rows * HEADS, 20).expect("memory");
    run(backend, |pass| pass.expert_linear(&routing, &heads, &weight, None, &mut out))
        .expect("memory");
    read(backend, &out, rows * HEADS * 20)
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
