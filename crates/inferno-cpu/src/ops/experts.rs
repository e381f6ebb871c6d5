//! Mixture of experts: who computes what, the products, and their sum.
//!
//! **Order of the sums.** The router's softmax is that of `softmax.rs`. The probabilities of the
//! chosen are added in the order of choice, the most probable first. A token's expert outputs are
//! added to the residual stream in the same order, each by fused multiply-add with its weight.
//!
//! Rows are grouped by expert, so that a weight is read once for all its tokens.

use std::ops::Range;

use inferno_backend::{BackendError, ExpertInput, ExpertParams};

use crate::backend::{CpuBackend, CpuBuffer};
use crate::isa::Kernel;
use crate::lanes::{LANES, Lanes};
use crate::memory::Lines;
use crate::ops::gated::linear_gated;
use crate::ops::linear::{Rows, linear};
use crate::ops::product::Epilogue;
use crate::ops::softmax::exponentials;
use crate::pack::CpuWeight;

/// Which experts each token goes to, and with what weight.
///
/// A *slot* is one token's use of one expert: slot `t * num_experts_used + j` is token `t`'s `j`-th
/// choice. `slots` holds each slot of the routed tokens once, ordered by expert.
#[derive(Debug)]
pub struct CpuRouting {
    num_experts: usize,
    num_experts_used: usize,
    /// Tokens that were routed.
    rows: usize,
    /// The expert of each slot.
    experts: Lines,
    /// The weight of each slot.
    weights: Lines,
    /// The slots, by expert, and rising within one.
    slots: Lines,
    /// Where each expert's slots begin in `slots`, and where the last one's end.
    starts: Vec<usize>,
    /// The experts that have slots.
    active: Vec<usize>,
    /// Probabilities of one token.
    probabilities: Vec<f32>,
}

impl CpuRouting {
    /// Room for `rows` tokens.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn new(rows: usize, params: &ExpertParams) -> Result<Self, BackendError> {
        let slots = rows.saturating_mul(params.num_experts_used);
        let room = || Lines::zeroed(slots.saturating_mul(size_of::<u32>()), "expert routing");
        Ok(Self {
            num_experts: params.num_experts,
            num_experts_used: params.num_experts_used,
            rows: 0,
            experts: room()?,
            weights: room()?,
            slots: room()?,
            starts: vec![0; params.num_experts + 1],
            active: Vec::with_capacity(params.num_experts),
            probabilities: vec![0.0; params.num_experts],
        })
    }

    /// Softmax over each row's logits, then the most probable experts.
    pub(crate) fn route(
        &mut self,
        backend: &CpuBackend,
        rows: usize,
        logits: &CpuBuffer,
        params: &ExpertParams,
    ) {
        let (num_experts, used) = (self.num_experts, self.num_experts_used);
        assert_eq!(num_experts, params.num_experts, "the routing was made for other experts");
        assert_eq!(used, params.num_experts_used, "the routing was made for another choice");
        assert_eq!(logits.cols(), num_experts, "a router logit an expert");
        assert!(used <= num_experts, "{used} of {num_experts} experts cannot be used");
        self.rows = rows;
        let experts = &mut self.experts.get_mut::<u32>()[..rows * used];
        let weights = &mut self.weights.get_mut::<f32>()[..rows * used];
        for (row, logits) in logits.rows(rows).chunks_exact(num_experts.max(1)).enumerate() {
            self.probabilities.copy_from_slice(logits);
            backend.level().run(Softmax { values: &mut self.probabilities });
            let slots = row * used..(row + 1) * used;
            choose(
                &mut self.probabilities,
                &mut experts[slots.clone()],
                &mut weights[slots.clone()],
            );
            if params.normalize {
                let weights = &mut weights[slots];
                let sum: f32 = weights.iter().fold(0.0, |sum, weight| sum + weight);
                weights.iter_mut().for_each(|weight| *weight /= sum);
            }
        }
        self.group();
    }

    /// Orders the slots by expert: counts, then starts, then places. Each slot gets one place, so
    /// that it is in one expert's share, which the threads of a product rely on.
    fn group(&mut self) {
        let experts = &self.experts.get::<u32>()[..self.rows * self.num_experts_used];
        self.starts.fill(0);
        for &expert in experts {
            self.starts[expert as usize + 1] += 1;
        }
        for expert in 0..self.num_experts {
            self.starts[expert + 1] += self.starts[expert];
        }
        let slots = self.slots.get_mut::<u32>();
        for (slot, &expert) in experts.iter().enumerate() {
            let place = &mut self.starts[expert as usize];
            slots[*place] = slot as u32;
            *place += 1;
        }
        // Each start has moved to its expert's end, which is the next one's start.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
        let starts = &self.starts;
        self.active.clear();
        self.active.extend((0..self.num_experts).filter(|&at| starts[at] < starts[at + 1]));
    }

    /// Rows of a product's input.
    pub(crate) fn num_inputs(&self, input: ExpertInput) -> usize {
        match input {
            ExpertInput::PerToken => self.rows,
            ExpertInput::PerSlot => self.rows * self.num_experts_used,
        }
    }

    /// Experts that have slots.
    pub(crate) fn num_active(&self) -> usize {
        self.active.len()
    }

    /// One of the experts that have slots, by its number among them, and the slots, which it shares
    /// with none of the others.
    pub(crate) fn active(&self, index: usize, input: ExpertInput) -> (usize, ExpertSlots<'_>) {
        let expert = self.active[index];
        let slots = &self.slots.get()[self.starts[expert]..self.starts[expert + 1]];
        let slots_an_input = match input {
            ExpertInput::PerToken => self.num_experts_used.max(1),
            ExpertInput::PerSlot => 1,
        };
        let slots = ExpertSlots { slots, slots_an_input };
        (expert, slots)
    }
}

/// The slots of one expert, each once: rows of a product's output. Only a routing makes them.
#[derive(Clone, Copy)]
pub(crate) struct ExpertSlots<'a> {
    slots: &'a [u32],
    /// Neighbouring slots that share a row of the input.
    slots_an_input: usize,
}

impl ExpertSlots<'_> {
    /// Some of the slots.
    pub(crate) fn part(self, slots: Range<usize>) -> Self {
        Self { slots: &self.slots[slots], ..self }
    }

    pub(crate) fn len(self) -> usize {
        self.slots.len()
    }

    /// The row of the output.
    pub(crate) fn output(self, index: usize) -> usize {
        self.slots[index] as usize
    }

    /// The row of the input that it is computed from.
    pub(crate) fn input(self, index: usize) -> usize {
        self.output(index) / self.slots_an_input
    }
}

/// Takes the largest probabilities in turn, the lower number among equals; NaN comes first, whatever
/// its sign, so that it shows in the result. No expert is taken twice.
fn choose(probabilities: &mut [f32], experts: &mut [u32], weights: &mut [f32]) {
    for (expert, weight) in experts.iter_mut().zip(weights) {
        let mut best = 0;
        for (candidate, probability) in probabilities.iter().enumerate() {
            let first = probabilities[best];
            if *probability > first || probability.is_nan() && !first.is_nan() {
                best = candidate;
            }
        }
        *expert = best as u32;
        *weight = probabilities[best];
        // Below every probability, and no NaN, so that it is not taken again.
        probabilities[best] = f32::NEG_INFINITY;
    }
}

struct Softmax<'a> {
    values: &'a mut [f32],
}

impl Kernel for Softmax<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (_max, sum) = exponentials(lanes, self.values);
        self.values.iter_mut().for_each(|value| *value /= sum);
    }
}

/// Row `slot` of `out` is the product of the slot's input with its expert's weight.
pub(crate) fn expert_linear(
    backend: &CpuBackend,
    rows: usize,
    routing: &CpuRouting,
    input: ExpertInput,
    x: &CpuBuffer,
    weight: &CpuWeight,
    out: &mut CpuBuffer,
) {
    assert_eq!(rows, routing.rows, "the rows that were routed");
    let rows = Rows::Routed(routing, input);
    linear(backend, rows, x.into(), weight, Epilogue::default(), out);
}

/// [`expert_linear`] of each token's input with a gate and an up projection, joined.
pub(crate) fn expert_linear_gated(
    backend: &CpuBackend,
    rows: usize,
    routing: &CpuRouting,
    x: &CpuBuffer,
    gate_up: &CpuWeight,
    out: &mut CpuBuffer,
) {
    assert_eq!(rows, routing.rows, "the rows that were routed");
    let rows = Rows::Routed(routing, ExpertInput::PerToken);
    linear_gated(backend, rows, x.into(), gate_up, None, out);
}

/// `out[t] += sum over j of weight (t, j) * y[slot (t, j)]`.
pub(crate) fn combine_experts(
    backend: &CpuBackend,
    rows: usize,
    routing: &CpuRouting,
    y: &CpuBuffer,
    out: &mut CpuBuffer,
) {
    assert_eq!(rows, routing.rows, "the rows that were routed");
    let (cols, used) = (out.cols(), routing.num_experts_used);
    assert_eq!(cols, y.cols(), "experts give rows as wide as the residual stream");
    let y = y.rows(rows * used);
    let weights = &routing.weights.get::<f32>()[..rows * used];
    out.split_rows(backend.pool(), rows, |first, out| {
        let (y, weights) = (&y[first * used * cols..], &weights[first * used..]);
        backend.level().run(Combine { y, weights, used, cols, out });
    });
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen<const N: usize>(mut probabilities: Vec<f32>) -> ([u32; N], [f32; N]) {
        let (mut experts, mut weights) = ([0; N], [0.0; N]);
        choose(&mut probabilities, &mut experts, &mut weights);
        (experts, weights)
    }

    #[test]
    fn the_most_probable_come_first_and_the_lower_number_among_equals() {
        let (experts, weights) = chosen::<3>(vec![0.1, 0.3, 0.2, 0.3, 0.1]);
        assert_eq!(experts, [1, 3, 2]);
        assert_eq!(weights, [0.3, 0.3, 0.2]);
    }

    #[test]
    fn a_nan_of_either_sign_comes_first_and_no_expert_is_chosen_twice() {
        for nan in [f32::NAN, -f32::NAN] {
            assert_eq!(chosen::<4>(vec![nan; 4]).0, [0, 1, 2, 3]);
            let (experts, weights) = chosen::<3>(vec![0.4, nan, 0.6, nan]);
            assert_eq!(experts, [1, 3, 2]);
            assert!(weights[0].is_nan() && weights[1].is_nan() && weights[2] == 0.6);
        }
    }
}
