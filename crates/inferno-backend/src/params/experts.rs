//! The parameters of mixtures of experts.

/// Added to the sum of the selected experts' probabilities before these are divided by it, since all of them can be zero.
/// Sums of ordinary size are unchanged in single precision.
///
/// **Source**: the implementation of transformers.
pub const MIN_PROBABILITY_SUM: f32 = 1e-20;

/// Number of experts and their routing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertParams {
    /// Number of experts in a layer.
    pub num_experts: usize,
    /// Number of experts that each token uses.
    pub num_experts_used: usize,
    /// Whether the probabilities of the selected experts are scaled to sum to one.
    pub normalize: bool,
    /// How router logits become probabilities.
    pub gating: Gating,
    /// Factor on the weights of the selected experts, after normalization.
    pub scale: f32,
    /// Restricts the choice to some groups of neighboring experts.
    pub groups: Option<ExpertGroups>,
}

impl ExpertParams {
    /// Softmax routing over all experts, unscaled.
    pub fn softmax(num_experts: usize, num_experts_used: usize, normalize: bool) -> Self {
        let gating = Gating::Softmax;
        Self { num_experts, num_experts_used, normalize, gating, scale: 1.0, groups: None }
    }
}

/// How router logits become probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gating {
    /// A softmax over all experts.
    Softmax,
    /// A sigmoid for each expert.
    Sigmoid,
    /// Experts are chosen by their logits, one after the other. The probability of each is that of a softmax over the experts
    /// that were not chosen before it and whose logits are within [`SPARSE_MIXER_TOLERANCE`] of the largest of these,
    /// relative to the larger of the two.
    ///
    /// **Source**: Liu et al., GRIN: GRadient-INformed MoE, section 2, and the reference code of Phi-3.5-MoE.
    SparseMixer,
}

/// The largest relative difference from the largest logit with which an expert is in the softmax of
/// [`Gating::SparseMixer`]: twice the noise that the router of Phi-3.5-MoE was trained with.
pub const SPARSE_MIXER_TOLERANCE: f32 = 0.02;

/// The rows that a product with experts reads. A *slot* is one token's use of one expert: slot
/// `t * num_experts_used + j` is token `t`'s `j`-th expert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertInput {
    /// All slots of token `t` read row `t`.
    PerToken,
    /// Slot `s` reads row `s`.
    PerSlot,
}

/// Groups of experts: only the experts of the best groups can be selected. The score of a group is the
/// sum of its largest probabilities (with the selection bias, if there is one).
///
/// **Source**: DeepSeek-AI, DeepSeek-V2, section 2.2.2, and DeepSeek-V3 Technical Report, section 2.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertGroups {
    /// Number of groups of equal size.
    pub num_groups: usize,
    /// Number of groups that each token uses.
    pub num_groups_used: usize,
    /// Number of probabilities that the score of a group is the sum of.
    pub num_scored: usize,
}
