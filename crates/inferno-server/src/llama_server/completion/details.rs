//! The details of chat completions that `verbose` adds.

use std::sync::Arc;

use inferno_engine::GenerationParams;
use serde_json::{Value, json};

use super::answer::{AnswerFormat, CompletedPrompt};
use super::answer_fields::LlamaAnswerFields;
use crate::ServedModel;
use crate::chat::{Answer, FinishedChoice};
use crate::generation::TokenCounts;

/// The prompt and the parameters of an answer, in the format of `/completion`.
pub(crate) struct AnswerDetails(AnswerFormat);

impl AnswerDetails {
    pub fn new(prompt: &[u32], params: &GenerationParams, model: &Arc<ServedModel>) -> Self {
        let fields = LlamaAnswerFields::default();
        Self(AnswerFormat::new(&[prompt.to_vec()], fields, params, model))
    }

    /// The details of the first choice.
    pub fn of_first(
        &self,
        choices: &[(Answer, FinishedChoice)],
        counts: &TokenCounts,
    ) -> Option<Value> {
        let (answer, end) = choices.first().cloned()?;
        Some(json!(self.0.whole(0, CompletedPrompt { answer, end, counts: counts.clone() })))
    }
}
