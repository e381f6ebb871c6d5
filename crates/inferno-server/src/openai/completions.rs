//! `/v1/completions`.

mod prompt;
mod response;
mod run;
mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::sampling::{self, SamplingFields, Streaming};
use crate::ServedModel;
use crate::chat::OutputFormat;
use crate::errors::ApiError;
use crate::generation::Job;
use crate::request::{Body, Reader, RequestBody, Unsupported, fresh_id};
use crate::sse;
use crate::state::App;
use prompt::{PromptField, ReadPrompt};
pub(crate) use response::TextCompletion;
use run::TextRun;
use stream::TextStream;

/// A text to go on with.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CompletionRequest {
    #[serde(flatten)]
    text: TextFields,
    #[serde(flatten)]
    sampling: SamplingFields,
}

/// What to go on with.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextFields {
    prompt: PromptField,
    /// Tokens that each answer may have; 16 unless it is said otherwise.
    #[schema(minimum = 1)]
    max_tokens: Option<usize>,
    /// Begins each answer with the prompt.
    echo: Option<bool>,
    /// Tells the log-probability of each token, and of so many rivals.
    #[schema(maximum = 20)]
    logprobs: Option<usize>,
    /// The text after the gap that is to be filled, for models that have learned to.
    suffix: Option<String>,
    /// Whether the tokens that the model wants before a text are added; true unless it is said otherwise.
    add_special_tokens: Option<bool>,
}

/// Tokens of an answer where a request does not say.
const DEFAULT_MAX_TOKENS: usize = 16;
/// The most rivals that are told.
const MAX_LOGPROBS: usize = 20;

impl RequestBody for CompletionRequest {
    const UNSUPPORTED: &'static [&'static [Unsupported]] = &[
        &[
            ("messages", "use /v1/chat/completions"),
            ("response_format", "use structured_outputs"),
            ("prompt_embeds", "prompts are texts or tokens"),
        ],
        sampling::UNSUPPORTED,
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { text: reader.part()?, sampling: reader.part()? })
    }
}

impl CompletionRequest {
    /// Encodes the prompts, and what is asked about them.
    ///
    /// **Errors**: a field that is not as it must be, or that is not honoured.
    fn jobs(&self, app: &App, model: &ServedModel) -> Result<Vec<(ReadPrompt, Job)>, ApiError> {
        let TextFields { max_tokens, echo, logprobs, suffix, .. } = &self.text;
        let echo = *echo == Some(true);
        if logprobs.is_some_and(|count| count > MAX_LOGPROBS) {
            let message = format!("logprobs must be at most {MAX_LOGPROBS}");
            return Err(ApiError::invalid("logprobs", message));
        }
        if echo && logprobs.is_some() {
            let why = "log-probabilities are of the answer, and echo begins it with the prompt";
            return Err(ApiError::unsupported("echo", &format!("with logprobs, {why}")));
        }
        if echo && suffix.is_some() {
            return Err(ApiError::unsupported(
                "echo",
                "with a suffix, the answer is the gap alone",
            ));
        }
        let max_tokens = Some(max_tokens.unwrap_or(DEFAULT_MAX_TOKENS));
        let params = self.sampling.params(&model.sampling, max_tokens, *logprobs)?;
        let prompts = self.text.prompt.read(
            suffix.as_deref(),
            self.text.add_special_tokens.unwrap_or(true),
            echo,
            model,
        )?;
        let num_choices = self.sampling.num_choices(prompts.len(), &app.options.limits)?;
        let grammar = match self.sampling.format()? {
            OutputFormat::Text => None,
            format => crate::chat::lark_of_text(&format),
        };
        let jobs = prompts.into_iter().map(|prompt| {
            let constraint = grammar.clone().map(|lark| model.grammars.compile(lark)).transpose();
            let constraint = constraint.map_err(|message| {
                let message = format!("structured_outputs does not compile: {message}");
                ApiError::invalid("structured_outputs", message).with_code("invalid_grammar")
            })?;
            let job = Job {
                prompt: prompt.tokens.clone(),
                params: params.clone(),
                num_choices,
                priority: self.sampling.priority(),
                constraint,
            };
            Ok((prompt, job))
        });
        jobs.collect()
    }
}

/// Goes on with a text.
#[utoipa::path(post, path = "/v1/completions", tag = "openai",
    request_body = CompletionRequest,
    responses(
        (status = 200, description = "The answers; with stream, parts of them as server-sent events.", content(
            (TextCompletion = "application/json"), (TextCompletion = "text/event-stream"))),
        (status = 400), (status = 401), (status = 404), (status = 413), (status = 415),
        (status = 429), (status = 503)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body(request): Body<CompletionRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.sampling.model.as_deref())?;
    let streaming = request.sampling.streaming()?;
    let (reader_app, reader_model) = (Arc::clone(&app), Arc::clone(&model));
    let reading = tokio::task::spawn_blocking(move || request.jobs(&reader_app, &reader_model));
    let jobs = reading.await.map_err(|error| ApiError::internal(error.to_string()))??;
    let run = TextRun::begin(&app, &model, jobs)?;
    let id = fresh_id("cmpl-");
    match streaming {
        Some(Streaming { include_usage }) => {
            let keep_alive = app.options.limits.keep_alive;
            Ok(sse::respond(TextStream::new(run, id, include_usage), keep_alive))
        }
        None => {
            let (choices, usage) = run.complete().await?;
            let completion = TextCompletion::new(id, &model, choices, Some(usage));
            Ok(axum::Json(completion).into_response())
        }
    }
}
