//! Gated linear attention, token by token.
//!
//! The columns of a head's matrix do not depend on one another. A task keeps 32 of them in the first-level cache
//! while it reads all rows of a sequence.

// Writes to columns of rows and to parts of the state.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{
    Batch, DecaySteps, LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights,
    WriteRule,
};

use super::SequenceRows;
use super::layer_state::{LayerState, StateBlock};
use super::linear_attention_inputs::{ActivateHeads, DecayRows, NormalizeHeads};
use super::matrix_columns::{
    Columns, Decay, DecayedRead, RowDecay, UniformDecay, Update, load_columns, store_columns,
};
use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::recurrent_state::{BLOCK_COLS, CpuState};

/// Reads and writes the matrices of each sequence.
pub(crate) fn linear_attention(
    executor: Executor<'_>,
    batch: &Batch,
    params: &LinearAttentionParams,
    weights: &LinearAttentionWeights<'_, CpuBuffer>,
    rows: LinearAttentionRows<'_, CpuBuffer>,
    state: &mut CpuState,
    out: &mut CpuBuffer,
) {
    let &LinearAttentionParams { num_heads, value_dim, .. } = params;
    let LinearAttentionRows { projected, convolved, mut steps } = rows;
    let num_rows = batch.num_tokens();
    assert!(num_rows <= out.num_rows(), "{num_rows} rows into {}", out.num_rows());
    check(params, weights, [projected, convolved, out], steps.as_deref());
    let state = LayerState::new(state, params.layer);
    assert_eq!(params.matrices(), state.layout().matrices, "the state was made for this layer");
    let step_bias = weights.step_bias.rows(1);
    let cols = projected.cols();
    projected.split_rows(executor.pool, num_rows, |_, values| {
        executor.level.run(ActivateHeads { params, step_bias, cols, values });
    });
    if let Some(steps) = &mut steps {
        let rates = weights.rates.rows(1);
        steps.split_rows(executor.pool, num_rows, |_, values| {
            executor.level.run(DecayRows { params, rates, step_bias, values });
        });
    }
    if let WriteRule::Delta { eps, .. } = params.rule {
        let cols = convolved.cols();
        convolved.split_rows(executor.pool, num_rows, |_, values| {
            executor.level.run(NormalizeHeads { params, eps, cols, values });
        });
    }
    let inputs = ScanInputs {
        params,
        projected: projected.rows(num_rows),
        projected_cols: projected.cols(),
        convolved: convolved.rows(num_rows),
        convolved_cols: convolved.cols(),
        rates: weights.rates.rows(1),
        row_decays: steps.map(|steps| steps.rows(num_rows)),
        skip: weights.skip.map(|skip| skip.rows(1)),
    };
    let out = Disjoint::new(out.values_mut());
    let num_blocks = value_dim.div_ceil(BLOCK_COLS);
    let scan = |task: usize| {
        let (sequence, task) = (task / (num_heads * num_blocks), task % (num_heads * num_blocks));
        let first = task % num_blocks * BLOCK_COLS;
        executor.level.run(Scan {
            inputs: &inputs,
            sequence: SequenceRows::new(batch, sequence),
            head: task / num_blocks,
            columns: first..value_dim.min(first + BLOCK_COLS),
            state: &state,
            out: &out,
        });
    };
    let num_tasks = batch.num_sequences() * num_heads * num_blocks;
    executor.pool.run_if_large(num_tasks, num_rows * params.matrices().num_values(), &scan);
}

fn check(
    params: &LinearAttentionParams,
    weights: &LinearAttentionWeights<'_, CpuBuffer>,
    [projected, convolved, out]: [&CpuBuffer; 3],
    steps: Option<&CpuBuffer>,
) {
    let &LinearAttentionParams { num_heads, num_key_heads, key_dim, value_dim, .. } = params;
    assert_eq!(num_heads % num_key_heads, 0, "key heads are shared by as many heads each");
    assert_eq!(out.cols(), num_heads * value_dim, "an output per head and column");
    let vectors = [Some(weights.rates), weights.skip];
    assert!(vectors.into_iter().flatten().all(|vector| vector.cols() == num_heads), "head weights");
    assert_eq!(weights.step_bias.cols(), params.num_steps(), "a bias per step");
    let first_step = match params.steps {
        DecaySteps::PerHead { column } => {
            assert!(steps.is_none(), "steps of heads are in the projection's rows");
            column
        }
        DecaySteps::PerComponent => {
            assert!(steps.is_some_and(|steps| steps.cols() == params.num_steps()), "rows of steps");
            assert_ne!(
                params.rule,
                WriteRule::Additive,
                "values are multiplied by a step per head"
            );
            0
        }
    };
    let strengths = match params.rule {
        WriteRule::Additive => 0,
        WriteRule::Delta { strengths, .. } => strengths,
    };
    assert!(first_step.max(strengths) + num_heads <= projected.cols(), "steps beyond a row");
    let key_end = params.queries.max(params.keys) + num_key_heads * key_dim;
    let end = key_end.max(params.values + num_heads * value_dim);
    assert!(end <= convolved.cols(), "queries, keys or values beyond a row");
}

/// What every task of a scan reads.
struct ScanInputs<'a> {
    params: &'a LinearAttentionParams,
    projected: &'a [f32],
    projected_cols: usize,
    convolved: &'a [f32],
    convolved_cols: usize,
    rates: &'a [f32],
    /// The factors on the rows of each head's matrix, if they differ.
    row_decays: Option<&'a [f32]>,
    skip: Option<&'a [f32]>,
}

/// What a scan reads of one row of the convolution, for one head and the columns of a block.
struct ScanRow<'a> {
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
}

/// Reads and writes a block of columns of one head of one sequence. No other task writes to it.
struct Scan<'a> {
    inputs: &'a ScanInputs<'a>,
    sequence: SequenceRows,
    head: usize,
    columns: Range<usize>,
    state: &'a LayerState<'a>,
    out: &'a Disjoint<'a, f32>,
}

impl Kernel for Scan<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.inputs.row_decays {
            None => self.scan_block::<L, UniformDecay<L>>(lanes),
            Some(_) => self.scan_block::<L, RowDecay<'_>>(lanes),
        }
    }
}

/// The decay of a head's matrix by the token of a row.
trait DecayOfRow<'a, L: Lanes>: Decay<L> {
    fn new(lanes: L, inputs: &ScanInputs<'a>, head: usize, row: usize) -> Self;
}

impl<'a, L: Lanes> DecayOfRow<'a, L> for UniformDecay<L> {
    #[inline(always)]
    fn new(lanes: L, inputs: &ScanInputs<'a>, head: usize, row: usize) -> Self {
        Self(lanes.exp(lanes.splat(inputs.rates[head] * inputs.step(head, row))))
    }
}

impl<'a, L: Lanes> DecayOfRow<'a, L> for RowDecay<'a> {
    #[inline(always)]
    fn new(_: L, inputs: &ScanInputs<'a>, head: usize, row: usize) -> Self {
        let LinearAttentionParams { num_heads, key_dim, .. } = *inputs.params;
        let decays = inputs.row_decays.expect("decays of rows");
        Self(&decays[(row * num_heads + head) * key_dim..][..key_dim])
    }
}

impl ScanInputs<'_> {
    /// A row of the projection.
    #[inline(always)]
    fn projected(&self, row: usize) -> &[f32] {
        &self.projected[row * self.projected_cols..][..self.projected_cols]
    }

    /// The step of a head in a row.
    #[inline(always)]
    fn step(&self, head: usize, row: usize) -> f32 {
        match self.params.steps {
            DecaySteps::PerHead { column } => self.projected(row)[column + head],
            DecaySteps::PerComponent => unreachable!("heads have no steps of their own"),
        }
    }
}

impl<'a> Scan<'a> {
    #[inline(always)]
    fn scan_block<L: Lanes, D: DecayOfRow<'a, L>>(&self, lanes: L) {
        // As many columns at a time as the registers hold sums of.
        match self.columns.len() {
            BLOCK_COLS if L::REGISTERS >= 32 => {
                let columns = Columns { first: 0, len: BLOCK_COLS, block_cols: BLOCK_COLS };
                self.scan::<L, D, 2>(lanes, columns);
            }
            BLOCK_COLS => {
                for first in [0, LANES] {
                    let columns = Columns { first, len: LANES, block_cols: BLOCK_COLS };
                    self.scan::<L, D, 1>(lanes, columns);
                }
            }
            LANES => {
                let columns = Columns { first: 0, len: LANES, block_cols: LANES };
                self.scan::<L, D, 1>(lanes, columns);
            }
            block_cols => {
                for first in (0..block_cols).step_by(LANES) {
                    let len = LANES.min(block_cols - first);
                    self.scan::<L, D, 1>(lanes, Columns { first, len, block_cols });
                }
            }
        }
    }

    /// Scans columns of the block. The pass over the matrix that adds one token also reads it with the key of the next
    /// one, which saves a second pass.
    #[inline(always)]
    fn scan<L: Lanes, D: DecayOfRow<'a, L>, const V: usize>(&self, lanes: L, columns: Columns) {
        let is_delta = matches!(self.inputs.params.rule, WriteRule::Delta { .. });
        // SAFETY: tasks differ in the sequence, the head or the block of columns; within a task, each block is dropped
        // before the next one is created.
        let block = unsafe { self.state.block(&self.sequence, self.head, self.columns.start) };
        let StateBlock { values: block, mut checkpoint } = block;
        if self.sequence.is_new {
            columns.clear(block);
        }
        let rows = self.sequence.rows.clone();
        let mut decay = D::new(lanes, self.inputs, self.head, rows.start);
        let mut old = match is_delta {
            true => {
                let key = self.row(rows.start).key;
                columns.read::<L, D, V>(lanes, block, DecayedRead { key, decay })
            }
            false => [lanes.splat(0.0); V],
        };
        for index in rows.clone() {
            let row = self.row(index);
            let value = load_columns::<L, V>(lanes, columns.of(row.value));
            let written = self.written::<L, D, V>(lanes, index, value, (decay, old));
            let update = Update::<L, D, V> { decay, key: row.key, written };
            if index + 1 < rows.end {
                decay = D::new(lanes, self.inputs, self.head, index + 1);
            }
            let mut result = if is_delta && index + 1 < rows.end {
                let next = DecayedRead { key: self.row(index + 1).key, decay };
                let sums = update.apply(lanes, columns, block, row.query, [next]);
                [old] = sums.keys;
                sums.query
            } else {
                update.apply(lanes, columns, block, row.query, []).query
            };
            if let Some(skip) = self.inputs.skip {
                let skip = lanes.splat(skip[self.head]);
                for (result, value) in result.iter_mut().zip(value) {
                    *result = lanes.fma(skip, value, *result);
                }
            }
            // SAFETY: the outputs of a row are dropped before those of the next one are created.
            let out = unsafe { self.out(index) };
            store_columns::<L, V>(lanes, result, columns.of_mut(out));
            match &mut checkpoint {
                Some((last_row, copy)) if *last_row == index => columns.copy(block, copy),
                _ => {}
            }
        }
    }

    /// What the token of row `index` writes to the columns of the matrix, which it decays, and whose product with its key is
    /// `old` up to the common factor.
    #[inline(always)]
    fn written<L: Lanes, D: Decay<L>, const V: usize>(
        &self,
        lanes: L,
        index: usize,
        value: [L::F32; V],
        (decay, old): (D, [L::F32; V]),
    ) -> [L::F32; V] {
        let mut written = value;
        match self.inputs.params.rule {
            WriteRule::Additive => {
                let step = lanes.splat(self.inputs.step(self.head, index));
                for written in &mut written {
                    *written = lanes.mul(*written, step);
                }
            }
            WriteRule::Delta { strengths, .. } => {
                let strength = lanes.splat(self.inputs.projected(index)[strengths + self.head]);
                for (written, old) in written.iter_mut().zip(old) {
                    let old = decay.times_common_factor(lanes, old);
                    *written = lanes.mul(strength, lanes.sub(*written, old));
                }
            }
        }
        written
    }

    /// What the scan reads of row `index`.
    #[inline(always)]
    fn row(&self, index: usize) -> ScanRow<'_> {
        let ScanInputs { params, convolved, convolved_cols, .. } = *self.inputs;
        let key_head = params.key_head(self.head) * params.key_dim;
        let x = &convolved[index * convolved_cols..][..convolved_cols];
        ScanRow {
            query: &x[params.queries + key_head..][..params.key_dim],
            key: &x[params.keys + key_head..][..params.key_dim],
            value: &x[params.values + self.head * params.value_dim..][self.columns.clone()],
        }
    }

    /// The outputs of a row for the columns of the block.
    ///
    /// # Safety
    ///
    /// While they live, the task may not create those of the same row again.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    unsafe fn out(&self, row: usize) -> &mut [f32] {
        let LinearAttentionParams { num_heads, value_dim, .. } = *self.inputs.params;
        let at = (row * num_heads + self.head) * value_dim;
        // SAFETY: tasks differ in the sequence, and thereby in the rows, or in the head or the columns; the caller
        // guarantees that this task has no other part of the row.
        unsafe { self.out.part(at + self.columns.start..at + self.columns.end) }
    }
}
