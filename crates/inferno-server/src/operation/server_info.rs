//! `/server_info`: the configuration that routers read.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_engine::EngineHandle;
use serde::Serialize;
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::state::App;

/// The configuration of the server, with SGLang's names.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServerInfo {
    /// Version of the server.
    version: &'static str,
    /// Name of the model in responses.
    served_model_name: String,
    /// The same name.
    model_path: String,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    max_model_len: usize,
    /// Tokens that the KV cache holds.
    max_total_num_tokens: usize,
    /// Descriptions of the devices that compute, in the order of the layers.
    devices: Vec<String>,
    /// How tokens are drafted: `NGRAM` for prompt lookup, `STANDALONE` for a draft model, `NEXTN` for a prediction head of the
    /// model; null without speculative decoding.
    speculative_algorithm: Option<&'static str>,
    /// Maximum number of tokens drafted per sequence and step.
    speculative_num_draft_tokens: usize,
    /// Always 1: there is one engine.
    dp_size: usize,
    /// Always 1: each layer is on one device.
    tp_size: usize,
}

/// Returns the configuration of the server.
#[utoipa::path(get, path = "/server_info", tag = "operation",
    responses((status = 200, body = ServerInfo)))]
pub(crate) async fn server_info(State(app): State<Arc<App>>) -> Result<Json<ServerInfo>, ApiError> {
    let model = app.model()?;
    let now = model.handle.snapshot();
    Ok(Json(ServerInfo {
        version: env!("CARGO_PKG_VERSION"),
        served_model_name: model.info.name().to_owned(),
        model_path: model.info.name().to_owned(),
        max_model_len: model.handle.context_length(),
        max_total_num_tokens: now.blocks.num_blocks * now.block_tokens,
        devices: model.handle.devices().to_vec(),
        speculative_algorithm: speculative_algorithm(&model.handle),
        speculative_num_draft_tokens: model.handle.max_num_drafts(),
        dp_size: 1,
        tp_size: 1,
    }))
}

fn speculative_algorithm(engine: &EngineHandle) -> Option<&'static str> {
    let core = engine.core();
    match core.draft_options() {
        Some(_) if core.has_prediction_head() => Some("NEXTN"),
        Some(_) => Some("STANDALONE"),
        None => (engine.max_num_drafts() > 0).then_some("NGRAM"),
    }
}
