//! `/api/embed`, and its predecessor `/api/embeddings`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use inferno_engine::EmbeddingForm;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ServedModel;
use crate::embedding::{
    EmbeddingInput, EmbeddingSettings, check_dimensions, check_inputs, embed_all, truncate,
};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::openai::completions::PromptField;
use crate::request::{Body, Preparation, Reader, RequestBody};
use crate::state::App;

/// Inputs to embed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaEmbedRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    /// Without inputs, the answer has no embeddings.
    input: Option<PromptField>,
    /// Cuts inputs that exceed the context (default: true); otherwise, they are an error.
    truncate: Option<bool>,
    /// Number of the first values of each embedding to return, normalized again (default: all).
    #[schema(minimum = 1)]
    dimensions: Option<usize>,
}

/// The embeddings, in the order of the inputs.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaEmbeddings {
    model: String,
    /// Vectors with an L2 norm of 1.
    embeddings: Vec<Vec<f32>>,
    /// In nanoseconds.
    total_duration: u64,
    /// Always 0: the model stays loaded.
    load_duration: u64,
    /// Tokens of all inputs.
    prompt_eval_count: usize,
}

/// A prompt to embed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaEmbeddingRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    /// Without a prompt, the embedding is empty.
    prompt: Option<String>,
}

/// The embedding of a prompt.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaEmbedding {
    /// A vector with an L2 norm of 1.
    embedding: Vec<f32>,
}

impl RequestBody for OllamaEmbedRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::ollama::EMBED];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

impl RequestBody for OllamaEmbeddingRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::ollama::EMBED];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

/// Embeds inputs, and returns the vectors with the number of tokens.
async fn embed(
    app: &Arc<App>,
    model: &Arc<ServedModel>,
    preparation: Preparation,
    input: Option<PromptField>,
    field: &'static str,
    (truncates, dimensions): (bool, Option<usize>),
) -> Result<(Vec<Vec<f32>>, usize), ApiError> {
    // Clients of Ollama load a model by a request without input.
    let Some(input) = input.filter(|input| !input.is_empty()) else {
        return Ok((Vec::new(), 0));
    };
    let started = preparation.arrived();
    let reader = Arc::clone(model);
    let inputs = preparation.run(move || {
        let mut inputs = input.tokens(true, &reader);
        if truncates {
            let room = reader.handle.context_length();
            inputs.iter_mut().for_each(|input| truncate(input, room, &reader));
        }
        check_inputs(&inputs, field, &reader)?;
        Ok(inputs)
    });
    let inputs = inputs.await?;
    drop(preparation);
    let inputs = inputs.into_iter().map(EmbeddingInput::from).collect();
    let form = EmbeddingForm { dimensions, ..EmbeddingForm::default() };
    let settings = EmbeddingSettings { form, ..EmbeddingSettings::of(model) };
    let embeddings = embed_all(app, model, started, inputs, settings).await?;
    let num_tokens = embeddings.iter().map(|it| it.counts.prompt_tokens).sum();
    Ok((embeddings.into_iter().map(|it| it.values).collect(), num_tokens))
}

/// Computes an embedding for each input.
#[utoipa::path(post, path = "/api/embed", tag = "ollama", request_body = OllamaEmbedRequest,
    responses((status = 200, body = OllamaEmbeddings)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<OllamaEmbedRequest>,
) -> Result<Json<OllamaEmbeddings>, ApiError> {
    let started: Instant = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    check_dimensions(request.dimensions, &model)?;
    let truncates = request.truncate.unwrap_or(true);
    let (embeddings, prompt_eval_count) =
        embed(&app, &model, preparation, request.input, "input", (truncates, request.dimensions))
            .await?;
    Ok(Json(OllamaEmbeddings {
        model: request.model.unwrap_or_else(|| model.info.name().to_owned()),
        embeddings,
        total_duration: u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX),
        load_duration: 0,
        prompt_eval_count,
    }))
}

/// Computes the embedding of one prompt.
#[utoipa::path(post, path = "/api/embeddings", tag = "ollama", request_body = OllamaEmbeddingRequest,
    responses((status = 200, body = OllamaEmbedding)))]
pub(crate) async fn create_one(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<OllamaEmbeddingRequest>,
) -> Result<Json<OllamaEmbedding>, ApiError> {
    let model = app.model_named(request.model.as_deref())?;
    check_dimensions(None, &model)?;
    let prompt = request.prompt.map(PromptField::Text);
    let (mut embeddings, _) =
        embed(&app, &model, preparation, prompt, "prompt", (true, None)).await?;
    Ok(Json(OllamaEmbedding { embedding: embeddings.pop().unwrap_or_default() }))
}
