//! `/v1/responses`.

mod input;
pub(crate) mod input_items;
pub(crate) mod input_tokens;
mod response;
mod store;
pub(crate) mod stored;
mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::format::output_format;
use super::sampling::{self, SamplingFields};
use super::tools::{self, Name, parameters};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, OutputFormat, PartStream, Tool, Tools};
use crate::errors::ApiError;
use crate::request::{Body, Preparation, Reader, RequestBody, UnknownFields, Unsupported};
use crate::sse;
use crate::state::App;
use response::{Outline, OutputItem, ResponseObject};
pub(crate) use store::ResponseStore;
use store::{PendingResponse, StoredResponse};
use stream::{ResponseEvent, ResponseEvents};

/// A response request.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ResponsesRequest {
    #[serde(flatten)]
    fields: ResponsesFields,
    #[serde(flatten)]
    sampling: SamplingFields,
}

/// The input, and how to answer it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ResponsesFields {
    /// A string, or an array of items: messages, function calls and their outputs, reasoning.
    input: Value,
    /// The system prompt.
    instructions: Option<String>,
    /// Maximum number of generated tokens (default: the rest of the context).
    #[schema(minimum = 1)]
    max_output_tokens: Option<usize>,
    /// Functions that the model may call.
    tools: Option<Vec<FunctionTool>>,
    /// `auto`, `none`, `required`, or `{"type": "function", "name": …}`.
    tool_choice: Option<Value>,
    /// Allows several tool calls in one answer (default: true).
    parallel_tool_calls: Option<bool>,
    text: Option<TextField>,
    reasoning: Option<ReasoningField>,
    /// Stores the response in memory until it is evicted, so that it can be retrieved or continued (default: true).
    store: Option<bool>,
    /// The response that this one continues.
    previous_response_id: Option<String>,
    /// Only false is supported.
    background: Option<bool>,
    /// Only `disabled` is supported.
    #[schema(pattern = "^disabled$")]
    truncation: Option<String>,
    /// Only `reasoning.encrypted_content` is accepted; reasoning is returned unencrypted.
    include: Option<Vec<String>>,
    /// `auto` or `default`.
    #[schema(pattern = "^(auto|default)$")]
    service_tier: Option<String>,
    /// Metadata of the caller, which the response returns: at most 16 pairs of strings.
    metadata: Option<Map<String, Value>>,
    /// Accepted for compatibility; prompts are always cached.
    #[allow(dead_code, reason = "prompts are always cached")]
    prompt_cache_key: Option<String>,
    /// An identifier of the end user; ignored.
    #[allow(dead_code, reason = "accepted and ignored")]
    safety_identifier: Option<String>,
}

/// A function that the model may call.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
pub(crate) struct FunctionTool {
    /// Always `function`.
    #[schema(pattern = "^function$")]
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    /// A JSON schema of the arguments.
    parameters: Option<Map<String, Value>>,
    /// Rejects a schema with unsupported keywords, instead of ignoring those.
    strict: Option<bool>,
}

/// Options of the answer's text.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextField {
    format: Option<TextFormat>,
    /// Only `medium` is supported.
    verbosity: Option<String>,
}

/// The format of the answer's text.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextFormat {
    /// `text`, `json_object` or `json_schema`.
    #[schema(pattern = "^(text|json_object|json_schema)$")]
    #[serde(rename = "type")]
    kind: String,
    /// A name, which the response returns.
    name: Option<String>,
    #[allow(dead_code, reason = "for the caller only")]
    description: Option<String>,
    /// With `json_schema`.
    schema: Option<Map<String, Value>>,
    /// Accepted for compatibility; the schema is always enforced.
    #[allow(dead_code, reason = "the schema is always enforced")]
    strict: Option<bool>,
}

/// Reasoning options.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ReasoningField {
    /// Reasoning effort, for templates that support it; `none` disables reasoning.
    effort: Option<String>,
    /// Only `auto` is supported; reasoning is returned in full.
    summary: Option<String>,
    /// The former name of `summary`.
    generate_summary: Option<String>,
}

/// Pairs of metadata, as OpenAI limits them.
const MAX_METADATA_PAIRS: usize = 16;
/// Bytes of a name in metadata: 64 characters of UTF-8.
const MAX_METADATA_NAME_BYTES: usize = 256;
/// Bytes of a value in metadata: 512 characters of UTF-8.
const MAX_METADATA_VALUE_BYTES: usize = 2048;

/// Fields that the API defines and this server does not support.
const UNSUPPORTED: &[Unsupported] = &[
    ("conversation", "use previous_response_id, or send the whole conversation as input"),
    ("prompt", "stored prompt templates are not available; send the text"),
    ("max_tool_calls", "the client executes tool calls"),
    ("top_logprobs", "use /v1/chat/completions"),
    ("context_management", "conversations are never truncated"),
];

impl RequestBody for ResponsesRequest {
    const UNSUPPORTED: &'static [&'static [Unsupported]] = &[UNSUPPORTED, sampling::UNSUPPORTED];
    const ELSEWHERE: &'static [Unsupported] = &[
        ("messages", "use input, or /v1/chat/completions"),
        ("max_tokens", "use max_output_tokens"),
        ("max_completion_tokens", "use max_output_tokens"),
        ("response_format", "use text.format"),
        ("reasoning_effort", "use reasoning.effort"),
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { fields: reader.part()?, sampling: reader.part()? })
    }
}

impl ResponsesFields {
    fn refuse_unsupported(&self) -> Result<(), ApiError> {
        let text = self.text.as_ref();
        let reasoning = self.reasoning.as_ref();
        let summaries = reasoning.map(|it| [&it.summary, &it.generate_summary]);
        ApiError::reject_given([
            ("background", self.background == Some(true), "background responses are not available"),
            (
                "truncation",
                is_other(&self.truncation, &["disabled"]),
                "conversations are never truncated",
            ),
            (
                "include",
                self.include.iter().flatten().any(|it| it != "reasoning.encrypted_content"),
                "only reasoning.encrypted_content is accepted",
            ),
            (
                "service_tier",
                is_other(&self.service_tier, &["auto", "default"]),
                "only \"default\" is available",
            ),
            (
                "text.verbosity",
                text.is_some_and(|it| is_other(&it.verbosity, &["medium"])),
                "only \"medium\" is supported; ask for the length in a message",
            ),
            (
                "reasoning.summary",
                summaries.into_iter().flatten().any(|it| is_other(it, &["auto"])),
                "reasoning is returned in full",
            ),
        ])
    }

    /// **Errors**: more metadata than OpenAI accepts; it is stored and returned with the response.
    fn check_metadata(&self) -> Result<(), ApiError> {
        let metadata = self.metadata.iter().flatten();
        let is_short = |(name, value): (&String, &Value)| {
            name.len() <= MAX_METADATA_NAME_BYTES
                && value.as_str().is_some_and(|text| text.len() <= MAX_METADATA_VALUE_BYTES)
        };
        if metadata.clone().count() <= MAX_METADATA_PAIRS && metadata.clone().all(is_short) {
            return Ok(());
        }
        let message = format!(
            "metadata must have at most {MAX_METADATA_PAIRS} pairs, with names of at most {MAX_METADATA_NAME_BYTES} bytes and \
             strings of at most {MAX_METADATA_VALUE_BYTES} bytes as values"
        );
        Err(ApiError::invalid("metadata", message))
    }

    fn tools(&self, unknown: UnknownFields) -> Result<Tools, ApiError> {
        let mut list = Vec::new();
        for (index, tool) in self.tools.iter().flatten().enumerate() {
            let name = tool.name.clone().filter(|_| tool.kind == "function").ok_or_else(|| {
                ApiError::unsupported(
                    format!("tools[{index}]"),
                    "only functions with a name are supported",
                )
            })?;
            let schema = parameters(tool.parameters.clone());
            list.push(Tool {
                name,
                description: tool.description.clone(),
                parameters: schema,
                strict: tool.strict == Some(true),
            });
        }
        let named = |choice: &Value| {
            let choice: Name = unknown.read(choice, "tool_choice")?;
            Ok(choice.name)
        };
        let choice = tools::tool_choice(self.tool_choice.clone(), named)?;
        tools::checked(Tools { list, choice, single: self.parallel_tool_calls == Some(false) })
    }

    fn format(&self) -> Result<OutputFormat, ApiError> {
        match self.text.as_ref().and_then(|text| text.format.as_ref()) {
            None => Ok(OutputFormat::Text),
            Some(TextFormat { kind, schema, .. }) => {
                output_format(kind, schema.as_ref(), "text.format", "text.format.schema")
            }
        }
    }
}

impl ResponsesRequest {
    /// The stored response that this one continues, and memory to read it.
    ///
    /// **Errors**: a response that is not stored, 503 without memory.
    fn earlier(
        &self,
        app: &App,
        preparation: &mut Preparation,
    ) -> Result<Option<Arc<StoredResponse>>, ApiError> {
        const FIELD: &str = "previous_response_id";
        let Some(id) = &self.fields.previous_response_id else {
            return Ok(None);
        };
        let stored = app.responses.get(id).ok_or_else(|| {
            let message = format!(
                "{FIELD}: response {id:?} not found, or evicted; send the whole conversation as input"
            );
            ApiError::invalid(FIELD, message).with_code("previous_response_not_found")
        })?;
        preparation.reserve_stored(stored.parsed_bytes)?;
        Ok(Some(stored))
    }

    /// Stores the response when it has finished, if requested.
    ///
    /// **Errors**: a server that does not store responses.
    fn pending(
        &self,
        app: &Arc<App>,
        earlier: Vec<Value>,
    ) -> Result<Option<PendingResponse>, ApiError> {
        let is_open = app.responses.is_open();
        let why = "this server does not store responses; start it with --response-store BYTES";
        ApiError::reject_given([("store", self.fields.store == Some(true) && !is_open, why)])?;
        let is_stored = is_open && self.fields.store != Some(false);
        Ok(is_stored.then(|| {
            let mut items = earlier;
            items.extend(input_items::listed(&self.fields.input));
            PendingResponse::new(&app.responses, items)
        }))
    }

    fn job(&self, app: &App, model: &ServedModel, earlier: &[Value]) -> Result<ChatJob, ApiError> {
        let Self { fields, sampling } = self;
        let unknown = app.options.unknown_fields();
        fields.refuse_unsupported()?;
        fields.check_metadata()?;
        if sampling.num_choices(1, &app.options.limits)? != 1 {
            return Err(ApiError::unsupported("n", "a response has one answer"));
        }
        if fields.max_output_tokens == Some(0) {
            let message = "max_output_tokens must be at least 1";
            return Err(ApiError::invalid("max_output_tokens", message));
        }
        let mut variables = Map::new();
        if let Some(effort) = fields.reasoning.as_ref().and_then(|it| it.effort.as_deref()) {
            super::chat::set_reasoning_effort(effort, "reasoning.effort", model, &mut variables)?;
        }
        let (format, format_field) = sampling.format_or(fields.format()?, "text.format")?;
        Ok(ChatJob {
            messages: input::messages(
                fields.instructions.as_deref(),
                earlier,
                &fields.input,
                unknown,
            )?,
            messages_field: "input",
            tools: fields.tools(unknown)?,
            format,
            format_field,
            variables,
            add_generation_prompt: true,
            params: sampling.params(&model.sampling, fields.max_output_tokens, None)?,
            num_choices: 1,
            priority: sampling.priority(),
            ..ChatJob::default()
        })
    }
}

/// Whether a value is present and not one of the supported ones.
fn is_other(asked: &Option<String>, words: &[&str]) -> bool {
    asked.as_deref().is_some_and(|asked| !words.contains(&asked))
}

/// Creates a response.
#[utoipa::path(post, path = "/v1/responses", tag = "openai",
    request_body = ResponsesRequest,
    responses(
        (status = 200, description = "The response; with `stream`, its events.", content(
            (ResponseObject = "application/json"), (ResponseEvent = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, mut preparation }: Body<ResponsesRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.sampling.model.as_deref())?;
    let streaming = request.sampling.streaming()?;
    ApiError::reject_given([(
        "stream_options.continuous_usage_stats",
        streaming.is_some_and(|streaming| streaming.continuous_usage),
        "the last event contains the usage",
    )])?;
    let earlier = request.earlier(&app, &mut preparation)?;
    let (reader_app, reader_model) = (Arc::clone(&app), Arc::clone(&model));
    let read = preparation.run(move || {
        let earlier = earlier.map_or(Ok(Vec::new()), |earlier| earlier.items())?;
        let job = request.job(&reader_app, &reader_model, &earlier)?;
        let pending = request.pending(&reader_app, earlier)?;
        let outline = Outline::new(&request, &reader_model, &job.params, pending);
        Ok((job, outline))
    });
    let (job, mut outline) = read.await?;
    let run = ChatRun::begin(&app, &model, preparation, job).await?;
    if streaming.is_some() {
        let stream = PartStream::new(run, ResponseEvents::new(outline));
        return Ok(sse::respond(stream, app.options.limits.keep_alive));
    }
    match run.complete().await?.0.pop() {
        Some((answer, end)) => {
            let output = OutputItem::of_answer(answer, &end);
            Ok(axum::Json(outline.ended(output, &end)).into_response())
        }
        None => Err(ApiError::internal("the engine returned no answer")),
    }
}
