//! Gated linear attention of recurrent layers.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{
    LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, WriteRule,
};

use super::StateArrays;
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
    LINEAR_ATTENTION,
    "linear_attention",
    [snippets::FLAT_INDEX, snippets::SEQUENCE_STATE],
    [Read, Read, Read, Read, Read, ReadWrite, ReadWrite]
);

/// Threads that activate the inputs of a head.
const INPUT_LANES: u32 = 64;

/// Columns of a matrix that a workgroup processes, and threads that share a column.
const COLUMNS: u32 = 32;
const PARTS: u32 = 8;

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![inputs(), attention(128), attention(5)]
}

fn inputs() -> Variant {
    Variant::from(&INPUTS).with("LANES", INPUT_LANES)
}

fn attention(key_dim: usize) -> Variant {
    Variant::from(&LINEAR_ATTENTION)
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
    let LinearAttentionRows { projected, convolved } = rows;
    activate(pass, batch.batch.num_tokens(), params, weights.step_bias, projected, convolved);
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
        steps: params.steps as u32,
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
        (&state.layer(params.layer).matrices).into(),
        out.into(),
    ];
    let blocks = params.value_dim.div_ceil(COLUMNS as usize);
    let workgroups = fold(sequences * params.num_heads * blocks);
    pass.dispatch(attention(params.key_dim), bindings, &dispatch_params, workgroups);
}

/// Activates the steps of all rows, and for the delta rule the strengths, and normalizes its queries and keys.
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
        steps: params.steps as u32,
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
