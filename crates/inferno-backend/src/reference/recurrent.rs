//! Recurrent layers by their definitions.

use std::ops::Range;

use inferno_tensor::Tensor;

use super::arithmetic::{dot, evaluate, normalize, sigmoid, softplus, zeros};
use crate::{
    BackendError, Batch, ConvParams, ConvWeights, DecaySteps, GatedNorm, LinearAttentionParams,
    LinearAttentionRows, LinearAttentionWeights, NormKind, SelectiveScanParams, SelectiveScanRows,
    SelectiveScanWeights, SequenceState, StateLayout, StateSlot, WriteRule,
};

type Matrix = Tensor<f32>;

/// Slots x layers x values: the inputs of the convolution, then the matrices row by row, in the order of saved states.
#[derive(Debug)]
pub struct ReferenceState {
    layout: StateLayout,
    slots: Tensor<f32>,
}

/// What a layer reads of a state.
#[derive(Clone, Copy)]
enum StatePart {
    Conv,
    Matrices,
}

impl ReferenceState {
    pub(super) fn new(layout: &StateLayout) -> Result<Self, BackendError> {
        let dims = [layout.num_slots, layout.num_layers, layout.layer_values()];
        Ok(Self { layout: *layout, slots: zeros(&dims, "the recurrent state")? })
    }

    pub(super) fn slot(&self, slot: StateSlot) -> &[f32] {
        &self.slots[[slot.0 as usize]]
    }

    pub(super) fn slot_mut(&mut self, slot: StateSlot) -> &mut [f32] {
        &mut self.slots[[slot.0 as usize]]
    }

    pub(super) fn slot_bytes(&self) -> usize {
        self.layout.slot_bytes()
    }

    fn range(&self, part: StatePart) -> Range<usize> {
        match part {
            StatePart::Conv => 0..self.layout.conv_values,
            StatePart::Matrices => self.layout.conv_values..self.layout.layer_values(),
        }
    }

    /// Calls `step` with the state for each row of each sequence, and stores the states after it.
    fn advance(
        &mut self,
        batch: &Batch,
        layer: usize,
        part: StatePart,
        mut step: impl FnMut(usize, &mut [f32]),
    ) {
        let range = self.range(part);
        for sequence in 0..batch.num_sequences() {
            let state = batch.states()[sequence].expect("recurrent layers need a state");
            let SequenceState { slot, checkpoint } = state;
            let rows = batch.rows(sequence);
            let mut values = self.slots[[slot.0 as usize, layer]][range.clone()].to_vec();
            if batch.positions()[rows.start] == 0 {
                values.fill(0.0);
            }
            for row in rows.clone() {
                step(row, &mut values);
                let num_rows = row + 1 - rows.start;
                if let Some(copy) = checkpoint.filter(|copy| copy.num_rows == num_rows) {
                    let target = &mut self.slots[[copy.slot.0 as usize, layer]];
                    target[range.clone()].copy_from_slice(&values);
                }
            }
            self.slots[[slot.0 as usize, layer]][range.clone()].copy_from_slice(&values);
        }
    }
}

pub(super) fn causal_conv(
    batch: &Batch,
    params: &ConvParams,
    weights: ConvWeights<'_, Matrix>,
    x: &Matrix,
    state: &mut ReferenceState,
    out: &mut Matrix,
) {
    let ConvParams { layer, channels, taps, input, input_gate, output_gate, silu } = *params;
    state.advance(batch, layer, StatePart::Conv, |row, tail| {
        let x = &x[[row]];
        let gate =
            |column: Option<usize>, channel| column.map_or(1.0, |column| x[column + channel]);
        for channel in 0..channels {
            let newest = x[input + channel] * gate(input_gate, channel);
            let mut sum = weights.bias.map_or(0.0, |bias| f64::from(bias[[0]][channel]));
            for tap in 0..taps {
                let value = tail.get(tap * channels + channel).copied().unwrap_or(newest);
                sum += f64::from(weights.taps[[tap]][channel]) * f64::from(value);
            }
            let sum = sum as f32;
            let activated = if silu { sum * sigmoid(sum) } else { sum };
            out[[row]][channel] = activated * gate(output_gate, channel);
        }
        if taps > 1 {
            tail.copy_within(channels.., 0);
            for (channel, value) in tail[(taps - 2) * channels..].iter_mut().enumerate() {
                *value = x[input + channel] * gate(input_gate, channel);
            }
        }
    });
}

pub(super) fn linear_attention(
    batch: &Batch,
    params: &LinearAttentionParams,
    weights: LinearAttentionWeights<'_, Matrix>,
    rows: LinearAttentionRows<'_, Matrix>,
    state: &mut ReferenceState,
    out: &mut Matrix,
) {
    let LinearAttentionRows { projected, convolved, mut steps } = rows;
    for row in 0..batch.num_tokens() {
        activate(params, &mut projected[[row]], &mut convolved[[row]]);
        let steps = match (params.steps, &mut steps) {
            (DecaySteps::PerHead { column }, _) => {
                &mut projected[[row]][column..column + params.num_heads]
            }
            (DecaySteps::PerComponent, Some(steps)) => &mut steps[[row]],
            (DecaySteps::PerComponent, None) => panic!("steps of components have their own rows"),
        };
        activate_steps(params, &weights.step_bias[[0]], steps);
    }
    let &LinearAttentionParams { key_dim, value_dim, rule, .. } = params;
    state.advance(batch, params.layer, StatePart::Matrices, |row, matrices| {
        let (projected, convolved) = (&projected[[row]], &convolved[[row]]);
        let matrices = matrices.chunks_exact_mut(key_dim * value_dim);
        let outputs = out[[row]].chunks_exact_mut(value_dim);
        for (head, (matrix, out)) in matrices.zip(outputs).enumerate() {
            let key_head = params.key_head(head) * key_dim;
            let query = &convolved[params.queries + key_head..][..key_dim];
            let key = &convolved[params.keys + key_head..][..key_dim];
            let value = &convolved[params.values + head * value_dim..][..value_dim];
            let rate = f64::from(weights.rates[[0]][head]);
            let step = |component| match (params.steps, &steps) {
                (DecaySteps::PerComponent, Some(steps)) => steps[[row]][head * key_dim + component],
                (DecaySteps::PerHead { column }, _) => projected[column + head],
                (DecaySteps::PerComponent, None) => unreachable!("activated above"),
            };
            for (component, x) in matrix.chunks_exact_mut(value_dim).enumerate() {
                let decay = (rate * f64::from(step(component))).exp() as f32;
                x.iter_mut().for_each(|x| *x *= decay);
            }
            for (column, out) in out.iter_mut().enumerate() {
                let cells = || (0..key_dim).map(|i| i * value_dim + column);
                let read = |matrix: &[f32], row: &[f32]| {
                    let column: Vec<f32> = cells().map(|cell| matrix[cell]).collect();
                    dot(&column, row)
                };
                let written = match rule {
                    WriteRule::Additive => f64::from(step(0)) * f64::from(value[column]),
                    WriteRule::Delta { strengths, .. } => {
                        let old = read(matrix, key);
                        f64::from(projected[strengths + head]) * (f64::from(value[column]) - old)
                    }
                };
                for (cell, &key) in cells().zip(key) {
                    matrix[cell] = (f64::from(matrix[cell]) + f64::from(key) * written) as f32;
                }
                let skip = weights.skip.map_or(0.0, |skip| skip[[0]][head]);
                *out = read(matrix, query) as f32 + skip * value[column];
            }
        }
    });
}

/// Activates the steps of a row.
fn activate_steps(params: &LinearAttentionParams, bias: &[f32], steps: &mut [f32]) {
    for (step, bias) in steps.iter_mut().zip(bias) {
        let activated = softplus(*step + bias);
        *step = if activated < params.min_step { params.min_step } else { activated };
    }
}

/// Activates the strengths of a row, and normalizes its queries and keys for the delta rule.
fn activate(params: &LinearAttentionParams, projected: &mut [f32], convolved: &mut [f32]) {
    let &LinearAttentionParams { num_heads, num_key_heads, key_dim, queries, keys, .. } = params;
    let WriteRule::Delta { eps, strengths } = params.rule else { return };
    for strength in &mut projected[strengths..][..num_heads] {
        *strength = sigmoid(*strength);
    }
    for (first, scale) in [(queries, 1.0 / (key_dim as f64).sqrt()), (keys, 1.0)] {
        for head in convolved[first..][..num_key_heads * key_dim].chunks_exact_mut(key_dim) {
            let factor = scale / (dot(head, head) + f64::from(eps)).sqrt();
            head.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
        }
    }
}

pub(super) fn selective_scan(
    batch: &Batch,
    params: &SelectiveScanParams,
    weights: SelectiveScanWeights<'_, Matrix>,
    rows: SelectiveScanRows<'_, Matrix>,
    state: &mut ReferenceState,
    out: &mut Matrix,
) {
    let SelectiveScanParams { layer, channels, state_size } = *params;
    let SelectiveScanRows { values, steps, selection } = rows;
    state.advance(batch, layer, StatePart::Matrices, |row, states| {
        let (write, read) = selection[[row]].split_at(state_size);
        for channel in 0..channels {
            let value = f64::from(values[[row]][channel]);
            let step = f64::from(softplus(steps[[row]][channel]));
            let mut sum = f64::from(weights.skip[[0]][channel]) * value;
            for (number, (&write, &read)) in write.iter().zip(read).enumerate() {
                let state = &mut states[number * channels + channel];
                let decay = (f64::from(weights.rates[[number]][channel]) * step).exp();
                let written = step * value * f64::from(write);
                *state = (decay * f64::from(*state) + written) as f32;
                sum += f64::from(*state) * f64::from(read);
            }
            out[[row]][channel] = sum as f32;
        }
    });
}

pub(super) fn gated_norm(rows: usize, norm: GatedNorm<'_, Matrix>, x: &mut Matrix) {
    let GatedNorm { gates, gate_column, function, weight, extent, eps, is_gate_first } = norm;
    for row in 0..rows {
        let x = &mut x[[row]];
        let gates = &gates[[row]][gate_column..][..x.len()];
        let gate = |x: &mut [f32]| {
            x.iter_mut().zip(gates).for_each(|(x, gate)| *x *= evaluate(function, *gate));
        };
        if is_gate_first {
            gate(x);
        }
        if let Some(weight) = weight {
            let weights = weight[[0]].chunks_exact(extent).cycle();
            for (part, weight) in x.chunks_exact_mut(extent).zip(weights) {
                normalize(part, NormKind::Rms, weight, None, eps);
            }
        }
        if !is_gate_first {
            gate(x);
        }
    }
}
