//! What an answer took, in tokens.

use serde::Serialize;
use utoipa::ToSchema;

use crate::generation::Finish;

/// What an answer took, in tokens.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct Usage {
    pub prompt_tokens: usize,
    pub completion_tokens: usize,
    pub total_tokens: usize,
    /// Known at an answer's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
}

/// What is known of the prompt's tokens.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct PromptTokensDetails {
    /// Those that were computed for an earlier request.
    pub cached_tokens: usize,
}

/// What is known of the answer's tokens.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct CompletionTokensDetails {
    /// Those of what the model said to itself.
    pub reasoning_tokens: usize,
}

impl Usage {
    /// That of an answer which goes on.
    pub fn so_far(prompt_tokens: usize, completion_tokens: usize) -> Self {
        let total_tokens = prompt_tokens + completion_tokens;
        Self { prompt_tokens, completion_tokens, total_tokens, ..Self::default() }
    }

    /// Adds a choice. The prompt counts once for all choices of one prompt.
    pub fn add(&mut self, finish: &Finish, is_first_of_prompt: bool) {
        if is_first_of_prompt {
            self.prompt_tokens += finish.prompt_tokens;
            let details = self.prompt_tokens_details.get_or_insert_default();
            details.cached_tokens += finish.cached_tokens;
        }
        self.completion_tokens += finish.generated_tokens;
        self.total_tokens = self.prompt_tokens + self.completion_tokens;
    }

    pub fn add_reasoning(&mut self, tokens: usize) {
        let details = self.completion_tokens_details.get_or_insert_default();
        details.reasoning_tokens += tokens;
    }
}
