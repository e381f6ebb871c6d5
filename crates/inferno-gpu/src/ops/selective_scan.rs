//! Selective scans of recurrent layers.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights};

use super::StateArrays;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::batch::GpuBatch;
use crate::memory::buffer::GpuBuffer;
use crate::memory::state::GpuState;
use crate::pass::{GpuPass, fold};

kernel!(
    SELECTIVE_SCAN,
    "selective_scan",
    [snippets::FLAT_INDEX, snippets::FUNCTION, snippets::SEQUENCE_STATE],
    [Read, Read, Read, Read, Read, Read, ReadWrite, ReadWrite]
);

/// Threads of a workgroup: few, since a model has only some thousand channels.
const CHANNEL_LANES: u32 = 64;

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![variant(16)]
}

fn variant(state_size: usize) -> Variant {
    let lanes = Variant::from(&SELECTIVE_SCAN).with("LANES", CHANNEL_LANES);
    lanes.with("STATE_SIZE", state_size as u32)
}

/// See [`Pass::selective_scan`](inferno_backend::Pass::selective_scan).
pub(crate) fn selective_scan(
    pass: &mut GpuPass<'_>,
    batch: &GpuBatch,
    params: &SelectiveScanParams,
    weights: SelectiveScanWeights<'_, GpuBuffer>,
    rows: SelectiveScanRows<'_, GpuBuffer>,
    state: &mut GpuState,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        arrays: StateArrays,
        sequences: u32,
        channels: u32,
    }
    let SelectiveScanParams { layer, channels, state_size } = *params;
    let sequences = batch.batch.num_sequences();
    let params =
        Params { arrays: batch.into(), sequences: sequences as u32, channels: channels as u32 };
    let bindings = [
        batch.binding(pass),
        weights.rates.into(),
        weights.skip.into(),
        rows.values.into(),
        rows.steps.into(),
        rows.selection.into(),
        (&state.layer(layer).matrices).into(),
        out.into(),
    ];
    let blocks = channels.div_ceil(CHANNEL_LANES as usize);
    pass.dispatch(variant(state_size), bindings, &params, fold(sequences * blocks));
}
