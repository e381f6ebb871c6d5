//! Gated linear attention, token by token.
//!
//! The columns of a head's matrix do not depend on one another. A task keeps 32 of them in the first-level cache
//! while it reads all rows of a sequence.
//!
//! **Order of the sums.** A column's products with a key or a query are summed by fused multiply-add, the even and
//! the odd rows of the matrix apart; then the odd sum is added to the even one.

// Writes to columns of rows and to parts of the state.
#![allow(unsafe_code)]

use std::ops::Range;

use inferno_backend::{
    Batch, LinearAttentionParams, LinearAttentionRows, LinearAttentionWeights, StateLayout,
    StateSlot, WriteRule,
};

use super::SequenceRows;
use crate::buffer::CpuBuffer;
use crate::disjoint::Disjoint;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::sigmoid;
use crate::recurrent_state::{BLOCK_COLS, CpuState, StateOffsets};

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
    check(params, weights, [projected, convolved, out], &state.layout);
    let gate_bias = weights.gate_bias.rows(1);
    let cols = projected.cols();
    projected.split_rows(executor.pool, num_rows, |_, values| {
        executor.level.run(Activate { params, gate_bias, cols, values });
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
    let layout = state.layout;
    let (state, out) = (Disjoint::new(state.values_mut()), Disjoint::new(out.values_mut()));
    let num_blocks = value_dim.div_ceil(BLOCK_COLS);
    let scan = |task: usize| {
        let (sequence, task) = (task / (num_heads * num_blocks), task % (num_heads * num_blocks));
        let first = task % num_blocks * BLOCK_COLS;
        executor.level.run(Scan {
            inputs: &inputs,
            sequence: SequenceRows::new(batch, sequence),
            head: task / num_blocks,
            columns: first..value_dim.min(first + BLOCK_COLS),
            layout: &layout,
            state: &state,
            out: &out,
        });
    };
    let num_tasks = batch.num_sequences() * num_heads * num_blocks;
    executor.pool.run_if_large(num_tasks, num_rows * params.matrix_values(), &scan);
}

fn check(
    params: &LinearAttentionParams,
    weights: &LinearAttentionWeights<'_, CpuBuffer>,
    [projected, convolved, out]: [&CpuBuffer; 3],
    layout: &StateLayout,
) {
    let &LinearAttentionParams { layer, num_heads, num_key_heads, key_dim, value_dim, .. } = params;
    assert_eq!(num_heads % num_key_heads, 0, "key heads are shared by as many heads each");
    assert!(layer < layout.num_layers, "layer {layer} of {}", layout.num_layers);
    assert_eq!(params.matrix_values(), layout.matrix_values, "the state was made for this layer");
    assert_eq!(out.cols(), num_heads * value_dim, "an output per head and column");
    let vectors = [Some(weights.rates), Some(weights.gate_bias), weights.skip];
    assert!(vectors.into_iter().flatten().all(|vector| vector.cols() == num_heads), "head weights");
    let strengths = match params.rule {
        WriteRule::Additive => 0,
        WriteRule::Delta { strengths, .. } => strengths,
    };
    assert!(params.gates.max(strengths) + num_heads <= projected.cols(), "gates beyond a row");
    let key_end = params.queries.max(params.keys) + num_key_heads * key_dim;
    let end = key_end.max(params.values + num_heads * value_dim);
    assert!(end <= convolved.cols(), "queries, keys or values beyond a row");
}

/// `gate = softplus(gate + bias)`, `strength = sigmoid(strength)`.
struct Activate<'a> {
    params: &'a LinearAttentionParams,
    gate_bias: &'a [f32],
    cols: usize,
    values: &'a mut [f32],
}

impl Kernel for Activate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let &LinearAttentionParams { num_heads, gates, rule, .. } = self.params;
        for row in self.values.chunks_exact_mut(self.cols) {
            let gates = row[gates..gates + num_heads].chunks_mut(LANES);
            for (gates, bias) in gates.zip(self.gate_bias.chunks(LANES)) {
                softplus(lanes, lanes.add(lanes.load_part(gates), lanes.load_part(bias)), gates);
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

/// Reads and writes a block of columns of one head of one sequence. No other task writes to it.
struct Scan<'a> {
    inputs: &'a ScanInputs<'a>,
    sequence: SequenceRows,
    head: usize,
    columns: Range<usize>,
    layout: &'a StateLayout,
    state: &'a Disjoint<'a, f32>,
    out: &'a Disjoint<'a, f32>,
}

impl Kernel for Scan<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.columns.len() {
            BLOCK_COLS => self.scan::<L, 2>(lanes, BLOCK_COLS),
            LANES => self.scan::<L, 1>(lanes, LANES),
            width if width < LANES => self.scan::<L, 1>(lanes, width),
            width => self.scan::<L, 2>(lanes, width),
        }
    }
}

impl Scan<'_> {
    /// Scans a block of `width` columns, which `V` vectors hold.
    #[inline(always)]
    fn scan<L: Lanes, const V: usize>(&self, lanes: L, width: usize) {
        let ScanInputs {
            params,
            projected,
            projected_cols,
            convolved,
            convolved_cols,
            rates,
            skip,
        } = *self.inputs;
        let &LinearAttentionParams { key_dim, value_dim, num_heads, .. } = params;
        let (head, key_head) = (self.head, params.key_head(self.head) * key_dim);
        let block = self.block(self.sequence.slot);
        if self.sequence.is_new {
            block.fill(0.0);
        }
        for row in self.sequence.rows.clone() {
            let gates = &projected[row * projected_cols..][..projected_cols];
            let x = &convolved[row * convolved_cols..][..convolved_cols];
            let query = &x[params.queries + key_head..][..key_dim];
            let key = &x[params.keys + key_head..][..key_dim];
            let value = &x[params.values + head * value_dim..][self.columns.clone()];
            let value = load_block::<L, V>(lanes, value);
            let step = gates[params.gates + head];
            let decay = lanes.exp(lanes.splat(rates[head] * step));
            let written = match params.rule {
                WriteRule::Additive => value.map(|value| lanes.mul(value, lanes.splat(step))),
                WriteRule::Delta { strengths, .. } => {
                    let strength = lanes.splat(gates[strengths + head]);
                    let old = read::<L, V>(lanes, block, width, key);
                    std::array::from_fn(|v| {
                        let new = lanes.sub(value[v], lanes.mul(decay, old[v]));
                        lanes.mul(strength, new)
                    })
                }
            };
            let mut result = write_and_read(lanes, block, width, decay, [key, query], written);
            if let Some(skip) = skip {
                let skip = lanes.splat(skip[head]);
                result = std::array::from_fn(|v| lanes.fma(skip, value[v], result[v]));
            }
            let at = (row * num_heads + head) * value_dim;
            // SAFETY: tasks differ in the sequence, and thereby in the rows, or in the head or the columns.
            let out = unsafe { self.out.part(at + self.columns.start..at + self.columns.end) };
            for (out, result) in out.chunks_mut(LANES).zip(result) {
                lanes.store_part(result, out);
            }
            if let Some(slot) = self.sequence.checkpoint_after(row) {
                self.block(slot).copy_from_slice(block);
            }
        }
    }

    /// The block in a slot: a row of columns for each component of a key.
    // No two of the same slot exist at a time in a task.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    fn block(&self, slot: StateSlot) -> &mut [f32] {
        let LinearAttentionParams { layer, key_dim, value_dim, .. } = *self.inputs.params;
        let at = self.layout.matrices_at(slot, layer) + self.head * key_dim * value_dim;
        let Range { start, end } = self.columns;
        // SAFETY: tasks differ in the sequence, and thereby in the slots, which a batch does not share, or in the
        // head or the columns. Within a task, there is one block of each slot.
        unsafe { self.state.part(at + start * key_dim..at + end * key_dim) }
    }
}

#[inline(always)]
fn load_block<L: Lanes, const V: usize>(lanes: L, row: &[f32]) -> [L::F32; V] {
    std::array::from_fn(|v| lanes.load_part(&row[v * LANES..row.len().min((v + 1) * LANES)]))
}

/// The product of a block with a key.
#[inline(always)]
fn read<L: Lanes, const V: usize>(
    lanes: L,
    block: &[f32],
    width: usize,
    key: &[f32],
) -> [L::F32; V] {
    let mut sums = [[lanes.splat(0.0); V]; 2];
    for (rows, keys) in block.chunks(2 * width).zip(key.chunks(2)) {
        for (sums, (row, &key)) in sums.iter_mut().zip(rows.chunks_exact(width).zip(keys)) {
            let (row, key) = (load_block::<L, V>(lanes, row), lanes.splat(key));
            *sums = std::array::from_fn(|v| lanes.fma(key, row[v], sums[v]));
        }
    }
    std::array::from_fn(|v| lanes.add(sums[0][v], sums[1][v]))
}

/// `block = decay * block + key * written`, and its product with the query.
#[inline(always)]
fn write_and_read<L: Lanes, const V: usize>(
    lanes: L,
    block: &mut [f32],
    width: usize,
    decay: L::F32,
    [key, query]: [&[f32]; 2],
    written: [L::F32; V],
) -> [L::F32; V] {
    let mut sums = [[lanes.splat(0.0); V]; 2];
    let pairs = key.chunks(2).zip(query.chunks(2));
    for (rows, (keys, queries)) in block.chunks_mut(2 * width).zip(pairs) {
        let rows = rows.chunks_exact_mut(width).zip(keys.iter().zip(queries));
        for (sums, (row, (&key, &query))) in sums.iter_mut().zip(rows) {
            let (key, query) = (lanes.splat(key), lanes.splat(query));
            let old = load_block::<L, V>(lanes, row);
            for (v, row) in row.chunks_mut(LANES).enumerate().take(V) {
                let new = lanes.fma(key, written[v], lanes.mul(decay, old[v]));
                lanes.store_part(new, row);
                sums[v] = lanes.fma(query, new, sums[v]);
            }
        }
    }
    std::array::from_fn(|v| lanes.add(sums[0][v], sums[1][v]))
}
