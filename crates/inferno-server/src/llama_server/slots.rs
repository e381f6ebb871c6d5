//! `/slots`: the sequences that are computed together.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::App;

/// A place for a sequence. Requests are not bound to one: as many places are busy as there are running sequences.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaSlot {
    id: usize,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    n_ctx: usize,
    /// Whether speculative decoding is enabled.
    speculative: bool,
    /// Whether a sequence is running.
    is_processing: bool,
}

/// Maximum number of sequences that are computed together.
pub(super) fn num_slots(model: &ServedModel) -> usize {
    model.handle.core().options().max_num_sequences.unwrap_or(1)
}

/// Lists the sequences that are computed together.
#[utoipa::path(get, path = "/slots", tag = "llama-server", responses((status = 200, body = [LlamaSlot])))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<LlamaSlot>>, ApiError> {
    let model = app.model()?;
    let num_running = model.handle.snapshot().num_running;
    let slots = (0..num_slots(&model)).map(|id| LlamaSlot {
        id,
        n_ctx: model.handle.context_length(),
        speculative: model.handle.max_num_drafts() > 0,
        is_processing: id < num_running,
    });
    Ok(Json(slots.collect()))
}
