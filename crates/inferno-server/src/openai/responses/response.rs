//! Responses and their items.

use inferno_engine::GenerationParams;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::store::{PendingResponse, json_text};
use super::tools::ToolOrigins;
use super::{ResponsesRequest, TextFormat};
use crate::ServedModel;
use crate::chat::{Answer, FinishedChoice, FinishedPart};
use crate::errors::ApiError;
use crate::generation::StopCause;
use crate::openai::token_limit::TokenLimit;
use crate::openai::usage::{CompletionTokensDetails, PromptTokensDetails};
use crate::request::fresh_id;
use crate::time::unix_seconds;

/// A response, with the options of its request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ResponseObject {
    id: String,
    /// Always `response`.
    object: &'static str,
    /// Seconds since 1970.
    created_at: u64,
    status: Status,
    /// Always false.
    background: bool,
    /// Set if the response failed.
    error: Option<ResponseError>,
    /// Set if the response is incomplete.
    incomplete_details: Option<IncompleteDetails>,
    output: Vec<OutputItem>,
    /// Set when the response has finished.
    usage: Option<ResponseUsage>,
    instructions: Option<String>,
    max_output_tokens: Option<usize>,
    metadata: Map<String, Value>,
    model: String,
    parallel_tool_calls: bool,
    previous_response_id: Option<String>,
    reasoning: ReasoningOptions,
    /// Always `default`.
    service_tier: &'static str,
    /// Whether the response is stored.
    store: bool,
    temperature: f64,
    text: TextOptions,
    #[schema(value_type = Value)]
    tool_choice: Box<RawValue>,
    /// As in the request.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Box<RawValue>>,
    top_p: f64,
    /// Always `disabled`.
    truncation: &'static str,
    user: Option<String>,
}

/// Status of a response or an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    InProgress,
    Completed,
    /// Cut off by `max_output_tokens` or the context length.
    Incomplete,
    Failed,
}

/// Why a response failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ResponseError {
    /// Always `server_error`.
    code: &'static str,
    message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct IncompleteDetails {
    /// Always `max_output_tokens`.
    reason: &'static str,
}

/// The token usage of a response.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ResponseUsage {
    input_tokens: usize,
    input_tokens_details: PromptTokensDetails,
    output_tokens: usize,
    output_tokens_details: CompletionTokensDetails,
    total_tokens: usize,
}

/// Reasoning options of the request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ReasoningOptions {
    effort: Option<String>,
    /// Always null: reasoning is returned in full.
    summary: Option<String>,
}

/// Text options of the request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TextOptions {
    format: FormatOptions,
}

/// Text format of the request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct FormatOptions {
    /// `text`, `json_object` or `json_schema`.
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    schema: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// An output item.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OutputItem {
    /// Reasoning of the model.
    Reasoning {
        id: String,
        /// Always empty: reasoning is returned in full.
        summary: Vec<Value>,
        content: Vec<ContentPart>,
        status: Status,
    },
    /// A message of the model.
    Message {
        id: String,
        status: Status,
        /// Always `assistant`.
        role: &'static str,
        content: Vec<ContentPart>,
    },
    /// A function call.
    FunctionCall {
        id: String,
        status: Status,
        call_id: String,
        name: String,
        /// The namespace that declared the function.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        /// JSON, as the model generated it.
        arguments: String,
    },
    /// A call of a custom tool.
    CustomToolCall {
        id: String,
        status: Status,
        call_id: String,
        name: String,
        /// The namespace that declared the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        input: String,
    },
}

/// The only part of an item's content.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentPart {
    /// Reasoning text.
    ReasoningText { text: String },
    /// Message text.
    OutputText {
        text: String,
        /// Always empty.
        annotations: Vec<Value>,
        /// Always empty.
        logprobs: Vec<Value>,
    },
}

impl ContentPart {
    pub fn reasoning(text: String) -> Self {
        Self::ReasoningText { text }
    }

    pub fn output(text: String) -> Self {
        Self::OutputText { text, annotations: Vec::new(), logprobs: Vec::new() }
    }
}

impl OutputItem {
    pub fn reasoning(id: String, content: Vec<ContentPart>, status: Status) -> Self {
        Self::Reasoning { id, summary: Vec::new(), content, status }
    }

    pub fn message(id: String, content: Vec<ContentPart>, status: Status) -> Self {
        Self::Message { id, status, role: "assistant", content }
    }

    fn set_status(&mut self, now: Status) {
        match self {
            Self::Reasoning { status, .. }
            | Self::Message { status, .. }
            | Self::FunctionCall { status, .. }
            | Self::CustomToolCall { status, .. } => *status = now,
        }
    }
}

impl Status {
    /// The status of a finished response.
    pub fn of(end: &FinishedChoice) -> Self {
        match end.finish.cause {
            StopCause::Length => Self::Incomplete,
            _ => Self::Completed,
        }
    }
}

impl ResponseUsage {
    fn of(end: &FinishedChoice) -> Self {
        let finish = &end.finish;
        Self {
            input_tokens: finish.prompt_tokens,
            input_tokens_details: PromptTokensDetails { cached_tokens: finish.cached_tokens },
            output_tokens: finish.generated_tokens,
            output_tokens_details: CompletionTokensDetails {
                reasoning_tokens: finish.reasoning_tokens,
            },
            total_tokens: finish.prompt_tokens + finish.generated_tokens,
        }
    }
}

/// An unfinished response.
pub(super) struct Outline {
    response: ResponseObject,
    origins: ToolOrigins,
    /// Set if the response will be stored.
    pending: Option<PendingResponse>,
}

impl Outline {
    /// What is returned of the request is kept as text: parsed, it takes many times as much memory.
    ///
    /// **Errors**: values without a JSON text, which is an internal error.
    pub fn new(
        request: &ResponsesRequest,
        model: &ServedModel,
        params: &GenerationParams,
        origins: ToolOrigins,
        pending: Option<PendingResponse>,
    ) -> Result<Self, ApiError> {
        let ResponsesRequest { fields, sampling } = request;
        let tools = fields.tools.iter().flatten();
        let response = ResponseObject {
            id: fresh_id("resp_"),
            object: "response",
            created_at: unix_seconds(),
            status: Status::InProgress,
            background: false,
            error: None,
            incomplete_details: None,
            output: Vec::new(),
            usage: None,
            instructions: fields.instructions.clone(),
            max_output_tokens: fields.max_output_tokens.and_then(TokenLimit::get),
            metadata: fields.metadata.clone().unwrap_or_default(),
            model: model.info.name().to_owned(),
            parallel_tool_calls: fields.parallel_tool_calls.unwrap_or(true),
            previous_response_id: fields.previous_response_id.clone(),
            reasoning: ReasoningOptions {
                effort: fields.reasoning.as_ref().and_then(|it| it.effort.clone()),
                summary: None,
            },
            service_tier: "default",
            store: pending.is_some(),
            temperature: shortest(params.sampling.temperature),
            text: TextOptions {
                format: FormatOptions::of(fields.text.as_ref().and_then(|it| it.format.as_ref()))?,
            },
            tool_choice: match &fields.tool_choice {
                Some(choice) => json_text(choice)?,
                None => json_text(&"auto")?,
            },
            tools: tools.map(returned_tool).collect::<Result<_, _>>()?,
            top_p: shortest(params.sampling.top_p),
            truncation: "disabled",
            user: sampling.user.clone(),
        };
        Ok(Self { response, origins, pending })
    }

    /// The response while it is generated.
    pub fn in_progress(&self) -> ResponseObject {
        self.response.clone()
    }

    /// How calls are converted to items.
    pub fn origins(&self) -> &ToolOrigins {
        &self.origins
    }

    /// The items of a complete answer.
    pub fn output(&self, answer: Answer, end: &FinishedChoice) -> Vec<OutputItem> {
        let status = Status::Completed;
        let item = |part| match part {
            FinishedPart::Reasoning(text) => {
                let content = vec![ContentPart::reasoning(text)];
                OutputItem::reasoning(fresh_id("rs_"), content, status)
            }
            FinishedPart::Content(text) => {
                OutputItem::message(fresh_id("msg_"), vec![ContentPart::output(text)], status)
            }
            FinishedPart::Call(call) => {
                let id = self.origins.fresh_item_id(&call.name);
                self.origins.item(id, call, status)
            }
        };
        let mut items: Vec<_> = answer.parts.into_iter().map(item).collect();
        // A response has at least one item.
        if items.is_empty() {
            items.push(item(FinishedPart::Content(String::new())));
        }
        // Only the last item can be cut off.
        if let Some(last) = items.last_mut() {
            last.set_status(Status::of(end));
        }
        items
    }

    /// The finished response, which is also stored if requested and if it fits.
    pub fn ended(&mut self, output: Vec<OutputItem>, end: &FinishedChoice) -> ResponseObject {
        let status = Status::of(end);
        let response = ResponseObject {
            status,
            incomplete_details: (status == Status::Incomplete)
                .then_some(IncompleteDetails { reason: "max_output_tokens" }),
            output,
            usage: Some(ResponseUsage::of(end)),
            ..self.response.clone()
        };
        let is_stored = self.pending.take().is_some_and(|pending| {
            let output: Vec<_> = response.output.iter().map(|item| json!(item)).collect();
            let text = json_text(&response).map(|text| text.get().to_owned());
            text.and_then(|text| pending.store(&response.id, text, &output)).unwrap_or(false)
        });
        ResponseObject { store: is_stored, ..response }
    }

    /// The failed response.
    pub fn failed(&self, message: String) -> ResponseObject {
        ResponseObject {
            status: Status::Failed,
            store: false,
            error: Some(ResponseError { code: "server_error", message }),
            ..self.response.clone()
        }
    }
}

impl FormatOptions {
    fn of(asked: Option<&TextFormat>) -> Result<Self, ApiError> {
        let kind = asked.map_or_else(|| "text".to_owned(), |asked| asked.kind.clone());
        let schema = asked.and_then(|asked| asked.schema.as_ref()).map(json_text).transpose()?;
        let name = asked.and_then(|asked| asked.name.clone());
        Ok(Self { kind, name, strict: schema.as_ref().map(|_| true), schema })
    }
}

/// A tool of the request, with the default that the API documents.
fn returned_tool(tool: &Value) -> Result<Box<RawValue>, ApiError> {
    let mut tool = tool.clone();
    if let Some(fields) = tool.as_object_mut().filter(|fields| fields["type"] == "function") {
        let strict = fields.entry("strict").or_insert(Value::Null);
        *strict = json!(strict.as_bool().unwrap_or(true));
    }
    json_text(&tool)
}

/// The shortest decimal form of a number: 0.7, not 0.699999988079071.
fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
