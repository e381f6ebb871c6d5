//! The token usage of a request.

use serde::Serialize;
use utoipa::ToSchema;

use crate::generation::TokenCounts;

/// The token usage of a request.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct Usage {
    pub prompt_tokens: usize,
    pub completion_tokens: usize,
    pub total_tokens: usize,
    /// Known when the choice has finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
}

/// Details of the prompt tokens.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct PromptTokensDetails {
    /// Prompt tokens that came from the prefix cache.
    pub cached_tokens: usize,
}

/// Details of the completion tokens.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct CompletionTokensDetails {
    /// Tokens that were reasoning.
    pub reasoning_tokens: usize,
}

impl Usage {
    /// The tokens of all prompts and their choices.
    pub fn of<'c>(requests: impl IntoIterator<Item = &'c TokenCounts>) -> Self {
        let (mut usage, mut cached_tokens) = (Self::default(), 0);
        for counts in requests {
            usage.prompt_tokens += counts.prompt_tokens;
            usage.completion_tokens += counts.generated_tokens();
            cached_tokens += counts.choices.first().map_or(0, |choice| choice.cached_tokens);
        }
        usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
        usage.prompt_tokens_details = Some(PromptTokensDetails { cached_tokens });
        usage
    }

    /// As [`of`](Self::of), with the tokens that were reasoning.
    pub fn of_chat(counts: &TokenCounts) -> Self {
        let reasoning_tokens = counts.reasoning_tokens();
        let details = Some(CompletionTokensDetails { reasoning_tokens });
        Self { completion_tokens_details: details, ..Self::of([counts]) }
    }

    /// The tokens of one choice so far.
    pub fn so_far(counts: &TokenCounts, choice: usize) -> Self {
        let prompt_tokens = counts.prompt_tokens;
        let completion_tokens = counts.choices.get(choice).map_or(0, |it| it.generated_tokens);
        let total_tokens = prompt_tokens + completion_tokens;
        Self { prompt_tokens, completion_tokens, total_tokens, ..Self::default() }
    }
}
