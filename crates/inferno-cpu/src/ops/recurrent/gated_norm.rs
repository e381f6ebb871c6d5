//! RMS norms of parts of rows with gates. The order of the sums is that of [`norm`](crate::ops::norm).

use inferno_backend::{Function, GatedNorm, NormKind};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::evaluate;
use crate::ops::norm::{RowNorm, normalize};

/// Normalizes and gates the first `rows` rows of `x` in place.
pub(crate) fn gated_norm(
    executor: Executor<'_>,
    rows: usize,
    norm: GatedNorm<'_, CpuBuffer>,
    x: &mut CpuBuffer,
) {
    let (cols, gate_cols) = (x.cols(), norm.gates.cols());
    assert!(norm.gate_column + cols <= gate_cols, "a gate per value");
    assert!(norm.extent > 0 && cols % norm.extent == 0, "whole parts");
    let weight = norm.weight.map(|weight| weight.rows(1));
    let is_valid = |weight: &[f32]| [norm.extent, cols].contains(&weight.len());
    assert!(weight.is_none_or(is_valid), "a weight for one part or for all");
    let gates = norm.gates.rows(rows);
    x.split_rows(executor.pool, rows, |first, x| {
        executor.level.run(NormalizeGated { norm, weight, gates, first, cols, x });
    });
}

struct NormalizeGated<'a> {
    norm: GatedNorm<'a, CpuBuffer>,
    weight: Option<&'a [f32]>,
    gates: &'a [f32],
    /// The row that `x` begins with.
    first: usize,
    cols: usize,
    x: &'a mut [f32],
}

impl Kernel for NormalizeGated<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let GatedNorm { gates, gate_column, function, extent, eps, is_gate_first, .. } = self.norm;
        for (row, x) in self.x.chunks_exact_mut(self.cols).enumerate() {
            let at = (self.first + row) * gates.cols() + gate_column;
            let gates = &self.gates[at..at + self.cols];
            if is_gate_first {
                gate(lanes, function, gates, x);
            }
            if let Some(weight) = self.weight {
                for (part, x) in x.chunks_exact_mut(extent).enumerate() {
                    let at = part * extent % weight.len();
                    let weight = &weight[at..at + extent];
                    normalize(lanes, x, RowNorm { kind: NormKind::Rms, weight, bias: None, eps });
                }
            }
            if !is_gate_first {
                gate(lanes, function, gates, x);
            }
        }
    }
}

/// `x *= function(gates)`.
#[inline(always)]
fn gate<L: Lanes>(lanes: L, function: Function, gates: &[f32], x: &mut [f32]) {
    for (x, gates) in x.chunks_mut(LANES).zip(gates.chunks(LANES)) {
        let gate = evaluate(lanes, function, lanes.load_part(gates));
        lanes.store_part(lanes.mul(lanes.load_part(x), gate), x);
    }
}
