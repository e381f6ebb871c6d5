//! `/v1/models`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::errors::ApiError;
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
}

fn card(model: &ServedModel, name: &str) -> ModelCard {
    ModelCard {
        id: name.to_owned(),
        object: "model",
        created: model.created,
        owned_by: "inferno",
        max_model_len: model.handle.context_length(),
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
    responses((status = 200, body = ModelCard), (status = 404)))]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<ModelCard>, ApiError> {
    let model = app.model_named(Some(&name))?;
    Ok(Json(card(&model, &name)))
}
