//! Causal convolutions of recurrent layers.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{ConvParams, ConvWeights};

use super::{LANES, StateArrays};
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::state::GpuState;
use crate::pass::{GpuPass, fold};

kernel!(
    CAUSAL_CONV,
    "causal_conv",
    [snippets::FLAT_INDEX, snippets::FUNCTION, snippets::SEQUENCE_STATE, snippets::CONV_INPUT],
    [Read, Read, Read, Read, Read, ReadWrite]
);
kernel!(
    CONV_TAIL,
    "conv_tail",
    [snippets::FLAT_INDEX, snippets::SEQUENCE_STATE, snippets::CONV_INPUT],
    [Read, Read, ReadWrite]
);

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![outputs(), tails()]
}

fn outputs() -> Variant {
    Variant::with_lanes(&CAUSAL_CONV)
}

fn tails() -> Variant {
    Variant::with_lanes(&CONV_TAIL)
}

/// The parameters of both kernels.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    arrays: StateArrays,
    sequences: u32,
    /// Rows in the first kernel, and the sequence of each row; unused in the second.
    rows: u32,
    row_sequences: u32,
    row_len: u32,
    channels: u32,
    taps: u32,
    input: u32,
    /// The first column of the gate, plus 1; 0 without one.
    input_gate: u32,
    output_gate: u32,
    silu: u32,
    has_bias: u32,
}

/// See [`Pass::causal_conv`](inferno_backend::Pass::causal_conv).
///
/// All outputs are computed before any state changes, so that rows are independent of each other.
pub(crate) fn causal_conv(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    conv: &ConvParams,
    weights: ConvWeights<'_, GpuBuffer>,
    x: &GpuBuffer,
    state: &mut GpuState,
    out: &mut GpuBuffer,
) {
    let column = |column: Option<usize>| column.map_or(0, |column| column as u32 + 1);
    let (rows, sequences) = (batch.batch.num_tokens(), batch.batch.num_sequences());
    let params = Params {
        arrays: batch.into(),
        sequences: sequences as u32,
        rows: rows as u32,
        row_sequences: batch.arrays.sequences,
        row_len: x.cols() as u32,
        channels: conv.channels as u32,
        taps: conv.taps as u32,
        input: conv.input as u32,
        input_gate: column(conv.input_gate),
        output_gate: column(conv.output_gate),
        silu: u32::from(conv.silu),
        has_bias: u32::from(weights.bias.is_some()),
    };
    let tail = &state.layer(conv.layer).conv;
    let workgroups = |rows: usize| fold((rows * conv.channels).div_ceil(LANES as usize));
    let bindings = [
        batch.binding(pass),
        x.into(),
        weights.taps.into(),
        pass.optional(weights.bias),
        tail.into(),
        out.into(),
    ];
    pass.dispatch(outputs(), bindings, &params, workgroups(rows));
    if conv.taps > 1 {
        let bindings = [batch.binding(pass), x.into(), tail.into()];
        pass.dispatch(tails(), bindings, &params, workgroups(sequences));
    }
}
