//! `/embedding`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::completion::{encode_completed, prompts};
use crate::embedding::{check_inputs, embed_all};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// Inputs to embed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct LlamaEmbeddingRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    /// A string, an array of tokens and strings, or an array of these for several inputs.
    content: Value,
}

/// The embedding of one input.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaEmbedding {
    /// Number of the input.
    index: usize,
    /// One vector with an L2 norm of 1.
    embedding: [Vec<f32>; 1],
}

impl RequestBody for LlamaEmbeddingRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::llama_server::EMBEDDING];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

/// Computes an embedding for each input.
#[utoipa::path(post, path = "/embedding", tag = "llama-server", request_body = LlamaEmbeddingRequest,
    responses((status = 200, body = [LlamaEmbedding])))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<LlamaEmbeddingRequest>,
) -> Result<Json<Vec<LlamaEmbedding>>, ApiError> {
    let started = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    let reader = Arc::clone(&model);
    let inputs = preparation.run(move || {
        let inputs = prompts(&request.content, "content", encode_completed(&reader))?.tokens;
        check_inputs(&inputs, "content", &reader)?;
        Ok(inputs)
    });
    let inputs = inputs.await?;
    drop(preparation);
    let embeddings = embed_all(&app, &model, started, inputs, 0).await?.into_iter().enumerate();
    let embeddings = embeddings.map(|(index, it)| LlamaEmbedding { index, embedding: [it.values] });
    Ok(Json(embeddings.collect()))
}
