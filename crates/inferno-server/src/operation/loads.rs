//! `/v1/loads`: the load of the engine, in SGLang's format, which routers read.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::state::App;
use crate::time::unix_seconds;

/// The load of all engines.
#[derive(Serialize, ToSchema)]
pub(crate) struct Loads {
    /// Seconds since 1970.
    timestamp: u64,
    /// Always 1.
    dp_rank_count: usize,
    loads: Vec<Load>,
}

/// The load of one engine.
#[derive(Serialize, ToSchema)]
pub(crate) struct Load {
    /// Always 0: there is one engine.
    dp_rank: usize,
    num_running_reqs: usize,
    num_waiting_reqs: usize,
    /// Running and waiting sequences.
    num_total_reqs: usize,
    /// Tokens in the KV cache that are in use.
    num_used_tokens: usize,
    /// Tokens that the KV cache holds.
    max_total_num_tokens: usize,
    /// Fraction of the KV cache in use, from 0 to 1.
    token_usage: f64,
}

/// Returns the load of the engine.
#[utoipa::path(get, path = "/v1/loads", tag = "operation", responses((status = 200, body = Loads)))]
pub(crate) async fn loads(State(app): State<Arc<App>>) -> Result<Json<Loads>, ApiError> {
    let now = app.model()?.handle.snapshot();
    let (num_blocks, token_usage) = (now.blocks.num_blocks, now.kv_usage());
    let load = Load {
        dp_rank: 0,
        num_running_reqs: now.num_running,
        num_waiting_reqs: now.num_waiting,
        num_total_reqs: now.num_running + now.num_waiting,
        num_used_tokens: (token_usage * num_blocks as f64).round() as usize * now.block_tokens,
        max_total_num_tokens: num_blocks * now.block_tokens,
        token_usage,
    };
    Ok(Json(Loads { timestamp: unix_seconds(), dp_rank_count: 1, loads: vec![load] }))
}
