//! Operations on the values of rows, each by itself.

use inferno_backend::{ColumnBlocks, CopySize, Function};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::evaluate;

/// `x = function(x)`.
pub(crate) fn apply(executor: Executor<'_>, rows: usize, function: Function, x: &mut CpuBuffer) {
    x.split_rows(executor.pool, rows, |_, values| executor.level.run(Apply { function, values }));
}

/// Applies a function to all values.
pub(crate) struct Apply<'a> {
    pub(crate) function: Function,
    pub(crate) values: &'a mut [f32],
}

impl Kernel for Apply<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for values in self.values.chunks_mut(LANES) {
            let result = evaluate(lanes, self.function, lanes.load_part(values));
            lanes.store_part(result, values);
        }
    }
}

/// `out += factor * x`.
pub(crate) fn add_scaled(
    executor: Executor<'_>,
    rows: usize,
    x: &CpuBuffer,
    factor: f32,
    out: &mut CpuBuffer,
) {
    assert_eq!(x.cols(), out.cols(), "input and output have the same width");
    let (cols, x) = (out.cols(), x.rows(rows));
    out.split_rows(executor.pool, rows, |first, out| {
        let x = &x[first * cols..][..out.len()];
        executor.level.run(AddScaled { x, factor, out });
    });
}

struct AddScaled<'a> {
    x: &'a [f32],
    factor: f32,
    out: &'a mut [f32],
}

impl Kernel for AddScaled<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let factor = lanes.splat(self.factor);
        for (out, x) in self.out.chunks_mut(LANES).zip(self.x.chunks(LANES)) {
            let sum = lanes.fma(factor, lanes.load_part(x), lanes.load_part(out));
            lanes.store_part(sum, out);
        }
    }
}

/// Copies blocks of columns.
pub(crate) fn copy_columns(
    CopySize { rows, blocks, width }: CopySize,
    (x, from): (&CpuBuffer, ColumnBlocks),
    (out, to): (&mut CpuBuffer, ColumnBlocks),
) {
    let (x, out) = (x.values(), out.values_mut());
    for row in 0..rows {
        for block in 0..blocks {
            let [from, to] =
                [from, to].map(|place| row * place.row_len + place.start + block * place.step);
            out[to..to + width].copy_from_slice(&x[from..from + width]);
        }
    }
}

/// Adds combinations of the blocks of `width` columns of `x` to those of `out`, in ascending order of the blocks, each
/// by fused multiply-add. Factors of one row apply to all rows.
pub(crate) fn add_combinations(
    executor: Executor<'_>,
    rows: usize,
    width: usize,
    factors: &CpuBuffer,
    x: &CpuBuffer,
    out: &mut CpuBuffer,
) {
    let (cols, x_cols) = (out.cols(), x.cols());
    assert!(width > 0 && cols % width == 0 && x_cols % width == 0, "whole blocks");
    assert_eq!(factors.cols(), cols / width * (x_cols / width), "a factor per pair of blocks");
    let (factors, x) = (RepeatedRows::new(factors, rows), x.rows(rows));
    out.split_rows(executor.pool, rows, |first, out| {
        executor.level.run(AddCombinations { width, factors, first, x, x_cols, cols, out });
    });
}

/// A row for each row of an output, or one for all of them.
#[derive(Clone, Copy)]
struct RepeatedRows<'a> {
    values: &'a [f32],
    cols: usize,
    is_single: bool,
}

impl<'a> RepeatedRows<'a> {
    fn new(buffer: &'a CpuBuffer, rows: usize) -> Self {
        let is_single = buffer.num_rows() == 1;
        let values = buffer.rows(if is_single { 1 } else { rows });
        Self { values, cols: buffer.cols(), is_single }
    }

    #[inline(always)]
    fn get(self, row: usize) -> &'a [f32] {
        let row = if self.is_single { 0 } else { row };
        &self.values[row * self.cols..][..self.cols]
    }
}

struct AddCombinations<'a> {
    width: usize,
    factors: RepeatedRows<'a>,
    /// The row that `out` begins with.
    first: usize,
    x: &'a [f32],
    x_cols: usize,
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for AddCombinations<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { width, factors, first, x, x_cols, cols, out } = self;
        for (row, out) in (first..).zip(out.chunks_exact_mut(cols)) {
            let x = &x[row * x_cols..][..x_cols];
            let factors = factors.get(row).chunks_exact(x_cols / width);
            for (out, factors) in out.chunks_exact_mut(width).zip(factors) {
                for (at, out) in (0..).step_by(LANES).zip(out.chunks_mut(LANES)) {
                    let mut sum = lanes.load_part(out);
                    for (x, &factor) in x.chunks_exact(width).zip(factors) {
                        let x = lanes.load_part(&x[at..at + out.len()]);
                        sum = lanes.fma(lanes.splat(factor), x, sum);
                    }
                    lanes.store_part(sum, out);
                }
            }
        }
    }
}

/// `out *= function(gate)`; a gate of one column applies to whole rows, and one of one row to all rows.
pub(crate) fn gate(
    executor: Executor<'_>,
    rows: usize,
    function: Function,
    gate: &CpuBuffer,
    out: &mut CpuBuffer,
) {
    let (cols, gate_cols) = (out.cols(), gate.cols());
    assert!(gate_cols == cols || gate_cols == 1, "a gate per column, or one for all");
    let gates = RepeatedRows::new(gate, rows);
    out.split_rows(executor.pool, rows, |first, out| {
        executor.level.run(ApplyGate { function, gates, first, cols, out });
    });
}

struct ApplyGate<'a> {
    function: Function,
    gates: RepeatedRows<'a>,
    /// The row that `out` begins with.
    first: usize,
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for ApplyGate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (row, out) in (self.first..).zip(self.out.chunks_exact_mut(self.cols)) {
            let gates = self.gates.get(row);
            if let [gate] = gates {
                let factor = evaluate(lanes, self.function, lanes.splat(*gate));
                for out in out.chunks_mut(LANES) {
                    lanes.store_part(lanes.mul(lanes.load_part(out), factor), out);
                }
                continue;
            }
            for (out, gate) in out.chunks_mut(LANES).zip(gates.chunks(LANES)) {
                let factor = evaluate(lanes, self.function, lanes.load_part(gate));
                lanes.store_part(lanes.mul(lanes.load_part(out), factor), out);
            }
        }
    }
}
