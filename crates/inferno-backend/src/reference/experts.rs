//! The router of a mixture of experts.

use inferno_tensor::Tensor;

use super::arithmetic::softmax;
use crate::{ExpertGroups, ExpertParams, Gating, MIN_PROBABILITY_SUM, SPARSE_MIXER_TOLERANCE};

/// One token's use of one expert.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpertChoice {
    pub(super) expert: usize,
    pub(super) weight: f32,
}

/// The experts of each token, most probable first.
#[derive(Debug)]
pub struct ReferenceRouting {
    num_experts_used: usize,
    choices: Vec<ExpertChoice>,
}

impl ReferenceRouting {
    pub(super) fn new(rows: usize, params: &ExpertParams) -> Self {
        let choices = Vec::with_capacity(rows * params.num_experts_used);
        Self { num_experts_used: params.num_experts_used, choices }
    }

    pub(super) fn num_experts_used(&self) -> usize {
        self.num_experts_used
    }

    /// Every `(slot, choice)`; a token's slots are adjacent.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, ExpertChoice)> + '_ {
        self.choices.iter().copied().enumerate()
    }

    /// Sets the weight of each choice to 1.
    pub(super) fn reset_weights(&mut self) {
        self.choices.iter_mut().for_each(|choice| choice.weight = 1.0);
    }

    /// Routes each row to every expert, in order.
    pub(super) fn route_to_all(&mut self, rows: usize) {
        let experts = (0..rows).flat_map(|_| 0..self.num_experts_used);
        self.choices.clear();
        self.choices.extend(experts.map(|expert| ExpertChoice { expert, weight: 1.0 }));
    }

    pub(super) fn route(
        &mut self,
        rows: usize,
        logits: &Tensor<f32>,
        selection_bias: Option<&Tensor<f32>>,
        params: &ExpertParams,
    ) {
        self.choices.clear();
        for row in 0..rows {
            let logits: Vec<f64> = logits[[row]].iter().copied().map(f64::from).collect();
            let probabilities = match params.gating {
                Gating::Softmax => softmax(&logits),
                Gating::Sigmoid => {
                    logits.iter().map(|logit| 1.0 / (1.0 + (-logit).exp())).collect()
                }
                Gating::SparseMixer => logits.clone(),
            };
            let mut scores = probabilities.clone();
            if let Some(bias) = selection_bias {
                scores
                    .iter_mut()
                    .zip(&bias[[0]])
                    .for_each(|(score, &bias)| *score += f64::from(bias));
            }
            if let Some(groups) = params.groups {
                exclude_groups(&mut scores, groups);
            }
            let mut experts: Vec<usize> = (0..params.num_experts).collect();
            // The sort is stable, so among equal scores the lower index comes first.
            experts.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            experts.truncate(params.num_experts_used);
            if params.gating == Gating::SparseMixer {
                self.choices.extend(mixed_sparsely(&logits, &experts, params.scale));
                continue;
            }
            let sum = match params.normalize {
                true => {
                    let sum: f64 = experts.iter().map(|&expert| probabilities[expert]).sum();
                    sum + f64::from(MIN_PROBABILITY_SUM)
                }
                false => 1.0,
            };
            self.choices.extend(experts.into_iter().map(|expert| ExpertChoice {
                expert,
                weight: (probabilities[expert] / sum) as f32 * params.scale,
            }));
        }
    }
}

/// The weights of the `experts` that [`Gating::SparseMixer`] chose.
fn mixed_sparsely(logits: &[f64], experts: &[usize], scale: f32) -> Vec<ExpertChoice> {
    let choices = experts.iter().enumerate().map(|(number, &expert)| {
        let largest = logits[expert];
        let is_far = |logit: f64| {
            (largest - logit) / logit.abs().max(largest) > f64::from(SPARSE_MIXER_TOLERANCE)
        };
        let others = logits
            .iter()
            .enumerate()
            .filter(|(other, logit)| !experts[..number].contains(other) && !is_far(**logit));
        let sum: f64 = others.map(|(_, logit)| (logit - largest).exp()).sum();
        ExpertChoice { expert, weight: (1.0 / sum) as f32 * scale }
    });
    choices.collect()
}

/// Sets the scores of all experts outside the best groups to minus infinity.
fn exclude_groups(scores: &mut [f64], groups: ExpertGroups) {
    let group_len = scores.len() / groups.num_groups;
    let mut best: Vec<(usize, f64)> = scores
        .chunks(group_len)
        .map(|group| {
            let mut sorted = group.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted.iter().take(groups.num_scored).sum()
        })
        .enumerate()
        .collect();
    best.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    for (group, _) in best.into_iter().skip(groups.num_groups_used) {
        scores[group * group_len..(group + 1) * group_len].fill(f64::NEG_INFINITY);
    }
}
