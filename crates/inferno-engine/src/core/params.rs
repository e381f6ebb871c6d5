//! Generation parameters.

use crate::{SamplingParams, StopParams};

/// The parameters of one generation.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationParams {
    /// How tokens are sampled.
    pub sampling: SamplingParams,
    /// When the generation ends.
    pub stop: StopParams,
    /// Leaves control tokens out of the text.
    pub skip_special_tokens: bool,
    /// Maximum number of tokens drafted per step by prompt lookup, which are computed in one pass; 0
    /// disables speculative decoding. The text is the same with any number. The runner's batches must
    /// hold one token and one row of logits more.
    pub num_speculative_tokens: usize,
}

impl Default for GenerationParams {
    fn default() -> Self {
        Self {
            sampling: SamplingParams::default(),
            stop: StopParams::default(),
            skip_special_tokens: true,
            num_speculative_tokens: 0,
        }
    }
}
