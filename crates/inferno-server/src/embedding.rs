//! Embeddings of the inputs of one request, for every API.

use std::sync::Arc;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use inferno_engine::{AdmittedRequest, EmbeddingForm, EmbeddingRequest, Pooling};

use crate::ServedModel;
use crate::errors::ApiError;
use crate::generation::{
    GenerationEvent, RunningRequest, TokenCounts, engine_stopped, unexpected_event,
};
use crate::state::{App, InFlight};

/// Maximum number of inputs per request, as in OpenAI's API.
const MAX_NUM_INPUTS: usize = 2048;
/// Inputs of one request that are in the engine at once, so that its queue has room for others.
const MAX_NUM_AT_ONCE: usize = 16;

/// The embedding of one input.
pub(crate) struct Embedding {
    /// Pooled hidden states, with an L2 norm of 1 by default; of a reranker, the outputs of its classifier.
    pub values: Vec<f32>,
    pub counts: TokenCounts,
}

/// What the embeddings of a request have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbeddingSettings {
    pub pooling: Pooling,
    pub form: EmbeddingForm,
    pub priority: i32,
}

impl EmbeddingSettings {
    /// Vectors with the model's own pooling.
    pub fn of(model: &ServedModel) -> Self {
        Self { pooling: model.pooling, form: EmbeddingForm::default(), priority: 0 }
    }
}

/// An encoded input.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddingInput {
    pub tokens: Vec<u32>,
    /// Where the second of two segments begins, if the model distinguishes them.
    pub second_segment: Option<usize>,
}

impl From<Vec<u32>> for EmbeddingInput {
    fn from(tokens: Vec<u32>) -> Self {
        Self { tokens, second_segment: None }
    }
}

/// **Errors**: a model that scores pairs of texts, which has no embeddings of one; dimensions that the model's embeddings do
/// not have.
pub(crate) fn check_dimensions(
    requested: Option<usize>,
    model: &ServedModel,
) -> Result<(), ApiError> {
    let limit = model.handle.embedding_size();
    if model.pooling == Pooling::None {
        let message = "this server returns one vector per token (--pooling none); use /embedding";
        return Err(ApiError::invalid("model", message));
    }
    match requested {
        Some(_) if model.pooling == Pooling::Rank => {
            let message = "dimensions cannot be set, since this model returns scores";
            Err(ApiError::invalid("dimensions", message))
        }
        Some(requested) if !(1..=limit).contains(&requested) => {
            let message = format!(
                "dimensions must be between 1 and {limit}, the size of this model's embeddings, but is {requested}"
            );
            Err(ApiError::invalid("dimensions", message))
        }
        _ => Ok(()),
    }
}

/// Cuts an input to `max_len` tokens. A special token at its end, which the model expects there, is kept.
pub(crate) fn truncate(input: &mut Vec<u32>, max_len: usize, model: &ServedModel) {
    if input.len() <= max_len {
        return;
    }
    tracing::warn!(tokens = input.len(), max_len, "input truncated");
    let end = input.last().copied().filter(|&id| model.tokenizer().is_special(id));
    input.truncate(max_len.saturating_sub(usize::from(end.is_some())));
    input.extend(end);
}

/// The number of tokens that the field `truncate_prompt_tokens` truncates inputs to: -1 stands for the context length.
///
/// **Errors**: other numbers below 1, or more than the context holds.
pub(crate) fn truncation(
    requested: Option<i64>,
    model: &ServedModel,
) -> Result<Option<usize>, ApiError> {
    let room = model.handle.context_length();
    match requested {
        None => Ok(None),
        Some(-1) => Ok(Some(room)),
        Some(found) => match usize::try_from(found) {
            Ok(len) if (1..=room).contains(&len) => Ok(Some(len)),
            _ => {
                let message = format!(
                    "truncate_prompt_tokens must be -1 or between 1 and the context length of {room}, but is {found}"
                );
                Err(ApiError::invalid("truncate_prompt_tokens", message))
            }
        },
    }
}

/// Checks the number of inputs in `field`, before they are encoded.
///
/// **Errors**: no input, or too many.
pub(crate) fn check_number(found: usize, field: &str) -> Result<(), ApiError> {
    if (1..=MAX_NUM_INPUTS).contains(&found) {
        return Ok(());
    }
    let message =
        format!("{field} must have between 1 and {MAX_NUM_INPUTS} items, but has {found}");
    Err(ApiError::invalid(field, message))
}

/// Checks the inputs in `field`.
///
/// **Errors**: no input, or too many; one that is empty, or exceeds the context; a token outside the vocabulary.
pub(crate) fn check_inputs(
    inputs: &[Vec<u32>],
    field: &str,
    model: &ServedModel,
) -> Result<(), ApiError> {
    check_number(inputs.len(), field)?;
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

/// What the inputs of a request have in common while they are embedded.
struct EmbeddedInputs {
    in_flight: InFlight,
    admitted: AdmittedRequest,
    model: Arc<ServedModel>,
    started: Instant,
    settings: EmbeddingSettings,
}

/// Computes the embedding of each input of a request that arrived at `started`, in their order. Once the request is admitted,
/// all of its inputs are: neither a full queue nor a drain rejects the later ones.
///
/// **Errors**: what the engine rejects; the first input that fails.
pub(crate) async fn embed_all(
    app: &Arc<App>,
    model: &Arc<ServedModel>,
    started: Instant,
    inputs: Vec<EmbeddingInput>,
    settings: EmbeddingSettings,
) -> Result<Vec<Embedding>, ApiError> {
    let num_at_once = MAX_NUM_AT_ONCE.min(model.handle.options().max_num_waiting);
    let shared = Arc::new(EmbeddedInputs {
        in_flight: app.begin_request(),
        admitted: model.handle.admit(num_at_once.min(inputs.len()))?,
        model: Arc::clone(model),
        started,
        settings,
    });
    let work = inputs.into_iter().map(move |input| embed(Arc::clone(&shared), input));
    let mut done = stream::iter(work).buffered(num_at_once);
    let mut embeddings = Vec::new();
    while let Some(embedding) = done.next().await {
        embeddings.push(embedding?);
    }
    Ok(embeddings)
}

async fn embed(shared: Arc<EmbeddedInputs>, input: EmbeddingInput) -> Result<Embedding, ApiError> {
    let EmbeddedInputs { in_flight, admitted, model, started, settings } = &*shared;
    let EmbeddingInput { tokens: prompt, second_segment } = input;
    let EmbeddingSettings { pooling, form, priority } = *settings;
    let deadline = None;
    let request = EmbeddingRequest { prompt, second_segment, pooling, form, priority, deadline };
    let mut running = RunningRequest::embed(in_flight, admitted, model, *started, request)?;
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
