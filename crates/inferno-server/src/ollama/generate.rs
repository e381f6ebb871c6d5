//! `/api/generate`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use inferno_tokenizer::EncodeOptions;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::answer_fields::OllamaAnswerFields;
use super::chat::respond;
use super::lines::{AnswerEnd, AnswerPart, OllamaGenerateAnswer, generate_line};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable, UnknownFields};
use crate::fill_in_the_middle::fill_in_the_middle;
use crate::generation::{Job, engine_stopped};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// A prompt, and how to answer it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaGenerateRequest {
    #[serde(flatten)]
    prompt: OllamaPrompt,
    #[serde(flatten)]
    answer: OllamaAnswerFields,
}

/// The prompt.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaPrompt {
    /// The message to answer; with `raw` or `suffix`, the text to complete.
    prompt: Option<String>,
    /// The text after the completion, for models trained to fill in the middle.
    suffix: Option<String>,
    /// The system prompt.
    system: Option<String>,
    /// Completes the prompt as it is, without the chat template.
    raw: Option<bool>,
}

/// A request in the form in which it is computed.
enum GenerateJob {
    Chat(Box<ChatJob>),
    Text(Box<Job>),
}

impl RequestBody for OllamaGenerateRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::ollama::ANSWER, fields::ollama::GENERATE];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { prompt: reader.part()?, answer: reader.part()? })
    }
}

impl OllamaGenerateRequest {
    fn job(self, model: &ServedModel, unknown: &UnknownFields) -> Result<GenerateJob, ApiError> {
        let Self { prompt, answer } = self;
        let is_text =
            prompt.raw == Some(true) || prompt.suffix.is_some() || model.info.template.is_none();
        if is_text {
            let constraint = model.constraint(&answer.format()?, "format", unknown)?;
            return Ok(GenerateJob::Text(Box::new(Job {
                prompt: prompt.tokens(model)?,
                params: answer.params(model, unknown)?,
                prompt_logprobs: None,
                reports_progress: false,
                num_choices: 1,
                priority: 0,
                constraint,
            })));
        }
        let system = prompt.system.filter(|text| !text.is_empty());
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let user = json!({"role": "user", "content": prompt.prompt});
        Ok(GenerateJob::Chat(Box::new(ChatJob {
            messages: system.into_iter().chain([user]).collect(),
            messages_field: "prompt",
            format: answer.format()?,
            format_field: "format",
            variables: answer.variables()?,
            reasoning_effort: answer.effort(),
            add_generation_prompt: true,
            params: answer.params(model, unknown)?,
            num_choices: 1,
            ..ChatJob::default()
        })))
    }
}

impl OllamaPrompt {
    fn is_empty(&self) -> bool {
        self.prompt.as_ref().is_none_or(String::is_empty) && self.suffix.is_none()
    }

    /// The tokens of a prompt that no template renders.
    fn tokens(&self, model: &ServedModel) -> Result<Vec<u32>, ApiError> {
        let text = self.prompt.as_deref().unwrap_or_default();
        match &self.suffix {
            Some(suffix) => fill_in_the_middle(text, suffix, true, "suffix", model),
            None => {
                let options = EncodeOptions { add_special: true, parse_special: true };
                Ok(model.tokenizer().encode(text, options))
            }
        }
    }
}

/// Answers a prompt. Without one, it returns at once: the model stays loaded.
#[utoipa::path(post, path = "/api/generate", tag = "ollama",
    request_body = OllamaGenerateRequest,
    responses(
        (status = 200, description = "Parts of the answer, one JSON object per line; with `stream` false, one object.", content(
            (OllamaGenerateAnswer = "application/x-ndjson"), (OllamaGenerateAnswer = "application/json")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<OllamaGenerateRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.answer.model.as_deref())?;
    let name = request.answer.model.clone().unwrap_or_else(|| model.info.name().to_owned());
    if request.prompt.is_empty() {
        let line = generate_line(&name, AnswerPart::default(), Some(AnswerEnd::loaded()));
        return Ok(Json(line).into_response());
    }
    let is_streamed = request.answer.is_streamed();
    let reader = Arc::clone(&model);
    let run = match preparation.run(move || request.job(&reader, &unknown)).await? {
        GenerateJob::Chat(job) => ChatRun::begin(&app, &model, preparation, *job).await?,
        GenerateJob::Text(job) => {
            let mut runs = ChatRun::begin_texts(&app, &model, preparation, vec![*job]).await?;
            runs.pop().ok_or_else(engine_stopped)?
        }
    };
    respond(run, name, is_streamed, generate_line).await
}
