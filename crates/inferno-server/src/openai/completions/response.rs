//! Text completions, complete or in part.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::run::TextAnswer;
use crate::ServedModel;
use crate::generation::{Finish, StopCause};
use crate::openai::chat::stop_reason;
use crate::openai::logprobs::{PromptLogprobs, TextLogprobs};
use crate::openai::usage::Usage;
use crate::operation::version::BUILD_INFO;
use crate::time::unix_seconds;

/// A text completion, complete or in part.
#[derive(Serialize, ToSchema)]
pub(crate) struct TextCompletion {
    id: String,
    /// Always `text_completion`.
    object: &'static str,
    /// Seconds since 1970; the same in all parts.
    created: u64,
    model: String,
    /// The build of the server.
    system_fingerprint: &'static str,
    choices: Vec<TextChoice>,
    /// In a stream, the total usage in the last part, if requested; with `continuous_usage_stats`, in each part that of its choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

/// A choice.
#[derive(Serialize, ToSchema)]
pub(crate) struct TextChoice {
    /// Numbered across all prompts.
    index: usize,
    text: String,
    /// Log-probabilities of the generated tokens; with `echo`, preceded by those of the prompt.
    logprobs: Option<TextLogprobs>,
    /// Log-probabilities of the prompt, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_logprobs: Option<PromptLogprobs>,
    /// `stop` or `length`; in a stream, null except in the last part of the choice.
    finish_reason: Option<&'static str>,
    /// The stop sequence or stop token that was generated.
    #[schema(value_type = Option<Object>)]
    stop_reason: Value,
}

impl TextChoice {
    pub fn new(index: usize, answer: TextAnswer) -> Self {
        let TextAnswer { text, logprobs, prompt_logprobs, finish } = answer;
        let stop_reason = finish.as_ref().map_or(Value::Null, |it| stop_reason(&it.cause));
        let finish_reason = finish.as_ref().map(finish_reason);
        Self { index, text, logprobs, prompt_logprobs, finish_reason, stop_reason }
    }
}

fn finish_reason(finish: &Finish) -> &'static str {
    match finish.cause {
        StopCause::Length => "length",
        _ => "stop",
    }
}

impl TextCompletion {
    pub fn new(
        id: String,
        model: &ServedModel,
        answers: Vec<TextAnswer>,
        usage: Option<Usage>,
    ) -> Self {
        let choices = answers.into_iter().enumerate();
        let choices = choices.map(|(index, answer)| TextChoice::new(index, answer)).collect();
        Self::part(id, unix_seconds(), model, choices, usage)
    }

    /// A part of a stream.
    pub fn part(
        id: String,
        created: u64,
        model: &ServedModel,
        choices: Vec<TextChoice>,
        usage: Option<Usage>,
    ) -> Self {
        let model = model.info.name().to_owned();
        let system_fingerprint = BUILD_INFO;
        Self { id, object: "text_completion", created, model, system_fingerprint, choices, usage }
    }
}
