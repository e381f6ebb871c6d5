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

use super::sampling::{self, SamplingFields, check_num_choices};
use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::Job;
use crate::request::{Body, Reader, RequestBody, Unsupported, fresh_id};
use crate::sse;
use crate::state::App;
pub(crate) use prompt::PromptField;
use prompt::ReadPrompt;
pub(crate) use response::TextCompletion;
use run::{TextRun, Told};
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
    /// Tokens that each answer may have; 16 unless it is said otherwise. 0 where only the prompt is asked about, with `echo` or
    /// `prompt_logprobs`.
    max_tokens: Option<usize>,
    /// Begins each answer with the prompt; with `logprobs`, also with the log-probabilities of its tokens.
    echo: Option<bool>,
    /// Tells the log-probability of each token, and of so many rivals.
    #[schema(maximum = 20)]
    logprobs: Option<usize>,
    /// Tells the log-probability of each token of the prompt, and of so many rivals, beside the answer.
    #[schema(maximum = 20)]
    prompt_logprobs: Option<usize>,
    /// Makes so many answers to each prompt and gives the `n` whose tokens are the most probable on average; not in a stream.
    #[schema(minimum = 1)]
    best_of: Option<usize>,
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
            ("response_format", "use structured_outputs"),
            ("prompt_embeds", "prompts are texts or tokens"),
        ],
        sampling::UNSUPPORTED,
    ];
    const ELSEWHERE: &'static [Unsupported] = &[
        ("messages", "use prompt, or /v1/chat/completions"),
        ("input", "use prompt, or /v1/responses"),
        ("max_completion_tokens", "use max_tokens"),
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
        let TextFields { max_tokens, logprobs, suffix, .. } = &self.text;
        let echo = self.text.echo == Some(true);
        self.text.check()?;
        let (num_prompts, num_places) =
            (self.text.prompt.len(), model.handle.options().max_num_waiting);
        if num_prompts > num_places {
            let message = format!(
                "there are {num_prompts} prompts, but {num_places} requests may wait here; send fewer at once"
            );
            return Err(ApiError::invalid("prompt", message));
        }
        let num_told = self.sampling.num_choices(num_prompts, &app.options.limits)?;
        let num_choices = self.text.best_of.unwrap_or(num_told);
        check_num_choices("best_of", num_choices, num_prompts, &app.options.limits)?;
        if num_choices < num_told {
            let message = format!("best_of must be n or more, but is {num_choices} of {num_told}");
            return Err(ApiError::invalid("best_of", message));
        }
        let max_tokens = max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        let told = self.told();
        let rivals = told.echo_logprobs.max(told.prompt_logprobs);
        let only_reads = max_tokens == 0 && (echo || rivals.is_some());
        let prompt_logprobs = rivals.or(only_reads.then_some(0));
        let max_answer = (!only_reads).then_some(max_tokens);
        // What is not told may be needed to choose.
        let logprobs = logprobs.or((num_choices > num_told).then_some(0));
        let mut params = self.sampling.params(&model.sampling, max_answer, logprobs)?;
        params.stop.max_tokens = Some(max_tokens);
        let prompts = self.text.prompt.read(
            suffix.as_deref(),
            self.text.add_special_tokens.unwrap_or(true),
            echo,
            model,
        )?;
        let constraint = self.sampling.format()?.compile(&model.grammars);
        let constraint = constraint
            .map_err(|message| ApiError::invalid_grammar("structured_outputs", &message))?;
        let jobs = prompts.into_iter().map(|prompt| {
            let job = Job {
                prompt: prompt.tokens.clone(),
                params: params.clone(),
                prompt_logprobs,
                num_choices,
                priority: self.sampling.priority(),
                constraint: constraint.as_ref().map(|constraint| constraint.fork()),
            };
            (prompt, job)
        });
        Ok(jobs.collect())
    }

    fn told(&self) -> Told {
        let TextFields { logprobs, prompt_logprobs, echo, .. } = &self.text;
        Told {
            num_choices: self.sampling.n(),
            logprobs: logprobs.is_some(),
            echo_logprobs: logprobs.filter(|_| *echo == Some(true)),
            prompt_logprobs: *prompt_logprobs,
        }
    }
}

impl TextFields {
    /// **Errors**: fields that are out of range, or that contradict each other.
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
            let why = "with a suffix, the answer is the gap alone";
            return Err(ApiError::unsupported("echo", why));
        }
        Ok(())
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
    Body { request, preparation }: Body<CompletionRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.sampling.model.as_deref())?;
    let streaming = request.sampling.streaming()?;
    let told = request.told();
    if streaming.is_some() {
        let chooses = request.text.best_of.is_some_and(|best_of| best_of > told.num_choices);
        ApiError::refuse_given([
            (
                "prompt_logprobs",
                told.prompt_logprobs.is_some(),
                "a stream tells them by echo with logprobs",
            ),
            ("best_of", chooses, "which answers are best is known when all have ended"),
        ])?;
    }
    let (reader_app, reader_model) = (Arc::clone(&app), Arc::clone(&model));
    let jobs = preparation.run(move || request.jobs(&reader_app, &reader_model)).await?;
    let run = TextRun::begin(&app, &model, preparation, jobs, told)?;
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
