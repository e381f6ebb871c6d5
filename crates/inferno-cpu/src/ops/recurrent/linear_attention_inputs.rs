//! What linear attention reads of projections and convolutions: steps, strengths, queries and keys.

use inferno_backend::{DecaySteps, LinearAttentionParams, WriteRule};

use crate::lanes::{Kernel, LANES, Lanes};
use crate::ops::functions::{sigmoid, softplus};

/// `step = max(softplus(step + bias), min_step)` for steps of heads, `strength = sigmoid(strength)`.
pub(super) struct ActivateHeads<'a> {
    pub(super) params: &'a LinearAttentionParams,
    pub(super) step_bias: &'a [f32],
    pub(super) cols: usize,
    pub(super) values: &'a mut [f32],
}

impl Kernel for ActivateHeads<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let &LinearAttentionParams { num_heads, steps, min_step, rule, .. } = self.params;
        for row in self.values.chunks_exact_mut(self.cols) {
            if let DecaySteps::PerHead { column } = steps {
                activate_steps(
                    lanes,
                    &mut row[column..column + num_heads],
                    self.step_bias,
                    min_step,
                );
            }
            if let WriteRule::Delta { strengths, .. } = rule {
                for strengths in row[strengths..strengths + num_heads].chunks_mut(LANES) {
                    lanes.store_part(sigmoid(lanes, lanes.load_part(strengths)), strengths);
                }
            }
        }
    }
}

/// `step = max(softplus(step + bias), min_step)`.
#[inline(always)]
fn activate_steps<L: Lanes>(lanes: L, steps: &mut [f32], bias: &[f32], min_step: f32) {
    for (steps, bias) in steps.chunks_mut(LANES).zip(bias.chunks(LANES)) {
        let step = softplus(lanes, lanes.add(lanes.load_part(steps), lanes.load_part(bias)));
        lanes.store_part(step, steps);
        steps.iter_mut().filter(|step| **step < min_step).for_each(|step| *step = min_step);
    }
}

/// Replaces the steps of each head's components by the factors on the rows of its matrix.
pub(super) struct DecayRows<'a> {
    pub(super) params: &'a LinearAttentionParams,
    pub(super) rates: &'a [f32],
    pub(super) step_bias: &'a [f32],
    pub(super) values: &'a mut [f32],
}

impl Kernel for DecayRows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let &LinearAttentionParams { key_dim, min_step, .. } = self.params;
        for row in self.values.chunks_exact_mut(self.step_bias.len()) {
            activate_steps(lanes, row, self.step_bias, min_step);
            for (steps, &rate) in row.chunks_exact_mut(key_dim).zip(self.rates) {
                for steps in steps.chunks_mut(LANES) {
                    let exponent = lanes.mul(lanes.splat(rate), lanes.load_part(steps));
                    lanes.store_part(lanes.exp(exponent), steps);
                }
            }
        }
    }
}

/// Divides each query and key head by its length, and queries by the root of their size.
pub(super) struct NormalizeHeads<'a> {
    pub(super) params: &'a LinearAttentionParams,
    pub(super) eps: f32,
    pub(super) cols: usize,
    pub(super) values: &'a mut [f32],
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
