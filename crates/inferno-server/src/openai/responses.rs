//! `/v1/responses`. Nothing is kept: a conversation comes whole with each request.

mod input;
mod response;
mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use inferno_engine::{GenerationParams, SamplingParams, StopParams};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::tools::{self, parameters};
use crate::ServedModel;
use crate::chat::{ChatJob, ChatRun, OutputFormat, Tool, Tools};
use crate::errors::ApiError;
use crate::request::{Body, Reader, RequestBody, Unsupported};
use crate::sse;
use crate::state::App;
use response::Outline;
use stream::ResponseStream;

/// What is to be answered.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ResponsesRequest {
    /// The model's name; where it is missing, the only one.
    model: Option<String>,
    /// A text, or a list of items: messages, calls, what they gave, reasoning.
    input: Value,
    /// What the model is told before all else.
    instructions: Option<String>,
    /// Tokens that the answer may have; otherwise as many as the context holds.
    #[schema(minimum = 1)]
    max_output_tokens: Option<usize>,
    /// Flatter choices above 1, sharper below; 0 takes the most probable token.
    #[schema(minimum = 0.0)]
    temperature: Option<f32>,
    /// Keeps the most probable tokens that together reach this probability.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    top_p: Option<f32>,
    /// Sends the answer as it comes.
    stream: Option<bool>,
    /// Functions that the model may call.
    tools: Option<Vec<FunctionTool>>,
    /// `auto`, `none`, `required`, or `{"type": "function", "name": …}`.
    tool_choice: Option<Value>,
    /// Whether several functions may be called at once; true unless it is said otherwise.
    parallel_tool_calls: Option<bool>,
    text: Option<TextField>,
    reasoning: Option<ReasoningField>,
    /// False: nothing is kept.
    store: Option<bool>,
    /// False: answers are waited for.
    background: Option<bool>,
    /// `disabled`: a conversation is never cut.
    truncation: Option<String>,
    /// Nothing further is told: empty.
    include: Option<Vec<String>>,
    /// `auto` or `default`.
    service_tier: Option<String>,
    /// What the caller notes about the request; it comes back.
    metadata: Option<Map<String, Value>>,
    /// Who asks; it comes back.
    user: Option<String>,
    /// What was read before is always looked for.
    #[allow(dead_code, reason = "prompts are always cached")]
    prompt_cache_key: Option<String>,
    /// Who asks; nothing is kept of it.
    #[allow(dead_code, reason = "taken, and of no consequence")]
    safety_identifier: Option<String>,
}

/// A function that the model may call.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct FunctionTool {
    /// `function`, the one kind there is.
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    description: Option<String>,
    /// A JSON schema of the arguments.
    parameters: Option<Map<String, Value>>,
    /// Arguments are held to their schema whether or not this is set.
    strict: Option<bool>,
}

/// What the answer's text is to be.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextField {
    format: Option<TextFormat>,
}

/// The form of the answer's text.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct TextFormat {
    /// `text`, `json_object` or `json_schema`.
    #[serde(rename = "type")]
    kind: String,
    #[allow(dead_code, reason = "a name for the caller")]
    name: Option<String>,
    #[allow(dead_code, reason = "a note for the caller")]
    description: Option<String>,
    /// With `json_schema`.
    schema: Option<Map<String, Value>>,
    /// Answers are held to their schema whether or not this is set.
    #[allow(dead_code, reason = "answers are always held to their schema")]
    strict: Option<bool>,
}

/// How to think.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ReasoningField {
    /// How long, for templates that read it; `none` asks not to.
    effort: Option<String>,
}

impl RequestBody for ResponsesRequest {
    const UNSUPPORTED: &'static [&'static [Unsupported]] = &[&[
        ("previous_response_id", "this server keeps nothing; send the whole conversation as input"),
        ("conversation", "this server keeps nothing; send the whole conversation as input"),
        ("prompt", "this server keeps no templates; send the text"),
        ("max_tool_calls", "tools are called by the client"),
        ("top_logprobs", "use /v1/chat/completions"),
        ("prompt_cache_retention", "how long a prompt is kept depends on what others ask"),
        ("stream_options", "nothing is padded"),
        ("context_management", "a conversation is never cut"),
    ]];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

impl ResponsesRequest {
    fn refuse_unsupported(&self) -> Result<(), ApiError> {
        let refused = [
            ("store", self.store == Some(true), "this server keeps nothing"),
            ("background", self.background == Some(true), "answers are waited for"),
            (
                "truncation",
                self.truncation.as_deref().is_some_and(|it| it != "disabled"),
                "a conversation is never cut",
            ),
            (
                "include",
                self.include.as_ref().is_some_and(|list| !list.is_empty()),
                "nothing further is told",
            ),
            (
                "service_tier",
                !matches!(self.service_tier.as_deref(), None | Some("auto" | "default")),
                "there is one, \"default\"",
            ),
        ];
        match refused.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((field, _, why)) => Err(ApiError::unsupported(field, why)),
            None => Ok(()),
        }
    }

    fn params(&self, recommended: &SamplingParams) -> Result<GenerationParams, ApiError> {
        let base = match self.temperature {
            Some(0.0) => SamplingParams::greedy(),
            _ => recommended.clone(),
        };
        let sampling = SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_p: self.top_p.unwrap_or(base.top_p),
            ..base
        };
        sampling.validate()?;
        if self.max_output_tokens == Some(0) {
            let message = "max_output_tokens must be 1 or more";
            return Err(ApiError::invalid("max_output_tokens", message));
        }
        let stop = StopParams { max_tokens: self.max_output_tokens, ..StopParams::default() };
        Ok(GenerationParams { sampling, stop, ..GenerationParams::default() })
    }

    fn tools(&self) -> Result<Tools, ApiError> {
        let mut list = Vec::new();
        for (index, tool) in self.tools.iter().flatten().enumerate() {
            let name = tool.name.clone().filter(|_| tool.kind == "function").ok_or_else(|| {
                ApiError::unsupported(format!("tools[{index}]"), "only functions with a name are")
            })?;
            let schema = parameters(tool.parameters.clone());
            list.push(Tool { name, description: tool.description.clone(), parameters: schema });
        }
        let named = |choice: &Value| choice["name"].as_str().map(str::to_owned);
        let choice = tools::tool_choice(self.tool_choice.clone(), named)?;
        tools::checked(Tools { list, choice, single: self.parallel_tool_calls == Some(false) })
    }

    fn format(&self) -> Result<OutputFormat, ApiError> {
        let Some(format) = self.text.as_ref().and_then(|text| text.format.as_ref()) else {
            return Ok(OutputFormat::Text);
        };
        match (format.kind.as_str(), &format.schema) {
            ("text", _) => Ok(OutputFormat::Text),
            ("json_object", _) => Ok(OutputFormat::json_object()),
            ("json_schema", Some(schema)) => {
                Ok(OutputFormat::JsonSchema(Value::Object(schema.clone())))
            }
            ("json_schema", None) => {
                Err(ApiError::invalid("text.format.schema", "text.format.schema is missing"))
            }
            (kind, _) => {
                let param = "text.format.type";
                let message =
                    format!("{param} must be text, json_object or json_schema, but is {kind:?}");
                Err(ApiError::invalid(param, message))
            }
        }
    }

    fn job(&self, model: &ServedModel) -> Result<ChatJob, ApiError> {
        self.refuse_unsupported()?;
        let mut variables = Map::new();
        if let Some(effort) = self.reasoning.as_ref().and_then(|it| it.effort.as_deref()) {
            super::chat::set_reasoning_effort(effort, model, &mut variables)?;
        }
        Ok(ChatJob {
            messages: input::messages(self.instructions.as_deref(), &self.input)?,
            tools: self.tools()?,
            format: self.format()?,
            format_field: "text.format",
            variables,
            add_generation_prompt: true,
            params: self.params(&model.sampling)?,
            num_choices: 1,
            ..ChatJob::default()
        })
    }

    /// What each response says of its request.
    fn outline(&self, model: &ServedModel, params: &GenerationParams) -> Outline {
        let tools = self.tools.iter().flatten().map(|tool| {
            json!({
                "type": tool.kind,
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": tool.strict.unwrap_or(true),
            })
        });
        let format = self.text.as_ref().and_then(|text| text.format.as_ref());
        let format = match format {
            Some(TextFormat { kind, name, schema: Some(schema), .. }) => json!({
                "type": kind, "name": name, "schema": schema, "strict": true,
            }),
            Some(TextFormat { kind, .. }) => json!({"type": kind}),
            None => json!({"type": "text"}),
        };
        Outline::new(json!({
            "instructions": self.instructions,
            "max_output_tokens": self.max_output_tokens,
            "metadata": self.metadata.clone().unwrap_or_default(),
            "model": model.name(),
            "parallel_tool_calls": self.parallel_tool_calls.unwrap_or(true),
            "previous_response_id": null,
            "reasoning": {
                "effort": self.reasoning.as_ref().and_then(|it| it.effort.clone()),
                "summary": null,
            },
            "service_tier": "default",
            "store": false,
            "temperature": params.sampling.temperature,
            "text": {"format": format},
            "tool_choice": self.tool_choice.clone().unwrap_or_else(|| json!("auto")),
            "tools": tools.collect::<Vec<_>>(),
            "top_p": params.sampling.top_p,
            "truncation": "disabled",
            "user": self.user,
        }))
    }
}

/// Answers, in items.
#[utoipa::path(post, path = "/v1/responses", tag = "openai",
    request_body = ResponsesRequest,
    responses(
        (status = 200, description = "The response; with stream, its events.", content(
            (Object = "application/json"), (String = "text/event-stream"))),
        (status = 400), (status = 401), (status = 404), (status = 413), (status = 415),
        (status = 429), (status = 503)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body(request): Body<ResponsesRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.model.as_deref())?;
    let job = request.job(&model)?;
    let outline = request.outline(&model, &job.params);
    let run = ChatRun::begin(&app, &model, job).await?;
    if request.stream == Some(true) {
        return Ok(sse::respond(ResponseStream::new(run, outline), app.options.limits.keep_alive));
    }
    match run.complete().await?.pop() {
        Some((answer, end)) => {
            let output = response::items(answer, &end);
            Ok(axum::Json(outline.ended(&output, &end)).into_response())
        }
        None => Err(ApiError::internal("there is no answer")),
    }
}
