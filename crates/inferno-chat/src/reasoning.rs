//! Reasoning: what a model writes before its answer, between delimiters.

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::form::{Delimiters, leading_tag};
use crate::reasoning_budget::ReasoningTokens;
use crate::{AnswerForm, ChatTemplate};

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

/// Returns the reasoning delimiters as tokens; `None` if one of them neither is a token nor begins with a tag that is one.
pub(crate) fn reasoning_tokens(
    tokenizer: &Tokenizer,
    delimiters: &Delimiters,
) -> Option<ReasoningTokens> {
    let tokens = |delimiter: &str| match tokenizer.token_id(delimiter) {
        Some(token) => Some(vec![token]),
        None => {
            leading_tag(delimiter).and_then(|tag| tokenizer.token_id(tag))?;
            let options = EncodeOptions { add_special: false, parse_special: true };
            Some(tokenizer.encode(delimiter, options))
        }
    };
    let (open, close) = (tokens(&delimiters.open)?, tokens(&delimiters.close)?);
    let after = tokenizer.encode("\n\n", EncodeOptions::default());
    Some(ReasoningTokens { open: open.into(), close: close.into(), after: after.into() })
}
