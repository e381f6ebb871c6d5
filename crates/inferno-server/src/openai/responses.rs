//! `/v1/responses`.

mod input;
pub(crate) mod input_items;
pub(crate) mod input_tokens;
mod response;
mod store;
pub(crate) mod stored;
mod stored_input;
mod stream;
mod tools;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::format::output_format;
use super::sampling::SamplingFields;
use super::token_limit::TokenLimit;
use super::tools::{Name, checked, tool_choice};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, OutputFormat, PartStream, Tools};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable, UnknownFields};
use crate::request::{Body, Reader, RequestBody};
use crate::sse;
use crate::state::App;
use response::{Outline, ResponseObject};
use store::PendingResponse;
pub(crate) use store::ResponseStore;
use stored_input::StoredInput;
use stream::{ResponseEvent, ResponseEvents};
use tools::{ToolField, ToolOrigins};

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
    /// A string, or an array of items: messages, calls of functions and custom tools and their outputs, reasoning, references to
    /// items of stored responses.
    input: Value,
    /// The system prompt.
    instructions: Option<String>,
    /// Maximum number of generated tokens (default and -1: the rest of the context).
    #[schema(value_type = Option<i64>, minimum = -1)]
    max_output_tokens: Option<TokenLimit>,
    /// Tools that the model may call.
    #[schema(value_type = Option<Vec<ToolField>>)]
    tools: Option<Vec<Value>>,
    /// `auto`, `none`, `required`, `{"type": "function", "name": …}`, or `{"type": "allowed_tools", …}`.
    tool_choice: Option<Value>,
    /// Allows several tool calls in one answer (default: true).
    parallel_tool_calls: Option<bool>,
    text: Option<TextField>,
    reasoning: Option<ReasoningField>,
    /// Stores the response in memory until it is evicted, so that it can be retrieved or continued (default: true).
    store: Option<bool>,
    /// The response that this one continues.
    previous_response_id: Option<String>,
    /// Metadata of the caller, which the response returns: at most 16 pairs of strings.
    metadata: Option<Map<String, Value>>,
}

/// Options of the answer's text.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextField {
    format: Option<TextFormat>,
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
    /// Rejects keywords that cannot be enforced, which are ignored otherwise.
    strict: Option<bool>,
}

/// Reasoning options.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ReasoningField {
    /// Reasoning effort, a hint for templates that support it; `none` disables reasoning.
    effort: Option<String>,
}

/// Pairs of metadata, as OpenAI limits them.
const MAX_METADATA_PAIRS: usize = 16;
/// Bytes of a name in metadata: 64 characters of UTF-8.
const MAX_METADATA_NAME_BYTES: usize = 256;
/// Bytes of a value in metadata: 512 characters of UTF-8.
const MAX_METADATA_VALUE_BYTES: usize = 2048;

impl RequestBody for ResponsesRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::openai::RESPONSES, fields::openai::SAMPLING, fields::llama_server::SAMPLERS];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = &[
        ("messages", "use input, or /v1/chat/completions"),
        ("max_tokens", "use max_output_tokens"),
        ("max_completion_tokens", "use max_output_tokens"),
        ("response_format", "use text.format"),
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { fields: reader.part()?, sampling: reader.part()? })
    }
}

impl ResponsesFields {
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

    fn tools(&self, unknown: &UnknownFields) -> Result<(Tools, ToolOrigins), ApiError> {
        let (mut list, origins) = tools::read(self.tools.as_deref().unwrap_or_default(), unknown)?;
        let named = |choice: &Value| {
            let choice: Name = unknown.read(choice, "tool_choice")?;
            Ok(tools::model_name(choice.namespace.as_deref(), &choice.name))
        };
        let choice = tool_choice(self.tool_choice.clone(), named, &mut list)?;
        let single = self.parallel_tool_calls == Some(false);
        Ok((checked(Tools { list, choice, single })?, origins))
    }

    fn format(&self) -> Result<OutputFormat, ApiError> {
        match self.text.as_ref().and_then(|text| text.format.as_ref()) {
            None => Ok(OutputFormat::Text),
            Some(TextFormat { kind, schema, strict, .. }) => {
                let schema = schema.as_ref();
                output_format(kind, schema, *strict, "text.format", "text.format.schema")
            }
        }
    }
}

impl ResponsesRequest {
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
        if !is_stored {
            return Ok(None);
        }
        let mut items = earlier;
        items.extend(input_items::listed(&self.fields.input));
        Ok(Some(PendingResponse::new(&app.responses, &items)?))
    }

    fn job(
        &self,
        app: &App,
        model: &ServedModel,
        earlier: &[Value],
        unknown: &UnknownFields,
    ) -> Result<(ChatJob, ToolOrigins), ApiError> {
        let Self { fields, sampling } = self;
        fields.check_metadata()?;
        if sampling.num_choices(1, &app.options.limits)? != 1 {
            return Err(ApiError::unsupported("n", "a response has one answer"));
        }
        let max_output_tokens = fields.max_output_tokens.and_then(TokenLimit::get);
        if max_output_tokens == Some(0) {
            let message = "max_output_tokens must be at least 1";
            return Err(ApiError::invalid("max_output_tokens", message));
        }
        let (format, format_field) = sampling.format_or(fields.format()?, "text.format")?;
        let (tools, origins) = fields.tools(unknown)?;
        let job = ChatJob {
            messages: input::messages(
                fields.instructions.as_deref(),
                earlier,
                &fields.input,
                unknown,
            )?,
            messages_field: "input",
            tools,
            format,
            format_field,
            reasoning_effort: fields.reasoning.as_ref().and_then(|it| it.effort.clone()),
            add_generation_prompt: true,
            params: sampling.params(&model.info.sampling, max_output_tokens, None)?,
            reports_progress: sampling.reports_progress(),
            num_choices: 1,
            priority: sampling.priority(),
            ..ChatJob::default()
        };
        Ok((job, origins))
    }
}

/// Creates a response.
#[utoipa::path(post, path = "/v1/responses", tag = "openai",
    request_body = ResponsesRequest,
    responses(
        (status = 200, description = "The response; with `stream`, its events.", content(
            (ResponseObject = "application/json"), (ResponseEvent = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { mut request, unknown, mut preparation }: Body<ResponsesRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.sampling.model.as_deref())?;
    let streaming = request.sampling.streaming()?;
    if streaming.is_none() && request.sampling.has_timings() {
        unknown.report("timings_per_token");
    }
    ApiError::reject_given([(
        "stream_options.continuous_usage_stats",
        streaming.is_some_and(|streaming| streaming.continuous_usage),
        "the last event contains the usage",
    )])?;
    let stored = StoredInput::find(&request.fields, &app.responses, &mut preparation)?;
    let (reader_app, reader_model) = (Arc::clone(&app), Arc::clone(&model));
    let read = preparation.run(move || {
        let earlier = stored.resolve(&mut request.fields.input)?;
        let (job, origins) = request.job(&reader_app, &reader_model, &earlier, &unknown)?;
        let pending = request.pending(&reader_app, earlier)?;
        let outline = Outline::new(&request, &reader_model, &job.params, origins, pending)?;
        Ok((job, outline))
    });
    let (job, mut outline) = read.await?;
    let run = ChatRun::begin(&app, &model, preparation, job).await?;
    if let Some(streaming) = streaming {
        let stream = PartStream::new(run, ResponseEvents::new(outline, streaming.timings));
        return Ok(sse::respond(stream, app.options.limits.keep_alive));
    }
    match run.complete().await?.0.pop() {
        Some((answer, end)) => {
            let output = outline.output(answer, &end);
            Ok(axum::Json(outline.ended(output, &end)).into_response())
        }
        None => Err(ApiError::internal("the engine returned no answer")),
    }
}
