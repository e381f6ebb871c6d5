//! Makes tokens that have already occurred less likely.
//!
//! The repetition penalty looks at prompt and output, the other two at the output alone, as the
//! servers that offer all three do.
//!
//! **Source**: Keskar et al., CTRL, section 4.1 (repetition; with the sign rule that later
//! implementations added); OpenAI API reference (frequency, presence).

use std::collections::HashMap;

use super::SamplingParams;

/// How often each token was generated; tokens that are only in the prompt have zero.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenTokens {
    num_generated: HashMap<u32, u32>,
}

impl SeenTokens {
    pub(super) fn add_prompt(&mut self, tokens: &[u32]) {
        for &token in tokens {
            self.num_generated.entry(token).or_insert(0);
        }
    }

    pub(super) fn add_generated(&mut self, token: u32) {
        *self.num_generated.entry(token).or_insert(0) += 1;
    }

    /// Penalizes the logits of seen tokens.
    pub(super) fn penalize(&self, params: &SamplingParams, logits: &mut [f32]) {
        for (&token, &count) in &self.num_generated {
            let Some(logit) = logits.get_mut(token as usize) else {
                continue;
            };
            if *logit == f32::NEG_INFINITY {
                // It is excluded, and stays so.
                continue;
            }
            let repeated = if *logit > 0.0 {
                *logit / params.repetition_penalty
            } else {
                *logit * params.repetition_penalty
            };
            let presence = if count > 0 { params.presence_penalty } else { 0.0 };
            let penalized = repeated - count as f32 * params.frequency_penalty - presence;
            *logit = penalized.clamp(f32::MIN, f32::MAX);
        }
    }
}
