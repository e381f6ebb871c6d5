//! `/v1/models`, with the fields of both OpenAI and Anthropic.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_chat::{ChatRequest, ChatTemplate};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::errors::{ApiError, OpenAiError};
use crate::request::Segment;
use crate::state::App;

/// The models of this server.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// Always `list`.
    object: &'static str,
    data: Vec<ModelCard>,
    /// Always false: all models are listed.
    has_more: bool,
    /// Name of the first model.
    first_id: Option<String>,
    /// Name of the last model.
    last_id: Option<String>,
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelCard {
    /// The name for requests.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// Always `model`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The same name.
    display_name: String,
    /// Time of loading, in seconds since 1970.
    created: u64,
    /// Time of loading, in RFC 3339.
    created_at: String,
    owned_by: &'static str,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    max_model_len: usize,
    /// Sampling defaults.
    default_sampling_params: DefaultSampling,
    /// Whether the model answers conversations: it has a chat template and generates text.
    takes_messages: bool,
    /// Whether `chat_template_kwargs.enable_thinking` switches reasoning on and off.
    takes_enable_thinking: bool,
    /// Whether the model reasons if a request does not set `enable_thinking`.
    enable_thinking_default: bool,
}

/// Sampling defaults, as the model file recommends them.
#[derive(Serialize, ToSchema)]
pub(crate) struct DefaultSampling {
    temperature: f32,
    top_p: f32,
    top_k: usize,
    min_p: f32,
}

fn card(model: &ServedModel, name: &str) -> ModelCard {
    let sampling = &model.sampling;
    let template = model.template.as_ref();
    let created_at = Timestamp::from_second(i64::try_from(model.created).unwrap_or_default());
    ModelCard {
        id: name.to_owned(),
        object: "model",
        kind: "model",
        display_name: name.to_owned(),
        created: model.created,
        created_at: created_at.unwrap_or_default().to_string(),
        owned_by: "inferno",
        max_model_len: model.handle.context_length(),
        default_sampling_params: DefaultSampling {
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            top_k: sampling.top_k,
            min_p: sampling.min_p,
        },
        takes_messages: template.is_some() && model.handle.generates_text(),
        takes_enable_thinking: template.is_some_and(|it| it.switches_thinking()),
        enable_thinking_default: model
            .reasoning
            .unwrap_or_else(|| template.is_some_and(thinks_by_default)),
    }
}

/// Whether a template renders the same prompt with `enable_thinking` and without any setting.
fn thinks_by_default(template: &ChatTemplate) -> bool {
    let message = || ChatRequest::new([json!({"role": "user", "content": "Hello"})]);
    let mut thinking = message();
    thinking.set("enable_thinking", true);
    matches!((template.render(&message()), template.render(&thinking)), (Ok(left), Ok(right)) if left == right)
}

/// Lists the models of this server.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses((status = 200, body = ModelList)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<ModelList>, ApiError> {
    let model = app.model()?;
    let data: Vec<_> = model.names.iter().map(|name| card(&model, name)).collect();
    let first_id = model.names.first().cloned();
    let last_id = model.names.last().cloned();
    Ok(Json(ModelList { object: "list", data, has_more: false, first_id, last_id }))
}

/// Returns one model.
#[utoipa::path(get, path = "/v1/models/{model}", tag = "openai",
    params(("model" = String, Path, description = "Name of the model.")),
    responses((status = 200, body = ModelCard), (status = 400, description = "The name is not valid UTF-8.", body = OpenAiError)))]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Segment(name): Segment,
) -> Result<Json<ModelCard>, ApiError> {
    let model = app.listed_model(&name)?;
    Ok(Json(card(&model, &name)))
}
