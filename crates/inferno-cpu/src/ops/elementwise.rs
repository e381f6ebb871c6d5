//! The gated activation of the feed-forward block.

use crate::backend::{CpuBackend, CpuBuffer};
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};

/// `out[r][i] = silu(gate_up[r][i]) * gate_up[r][n + i]`, with `silu(x) = x / (1 + exp(-x))`.
pub(crate) fn silu_mul(
    backend: &CpuBackend,
    rows: usize,
    gate_up: &CpuBuffer,
    out: &mut CpuBuffer,
) {
    let cols = out.cols();
    assert_eq!(gate_up.cols(), 2 * cols, "a gate and an up projection a value");
    let gate_up = gate_up.rows(rows);
    out.split_rows(backend.pool(), rows, |first, out| {
        backend.level().run(SiluMul {
            gate_up: &gate_up[2 * first * cols..][..2 * out.len()],
            cols,
            out,
        });
    });
}

struct SiluMul<'a> {
    gate_up: &'a [f32],
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for SiluMul<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let rows = self.gate_up.chunks_exact(2 * self.cols);
        for (gate_up, out) in rows.zip(self.out.chunks_exact_mut(self.cols)) {
            let (gate, up) = gate_up.split_at(self.cols);
            let inputs = gate.chunks(LANES).zip(up.chunks(LANES));
            for ((gate, up), out) in inputs.zip(out.chunks_mut(LANES)) {
                let gate = lanes.load_part(gate);
                let exp = lanes.exp(lanes.sub(lanes.splat(0.0), gate));
                let silu = lanes.div(gate, lanes.add(lanes.splat(1.0), exp));
                lanes.store_part(lanes.mul(silu, lanes.load_part(up)), out);
            }
        }
    }
}
