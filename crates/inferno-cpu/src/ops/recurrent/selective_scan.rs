//! The selective state space of Mamba 1, token by token.
//!
//! Channels do not depend on one another: vectors hold 16 of them, and a task keeps the states of 64 in the first-level
//! cache while it reads all rows of a sequence. The state of a layer is `[state_size][channels]`.
//!
//! **Order of the sums.** The skipped value, then the product of each state in ascending order, by fused multiply-add.

// Writes to columns of rows and to parts of the state.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{
    Batch, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights, StateLayout, StateSlot,
};

use super::SequenceRows;
use super::linear_attention::softplus;
use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::recurrent_state::{CpuState, StateOffsets};

/// Channels of a task.
const TASK_CHANNELS: usize = 4 * LANES;

/// Reads and writes the states of each sequence.
pub(crate) fn selective_scan(
    executor: Executor<'_>,
    batch: &Batch,
    params: &SelectiveScanParams,
    weights: SelectiveScanWeights<'_, CpuBuffer>,
    rows: SelectiveScanRows<'_, CpuBuffer>,
    state: &mut CpuState,
    out: &mut CpuBuffer,
) {
    let SelectiveScanParams { channels, state_size, .. } = *params;
    let num_rows = batch.num_tokens();
    let SelectiveScanRows { values, steps, selection } = rows;
    check(params, &weights, [values, steps, out], &state.layout);
    assert_eq!(selection.cols(), 2 * state_size, "two factors per state");
    assert!(num_rows <= out.num_rows(), "{num_rows} rows into {}", out.num_rows());
    let inputs = ScanInputs {
        params,
        values: values.rows(num_rows),
        steps: steps.rows(num_rows),
        selection: selection.rows(num_rows),
        rates: weights.rates.rows(state_size),
        skip: weights.skip.rows(1),
    };
    let layout = state.layout;
    let (state, out) = (Disjoint::new(state.values_mut()), Disjoint::new(out.values_mut()));
    let num_parts = channels.div_ceil(TASK_CHANNELS);
    let scan = |task: usize| {
        let first = task % num_parts * TASK_CHANNELS;
        executor.level.run(Scan {
            inputs: &inputs,
            sequence: SequenceRows::new(batch, task / num_parts),
            channels: first..channels.min(first + TASK_CHANNELS),
            layout: &layout,
            state: &state,
            out: &out,
        });
    };
    let num_tasks = batch.num_sequences() * num_parts;
    executor.pool.run_if_large(num_tasks, num_rows * params.num_states(), &scan);
}

fn check(
    params: &SelectiveScanParams,
    weights: &SelectiveScanWeights<'_, CpuBuffer>,
    by_channel: [&CpuBuffer; 3],
    layout: &StateLayout,
) {
    let SelectiveScanParams { layer, channels, .. } = *params;
    assert!(layer < layout.num_layers, "layer {layer} of {}", layout.num_layers);
    assert_eq!(params.num_states(), layout.matrix_values, "the state was made for this layer");
    let vectors = by_channel.into_iter().chain([weights.rates, weights.skip]);
    assert!(vectors.into_iter().all(|buffer| buffer.cols() == channels), "a column per channel");
}

/// What every task reads.
struct ScanInputs<'a> {
    params: &'a SelectiveScanParams,
    values: &'a [f32],
    steps: &'a [f32],
    selection: &'a [f32],
    rates: &'a [f32],
    skip: &'a [f32],
}

/// Reads and writes some channels of one sequence. No other task writes to them.
struct Scan<'a> {
    inputs: &'a ScanInputs<'a>,
    sequence: SequenceRows,
    channels: Range<usize>,
    layout: &'a StateLayout,
    state: &'a Disjoint<'a, f32>,
    out: &'a Disjoint<'a, f32>,
}

impl Kernel for Scan<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for first in self.channels.clone().step_by(LANES) {
            self.scan(lanes, first..self.channels.end.min(first + LANES));
        }
    }
}

impl Scan<'_> {
    /// Scans up to 16 channels.
    #[inline(always)]
    fn scan<L: Lanes>(&self, lanes: L, channels: Range<usize>) {
        let ScanInputs { params, values, steps, selection, rates, skip } = *self.inputs;
        let SelectiveScanParams { channels: num_channels, state_size, .. } = *params;
        let slot = self.sequence.slot;
        if self.sequence.is_new {
            (0..state_size).for_each(|number| self.state(slot, number, &channels).fill(0.0));
        }
        let skip = lanes.load_part(&skip[channels.clone()]);
        for row in self.sequence.rows.clone() {
            let at = row * num_channels;
            let columns = at + channels.start..at + channels.end;
            let value = lanes.load_part(&values[columns.clone()]);
            let mut step = [0.0; LANES];
            softplus(lanes, lanes.load_part(&steps[columns.clone()]), &mut step);
            let step = lanes.load(&step);
            let scaled = lanes.mul(step, value);
            let selection = &selection[row * 2 * state_size..][..2 * state_size];
            let (writes, reads) = selection.split_at(state_size);
            let mut sum = lanes.mul(skip, value);
            for (number, (&write, &read)) in writes.iter().zip(reads).enumerate() {
                let rates = &rates[number * num_channels..][channels.clone()];
                let decay = lanes.exp(lanes.mul(lanes.load_part(rates), step));
                let state = self.state(slot, number, &channels);
                let decayed = lanes.mul(decay, lanes.load_part(state));
                let new = lanes.fma(scaled, lanes.splat(write), decayed);
                lanes.store_part(new, state);
                sum = lanes.fma(new, lanes.splat(read), sum);
            }
            // SAFETY: tasks differ in the sequence, and thereby in the rows, or in the channels.
            lanes.store_part(sum, unsafe { self.out.part(columns) });
            if let Some(copy) = self.sequence.checkpoint_after(row) {
                for number in 0..state_size {
                    let state = lanes.load_part(self.state(slot, number, &channels));
                    lanes.store_part(state, self.state(copy, number, &channels));
                }
            }
        }
    }

    /// State `number` of `channels` in a slot.
    // No two of the same slot exist at a time in a task.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    fn state(&self, slot: StateSlot, number: usize, channels: &Range<usize>) -> &mut [f32] {
        let SelectiveScanParams { layer, channels: num_channels, .. } = *self.inputs.params;
        let at = self.layout.matrices_at(slot, layer) + number * num_channels;
        // SAFETY: tasks differ in the sequence, and thereby in the slots, which a batch does not share, or in the
        // channels; within a task, each part is dropped before the next one is created.
        unsafe { self.state.part(at + channels.start..at + channels.end) }
    }
}
