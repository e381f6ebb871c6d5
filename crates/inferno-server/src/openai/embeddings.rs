//! `/v1/embeddings`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::completions::PromptField;
use super::usage::Usage;
use crate::ServedModel;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::generation::{
    GenerationEvent, RunningRequest, TokenCounts, engine_stopped, unexpected_event,
};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// Maximum number of inputs per request, as in OpenAI's API.
const MAX_NUM_INPUTS: usize = 2048;
/// Inputs of one request that are in the engine at once, so that its queue has room for others.
const MAX_NUM_AT_ONCE: usize = 16;

/// Inputs to embed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct EmbeddingsRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    input: PromptField,
    /// Encoding of the embeddings (default: `float`).
    encoding_format: Option<EncodingFormat>,
    /// Size of an embedding; only the model's hidden size is supported.
    #[schema(minimum = 1)]
    dimensions: Option<usize>,
    /// Adds the special tokens that the model expects around an input (default: true).
    add_special_tokens: Option<bool>,
    /// Scheduling priority; lower values are scheduled first. Ignored unless the server runs with `--allow-priority`.
    priority: Option<i32>,
}

/// Encoding of an embedding.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EncodingFormat {
    /// An array of numbers.
    #[default]
    Float,
    /// Little-endian 32-bit floats in base64.
    Base64,
}

/// The embeddings, in the order of the inputs.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmbeddingList {
    /// Always `list`.
    object: &'static str,
    data: Vec<EmbeddingObject>,
    model: String,
    usage: Usage,
}

/// The embedding of one input.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmbeddingObject {
    /// Always `embedding`.
    object: &'static str,
    /// Index of the input in the request.
    index: usize,
    embedding: Vector,
}

/// A vector with an L2 norm of 1.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Vector {
    Numbers(Vec<f32>),
    Base64(String),
}

impl RequestBody for EmbeddingsRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::openai::EMBEDDINGS];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

impl EmbeddingsRequest {
    /// Encodes the inputs.
    ///
    /// **Errors**: no input, or too many; one that is empty, or exceeds the context; a token outside the vocabulary; embeddings of
    /// another size than the model's.
    fn inputs(&self, model: &ServedModel) -> Result<Vec<Vec<u32>>, ApiError> {
        let size = model.handle.hidden_size();
        if let Some(asked) = self.dimensions.filter(|&asked| asked != size) {
            let message =
                format!("dimensions must be {size}, the hidden size of this model, but is {asked}");
            return Err(ApiError::invalid("dimensions", message));
        }
        let texts = self.input.tokens(self.add_special_tokens.unwrap_or(true), model);
        if texts.is_empty() || texts.len() > MAX_NUM_INPUTS {
            let found = texts.len();
            let message =
                format!("input must have between 1 and {MAX_NUM_INPUTS} items, but has {found}");
            return Err(ApiError::invalid("input", message));
        }
        let (room, vocab_size) = (model.handle.context_length(), model.handle.vocab_size());
        for (place, text) in texts.iter().enumerate() {
            let len = text.len();
            if len == 0 {
                let message = match texts.len() {
                    1 => "input has no tokens".to_owned(),
                    _ => format!("input[{place}] has no tokens"),
                };
                return Err(ApiError::invalid("input", message));
            }
            if len > room {
                let message = format!(
                    "input[{place}] has {len} tokens, but this model's maximum context length is {room} tokens; shorten it"
                );
                return Err(
                    ApiError::invalid("input", message).with_code("context_length_exceeded")
                );
            }
            if let Some(token) = text.iter().find(|&&token| token as usize >= vocab_size) {
                let message =
                    format!("token {token} is outside the vocabulary of {vocab_size} tokens");
                return Err(ApiError::invalid("input", message));
            }
        }
        Ok(texts)
    }
}

impl Vector {
    fn new(values: Vec<f32>, format: EncodingFormat) -> Self {
        match format {
            EncodingFormat::Float => Self::Numbers(values),
            EncodingFormat::Base64 => {
                let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
                Self::Base64(STANDARD.encode(bytes))
            }
        }
    }
}

/// Computes one embedding, and returns it with the tokens it took.
async fn embed(
    app: Arc<App>,
    model: Arc<ServedModel>,
    started: Instant,
    text: Vec<u32>,
    priority: i32,
) -> Result<(Vec<f32>, TokenCounts), ApiError> {
    let mut running = RunningRequest::embed(&app, &model, started, text, priority)?;
    let mut vector = None;
    while let Some(event) = running.next().await {
        match event? {
            GenerationEvent::Embedding(values) => vector = Some(values),
            GenerationEvent::Finished { .. } => {}
            GenerationEvent::Prompt(_) | GenerationEvent::Token(_) => {
                return Err(unexpected_event());
            }
        }
    }
    Ok((vector.ok_or_else(engine_stopped)?, running.counts().clone()))
}

/// Computes an embedding for each input: its hidden states after the final norm, pooled as the model specifies (default: the
/// last token's), with an L2 norm of 1.
#[utoipa::path(post, path = "/v1/embeddings", tag = "openai", request_body = EmbeddingsRequest,
    responses((status = 200, body = EmbeddingList)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<EmbeddingsRequest>,
) -> Result<Json<EmbeddingList>, ApiError> {
    let started = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    let format = request.encoding_format.unwrap_or_default();
    let priority = request.priority.unwrap_or(0);
    let reader = Arc::clone(&model);
    let texts = preparation.run(move || request.inputs(&reader)).await?;
    drop(preparation);
    let name = model.name().to_owned();
    let num_at_once = MAX_NUM_AT_ONCE.min(model.handle.options().max_num_waiting);
    let work = texts
        .into_iter()
        .map(move |text| embed(Arc::clone(&app), Arc::clone(&model), started, text, priority));
    let mut vectors = stream::iter(work).buffered(num_at_once);
    let (mut data, mut counts) = (Vec::new(), Vec::new());
    while let Some(vector) = vectors.next().await {
        let (values, taken) = vector?;
        counts.push(taken);
        let embedding = Vector::new(values, format);
        data.push(EmbeddingObject { object: "embedding", index: data.len(), embedding });
    }
    let usage = Usage::of(&counts);
    Ok(Json(EmbeddingList { object: "list", data, model: name, usage }))
}
