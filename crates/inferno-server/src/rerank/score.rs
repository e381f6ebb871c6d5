//! `/v1/score`, in the shape of vLLM's API.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_tokenizer::PairLimits;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ScoreSettings, encode_pairs, score_all};
use crate::embedding::truncation;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::openai::usage::Usage;
use crate::request::{Body, Reader, RequestBody, fresh_id};
use crate::state::App;
use crate::time::unix_seconds;

/// Pairs of texts to score: one text with each of several, or each of several with that at the same place.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ScoreRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    /// One text or several.
    #[serde(alias = "queries", alias = "data_1")]
    text_1: Texts,
    /// One text or several.
    #[serde(alias = "documents", alias = "items", alias = "data_2")]
    text_2: Texts,
    /// Truncates the second text so that a pair has at most this number of tokens; -1 stands for the context length (default:
    /// longer pairs are an error).
    truncate_prompt_tokens: Option<i64>,
    /// Maps scores to values between 0 and 1 by a sigmoid (default: false, the output of the model's classifier).
    use_activation: Option<bool>,
    /// Scheduling priority; lower values are scheduled first. Ignored unless the server runs with `--allow-priority`.
    priority: Option<i32>,
}

/// One text or several.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
pub(crate) enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    fn all(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

/// The scores, in the order of the pairs.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScoreList {
    /// A unique identifier.
    id: String,
    /// Always `list`.
    object: &'static str,
    /// Time of the answer, in seconds since 1970.
    created: u64,
    model: String,
    data: Vec<ScoreObject>,
    usage: Usage,
}

/// The score of a pair.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScoreObject {
    /// Index of the pair.
    index: usize,
    /// Always `score`.
    object: &'static str,
    score: f32,
}

impl RequestBody for ScoreRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::openai::RERANK];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

/// Scores pairs of texts with the classifier of a reranker.
#[utoipa::path(post, path = "/v1/score", tag = "openai", request_body = ScoreRequest,
    responses((status = 200, body = ScoreList)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<ScoreRequest>,
) -> Result<Json<ScoreList>, ApiError> {
    let started = preparation.arrived();
    let model = app.model_named(request.model.as_deref())?;
    model.handle.check_reranker()?;
    let [first, second] = [request.text_1.all().len(), request.text_2.all().len()];
    if first != 1 && first != second {
        let message = format!(
            "text_1 must have one text, or as many as text_2, but they have {first} and {second}"
        );
        return Err(ApiError::invalid("text_1", message));
    }
    let settings = ScoreSettings {
        limits: PairLimits {
            whole: truncation(request.truncate_prompt_tokens, &model)?,
            second: None,
        },
        activate: request.use_activation.unwrap_or(false),
        priority: request.priority.unwrap_or(0),
    };
    let reader = Arc::clone(&model);
    let inputs = preparation.run(move || {
        let (first, second) = (request.text_1.all(), request.text_2.all());
        let pairs = second.iter().enumerate();
        let pairs = pairs.map(|(at, text)| (first[at % first.len()].as_str(), text.as_str()));
        encode_pairs(pairs, ["text_1", "text_2"], settings.limits, &reader)
    });
    let inputs = inputs.await?;
    drop(preparation);
    let scores = score_all(&app, &model, started, inputs, settings).await?;
    let usage = Usage::of(scores.iter().map(|score| &score.counts));
    let data = scores.into_iter().enumerate();
    let data = data.map(|(index, it)| ScoreObject { index, object: "score", score: it.value });
    Ok(Json(ScoreList {
        id: fresh_id("score-"),
        object: "list",
        created: unix_seconds(),
        model: model.info.name().to_owned(),
        data: data.collect(),
        usage,
    }))
}
