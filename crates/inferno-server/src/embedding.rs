//! Embeddings of the inputs of one request, for every API.

use std::sync::Arc;
use std::time::Instant;

use futures_util::{StreamExt, stream};

use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::{
    GenerationEvent, RunningRequest, TokenCounts, engine_stopped, unexpected_event,
};
use crate::state::App;

/// Maximum number of inputs per request, as in OpenAI's API.
const MAX_NUM_INPUTS: usize = 2048;
/// Inputs of one request that are in the engine at once, so that its queue has room for others.
const MAX_NUM_AT_ONCE: usize = 16;

/// The embedding of one input.
pub(crate) struct Embedding {
    /// Hidden states after the final norm, pooled, with an L2 norm of 1.
    pub values: Vec<f32>,
    pub counts: TokenCounts,
}

/// **Errors**: a requested size of embeddings that is not the model's.
pub(crate) fn check_dimensions(
    requested: Option<usize>,
    model: &ServedModel,
) -> Result<(), ApiError> {
    let size = model.handle.hidden_size();
    match requested {
        Some(requested) if requested != size => {
            let message = format!(
                "dimensions must be {size}, the hidden size of this model, but is {requested}"
            );
            Err(ApiError::invalid("dimensions", message))
        }
        _ => Ok(()),
    }
}

/// Checks the inputs in `field`.
///
/// **Errors**: no input, or too many; one that is empty, or exceeds the context; a token outside the vocabulary.
pub(crate) fn check_inputs(
    inputs: &[Vec<u32>],
    field: &str,
    model: &ServedModel,
) -> Result<(), ApiError> {
    if inputs.is_empty() || inputs.len() > MAX_NUM_INPUTS {
        let found = inputs.len();
        let message =
            format!("{field} must have between 1 and {MAX_NUM_INPUTS} items, but has {found}");
        return Err(ApiError::invalid(field, message));
    }
    let (room, vocab_size) = (model.handle.context_length(), model.handle.vocab_size());
    for (place, input) in inputs.iter().enumerate() {
        let len = input.len();
        if len == 0 {
            let message = match inputs.len() {
                1 => format!("{field} has no tokens"),
                _ => format!("{field}[{place}] has no tokens"),
            };
            return Err(ApiError::invalid(field, message));
        }
        if len > room {
            let message = format!(
                "{field}[{place}] is too large: it has {len} tokens, but this model's maximum context length is {room} tokens; \
                 shorten it"
            );
            return Err(ApiError::invalid(field, message).with_context_exceeded(len, room));
        }
        if let Some(token) = input.iter().find(|&&token| token as usize >= vocab_size) {
            let message = format!("token {token} is outside the vocabulary of {vocab_size} tokens");
            return Err(ApiError::invalid(field, message));
        }
    }
    Ok(())
}

/// Computes the embedding of each input of a request that arrived at `started`, in their order.
///
/// **Errors**: what the engine rejects; the first input that fails.
pub(crate) async fn embed_all(
    app: &Arc<App>,
    model: &Arc<ServedModel>,
    started: Instant,
    inputs: Vec<Vec<u32>>,
    priority: i32,
) -> Result<Vec<Embedding>, ApiError> {
    let num_at_once = MAX_NUM_AT_ONCE.min(model.handle.options().max_num_waiting);
    let (app, model) = (Arc::clone(app), Arc::clone(model));
    let work = inputs
        .into_iter()
        .map(move |input| embed(Arc::clone(&app), Arc::clone(&model), started, input, priority));
    let mut done = stream::iter(work).buffered(num_at_once);
    let mut embeddings = Vec::new();
    while let Some(embedding) = done.next().await {
        embeddings.push(embedding?);
    }
    Ok(embeddings)
}

async fn embed(
    app: Arc<App>,
    model: Arc<ServedModel>,
    started: Instant,
    input: Vec<u32>,
    priority: i32,
) -> Result<Embedding, ApiError> {
    let mut running = RunningRequest::embed(&app, &model, started, input, priority)?;
    let mut values = None;
    while let Some(event) = running.next().await {
        match event? {
            GenerationEvent::Embedding(found) => values = Some(found),
            GenerationEvent::Finished { .. } => {}
            GenerationEvent::Progress | GenerationEvent::Prompt(_) | GenerationEvent::Token(_) => {
                return Err(unexpected_event());
            }
        }
    }
    let values = values.ok_or_else(engine_stopped)?;
    Ok(Embedding { values, counts: running.counts().clone() })
}
