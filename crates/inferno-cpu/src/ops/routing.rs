//! Routing of tokens to experts.
//!
//! **Order of the sums.** The softmax over router logits is that of `softmax.rs`. The probabilities of the
//! chosen experts are added in the order of choice, the highest score first, then `MIN_PROBABILITY_SUM`.

use std::ops::Range;

use inferno_backend::{
    BackendError, ExpertGroups, ExpertInput, ExpertParams, Function, Gating, MIN_PROBABILITY_SUM,
    SPARSE_MIXER_TOLERANCE,
};

use crate::buffer::CpuBuffer;
use crate::isa::Level;
use crate::lanes::{Kernel, Lanes};
use crate::memory::AlignedArray;
use crate::ops::elementwise::Apply;
use crate::ops::softmax::exponentials;

/// The experts of each token, and their weights.
///
/// A *slot* is one token's use of one expert: slot `t * num_experts_used + j` is token `t`'s `j`-th
/// choice. `slots` holds each slot of the routed tokens once, ordered by expert.
#[derive(Debug)]
pub struct CpuRouting {
    num_experts: usize,
    num_experts_used: usize,
    /// Number of routed tokens.
    rows: usize,
    /// The expert of each slot.
    experts: AlignedArray,
    /// The weight of each slot.
    weights: AlignedArray,
    /// The slots, sorted by expert, then by number.
    slots: AlignedArray,
    /// The start of each expert's slots in `slots`, and the end of the last one's.
    starts: Vec<usize>,
    /// The experts that have slots.
    active: Vec<usize>,
    /// The probabilities of one token, or its logits with [`Gating::SparseMixer`].
    probabilities: Vec<f32>,
    /// What one token's experts are chosen by.
    scores: Vec<f32>,
    /// One token's groups of experts.
    groups: Option<GroupChoice>,
}

impl CpuRouting {
    /// Makes room for `rows` tokens.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn new(rows: usize, params: &ExpertParams) -> Result<Self, BackendError> {
        let slots = rows.saturating_mul(params.num_experts_used);
        let array =
            || AlignedArray::zeroed(slots.saturating_mul(size_of::<u32>()), "expert routing");
        Ok(Self {
            num_experts: params.num_experts,
            num_experts_used: params.num_experts_used,
            rows: 0,
            experts: array()?,
            weights: array()?,
            slots: array()?,
            starts: vec![0; params.num_experts + 1],
            active: Vec::with_capacity(params.num_experts),
            probabilities: vec![0.0; params.num_experts],
            scores: vec![0.0; params.num_experts],
            groups: params.groups.map(GroupChoice::new),
        })
    }

    /// Selects the experts of each row.
    pub(crate) fn route(
        &mut self,
        level: Level,
        rows: usize,
        logits: &CpuBuffer,
        selection_bias: Option<&CpuBuffer>,
        params: &ExpertParams,
    ) {
        let (num_experts, used) = (self.num_experts, self.num_experts_used);
        assert_eq!(
            num_experts, params.num_experts,
            "the routing was allocated for another number of experts"
        );
        assert_eq!(
            used, params.num_experts_used,
            "the routing was allocated for another number of experts per token"
        );
        assert_eq!(logits.cols(), num_experts, "a router logit per expert");
        assert!(used <= num_experts, "{used} of {num_experts} experts cannot be used");
        self.rows = rows;
        for (row, logits) in logits.rows(rows).chunks_exact(num_experts.max(1)).enumerate() {
            self.probabilities.copy_from_slice(logits);
            let values = &mut self.probabilities[..];
            match params.gating {
                Gating::Softmax => level.run(RouterSoftmax { values }),
                Gating::Sigmoid => level.run(Apply { function: Function::Sigmoid, values }),
                Gating::SparseMixer => {}
            }
            self.choose_experts(level, row, selection_bias, params);
        }
        self.sort_slots();
    }

    /// The expert of each slot of the routed tokens.
    pub(crate) fn experts(&self) -> &[u32] {
        &self.experts.get::<u32>()[..self.rows * self.num_experts_used]
    }

    /// Sets the weight of each slot to 1.
    pub(crate) fn reset_weights(&mut self) {
        let len = self.rows * self.num_experts_used;
        self.weights.get_mut::<f32>()[..len].fill(1.0);
    }

    /// Routes each row to every expert, in order.
    pub(crate) fn route_to_all(&mut self, rows: usize) {
        let num_experts = self.num_experts;
        assert_eq!(num_experts, self.num_experts_used, "every expert is used");
        self.rows = rows;
        let slots = rows * num_experts;
        self.weights.get_mut::<f32>()[..slots].fill(1.0);
        let experts = &mut self.experts.get_mut::<u32>()[..slots];
        for token in experts.chunks_exact_mut(num_experts.max(1)) {
            token.iter_mut().zip(0..).for_each(|(expert, number)| *expert = number);
        }
        self.sort_slots();
    }

    /// Selects the experts of a row by `probabilities`, and stores their weights.
    fn choose_experts(
        &mut self,
        level: Level,
        row: usize,
        selection_bias: Option<&CpuBuffer>,
        params: &ExpertParams,
    ) {
        self.scores.copy_from_slice(&self.probabilities);
        if let Some(bias) = selection_bias {
            self.scores.iter_mut().zip(bias.values()).for_each(|(score, bias)| *score += bias);
        }
        if let Some(groups) = &mut self.groups {
            groups.exclude_others(&mut self.scores);
        }
        let slots = row * self.num_experts_used..(row + 1) * self.num_experts_used;
        let experts = &mut self.experts.get_mut::<u32>()[slots.clone()];
        let weights = &mut self.weights.get_mut::<f32>()[slots];
        choose(&mut self.scores, experts, weights);
        match params.gating {
            Gating::SparseMixer => {
                mix_sparsely(level, &self.probabilities, experts, &mut self.scores, weights);
            }
            Gating::Softmax | Gating::Sigmoid => {
                for (weight, &expert) in weights.iter_mut().zip(&*experts) {
                    *weight = self.probabilities[expert as usize];
                }
                if params.normalize {
                    let sum: f32 = weights.iter().fold(0.0, |sum, weight| sum + weight);
                    let sum = sum + MIN_PROBABILITY_SUM;
                    weights.iter_mut().for_each(|weight| *weight /= sum);
                }
            }
        }
        weights.iter_mut().for_each(|weight| *weight *= params.scale);
    }

    /// Sorts the slots by expert: counts, then starts, then places. Each slot gets exactly one place, so that it
    /// belongs to one expert, which the threads of a product rely on.
    fn sort_slots(&mut self) {
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
        // Each start has moved to the end of its expert, which is the start of the next one.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
        let starts = &self.starts;
        self.active.clear();
        self.active.extend((0..self.num_experts).filter(|&at| starts[at] < starts[at + 1]));
    }

    /// Number of routed tokens.
    pub(crate) fn num_tokens(&self) -> usize {
        self.rows
    }

    /// Number of experts of each token.
    pub(crate) fn num_experts_used(&self) -> usize {
        self.num_experts_used
    }

    /// The weight of each slot.
    pub(crate) fn weights(&self) -> &[f32] {
        &self.weights.get()[..self.rows * self.num_experts_used]
    }

    /// Number of rows of a product's input.
    pub(crate) fn num_inputs(&self, input: ExpertInput) -> usize {
        match input {
            ExpertInput::PerToken => self.rows,
            ExpertInput::PerSlot => self.rows * self.num_experts_used,
        }
    }

    /// Number of experts that have slots.
    pub(crate) fn num_active(&self) -> usize {
        self.active.len()
    }

    /// Expert `index` of those that have slots, and its slots. No two experts share a slot.
    pub(crate) fn active(&self, index: usize, input: ExpertInput) -> (usize, ExpertSlots<'_>) {
        let expert = self.active[index];
        let slots = &self.slots.get()[self.starts[expert]..self.starts[expert + 1]];
        let slots_per_input = match input {
            ExpertInput::PerToken => self.num_experts_used.max(1),
            ExpertInput::PerSlot => 1,
        };
        let slots = ExpertSlots { slots, slots_per_input };
        (expert, slots)
    }
}

/// The slots of one expert, each of them once: rows of a product's output. Only a routing creates values.
#[derive(Clone, Copy)]
pub(crate) struct ExpertSlots<'a> {
    slots: &'a [u32],
    /// Number of neighbouring slots that share a row of the input.
    slots_per_input: usize,
}

impl ExpertSlots<'_> {
    /// A range of the slots.
    pub(crate) fn part(self, slots: Range<usize>) -> Self {
        Self { slots: &self.slots[slots], ..self }
    }

    pub(crate) fn len(self) -> usize {
        self.slots.len()
    }

    /// The row of the output at `index`.
    pub(crate) fn output(self, index: usize) -> usize {
        self.slots[index] as usize
    }

    /// The row of the input at `index`.
    pub(crate) fn input(self, index: usize) -> usize {
        self.output(index) / self.slots_per_input
    }
}

/// The choice of one token's groups of experts.
#[derive(Debug)]
struct GroupChoice {
    /// Number of probabilities, one or two, that the score of a group is the sum of.
    num_scored: usize,
    /// The score of each group: the sum of its largest.
    scores: Vec<f32>,
    /// The chosen groups, and their scores.
    chosen: Vec<u32>,
    chosen_scores: Vec<f32>,
}

impl GroupChoice {
    fn new(groups: ExpertGroups) -> Self {
        assert!((1..=2).contains(&groups.num_scored), "one or two probabilities are added");
        Self {
            num_scored: groups.num_scored,
            scores: vec![0.0; groups.num_groups],
            chosen: vec![0; groups.num_groups_used],
            chosen_scores: vec![0.0; groups.num_groups_used],
        }
    }

    /// Sets the scores of experts outside the best groups to minus infinity.
    fn exclude_others(&mut self, scores: &mut [f32]) {
        let group_len = (scores.len() / self.scores.len()).max(1);
        for (group, score) in scores.chunks(group_len).zip(&mut self.scores) {
            let (mut first, mut second) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            for &x in group {
                if x > first {
                    (first, second) = (x, first);
                } else if x > second {
                    second = x;
                }
            }
            *score = if self.num_scored.min(group_len) > 1 { first + second } else { first };
        }
        choose(&mut self.scores, &mut self.chosen, &mut self.chosen_scores);
        for (number, group) in scores.chunks_mut(group_len).enumerate() {
            if !self.chosen.contains(&(number as u32)) {
                group.fill(f32::NEG_INFINITY);
            }
        }
    }
}

/// Selects the largest probabilities in falling order, the lower expert first among equals. NaN of either sign comes
/// first, so that it propagates to the result. No expert is selected twice.
fn choose(probabilities: &mut [f32], experts: &mut [u32], weights: &mut [f32]) {
    for (number, weight) in weights.iter_mut().enumerate() {
        let chosen = &experts[..number];
        // All of the others may have the value of those that were selected.
        let mut others = (0..probabilities.len()).filter(|&it| !chosen.contains(&(it as u32)));
        let mut best = others.next().expect("no more are selected than there are");
        for (candidate, probability) in probabilities.iter().enumerate() {
            let first = probabilities[best];
            if *probability > first || probability.is_nan() && !first.is_nan() {
                best = candidate;
            }
        }
        experts[number] = best as u32;
        *weight = probabilities[best];
        // Not above any other, and not NaN, so that the expert is not selected again.
        probabilities[best] = f32::NEG_INFINITY;
    }
}

/// Computes the weights of the `experts` that [`Gating::SparseMixer`] chose. `candidates` is memory for one value per expert.
fn mix_sparsely(
    level: Level,
    logits: &[f32],
    experts: &[u32],
    candidates: &mut [f32],
    weights: &mut [f32],
) {
    for (number, (&expert, weight)) in experts.iter().zip(weights).enumerate() {
        let largest = logits[expert as usize];
        for (index, (candidate, &logit)) in candidates.iter_mut().zip(logits).enumerate() {
            let is_far = (largest - logit) / logit.abs().max(largest) > SPARSE_MIXER_TOLERANCE;
            let is_excluded = is_far || experts[..number].contains(&(index as u32));
            *candidate = if is_excluded { f32::NEG_INFINITY } else { logit };
        }
        level.run(RouterSoftmax { values: candidates });
        *weight = candidates[expert as usize];
    }
}

/// Turns router logits into probabilities.
struct RouterSoftmax<'a> {
    values: &'a mut [f32],
}

impl Kernel for RouterSoftmax<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (_max, sum) = exponentials(lanes, self.values);
        self.values.iter_mut().for_each(|value| *value /= sum);
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

    #[test]
    fn no_expert_is_chosen_twice_if_the_others_are_excluded() {
        const EXCLUDED: f32 = f32::NEG_INFINITY;
        assert_eq!(chosen::<3>(vec![EXCLUDED; 4]).0, [0, 1, 2]);
        assert_eq!(chosen::<3>(vec![0.5, EXCLUDED, EXCLUDED, EXCLUDED]).0, [0, 1, 2]);
        assert_eq!(chosen::<3>(vec![EXCLUDED, EXCLUDED, 0.5, EXCLUDED]).0, [2, 0, 1]);
    }
}
