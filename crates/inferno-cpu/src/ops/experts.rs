//! Products with the weights of experts, and the sum of their outputs.
//!
//! **Order of the sums.** A token's expert outputs are added to the residual stream in the order of choice, the
//! most probable expert first, each by fused multiply-add with its weight.
//!
//! Rows are grouped by expert, so that each weight is read once for all its tokens.

use inferno_backend::{BackendError, ExpertInput, Gate};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::gated::linear_gated;
use crate::ops::linear::linear;
use crate::ops::product::Epilogue;
use crate::ops::product_rows::ProductRows;
use crate::ops::routing::CpuRouting;
use crate::ops::workspace::ProductWorkspace;
use crate::pack::CpuWeight;

/// Row `slot` of `out` is the product of the same row of `x` with the weight of the slot's expert.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn expert_linear(
    executor: Executor<'_>,
    workspace: &mut ProductWorkspace,
    routing: &CpuRouting,
    x: &CpuBuffer,
    (weight, bias): (&CpuWeight, Option<&CpuBuffer>),
    out: &mut CpuBuffer,
) -> Result<(), BackendError> {
    let rows = ProductRows::Routed(routing, ExpertInput::PerSlot);
    let epilogue = Epilogue { bias: bias.map(CpuBuffer::values), ..Epilogue::default() };
    linear(executor, workspace, rows, x.into(), weight, epilogue, out)
}

/// Row `slot` of `out` is the gated product of the slot's input with the weights of the slot's expert.
///
/// **Errors**: [`BackendError::OutOfMemory`].
pub(crate) fn expert_linear_gated(
    executor: Executor<'_>,
    workspace: &mut ProductWorkspace,
    routing: &CpuRouting,
    (x, input): (&CpuBuffer, ExpertInput),
    (gate_up, bias): (&CpuWeight, Option<&CpuBuffer>),
    gate: Gate,
    out: &mut CpuBuffer,
) -> Result<(), BackendError> {
    let rows = ProductRows::Routed(routing, input);
    let weight = (gate_up, bias.map(CpuBuffer::values));
    linear_gated(executor, workspace, rows, x.into(), weight, gate, out)
}

/// Row `slot` of `out` is the weight of the slot times the row of its token in `x`; the weights become 1.
pub(crate) fn weigh_inputs(
    executor: Executor<'_>,
    rows: usize,
    x: &CpuBuffer,
    routing: &mut CpuRouting,
    out: &mut CpuBuffer,
) {
    assert_eq!(rows, routing.num_tokens(), "as many rows as were routed");
    let (cols, used) = (out.cols(), routing.num_experts_used());
    assert_eq!(cols, x.cols(), "input and output have the same width");
    let (x, weights) = (x.rows(rows), routing.weights());
    out.split_rows(executor.pool, rows * used, |first, out| {
        executor.level.run(WeighRows { x, weights, used, first, cols, out });
    });
    routing.reset_weights();
}

/// Multiplies rows by the weights of slots, from slot `first` on.
struct WeighRows<'a> {
    x: &'a [f32],
    weights: &'a [f32],
    used: usize,
    first: usize,
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for WeighRows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (slot, out) in (self.first..).zip(self.out.chunks_exact_mut(self.cols)) {
            let weight = lanes.splat(self.weights[slot]);
            let x = &self.x[slot / self.used * self.cols..][..self.cols];
            for (out, x) in out.chunks_mut(LANES).zip(x.chunks(LANES)) {
                lanes.store_part(lanes.mul(weight, lanes.load_part(x)), out);
            }
        }
    }
}

/// `out[t] += sum over j of weight (t, j) * y[slot (t, j)]`; without `accumulate`, `out` starts from zero.
pub(crate) fn combine_experts(
    executor: Executor<'_>,
    rows: usize,
    routing: &CpuRouting,
    y: &CpuBuffer,
    accumulate: bool,
    out: &mut CpuBuffer,
) {
    assert_eq!(rows, routing.num_tokens(), "as many rows as were routed");
    let (cols, used) = (out.cols(), routing.num_experts_used());
    assert_eq!(cols, y.cols(), "expert outputs are as wide as the residual stream");
    let y = y.rows(rows * used);
    let weights = routing.weights();
    out.split_rows(executor.pool, rows, |first, out| {
        if !accumulate {
            out.fill(0.0);
        }
        let (y, weights) = (&y[first * used * cols..], &weights[first * used..]);
        executor.level.run(Combine { y, weights, used, cols, out });
    });
}

/// Adds weighted expert outputs to some rows of the residual stream.
struct Combine<'a> {
    y: &'a [f32],
    weights: &'a [f32],
    used: usize,
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for Combine<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (row, out) in self.out.chunks_exact_mut(self.cols).enumerate() {
            for slot in row * self.used..(row + 1) * self.used {
                let weight = lanes.splat(self.weights[slot]);
                let y = &self.y[slot * self.cols..][..self.cols];
                for (out, y) in out.chunks_mut(LANES).zip(y.chunks(LANES)) {
                    let sum = lanes.fma(weight, lanes.load_part(y), lanes.load_part(out));
                    lanes.store_part(sum, out);
                }
            }
        }
    }
}
