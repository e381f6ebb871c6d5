//! Answers, whole or in part.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::run::TextAnswer;
use crate::ServedModel;
use crate::generation::{Finish, StopCause};
use crate::openai::chat::{now, stop_reason};
use crate::openai::logprobs::{PromptLogprobs, TextLogprobs};
use crate::openai::usage::Usage;

/// Answers, whole or in part.
#[derive(Serialize, ToSchema)]
pub(crate) struct TextCompletion {
    id: String,
    /// Always `text_completion`.
    object: &'static str,
    /// Seconds since 1970; the same in all parts.
    created: u64,
    model: String,
    choices: Vec<TextChoice>,
    /// In a stream, in the last part that of all, where it is asked for; with `continuous_usage_stats`, in each that of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

/// One of the answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct TextChoice {
    /// Counted through all prompts.
    index: usize,
    text: String,
    /// Those of the answer's tokens; with `echo`, of the prompt's before them.
    logprobs: Option<TextLogprobs>,
    /// Where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_logprobs: Option<PromptLogprobs>,
    /// `stop` or `length`; in a stream null but in the answer's last part.
    finish_reason: Option<&'static str>,
    /// The stop text or the stop token that ended it.
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
        Self::part(id, now(), model, choices, usage)
    }

    /// A part of a stream.
    pub fn part(
        id: String,
        created: u64,
        model: &ServedModel,
        choices: Vec<TextChoice>,
        usage: Option<Usage>,
    ) -> Self {
        let model = model.name().to_owned();
        Self { id, object: "text_completion", created, model, choices, usage }
    }
}
