//! The router of a mixture of experts.

use inferno_tensor::Tensor;

use super::arithmetic::softmax;
use crate::ExpertParams;

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

    /// Every `(slot, choice)` of the first `rows` tokens; a token's slots are adjacent.
    pub(super) fn slots(&self, rows: usize) -> impl Iterator<Item = (usize, ExpertChoice)> + '_ {
        self.choices.iter().copied().take(rows * self.num_experts_used).enumerate()
    }

    pub(super) fn route(&mut self, rows: usize, logits: &Tensor<f32>, params: &ExpertParams) {
        self.choices.clear();
        for row in 0..rows {
            let logits: Vec<f64> = logits[[row]].iter().copied().map(f64::from).collect();
            let probabilities = softmax(&logits);
            let mut experts: Vec<usize> = (0..params.num_experts).collect();
            // The sort is stable, so among equal probabilities the lower index comes first.
            experts.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
            experts.truncate(params.num_experts_used);
            let sum = match params.normalize {
                true => experts.iter().map(|&expert| probabilities[expert]).sum(),
                false => 1.0,
            };
            self.choices.extend(experts.into_iter().map(|expert| ExpertChoice {
                expert,
                weight: (probabilities[expert] / sum) as f32,
            }));
        }
    }
}
