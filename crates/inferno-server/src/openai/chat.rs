//! `/v1/chat/completions`.

mod response;
mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::format::output_format;
use super::messages::{self, MessageField};
use super::sampling::SamplingFields;
use super::token_limit::TokenLimit;
use super::tools::{self, ToolField};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, ENABLE_THINKING, OutputFormat, Rendered};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable, UnknownFields};
use crate::llama_server::completion::AnswerDetails;
use crate::request::{Body, Reader, RequestBody, fresh_id};
use crate::sse;
use crate::state::App;
pub(crate) use response::ChatCompletion;
pub(crate) use response::stop_reason;
pub(crate) use stream::ChatCompletionChunk;
use stream::ChatStream;

/// A chat completion request.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ChatCompletionRequest {
    #[serde(flatten)]
    chat: ChatFields,
    #[serde(flatten)]
    sampling: SamplingFields,
}

/// The conversation, and how to answer it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ChatFields {
    /// The conversation, oldest message first.
    #[schema(min_items = 1)]
    messages: Vec<MessageField>,
    /// Maximum number of generated tokens (default and -1: the rest of the context).
    #[schema(value_type = Option<i64>, minimum = -1)]
    max_tokens: Option<TokenLimit>,
    /// The newer name of `max_tokens`.
    #[schema(value_type = Option<i64>, minimum = -1)]
    max_completion_tokens: Option<TokenLimit>,
    /// Returns the log-probability of each generated token.
    logprobs: Option<bool>,
    /// Number of most probable alternatives to return for each token.
    #[schema(maximum = 20)]
    top_logprobs: Option<usize>,
    /// Functions that the model may call.
    tools: Option<Vec<ToolField>>,
    /// `auto`, `none`, `required`, `{"type": "function", "function": {"name": …}}`, or `{"type": "allowed_tools", …}`.
    tool_choice: Option<Value>,
    /// Allows several tool calls in one answer (default: true).
    parallel_tool_calls: Option<bool>,
    response_format: Option<ResponseFormat>,
    /// Reasoning effort, a hint for templates that support it; `none` disables reasoning.
    reasoning_effort: Option<String>,
    /// Enables or disables reasoning, for templates that support it; short for `chat_template_kwargs.enable_thinking`.
    enable_thinking: Option<bool>,
    /// Maximum number of reasoning tokens, for models with reasoning tags; -1 for no limit.
    #[serde(
        alias = "thinking_budget",
        alias = "thinking_budget_tokens",
        alias = "reasoning_budget"
    )]
    #[schema(value_type = Option<i64>, minimum = -1)]
    thinking_token_budget: Option<TokenLimit>,
    /// Additional variables of the chat template, such as `enable_thinking`.
    chat_template_kwargs: Option<Map<String, Value>>,
    /// Documents for templates that support them.
    documents: Option<Vec<Value>>,
    /// Appends the start of an answer to the prompt (default: true).
    add_generation_prompt: Option<bool>,
    /// Continues the last message instead of answering it.
    continue_final_message: Option<bool>,
    /// Adds the prompt and the sampling parameters to the answer as `__verbose`, in the format of `/completion`. Not in a
    /// stream.
    verbose: Option<bool>,
}

/// The format of the answer.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ResponseFormat {
    /// `text`, `json_object` or `json_schema`.
    #[schema(pattern = "^(text|json_object|json_schema)$")]
    #[serde(rename = "type")]
    kind: String,
    /// With `json_schema`.
    json_schema: Option<JsonSchemaFormat>,
    /// A schema for `json_object` and `json_schema`, as in llama.cpp.
    schema: Option<Map<String, Value>>,
}

/// A schema and its name.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct JsonSchemaFormat {
    #[allow(dead_code, reason = "for the caller only")]
    name: Option<String>,
    #[allow(dead_code, reason = "for the caller only")]
    description: Option<String>,
    schema: Option<Map<String, Value>>,
    /// Rejects keywords that cannot be enforced, which are ignored otherwise.
    strict: Option<bool>,
}

impl RequestBody for ChatCompletionRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::openai::CHAT, fields::openai::SAMPLING, fields::llama_server::SAMPLERS];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = &[
        ("prompt", "use messages, or /v1/completions"),
        ("input", "use messages, or /v1/responses"),
        ("max_output_tokens", "use max_completion_tokens"),
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { chat: reader.part()?, sampling: reader.part()? })
    }
}

impl ChatCompletionRequest {
    pub fn model_name(&self) -> Option<&str> {
        self.sampling.model.as_deref()
    }

    /// Reads the request.
    ///
    /// **Errors**: an invalid or unsupported field.
    pub fn job(
        self,
        app: &App,
        model: &ServedModel,
        unknown: &UnknownFields,
    ) -> Result<ChatJob, ApiError> {
        let Self { chat, sampling } = self;
        let logprobs = chat.num_logprobs()?;
        let max_tokens = chat.max_tokens()?;
        let params = sampling.params(&model.info.sampling, max_tokens, logprobs)?;
        let (format, format_field) = chat.format(&sampling)?;
        let variables = chat.variables()?;
        let (add_generation_prompt, continue_final_message) =
            prompt_end(chat.add_generation_prompt, chat.continue_final_message)?;
        let tools = tools::tools(chat.tools, chat.tool_choice, chat.parallel_tool_calls, unknown)?;
        Ok(ChatJob {
            messages: messages::for_template(chat.messages, unknown)?,
            messages_field: "messages",
            tools,
            format,
            format_field,
            variables,
            add_generation_prompt,
            continue_final_message,
            params,
            reports_progress: sampling.reports_progress(),
            num_choices: sampling.num_choices(1, &app.options.limits)?,
            priority: sampling.priority(),
            reasoning_effort: chat.reasoning_effort,
            reasoning_budget: chat.thinking_token_budget.and_then(TokenLimit::get),
        })
    }
}

/// Renders the prompt of a request without generating an answer.
///
/// **Errors**: an invalid or unsupported field; a conversation that the template rejects.
pub(crate) async fn rendered(
    app: Arc<App>,
    body: Body<ChatCompletionRequest>,
) -> Result<Rendered, ApiError> {
    let Body { request, unknown, preparation } = body;
    let model = app.model_named(request.model_name())?;
    preparation.run(move || request.job(&app, &model, &unknown)?.render(&model)).await
}

impl ChatFields {
    fn max_tokens(&self) -> Result<Option<usize>, ApiError> {
        match (self.max_tokens, self.max_completion_tokens) {
            (Some(old), Some(new)) if old != new => {
                let message = "max_tokens and max_completion_tokens differ; send only one";
                Err(ApiError::invalid("max_completion_tokens", message))
            }
            (_, Some(limit)) if limit.get() == Some(0) => {
                let message = "max_completion_tokens must be 1 or more, or -1";
                Err(ApiError::invalid("max_completion_tokens", message))
            }
            (old, new) => Ok(new.or(old).and_then(TokenLimit::get)),
        }
    }

    /// Number of alternatives to return for each token; `None` for no log-probabilities.
    fn num_logprobs(&self) -> Result<Option<usize>, ApiError> {
        const MAX: usize = 20;
        match (self.logprobs, self.top_logprobs) {
            (_, Some(count)) if count > MAX => {
                let message = format!("top_logprobs must be at most {MAX}, but is {count}");
                Err(ApiError::invalid("top_logprobs", message))
            }
            (Some(true), count) => Ok(Some(count.unwrap_or(0))),
            (_, Some(1..)) => {
                let message = "top_logprobs is only allowed when logprobs is true";
                Err(ApiError::invalid("top_logprobs", message))
            }
            _ => Ok(None),
        }
    }

    /// The format of the answer, and the field that set it.
    fn format(&self, sampling: &SamplingFields) -> Result<(OutputFormat, &'static str), ApiError> {
        let asked = match &self.response_format {
            None => OutputFormat::Text,
            Some(asked) => asked.format()?,
        };
        sampling.format_or(asked, "response_format")
    }

    fn variables(&self) -> Result<Map<String, Value>, ApiError> {
        let mut variables = template_variables(self.chat_template_kwargs.clone())?;
        if let Some(documents) = &self.documents {
            variables.insert("documents".to_owned(), json!(documents));
        }
        if let Some(thinks) = self.enable_thinking {
            variables.entry(ENABLE_THINKING).or_insert(json!(thinks));
        }
        Ok(variables)
    }
}

/// How the prompt of a conversation ends: whether with the start of an answer, and whether the last message is continued.
///
/// **Errors**: both are requested.
pub(crate) fn prompt_end(
    add_generation_prompt: Option<bool>,
    continue_final_message: Option<bool>,
) -> Result<(bool, bool), ApiError> {
    if add_generation_prompt == Some(true) && continue_final_message == Some(true) {
        let message = "add_generation_prompt and continue_final_message are mutually exclusive";
        return Err(ApiError::invalid("continue_final_message", message));
    }
    Ok((add_generation_prompt.unwrap_or(true), continue_final_message.unwrap_or(false)))
}

/// Additional variables of the chat template.
///
/// **Errors**: variables with the name of a request field.
pub(crate) fn template_variables(
    kwargs: Option<Map<String, Value>>,
) -> Result<Map<String, Value>, ApiError> {
    let variables = kwargs.unwrap_or_default();
    for name in ["messages", "tools", "add_generation_prompt"] {
        if variables.contains_key(name) {
            let param = format!("chat_template_kwargs.{name}");
            let message =
                format!("send {name} as a field of the request, not in chat_template_kwargs");
            return Err(ApiError::invalid(param, message));
        }
    }
    Ok(variables)
}

impl ResponseFormat {
    fn format(&self) -> Result<OutputFormat, ApiError> {
        let named = self.json_schema.as_ref().and_then(|it| it.schema.as_ref());
        let schema = named.or(self.schema.as_ref());
        let strict = self.json_schema.as_ref().and_then(|it| it.strict);
        let (field, schema_field) = ("response_format", "response_format.json_schema.schema");
        output_format(&self.kind, schema, strict, field, schema_field)
    }
}

/// Creates a chat completion.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai",
    request_body = ChatCompletionRequest,
    responses(
        (status = 200, description = "The completion; with `stream`, chunks of it as server-sent events.", content(
            (ChatCompletion = "application/json"), (ChatCompletionChunk = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<ChatCompletionRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.model_name())?;
    let streaming = request.sampling.streaming()?;
    let has_timings = request.sampling.has_timings();
    let is_verbose = request.chat.verbose == Some(true);
    let (reader_app, reader_model) = (Arc::clone(&app), Arc::clone(&model));
    let job = preparation.run(move || request.job(&reader_app, &reader_model, &unknown)).await?;
    let params = job.params.clone();
    let run = ChatRun::begin(&app, &model, preparation, job).await?;
    let id = fresh_id("chatcmpl-");
    match streaming {
        Some(streaming) => {
            let keep_alive = app.options.limits.keep_alive;
            Ok(sse::respond(ChatStream::new(run, id, streaming), keep_alive))
        }
        None => {
            let details = is_verbose.then(|| AnswerDetails::new(run.prompt(), &params, &model));
            let (choices, counts) = run.complete().await?;
            let details = details.and_then(|details| details.of_first(&choices, &counts));
            let completion = ChatCompletion::new(id, &model, choices, &counts, has_timings);
            Ok(axum::Json(completion.with_details(details)).into_response())
        }
    }
}
