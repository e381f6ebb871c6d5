//! The selective state space of Mamba 1, token by token.
//!
//! Channels do not depend on one another: vectors hold 16 of them, and a task keeps the states of 64 in the first-level
//! cache while it reads all rows of a sequence.
//!
//! **Order of the sums.** The skipped value, then the product of each state in ascending order, by fused multiply-add.

// Writes to columns of rows and to parts of the state.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{Batch, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights};

use super::SequenceRows;
use super::layer_state::{LayerState, StateBlock};
use super::matrix_columns::Columns;
use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::softplus;
use crate::recurrent_state::{BLOCK_COLS, CpuState};

/// Channels of a task: whole blocks of the state.
const TASK_CHANNELS: usize = 2 * BLOCK_COLS;

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
    let by_channel = [values, steps, out, weights.rates, weights.skip];
    assert!(by_channel.iter().all(|buffer| buffer.cols() == channels), "a column per channel");
    let state = LayerState::new(state, params.layer);
    assert_eq!(params.matrices(), state.layout().matrices, "the state was made for this layer");
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
    let out = Disjoint::new(out.values_mut());
    let num_parts = channels.div_ceil(TASK_CHANNELS);
    let scan = |task: usize| {
        let first = task % num_parts * TASK_CHANNELS;
        executor.level.run(Scan {
            inputs: &inputs,
            sequence: SequenceRows::new(batch, task / num_parts),
            channels: first..channels.min(first + TASK_CHANNELS),
            state: &state,
            out: &out,
        });
    };
    let num_tasks = batch.num_sequences() * num_parts;
    executor.pool.run_if_large(num_tasks, num_rows * params.matrices().num_values(), &scan);
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
    state: &'a LayerState<'a>,
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
        let first_col = channels.start / BLOCK_COLS * BLOCK_COLS;
        let block_cols = BLOCK_COLS.min(num_channels - first_col);
        let columns =
            Columns { first: channels.start - first_col, len: channels.len(), block_cols };
        // SAFETY: tasks differ in the sequence or in the channels, which are whole blocks; within a task, each block is
        // dropped before the next one is created.
        let block = unsafe { self.state.block(&self.sequence, 0, first_col) };
        let StateBlock { values: block, mut checkpoint } = block;
        if self.sequence.is_new {
            columns.clear(block);
        }
        let skip = lanes.load_part(&skip[channels.clone()]);
        for row in self.sequence.rows.clone() {
            let at = row * num_channels;
            let of_row = at + channels.start..at + channels.end;
            let value = lanes.load_part(&values[of_row.clone()]);
            let step = softplus(lanes, lanes.load_part(&steps[of_row.clone()]));
            let scaled = lanes.mul(step, value);
            let selection = &selection[row * 2 * state_size..][..2 * state_size];
            let (writes, reads) = selection.split_at(state_size);
            let mut sum = lanes.mul(skip, value);
            let states = block.chunks_exact_mut(block_cols);
            for (number, ((&write, &read), state)) in
                writes.iter().zip(reads).zip(states).enumerate()
            {
                let rates = &rates[number * num_channels..][channels.clone()];
                let decay = lanes.exp(lanes.mul(lanes.load_part(rates), step));
                let state = columns.of_mut(state);
                let decayed = lanes.mul(decay, lanes.load_part(state));
                let new = lanes.fma(scaled, lanes.splat(write), decayed);
                lanes.store_part(new, state);
                sum = lanes.fma(new, lanes.splat(read), sum);
            }
            // SAFETY: tasks differ in the sequence, and thereby in the rows, or in the channels.
            lanes.store_part(sum, unsafe { self.out.part(of_row) });
            match &mut checkpoint {
                Some((last_row, copy)) if *last_row == row => columns.copy(block, copy),
                _ => {}
            }
        }
    }
}
