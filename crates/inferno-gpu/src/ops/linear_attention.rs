//! Gated linear attention of recurrent layers.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{
    DecaySteps, LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, WriteRule,
};

use super::{LANES, StateArrays};
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::state::GpuState;
use crate::pass::{GpuPass, fold};

kernel!(
    INPUTS,
    "linear_attention_inputs",
    [snippets::FLAT_INDEX, snippets::FUNCTION, snippets::WORKGROUP_SUM],
    [Read, ReadWrite, ReadWrite]
);
kernel!(
    DECAY_ROWS,
    "decay_rows",
    [snippets::FLAT_INDEX, snippets::FUNCTION],
    [Read, Read, ReadWrite]
);
kernel!(
    LINEAR_ATTENTION,
    "linear_attention",
    [snippets::FLAT_INDEX, snippets::SEQUENCE_STATE],
    [Read, Read, Read, Read, Read, Read, ReadWrite, ReadWrite]
);

/// Threads that activate the inputs of a head.
const INPUT_LANES: u32 = 64;

/// Columns of a matrix that a workgroup processes, and threads that share a column.
const COLUMNS: u32 = 32;
const PARTS: u32 = 8;

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    let attention = |key_dim| [false, true].map(|by_rows| attention(key_dim, by_rows));
    let own = [inputs(), Variant::with_lanes(&DECAY_ROWS)];
    own.into_iter().chain(attention(128)).chain(attention(5)).collect()
}

fn inputs() -> Variant {
    Variant::from(&INPUTS).with("LANES", INPUT_LANES)
}

/// The kernel of heads whose matrices decay as a whole or by rows.
fn attention(key_dim: usize, by_rows: bool) -> Variant {
    Variant::from(&LINEAR_ATTENTION)
        .with("HAS_ROW_DECAYS", by_rows.into())
        .with("LANES", COLUMNS * PARTS)
        .with("COLUMNS", COLUMNS)
        .with("PARTS", PARTS)
        .with("KEYS_PER_PART", (key_dim as u32).div_ceil(PARTS))
}

/// See [`Pass::linear_attention`](inferno_backend::Pass::linear_attention).
pub(crate) fn linear_attention(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    params: &LinearAttentionParams,
    weights: LinearAttentionWeights<'_, GpuBuffer>,
    rows: LinearAttentionRows<'_, GpuBuffer>,
    state: &mut GpuState,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        arrays: StateArrays,
        sequences: u32,
        num_heads: u32,
        num_key_heads: u32,
        key_dim: u32,
        value_dim: u32,
        queries: u32,
        keys: u32,
        values: u32,
        are_grouped: u32,
        steps: u32,
        is_delta: u32,
        strengths: u32,
        has_skip: u32,
        projected_len: u32,
        convolved_len: u32,
        max_rows: u32,
    }
    let LinearAttentionRows { projected, convolved, steps } = rows;
    let num_rows = batch.batch.num_tokens();
    activate(pass, num_rows, params, weights.step_bias, projected, convolved);
    if let Some(steps) = &steps {
        decay_rows(pass, num_rows, params, &weights, steps);
    }
    let sequences = batch.batch.num_sequences();
    let strengths = match params.rule {
        WriteRule::Additive => None,
        WriteRule::Delta { strengths, .. } => Some(strengths),
    };
    let dispatch_params = Params {
        arrays: batch.into(),
        sequences: sequences as u32,
        num_heads: params.num_heads as u32,
        num_key_heads: params.num_key_heads as u32,
        key_dim: params.key_dim as u32,
        value_dim: params.value_dim as u32,
        queries: params.queries as u32,
        keys: params.keys as u32,
        values: params.values as u32,
        are_grouped: u32::from(params.are_grouped),
        steps: first_step(params).unwrap_or(0) as u32,
        is_delta: u32::from(strengths.is_some()),
        strengths: strengths.unwrap_or(0) as u32,
        has_skip: u32::from(weights.skip.is_some()),
        projected_len: projected.cols() as u32,
        convolved_len: convolved.cols() as u32,
        max_rows: batch.longest_chunk() as u32,
    };
    let bindings = [
        batch.binding(pass),
        weights.rates.into(),
        pass.optional(weights.skip),
        projected.into(),
        convolved.into(),
        pass.optional(steps.as_deref()),
        (&state.layer(params.layer).matrices).into(),
        out.into(),
    ];
    let by_rows = params.steps == DecaySteps::PerComponent;
    assert_eq!(
        by_rows,
        steps.is_some(),
        "steps of components, and no others, have rows of their own"
    );
    let blocks = params.value_dim.div_ceil(COLUMNS as usize);
    let workgroups = fold(sequences * params.num_heads * blocks);
    pass.dispatch(attention(params.key_dim, by_rows), bindings, &dispatch_params, workgroups);
}

/// The first column of the steps of heads.
fn first_step(params: &LinearAttentionParams) -> Option<usize> {
    match params.steps {
        DecaySteps::PerHead { column } => Some(column),
        DecaySteps::PerComponent => None,
    }
}

/// Replaces steps of components by factors on the rows of matrices.
fn decay_rows(
    pass: &mut GpuPass<'_>,
    rows: usize,
    params: &LinearAttentionParams,
    weights: &LinearAttentionWeights<'_, GpuBuffer>,
    steps: &GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        steps: u32,
        key_dim: u32,
        min_step: f32,
    }
    let num_steps = params.num_steps();
    assert_eq!(steps.cols(), num_steps, "a step per component of each head's key");
    let dispatch_params = Params {
        values: (rows * num_steps) as u32,
        steps: num_steps as u32,
        key_dim: params.key_dim as u32,
        min_step: params.min_step,
    };
    let bindings = [weights.rates.into(), weights.step_bias.into(), steps.into()];
    let workgroups = fold((rows * num_steps).div_ceil(LANES as usize));
    pass.dispatch(Variant::with_lanes(&DECAY_ROWS), bindings, &dispatch_params, workgroups);
}

/// Activates the steps of heads in all rows, and for the delta rule the strengths, and normalizes its queries and keys.
fn activate(
    pass: &mut GpuPass<'_>,
    rows: usize,
    params: &LinearAttentionParams,
    step_bias: &GpuBuffer,
    projected: &GpuBuffer,
    convolved: &GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        rows: u32,
        /// Heads of queries and of keys; 0 if they are not normalized.
        num_key_heads: u32,
        key_dim: u32,
        queries: u32,
        keys: u32,
        num_heads: u32,
        has_steps: u32,
        steps: u32,
        strengths: u32,
        projected_len: u32,
        convolved_len: u32,
        min_step: f32,
        query_scale: f32,
        eps: f32,
    }
    let (num_key_heads, strengths, eps) = match params.rule {
        WriteRule::Additive => (0, 0, 0.0),
        WriteRule::Delta { eps, strengths } => (params.num_key_heads, strengths, eps),
    };
    let dispatch_params = Params {
        rows: rows as u32,
        num_key_heads: num_key_heads as u32,
        key_dim: params.key_dim as u32,
        queries: params.queries as u32,
        keys: params.keys as u32,
        num_heads: params.num_heads as u32,
        has_steps: u32::from(first_step(params).is_some()),
        steps: first_step(params).unwrap_or(0) as u32,
        strengths: strengths as u32,
        projected_len: projected.cols() as u32,
        convolved_len: convolved.cols() as u32,
        min_step: params.min_step,
        query_scale: 1.0 / (params.key_dim as f32).sqrt(),
        eps,
    };
    let bindings = [step_bias.into(), projected.into(), convolved.into()];
    pass.dispatch(inputs(), bindings, &dispatch_params, fold(rows * (2 * num_key_heads + 1)));
}
