//! `/embedding`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_engine::{EmbeddingForm, Pooling};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::completion::{encode_completed, prompts};
use crate::embedding::{EmbeddingInput, EmbeddingSettings, check_inputs, embed_all};
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
    input: Option<Value>,
    /// Same as `input`, without which it is required.
    content: Option<Value>,
    /// 2 scales vectors to an L2 norm of 1 (default), -1 leaves them as they are.
    #[schema(minimum = -1, maximum = 2)]
    embd_normalize: Option<i64>,
}

/// The embedding of one input.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaEmbedding {
    /// Number of the input.
    index: usize,
    /// One vector with an L2 norm of 1; without pooling, one vector per token.
    embedding: Vec<Vec<f32>>,
}

impl LlamaEmbeddingRequest {
    /// What to embed, with the name of its field. As in llama-server, `input` has priority.
    fn content(&self) -> Result<(&'static str, &Value), ApiError> {
        let fields = [("input", &self.input), ("content", &self.content)];
        let given = fields.into_iter().find_map(|(field, value)| Some((field, value.as_ref()?)));
        given.ok_or_else(|| ApiError::invalid("input", "input or content must be provided"))
    }
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
    let request_normalize = request.embd_normalize;
    if let Some(found) = request_normalize.filter(|norm| ![-1, 2].contains(norm)) {
        let message =
            format!("embd_normalize must be -1 (none) or 2 (the L2 norm), but is {found}");
        return Err(ApiError::invalid("embd_normalize", message));
    }
    let reader = Arc::clone(&model);
    let inputs = preparation.run(move || {
        let (field, content) = request.content()?;
        let inputs = prompts(content, field, encode_completed(&reader))?.tokens;
        check_inputs(&inputs, field, &reader)?;
        Ok(inputs)
    });
    let inputs = inputs.await?;
    drop(preparation);
    let inputs = inputs.into_iter().map(EmbeddingInput::from).collect();
    // As in llama-server: 2 stands for the L2 norm, negative numbers for none.
    let normalize = request_normalize.is_none_or(|norm| norm >= 0);
    let form = EmbeddingForm { normalize, dimensions: None };
    let settings = EmbeddingSettings { form, ..EmbeddingSettings::of(&model) };
    let embeddings = embed_all(&app, &model, started, inputs, settings).await?;
    let row_len = match model.pooling {
        Pooling::None => model.handle.hidden_size(),
        _ => usize::MAX,
    };
    let embeddings = embeddings.into_iter().enumerate().map(|(index, it)| LlamaEmbedding {
        index,
        embedding: it.values.chunks(row_len).map(<[f32]>::to_vec).collect(),
    });
    Ok(Json(embeddings.collect()))
}
