//! `/v1/models`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
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
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelCard {
    /// The name that requests give.
    id: String,
    /// Always `model`.
    object: &'static str,
    /// When it was loaded, in seconds since 1970.
    created: u64,
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
    ModelCard {
        id: name.to_owned(),
        object: "model",
        created: model.created,
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
    let data = model.names.iter().map(|name| card(&model, name)).collect();
    Ok(Json(ModelList { object: "list", data }))
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
