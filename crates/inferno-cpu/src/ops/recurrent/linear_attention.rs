//! Gated linear attention, token by token.
//!
//! The columns of a head's matrix do not depend on one another. A task keeps 32 of them in the first-level cache
//! while it reads all rows of a sequence.

// Writes to columns of rows and to parts of the state.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{
    Batch, LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, WriteRule,
};

use super::SequenceRows;
use super::layer_state::{LayerState, StateBlock};
use super::matrix_columns::{Columns, Update, load_columns, store_columns};
use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::sigmoid;
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
    let LinearAttentionRows { projected, convolved } = rows;
    let num_rows = batch.num_tokens();
    assert!(num_rows <= out.num_rows(), "{num_rows} rows into {}", out.num_rows());
    check(params, weights, [projected, convolved, out]);
    let state = LayerState::new(state, params.layer);
    assert_eq!(params.matrices(), state.layout().matrices, "the state was made for this layer");
    let step_bias = weights.step_bias.rows(1);
    let cols = projected.cols();
    projected.split_rows(executor.pool, num_rows, |_, values| {
        executor.level.run(Activate { params, step_bias, cols, values });
    });
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
) {
    let &LinearAttentionParams { num_heads, num_key_heads, key_dim, value_dim, .. } = params;
    assert_eq!(num_heads % num_key_heads, 0, "key heads are shared by as many heads each");
    assert_eq!(out.cols(), num_heads * value_dim, "an output per head and column");
    let vectors = [Some(weights.rates), Some(weights.step_bias), weights.skip];
    assert!(vectors.into_iter().flatten().all(|vector| vector.cols() == num_heads), "head weights");
    let strengths = match params.rule {
        WriteRule::Additive => 0,
        WriteRule::Delta { strengths, .. } => strengths,
    };
    assert!(params.steps.max(strengths) + num_heads <= projected.cols(), "steps beyond a row");
    let key_end = params.queries.max(params.keys) + num_key_heads * key_dim;
    let end = key_end.max(params.values + num_heads * value_dim);
    assert!(end <= convolved.cols(), "queries, keys or values beyond a row");
}

/// `step = max(softplus(step + bias), min_step)`, `strength = sigmoid(strength)`.
struct Activate<'a> {
    params: &'a LinearAttentionParams,
    step_bias: &'a [f32],
    cols: usize,
    values: &'a mut [f32],
}

impl Kernel for Activate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let &LinearAttentionParams { num_heads, steps, min_step, rule, .. } = self.params;
        for row in self.values.chunks_exact_mut(self.cols) {
            let steps = row[steps..steps + num_heads].chunks_mut(LANES);
            for (steps, bias) in steps.zip(self.step_bias.chunks(LANES)) {
                softplus(lanes, lanes.add(lanes.load_part(steps), lanes.load_part(bias)), steps);
                steps.iter_mut().filter(|step| **step < min_step).for_each(|step| *step = min_step);
            }
            if let WriteRule::Delta { strengths, .. } = rule {
                for strengths in row[strengths..strengths + num_heads].chunks_mut(LANES) {
                    lanes.store_part(sigmoid(lanes, lanes.load_part(strengths)), strengths);
                }
            }
        }
    }
}

/// `max(x, 0) + ln(1 + exp(-|x|))`.
#[inline(always)]
pub(super) fn softplus<L: Lanes>(lanes: L, x: L::F32, out: &mut [f32]) {
    let zero = lanes.splat(0.0);
    let mut exps = [0.0; LANES];
    lanes.store(lanes.exp(lanes.min(x, lanes.sub(zero, x))), &mut exps);
    lanes.store_part(lanes.max(x, zero), out);
    for (out, exp) in out.iter_mut().zip(exps) {
        *out += libm::log1pf(exp);
    }
}

/// Divides each query and key head by its length, and queries by the root of their size.
struct NormalizeHeads<'a> {
    params: &'a LinearAttentionParams,
    eps: f32,
    cols: usize,
    values: &'a mut [f32],
}

impl Kernel for NormalizeHeads<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let &LinearAttentionParams { num_key_heads, key_dim, queries, keys, .. } = self.params;
        for row in self.values.chunks_exact_mut(self.cols) {
            for (first, scale) in [(queries, 1.0 / (key_dim as f32).sqrt()), (keys, 1.0)] {
                let heads = &mut row[first..first + num_key_heads * key_dim];
                for head in heads.chunks_exact_mut(key_dim) {
                    let mut squares = lanes.splat(0.0);
                    for x in head.chunks(LANES) {
                        let x = lanes.load_part(x);
                        squares = lanes.fma(x, x, squares);
                    }
                    let factor = lanes.splat(scale / (lanes.sum(squares) + self.eps).sqrt());
                    for x in head.chunks_mut(LANES) {
                        lanes.store_part(lanes.mul(lanes.load_part(x), factor), x);
                    }
                }
            }
        }
    }
}

/// What every task of a scan reads.
struct ScanInputs<'a> {
    params: &'a LinearAttentionParams,
    projected: &'a [f32],
    projected_cols: usize,
    convolved: &'a [f32],
    convolved_cols: usize,
    rates: &'a [f32],
    skip: Option<&'a [f32]>,
}

/// What a scan reads of one row, for one head and the columns of a block.
struct ScanRow<'a> {
    projected: &'a [f32],
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
        // As many columns at a time as the registers hold sums of.
        match self.columns.len() {
            BLOCK_COLS if L::REGISTERS >= 32 => {
                let columns = Columns { first: 0, len: BLOCK_COLS, block_cols: BLOCK_COLS };
                self.scan::<L, 2>(lanes, columns);
            }
            BLOCK_COLS => {
                for first in [0, LANES] {
                    let columns = Columns { first, len: LANES, block_cols: BLOCK_COLS };
                    self.scan::<L, 1>(lanes, columns);
                }
            }
            LANES => {
                let columns = Columns { first: 0, len: LANES, block_cols: LANES };
                self.scan::<L, 1>(lanes, columns);
            }
            block_cols => {
                for first in (0..block_cols).step_by(LANES) {
                    let len = LANES.min(block_cols - first);
                    self.scan::<L, 1>(lanes, Columns { first, len, block_cols });
                }
            }
        }
    }
}

impl Scan<'_> {
    /// Scans columns of the block. The pass over the matrix that adds one token also reads it with the key of the next
    /// one, which saves a second pass.
    #[inline(always)]
    fn scan<L: Lanes, const V: usize>(&self, lanes: L, columns: Columns) {
        let is_delta = matches!(self.inputs.params.rule, WriteRule::Delta { .. });
        // SAFETY: tasks differ in the sequence, the head or the block of columns; within a task, each block is dropped
        // before the next one is created.
        let block = unsafe { self.state.block(&self.sequence, self.head, self.columns.start) };
        let StateBlock { values: block, mut checkpoint } = block;
        if self.sequence.is_new {
            columns.clear(block);
        }
        let rows = self.sequence.rows.clone();
        let mut old = match is_delta {
            true => columns.read::<L, V>(lanes, block, self.row(rows.start).key),
            false => [lanes.splat(0.0); V],
        };
        for index in rows.clone() {
            let row = self.row(index);
            let value = load_columns::<L, V>(lanes, columns.of(row.value));
            let (decay, written) = self.written::<L, V>(lanes, &row, value, old);
            let update = Update::<L, V> { decay, key: row.key, written };
            let mut result = if is_delta && index + 1 < rows.end {
                let readers = [row.query, self.row(index + 1).key];
                let [result, next] = update.apply(lanes, columns, block, readers);
                old = next;
                result
            } else {
                let [result] = update.apply(lanes, columns, block, [row.query]);
                result
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

    /// The decay of the matrix by a token, and what the token writes to the columns, whose product with its key is
    /// `old`.
    #[inline(always)]
    fn written<L: Lanes, const V: usize>(
        &self,
        lanes: L,
        row: &ScanRow<'_>,
        value: [L::F32; V],
        old: [L::F32; V],
    ) -> (L::F32, [L::F32; V]) {
        let step = row.projected[self.inputs.params.steps + self.head];
        let decay = lanes.exp(lanes.splat(self.inputs.rates[self.head] * step));
        let mut written = value;
        match self.inputs.params.rule {
            WriteRule::Additive => {
                for written in &mut written {
                    *written = lanes.mul(*written, lanes.splat(step));
                }
            }
            WriteRule::Delta { strengths, .. } => {
                let strength = lanes.splat(row.projected[strengths + self.head]);
                for (written, old) in written.iter_mut().zip(old) {
                    *written = lanes.mul(strength, lanes.sub(*written, lanes.mul(decay, old)));
                }
            }
        }
        (decay, written)
    }

    /// What the scan reads of row `index`.
    #[inline(always)]
    fn row(&self, index: usize) -> ScanRow<'_> {
        let ScanInputs { params, projected, projected_cols, convolved, convolved_cols, .. } =
            *self.inputs;
        let key_head = params.key_head(self.head) * params.key_dim;
        let x = &convolved[index * convolved_cols..][..convolved_cols];
        ScanRow {
            projected: &projected[index * projected_cols..][..projected_cols],
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
