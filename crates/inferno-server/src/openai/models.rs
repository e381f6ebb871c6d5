//! `/v1/models`: OpenAI's fields and Anthropic's side by side, as their clients ask at one address.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
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
    /// False: all are listed.
    has_more: bool,
    /// The name of the first one.
    first_id: Option<String>,
    /// The name of the last one.
    last_id: Option<String>,
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelCard {
    /// The name that requests give.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// Always `model`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name again.
    display_name: String,
    /// When it was loaded, in seconds since 1970.
    created: u64,
    /// The same as a date of RFC 3339.
    created_at: String,
    owned_by: &'static str,
    /// Tokens that a prompt and its answer may have together.
    max_model_len: usize,
    /// How tokens are chosen where a request does not say.
    default_sampling_params: DefaultSampling,
    /// Whether it may be asked not to think, by `chat_template_kwargs.enable_thinking`.
    takes_enable_thinking: bool,
}

/// How tokens are chosen where a request does not say: what the model's file recommends.
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
        takes_enable_thinking: template.is_some_and(|it| it.compiled.mentions("enable_thinking")),
    }
}

/// The models of this server.
#[utoipa::path(get, path = "/v1/models", tag = "openai", responses((status = 200, body = ModelList)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<ModelList>, ApiError> {
    let model = app.model()?;
    let data: Vec<_> = model.names.iter().map(|name| card(&model, name)).collect();
    let first_id = model.names.first().cloned();
    let last_id = model.names.last().cloned();
    Ok(Json(ModelList { object: "list", data, has_more: false, first_id, last_id }))
}

/// One model.
#[utoipa::path(get, path = "/v1/models/{model}", tag = "openai",
    params(("model" = String, Path, description = "Its name.")),
    responses((status = 200, body = ModelCard), (status = 400, description = "The name is no text.", body = OpenAiError)))]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Segment(name): Segment,
) -> Result<Json<ModelCard>, ApiError> {
    let model = app.model_named(Some(&name))?;
    Ok(Json(card(&model, &name)))
}
