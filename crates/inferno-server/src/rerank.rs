//! Reranking: the relevance of texts to each other, by the classifier of a reranker.

pub(crate) mod rank;
pub(crate) mod score;

use std::sync::Arc;
use std::time::Instant;

use inferno_engine::Pooling;
use inferno_tokenizer::{PairLimits, TokenPair};

use crate::ServedModel;
use crate::embedding::{EmbeddingInput, EmbeddingSettings, check_inputs, check_number, embed_all};
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

/// Encodes pairs of texts from two fields of a request, with the rerank template of the file if it has one.
///
/// **Errors**: no pair, or too many; one that exceeds the context.
pub(crate) fn encode_pairs<'t>(
    pairs: impl ExactSizeIterator<Item = (&'t str, &'t str)>,
    [first_field, second_field]: [&str; 2],
    limits: PairLimits,
    model: &ServedModel,
) -> Result<Vec<EmbeddingInput>, ApiError> {
    check_number(pairs.len(), second_field)?;
    let tokenizer = model.tokenizer();
    let encode = |first: &str, second: &str| match &model.rerank_template {
        Some(template) => template.encode(tokenizer, first, second, limits).into(),
        None => {
            let TokenPair { ids, second_segment } = tokenizer.encode_pair(first, second, limits);
            EmbeddingInput { tokens: ids, second_segment }
        }
    };
    let room = model.handle.context_length();
    let mut inputs = Vec::new();
    for (first, second) in pairs {
        let input = encode(first, second);
        if input.tokens.len() > room {
            check_room(encode(first, "").tokens.len(), room, first_field)?;
        }
        inputs.push(input);
    }
    let tokens: Vec<_> = inputs.iter().map(|input| input.tokens.clone()).collect();
    check_inputs(&tokens, second_field, model)?;
    Ok(inputs)
}

/// Checks that a text in `field` leaves room for another one.
///
/// **Errors**: `len` tokens with an empty second text that are more than `room`.
fn check_room(len: usize, room: usize, field: &str) -> Result<(), ApiError> {
    if len <= room {
        return Ok(());
    }
    let message = format!(
        "{field} is too large: it has {len} tokens without the text it is compared with, but this model's maximum context length \
         is {room} tokens; shorten it"
    );
    Err(ApiError::invalid(field, message).with_context_exceeded(len, room))
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
