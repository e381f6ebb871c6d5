//! Reasoning: what a model writes before its answer, between delimiters.

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::ChatTemplate;
use crate::reasoning_budget::ReasoningTokens;

/// Begins reasoning.
pub const REASONING_OPEN: &str = "<think>";
/// Ends reasoning.
pub const REASONING_CLOSE: &str = "</think>";

/// Whether an answer begins with reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    /// No reasoning.
    None,
    /// Reasoning between delimiters, if the model chooses to.
    Optional,
    /// Reasoning, whose opening delimiter is the end of the prompt.
    Open,
}

impl Reasoning {
    /// Returns whether answers to `prompt`, which `template` has rendered, begin with reasoning.
    pub fn after(template: &ChatTemplate, prompt: &str) -> Self {
        let prompt = prompt.trim_end();
        if prompt.ends_with(REASONING_OPEN) {
            Self::Open
        } else if prompt.ends_with(REASONING_CLOSE) || !template.mentions(REASONING_OPEN) {
            Self::None
        } else {
            Self::Optional
        }
    }
}

/// Returns the reasoning delimiters; `None` if the vocabulary has none.
pub(crate) fn reasoning_tokens(tokenizer: &Tokenizer) -> Option<ReasoningTokens> {
    let open = tokenizer.token_id(REASONING_OPEN)?;
    let close = tokenizer.token_id(REASONING_CLOSE)?;
    let after = tokenizer.encode("\n\n", EncodeOptions::default());
    Some(ReasoningTokens { open, close: std::iter::once(close).chain(after).collect() })
}
