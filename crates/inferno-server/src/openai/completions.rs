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

use super::sampling::{SamplingFields, check_num_choices};
use super::token_limit::TokenLimit;
use crate::ServedModel;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable, UnknownFields};
use crate::generation::Job;
use crate::request::{Body, Reader, RequestBody, fresh_id};
use crate::sse;
use crate::state::App;
use prompt::EncodedPrompt;
pub(crate) use prompt::PromptField;
pub(crate) use response::TextCompletion;
use run::{Returned, TextRun};
use stream::TextStream;

/// A text completion request.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CompletionRequest {
    #[serde(flatten)]
    text: TextFields,
    #[serde(flatten)]
    sampling: SamplingFields,
}

/// The prompt, and how to complete it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextFields {
    prompt: PromptField,
    /// Maximum number of generated tokens (default: 16; -1: the rest of the context). May be 0 with `echo` or `prompt_logprobs`, to only score the prompt.
    #[schema(value_type = Option<i64>, minimum = -1)]
    max_tokens: Option<TokenLimit>,
    /// Prepends the prompt to each answer; with `logprobs`, also the log-probabilities of its tokens.
    echo: Option<bool>,
    /// Returns the log-probability of each token, and of this many alternatives.
    #[schema(maximum = 20)]
    logprobs: Option<usize>,
    /// Returns the log-probability of each prompt token, and of this many alternatives.
    #[schema(maximum = 20)]
    prompt_logprobs: Option<usize>,
    /// Generates this many answers per prompt and returns the `n` with the highest mean log-probability; not with `stream`.
    #[schema(minimum = 1)]
    best_of: Option<usize>,
    /// The text after the completion, for models trained to fill in the middle.
    suffix: Option<String>,
    /// Adds the special tokens that the model expects before text (default: true).
    add_special_tokens: Option<bool>,
}

/// Default of `max_tokens`, as in OpenAI's API.
const DEFAULT_MAX_TOKENS: usize = 16;
/// Maximum number of alternatives per token.
const MAX_LOGPROBS: usize = 20;

impl RequestBody for CompletionRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::openai::COMPLETIONS, fields::openai::SAMPLING, fields::llama_server::SAMPLERS];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = &[
        ("messages", "use prompt, or /v1/chat/completions"),
        ("input", "use prompt, or /v1/responses"),
        ("max_completion_tokens", "use max_tokens"),
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { text: reader.part()?, sampling: reader.part()? })
    }
}

impl CompletionRequest {
    /// Reads the request and encodes the prompts.
    ///
    /// **Errors**: an invalid or unsupported field.
    fn jobs(
        &self,
        app: &App,
        model: &ServedModel,
        unknown: &UnknownFields,
    ) -> Result<Vec<(EncodedPrompt, Job)>, ApiError> {
        let TextFields { max_tokens, logprobs, suffix, .. } = &self.text;
        let echo = self.text.echo == Some(true);
        self.text.check()?;
        let (num_prompts, num_places) =
            (self.text.prompt.len(), model.handle.options().max_num_waiting);
        if num_prompts > num_places {
            let message = format!(
                "there are {num_prompts} prompts, but at most {num_places} requests may wait; send fewer prompts"
            );
            return Err(ApiError::invalid("prompt", message));
        }
        let num_returned = self.sampling.num_choices(num_prompts, &app.options.limits)?;
        let num_choices = self.text.best_of.unwrap_or(num_returned);
        check_num_choices("best_of", num_choices, num_prompts, &app.options.limits)?;
        if num_choices < num_returned {
            let message =
                format!("best_of must be at least n ({num_returned}), but is {num_choices}");
            return Err(ApiError::invalid("best_of", message));
        }
        let max_tokens = max_tokens.map_or(Some(DEFAULT_MAX_TOKENS), TokenLimit::get);
        let returned = self.returned();
        let alternatives = returned.echo_logprobs.max(returned.prompt_logprobs);
        let only_scores = max_tokens == Some(0) && (echo || alternatives.is_some());
        let prompt_logprobs = alternatives.or(only_scores.then_some(0));
        let max_answer = max_tokens.filter(|_| !only_scores);
        // best_of needs them, even if they are not returned.
        let logprobs = logprobs.or((num_choices > num_returned).then_some(0));
        let mut params = self.sampling.params(&model.info.sampling, max_answer, logprobs)?;
        params.stop.max_tokens = max_tokens;
        let prompts = self.text.prompt.read(
            suffix.as_deref(),
            self.text.add_special_tokens.unwrap_or(true),
            echo,
            usize::from(!only_scores),
            model,
        )?;
        let (format, field) = self.sampling.format()?;
        let constraint = model.constraint(&format, field, unknown)?;
        let jobs = prompts.into_iter().map(|prompt| {
            let job = Job {
                prompt: prompt.tokens.clone(),
                params: params.clone(),
                prompt_logprobs,
                reports_progress: false,
                num_choices,
                priority: self.sampling.priority(),
                constraint: constraint.as_ref().map(|constraint| constraint.fork()),
            };
            (prompt, job)
        });
        Ok(jobs.collect())
    }

    pub fn model_name(&self) -> Option<&str> {
        self.sampling.model.as_deref()
    }

    /// The tokens of each prompt, checked like a request.
    ///
    /// **Errors**: an invalid or unsupported field.
    pub fn prompts(
        &self,
        app: &App,
        model: &ServedModel,
        unknown: &UnknownFields,
    ) -> Result<Vec<Vec<u32>>, ApiError> {
        Ok(self.jobs(app, model, unknown)?.into_iter().map(|(prompt, _)| prompt.tokens).collect())
    }

    fn returned(&self) -> Returned {
        let TextFields { logprobs, prompt_logprobs, echo, .. } = &self.text;
        Returned {
            num_choices: self.sampling.n(),
            logprobs: logprobs.is_some(),
            echo_logprobs: logprobs.filter(|_| *echo == Some(true)),
            prompt_logprobs: *prompt_logprobs,
        }
    }
}

impl TextFields {
    /// **Errors**: fields that are out of range or contradict each other.
    fn check(&self) -> Result<(), ApiError> {
        for (field, count) in
            [("logprobs", self.logprobs), ("prompt_logprobs", self.prompt_logprobs)]
        {
            if count.is_some_and(|count| count > MAX_LOGPROBS) {
                let message = format!("{field} must be at most {MAX_LOGPROBS}");
                return Err(ApiError::invalid(field, message));
            }
        }
        if self.echo == Some(true) && self.suffix.is_some() {
            let why = "it cannot be combined with suffix";
            return Err(ApiError::unsupported("echo", why));
        }
        Ok(())
    }
}

/// Creates a text completion.
#[utoipa::path(post, path = "/v1/completions", tag = "openai",
    request_body = CompletionRequest,
    responses(
        (status = 200, description = "The completion; with `stream`, parts of it as server-sent events.", content(
            (TextCompletion = "application/json"), (TextCompletion = "text/event-stream"))),
        (status = 400), (status = 401), (status = 404), (status = 413), (status = 415),
        (status = 429), (status = 503)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<CompletionRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.model_name())?;
    if request.sampling.reports_progress() {
        unknown.report("return_progress");
    }
    if request.sampling.has_timings() {
        unknown.report("timings_per_token");
    }
    let streaming = request.sampling.streaming()?;
    let returned = request.returned();
    if streaming.is_some() {
        let selects = request.text.best_of.is_some_and(|best_of| best_of > returned.num_choices);
        ApiError::reject_given([
            (
                "prompt_logprobs",
                returned.prompt_logprobs.is_some(),
                "in a stream, use echo with logprobs",
            ),
            ("best_of", selects, "it cannot be combined with stream"),
        ])?;
    }
    let (reader_app, reader_model) = (Arc::clone(&app), Arc::clone(&model));
    let jobs = preparation.run(move || request.jobs(&reader_app, &reader_model, &unknown)).await?;
    let run = TextRun::begin(&app, &model, preparation, jobs, returned).await?;
    let id = fresh_id("cmpl-");
    match streaming {
        Some(streaming) => {
            let keep_alive = app.options.limits.keep_alive;
            Ok(sse::respond(TextStream::new(run, id, streaming), keep_alive))
        }
        None => {
            let (choices, usage) = run.complete().await?;
            let completion = TextCompletion::new(id, &model, choices, Some(usage));
            Ok(axum::Json(completion).into_response())
        }
    }
}
