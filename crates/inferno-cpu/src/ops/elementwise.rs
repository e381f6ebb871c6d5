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

/// `out *= function(gate)`; a gate of one column applies to whole rows.
pub(crate) fn gate(
    executor: Executor<'_>,
    rows: usize,
    function: Function,
    gate: &CpuBuffer,
    out: &mut CpuBuffer,
) {
    let (cols, gate_cols) = (out.cols(), gate.cols());
    assert!(gate_cols == cols || gate_cols == 1, "a gate per column, or one for all");
    let gates = gate.rows(rows);
    out.split_rows(executor.pool, rows, |first, out| {
        let gates = &gates[first * gate_cols..][..out.len() / cols * gate_cols];
        executor.level.run(ApplyGate { function, gates, gate_cols, cols, out });
    });
}

struct ApplyGate<'a> {
    function: Function,
    gates: &'a [f32],
    gate_cols: usize,
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for ApplyGate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let rows = self.out.chunks_exact_mut(self.cols);
        for (out, gates) in rows.zip(self.gates.chunks_exact(self.gate_cols)) {
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
