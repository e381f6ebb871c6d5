//! `/v1/embeddings`: a vector for each text.

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
use crate::generation::{
    GenerationEvent, RunningRequest, TokenCounts, engine_stopped, unexpected_event,
};
use crate::request::{Body, Reader, RequestBody, Unsupported};
use crate::state::App;

/// Texts of one request, as OpenAI has it.
const MAX_NUM_TEXTS: usize = 2048;
/// Texts of one request that the engine is given at once, so that its queue has room for others.
const MAX_NUM_AT_ONCE: usize = 16;

/// Texts of which vectors are wanted.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct EmbeddingsRequest {
    /// The model's name; where it is missing, the only one.
    model: Option<String>,
    input: PromptField,
    /// How vectors are written; as numbers unless it is said otherwise.
    encoding_format: Option<EncodingFormat>,
    /// Values in a vector: only as many as the model's hidden states have.
    #[schema(minimum = 1)]
    dimensions: Option<usize>,
    /// Whether the tokens that the model wants around a text are added; true unless it is said otherwise.
    add_special_tokens: Option<bool>,
    /// Lower goes first.
    priority: Option<i32>,
    /// Who asks, in the words of the caller; nothing is kept of it.
    #[allow(dead_code, reason = "taken, and of no consequence")]
    user: Option<String>,
}

/// How vectors are written.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EncodingFormat {
    /// A list of numbers.
    #[default]
    Float,
    /// Floats of four bytes, little-endian, in base64.
    Base64,
}

/// The vectors, in the order of the texts.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmbeddingList {
    /// Always `list`.
    object: &'static str,
    data: Vec<Embedding>,
    model: String,
    usage: Usage,
}

/// The vector of one text.
#[derive(Serialize, ToSchema)]
pub(crate) struct Embedding {
    /// Always `embedding`.
    object: &'static str,
    /// The text's place in the request.
    index: usize,
    embedding: Vector,
}

/// A vector of length 1.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Vector {
    Numbers(Vec<f32>),
    Base64(String),
}

impl RequestBody for EmbeddingsRequest {
    const UNSUPPORTED: &'static [&'static [Unsupported]] = &[&[
        ("messages", "input takes texts, or tokens"),
        ("truncate_prompt_tokens", "a text is never cut; shorten it"),
        ("normalize", "vectors always have length 1"),
        ("pooling", "it belongs to the model; the server is started with it"),
    ]];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

impl EmbeddingsRequest {
    /// Encodes the texts.
    ///
    /// **Errors**: no text, or too many; one that is empty, or beyond the context; a token that does not exist; vectors of
    /// another size than the model's.
    fn texts(&self, model: &ServedModel) -> Result<Vec<Vec<u32>>, ApiError> {
        let size = model.handle.hidden_size();
        if let Some(asked) = self.dimensions.filter(|&asked| asked != size) {
            let message = format!(
                "dimensions must be {size}, the size of this model's vectors, but is {asked}: a part of one is worth little \
                 unless the model was trained for it"
            );
            return Err(ApiError::invalid("dimensions", message));
        }
        let texts = self.input.tokens(self.add_special_tokens.unwrap_or(true), model);
        if texts.is_empty() || texts.len() > MAX_NUM_TEXTS {
            let found = texts.len();
            let message =
                format!("input must have from 1 to {MAX_NUM_TEXTS} texts, but has {found}");
            return Err(ApiError::invalid("input", message));
        }
        let (room, vocab_size) = (model.handle.context_length(), model.handle.vocab_size());
        for (place, text) in texts.iter().enumerate() {
            let len = text.len();
            if len == 0 {
                let message = match texts.len() {
                    1 => "input has no tokens".to_owned(),
                    _ => format!("text {place} of the input has no tokens"),
                };
                return Err(ApiError::invalid("input", message));
            }
            if len > room {
                let message = format!(
                    "text {place} of the input has {len} tokens, but this model's maximum context length is {room} tokens; \
                     shorten it"
                );
                return Err(
                    ApiError::invalid("input", message).with_code("context_length_exceeded")
                );
            }
            if let Some(token) = text.iter().find(|&&token| token as usize >= vocab_size) {
                let message =
                    format!("the input names token {token}, but the vocabulary has {vocab_size}");
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

/// Computes one vector.
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

/// A vector for each text: its hidden states after the final norm, pooled as the model asks for it (the last token's unless it
/// says otherwise), of length 1.
#[utoipa::path(post, path = "/v1/embeddings", tag = "openai", request_body = EmbeddingsRequest,
    responses((status = 200, body = EmbeddingList)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation }: Body<EmbeddingsRequest>,
) -> Result<Json<EmbeddingList>, ApiError> {
    let started = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    let format = request.encoding_format.unwrap_or_default();
    let priority = request.priority.unwrap_or(0);
    let reader = Arc::clone(&model);
    let texts = preparation.run(move || request.texts(&reader)).await?;
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
        data.push(Embedding { object: "embedding", index: data.len(), embedding });
    }
    let usage = Usage::of(&counts);
    Ok(Json(EmbeddingList { object: "list", data, model: name, usage }))
}
