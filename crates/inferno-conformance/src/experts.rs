//! Mixture of experts: routing, products, combination.

use inferno_backend::{
    Backend, ColumnBlocks, CopySize, ExpertGroups, ExpertInput, ExpertParams, Gate, Gating, Pass,
};
use inferno_tensor::DType;

use crate::cases::{Random, SILU, matrix, read, run};

/// Width of the experts' input and output rows.
pub const HIDDEN: usize = 64;
/// Width of the rows between their projections.
pub const INNER: usize = 96;

/// A feed-forward block: gate and up of the experts, down from them, into the residual stream.
pub fn forward<B: Backend>(
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

/// Experts whose probabilities are all zero in single precision have no effect.
pub fn vanishing_probabilities<B: Backend>(backend: &B) {
    let params = ExpertParams { gating: Gating::Sigmoid, ..ExpertParams::softmax(8, 2, true) };
    let x = Random::new(41).values(3 * HIDDEN);
    let found = forward(backend, 3, &params, DType::F32, &[-200.0; 3 * 8], &x);
    assert_eq!(found, x);
}

/// Outputs of experts with biases, chosen by sigmoids within groups, next to what `out` holds or instead of it.
pub fn biased<B: Backend>(
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

/// Experts whose weights are factors on their inputs.
pub fn input_weighted<B: Backend>(
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

/// The product of each head's columns with a matrix of its own.
pub fn per_head<B: Backend>(backend: &B, rows: usize, x: &[f32]) -> Vec<f32> {
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
