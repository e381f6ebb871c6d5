//! `/v1/rerank`, in the shape of Jina's and Cohere's APIs.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_tokenizer::PairLimits;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Score, ScoreSettings, encode_pairs, score_all};
use crate::embedding::truncation;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::openai::usage::Usage;
use crate::request::{Body, Reader, RequestBody, fresh_id};
use crate::state::App;

/// Documents to order by their relevance to a query.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct RerankRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    query: String,
    /// Strings, or objects with a `text`.
    #[serde(alias = "texts")]
    documents: Vec<Document>,
    /// Number of the most relevant documents to return (default: all).
    #[schema(minimum = 1)]
    top_n: Option<usize>,
    /// Returns the documents with their scores (default: false).
    #[serde(alias = "return_text")]
    return_documents: Option<bool>,
    /// Truncates documents so that a pair has at most this number of tokens; -1 stands for the context length (default: longer
    /// pairs are an error).
    truncate_prompt_tokens: Option<i64>,
    /// Truncates documents to this number of tokens, and so that pairs fit in the context (default: longer pairs are an
    /// error).
    #[schema(minimum = 1)]
    max_tokens_per_doc: Option<usize>,
    /// Maps scores to values between 0 and 1 by a sigmoid (default: false, the output of the model's classifier).
    use_activation: Option<bool>,
    /// Scheduling priority; lower values are scheduled first. Ignored unless the server runs with `--allow-priority`.
    priority: Option<i32>,
}

/// A document.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or an object with a text")]
pub(crate) enum Document {
    Text(String),
    Object { text: String },
}

impl Document {
    pub(super) fn text(&self) -> &str {
        let (Self::Text(text) | Self::Object { text }) = self;
        text
    }
}

/// The documents, the most relevant first.
#[derive(Serialize, ToSchema)]
pub(crate) struct Ranking {
    /// A unique identifier.
    id: String,
    /// Always `list`.
    object: &'static str,
    model: String,
    results: Vec<RankedDocument>,
    usage: Usage,
}

/// A document and its relevance.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedDocument {
    /// Index of the document in the request.
    index: usize,
    relevance_score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<ReturnedDocument>,
}

/// A document of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReturnedDocument {
    text: String,
}

impl RequestBody for RerankRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::openai::RERANK];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

/// Orders documents by their relevance to a query, as the classifier of a reranker scores them.
#[utoipa::path(post, path = "/v1/rerank", tag = "openai", request_body = RerankRequest,
    responses((status = 200, body = Ranking)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<RerankRequest>,
) -> Result<Json<Ranking>, ApiError> {
    let started = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    model.handle.check_reranker()?;
    if request.top_n == Some(0) {
        return Err(ApiError::invalid("top_n", "top_n must be 1 or more"));
    }
    if request.max_tokens_per_doc == Some(0) {
        let message = "max_tokens_per_doc must be 1 or more";
        return Err(ApiError::invalid("max_tokens_per_doc", message));
    }
    let room = request.max_tokens_per_doc.map(|_| model.handle.context_length());
    let settings = ScoreSettings {
        limits: PairLimits {
            whole: truncation(request.truncate_prompt_tokens, &model)?.or(room),
            second: request.max_tokens_per_doc,
        },
        activate: request.use_activation.unwrap_or(false),
        priority: request.priority.unwrap_or(0),
    };
    let reader = Arc::clone(&model);
    let prepared = preparation.run(move || {
        let pairs = request.documents.iter().map(|it| (request.query.as_str(), it.text()));
        let inputs = encode_pairs(pairs, ["query", "documents"], settings.limits, &reader)?;
        Ok((request, inputs))
    });
    let (request, inputs) = prepared.await?;
    drop(preparation);
    let scores = score_all(&app, &model, started, inputs, settings).await?;
    let usage = Usage::of(scores.iter().map(|score| &score.counts));
    let returns_documents = request.return_documents.unwrap_or(false);
    let ranked = |(index, (score, document)): (usize, (&Score, &Document))| RankedDocument {
        index,
        relevance_score: score.value,
        document: returns_documents.then(|| ReturnedDocument { text: document.text().to_owned() }),
    };
    let scored = scores.iter().zip(&request.documents).enumerate();
    let mut results: Vec<_> = scored.map(ranked).collect();
    // Equally relevant ones stay in their order.
    results.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score));
    results.truncate(request.top_n.unwrap_or(usize::MAX));
    let id = fresh_id("rerank-");
    let name = model.info.name().to_owned();
    Ok(Json(Ranking { id, object: "list", model: name, results, usage }))
}
