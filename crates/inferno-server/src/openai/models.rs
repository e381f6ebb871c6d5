//! `/v1/models`, with the fields of both OpenAI and Anthropic.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_chat::{ChatRequest, ChatTemplate};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ModelInfo;
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
    /// Time of loading, or of the server's start if it is not loaded, in seconds since 1970.
    created: u64,
    /// The same time, in RFC 3339.
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

fn card(info: &ModelInfo, name: &str) -> ModelCard {
    let sampling = &info.sampling;
    let template = info.template.as_ref();
    let created_at = Timestamp::from_second(i64::try_from(info.created).unwrap_or_default());
    ModelCard {
        id: name.to_owned(),
        object: "model",
        kind: "model",
        display_name: name.to_owned(),
        created: info.created,
        created_at: created_at.unwrap_or_default().to_string(),
        owned_by: "inferno",
        max_model_len: info.context_length,
        default_sampling_params: DefaultSampling {
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            top_k: sampling.top_k,
            min_p: sampling.min_p,
        },
        takes_messages: info.takes_messages(),
        takes_enable_thinking: template.is_some_and(|it| it.switches_thinking()),
        enable_thinking_default: info
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
    let listed = app.listed().await?;
    let named = listed.iter().flat_map(|info| info.names.iter().map(move |name| (info, name)));
    let data: Vec<_> = named.map(|(info, name)| card(info, name)).collect();
    let id = |card: Option<&ModelCard>| card.map(|card| card.id.clone());
    let (first_id, last_id) = (id(data.first()), id(data.last()));
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
    let info = app.listed_model(&name).await?;
    Ok(Json(card(&info, &name)))
}
