//! Reranking: the relevance of texts to each other, by the classifier of a reranker.

pub(crate) mod rank;
pub(crate) mod score;

use std::sync::Arc;
use std::time::Instant;

use inferno_engine::Pooling;
use inferno_tokenizer::{PairLimits, TokenPair};

use crate::ServedModel;
use crate::embedding::{
    EmbeddingInput, EmbeddingSettings, MAX_NUM_INPUTS, check_inputs, embed_all,
};
use crate::errors::ApiError;
use crate::generation::TokenCounts;
use crate::state::App;

/// The score of one pair.
pub(crate) struct Score {
    pub value: f32,
    pub counts: TokenCounts,
}

/// How pairs are encoded and scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoreSettings {
    /// Truncates the second text of longer pairs.
    pub limits: PairLimits,
    /// Maps scores to values between 0 and 1 by a sigmoid, unless they are probabilities.
    pub activate: bool,
    pub priority: i32,
}

/// Checks that the model scores pairs of texts with a single value.
///
/// **Errors**: 400 for other models.
pub(crate) fn check_reranker(model: &ServedModel) -> Result<(), ApiError> {
    let invalid =
        |message: String| Err(ApiError::invalid("model", message).with_code("unsupported_model"));
    match model.handle.pooled_head().classifier() {
        None => {
            invalid("this model has no classifier to score texts with; load a reranker".to_owned())
        }
        // Of probabilities, such as those of "yes" and "no", the first is the score.
        Some(classifier) if classifier.num_outputs() > 1 && !classifier.has_softmax() => {
            let (number, labels) = (classifier.num_outputs(), classifier.labels().join(", "));
            invalid(format!(
                "this model's classifier has {number} outputs ({labels}) instead of one score; use /v1/embeddings for all of them"
            ))
        }
        Some(_) => Ok(()),
    }
}

/// Encodes pairs of texts, as the file's template for reranking says if it has one.
///
/// **Errors**: no pair, or too many; one that exceeds the context.
pub(crate) fn encode_pairs<'t>(
    pairs: impl Iterator<Item = (&'t str, &'t str)>,
    field: &str,
    limits: PairLimits,
    model: &ServedModel,
) -> Result<Vec<EmbeddingInput>, ApiError> {
    let tokenizer = model.tokenizer();
    let inputs: Vec<EmbeddingInput> = pairs
        .take(MAX_NUM_INPUTS + 1)
        .map(|(first, second)| match &model.rerank_template {
            Some(template) => template.encode(tokenizer, first, second, limits).into(),
            None => {
                let TokenPair { ids, second_segment } =
                    tokenizer.encode_pair(first, second, limits);
                EmbeddingInput { tokens: ids, second_segment }
            }
        })
        .collect();
    let tokens: Vec<_> = inputs.iter().map(|input| input.tokens.clone()).collect();
    check_inputs(&tokens, field, model)?;
    Ok(inputs)
}

/// Computes the score of each pair of a request that arrived at `started`.
///
/// **Errors**: what the engine rejects; the first pair that fails.
pub(crate) async fn score_all(
    app: &Arc<App>,
    model: &Arc<ServedModel>,
    started: Instant,
    inputs: Vec<EmbeddingInput>,
    settings: ScoreSettings,
) -> Result<Vec<Score>, ApiError> {
    let ScoreSettings { activate, priority, .. } = settings;
    let pooled =
        EmbeddingSettings { pooling: Pooling::Rank, priority, ..EmbeddingSettings::of(model) };
    let outputs = embed_all(app, model, started, inputs, pooled).await?;
    let are_probabilities =
        model.handle.pooled_head().classifier().is_some_and(|classifier| classifier.has_softmax());
    let score = |value: f32| match activate && !are_probabilities {
        true => (1.0 / (1.0 + (-f64::from(value)).exp())) as f32,
        false => value,
    };
    let scores = outputs.into_iter().map(|output| Score {
        value: score(output.values.first().copied().unwrap_or_default()),
        counts: output.counts,
    });
    Ok(scores.collect())
}
