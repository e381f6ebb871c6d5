//! Reasoning: what a model writes before its answer, between delimiters.

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::form::Delimiters;
use crate::reasoning_budget::ReasoningTokens;
use crate::{AnswerForm, ChatTemplate};

/// Begins reasoning, unless a template writes another tag.
pub const REASONING_OPEN: &str = "<think>";
/// Ends reasoning, unless a template writes another tag.
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
        let AnswerForm { reasoning: Delimiters { open, close }, reasons, .. } =
            template.answer_form();
        let prompt = prompt.trim_end();
        if prompt.ends_with(open) {
            Self::Open
        } else if prompt.ends_with(close) || !reasons {
            Self::None
        } else {
            Self::Optional
        }
    }
}

/// Returns the reasoning delimiters as tokens; `None` if the vocabulary does not have them.
pub(crate) fn reasoning_tokens(
    tokenizer: &Tokenizer,
    delimiters: &Delimiters,
) -> Option<ReasoningTokens> {
    let open = tokenizer.token_id(&delimiters.open)?;
    let close = tokenizer.token_id(&delimiters.close)?;
    let after = tokenizer.encode("\n\n", EncodeOptions::default());
    Some(ReasoningTokens { open, close: std::iter::once(close).chain(after).collect() })
}
