//! `/v1/embeddings`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inferno_engine::EmbeddingForm;
use inferno_tokenizer::EncodeOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::completions::PromptField;
use super::usage::Usage;
use crate::ServedModel;
use crate::embedding::{
    EmbeddingInput, EmbeddingSettings, check_dimensions, check_inputs, embed_all, truncate,
    truncation,
};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::llama_server::completion::prompts;
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// Inputs to embed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct EmbeddingsRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    /// One input or several: strings, arrays of token ids, or in the form of llama-server's prompts.
    #[schema(value_type = PromptField)]
    input: Value,
    /// Encoding of the embeddings (default: `float`).
    encoding_format: Option<EncodingFormat>,
    /// Number of the first values of each embedding to return, normalized again (default: all). Only embeddings of models
    /// that were trained for it (Matryoshka) remain accurate.
    #[schema(minimum = 1)]
    dimensions: Option<usize>,
    /// Scales embeddings to an L2 norm of 1 (default: true).
    normalize: Option<bool>,
    /// Truncates longer inputs to this number of tokens; -1 stands for the context length (default: longer inputs are an
    /// error).
    truncate_prompt_tokens: Option<i64>,
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

/// A vector, with an L2 norm of 1 unless requested otherwise.
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
        check_dimensions(self.dimensions, model)?;
        let adds_special = self.add_special_tokens.unwrap_or(true);
        let encode = |text: &str, is_first| {
            let add_special = is_first && adds_special;
            model.tokenizer().encode(text, EncodeOptions { add_special, parse_special: true })
        };
        let mut inputs = prompts(&self.input, "input", encode)?.tokens;
        if let Some(max_len) = truncation(self.truncate_prompt_tokens, model)? {
            inputs.iter_mut().for_each(|input| truncate(input, max_len, model));
        }
        check_inputs(&inputs, "input", model)?;
        Ok(inputs)
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

/// Computes an embedding for each input: its hidden states after the final norm, pooled as the model specifies (default: the
/// last token's for decoders, the mean for encoders), with an L2 norm of 1. Of a reranker, these are the outputs of its
/// classifier, as they are.
#[utoipa::path(post, path = "/v1/embeddings", tag = "openai", request_body = EmbeddingsRequest,
    responses((status = 200, body = EmbeddingList)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<EmbeddingsRequest>,
) -> Result<Json<EmbeddingList>, ApiError> {
    let started = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    let format = request.encoding_format.unwrap_or_default();
    let settings = EmbeddingSettings {
        form: EmbeddingForm {
            normalize: request.normalize.unwrap_or(true),
            dimensions: request.dimensions,
        },
        priority: request.priority.unwrap_or(0),
        ..EmbeddingSettings::of(&model)
    };
    let reader = Arc::clone(&model);
    let texts = preparation.run(move || request.inputs(&reader)).await?;
    drop(preparation);
    let name = model.info.name().to_owned();
    let texts = texts.into_iter().map(EmbeddingInput::from).collect();
    let embeddings = embed_all(&app, &model, started, texts, settings).await?;
    let usage = Usage::of(embeddings.iter().map(|embedding| &embedding.counts));
    let data = embeddings.into_iter().enumerate();
    let data = data.map(|(index, it)| {
        let embedding = Vector::new(it.values, format);
        EmbeddingObject { object: "embedding", index, embedding }
    });
    let data = data.collect();
    Ok(Json(EmbeddingList { object: "list", data, model: name, usage }))
}
