//! Causal convolution of each channel.
//!
//! **Order of the sums.** The bias, then the product of each tap by fused multiply-add, the oldest first.

// Writes to columns of rows and to parts of the state.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{Batch, ConvParams, ConvWeights, Function, StateSlot};

use super::SequenceRows;
use super::layer_state::LayerState;
use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::evaluate;
use crate::recurrent_state::CpuState;

/// Channels of a task.
const TASK_CHANNELS: usize = 16 * LANES;

/// Convolves the inputs in `x` and stores the inputs that later tokens need.
pub(crate) fn causal_conv(
    executor: Executor<'_>,
    batch: &Batch,
    params: &ConvParams,
    weights: ConvWeights<'_, CpuBuffer>,
    x: &CpuBuffer,
    state: &mut CpuState,
    out: &mut CpuBuffer,
) {
    let ConvParams { layer, channels, taps, input, input_gate, output_gate, .. } = *params;
    let num_rows = batch.num_tokens();
    assert!((1..=ConvParams::MAX_TAPS).contains(&taps), "{taps} taps");
    let columns = [Some(input), input_gate, output_gate].into_iter().flatten();
    assert!(columns.max().is_some_and(|first| first + channels <= x.cols()), "inputs beyond a row");
    assert_eq!(out.cols(), channels, "an output per channel");
    assert!(num_rows <= out.num_rows(), "{num_rows} rows into {}", out.num_rows());
    let state = LayerState::new(state, layer);
    let conv_values = state.layout().conv_values;
    assert_eq!(params.tail_values(), conv_values, "the state was made for this layer");
    let weights =
        ConvTaps { taps: weights.taps.rows(taps), bias: weights.bias.map(|bias| bias.rows(1)) };
    assert!(weights.bias.is_none_or(|bias| bias.len() == channels), "a bias per channel");
    let (x_cols, x) = (x.cols(), x.rows(num_rows));
    let out = Disjoint::new(out.values_mut());
    let num_parts = channels.div_ceil(TASK_CHANNELS);
    let convolve = |task: usize| {
        let first = task % num_parts * TASK_CHANNELS;
        executor.level.run(Convolve {
            params,
            weights,
            x,
            x_cols,
            sequence: SequenceRows::new(batch, task / num_parts),
            channels: first..channels.min(first + TASK_CHANNELS),
            state: &state,
            out: &out,
        });
    };
    executor.pool.run_if_large(batch.num_sequences() * num_parts, num_rows * channels, &convolve);
}

/// The weights: a row per tap, and a bias.
#[derive(Clone, Copy)]
struct ConvTaps<'a> {
    taps: &'a [f32],
    bias: Option<&'a [f32]>,
}

/// Convolves some channels of one sequence. No other task writes to them.
struct Convolve<'a> {
    params: &'a ConvParams,
    weights: ConvTaps<'a>,
    x: &'a [f32],
    x_cols: usize,
    sequence: SequenceRows,
    channels: Range<usize>,
    state: &'a LayerState<'a>,
    out: &'a Disjoint<'a, f32>,
}

impl Kernel for Convolve<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for first in self.channels.clone().step_by(LANES) {
            self.convolve(lanes, first..self.channels.end.min(first + LANES));
        }
    }
}

impl Convolve<'_> {
    /// Convolves up to 16 channels.
    #[inline(always)]
    fn convolve<L: Lanes>(&self, lanes: L, channels: Range<usize>) {
        let ConvParams { taps, input, input_gate, output_gate, silu, .. } = *self.params;
        let num_channels = self.params.channels;
        // The last inputs, the oldest first.
        let mut tail = [lanes.splat(0.0); ConvParams::MAX_TAPS];
        if !self.sequence.is_new {
            for (tap, value) in tail[..taps - 1].iter_mut().enumerate() {
                // SAFETY: the part is dropped at the end of the iteration.
                let stored = unsafe { self.stored(self.sequence.slot, tap, &channels) };
                *value = lanes.load_part(stored);
            }
        }
        let bias = self.weights.bias.map(|bias| lanes.load_part(&bias[channels.clone()]));
        for row in self.sequence.rows.clone() {
            let x = &self.x[row * self.x_cols..][..self.x_cols];
            let column = |first| lanes.load_part(&x[first + channels.start..first + channels.end]);
            let input = column(input);
            tail[taps - 1] = match input_gate {
                Some(gate) => lanes.mul(input, column(gate)),
                None => input,
            };
            let mut sum = bias.unwrap_or(lanes.splat(0.0));
            for (tap, &value) in tail[..taps].iter().enumerate() {
                let weights = &self.weights.taps[tap * num_channels..][channels.clone()];
                sum = lanes.fma(lanes.load_part(weights), value, sum);
            }
            if silu {
                sum = evaluate(lanes, Function::Silu, sum);
            }
            if let Some(gate) = output_gate {
                sum = lanes.mul(sum, column(gate));
            }
            let at = row * num_channels;
            // SAFETY: tasks differ in the sequence, and thereby in the rows, or in the channels.
            let out = unsafe { self.out.part(at + channels.start..at + channels.end) };
            lanes.store_part(sum, out);
            tail.copy_within(1.., 0);
            match self.sequence.checkpoint {
                Some((last_row, slot)) if last_row == row => {
                    self.store(lanes, slot, &tail[..taps - 1], &channels);
                }
                _ => {}
            }
        }
        self.store(lanes, self.sequence.slot, &tail[..taps - 1], &channels);
    }

    #[inline(always)]
    fn store<L: Lanes>(&self, lanes: L, slot: StateSlot, tail: &[L::F32], channels: &Range<usize>) {
        for (tap, &value) in tail.iter().enumerate() {
            // SAFETY: the part is dropped at the end of the iteration.
            lanes.store_part(value, unsafe { self.stored(slot, tap, channels) });
        }
    }

    /// The inputs of `channels` that a slot of the sequence stores for `tap`.
    ///
    /// # Safety
    ///
    /// While they live, the task may not create them again.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    unsafe fn stored(&self, slot: StateSlot, tap: usize, channels: &Range<usize>) -> &mut [f32] {
        let at = tap * self.params.channels;
        // SAFETY: tasks differ in the sequence, and thereby in the slots, which a batch does not share, or in
        // the channels; the caller guarantees that this task has no other part with them.
        unsafe { self.state.conv_inputs(slot, at + channels.start..at + channels.end) }
    }
}
