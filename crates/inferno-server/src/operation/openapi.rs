//! `/openapi.json`: the description of all of it.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Description;

use crate::{anthropic, openai, operation, tokens};

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "inferno", description = "OpenAI's and Anthropic's APIs over one model."),
    paths(
        openai::models::list,
        openai::models::one,
        openai::chat::create,
        openai::render::render,
        openai::completions::create,
        openai::responses::create,
        anthropic::messages::create,
        anthropic::count_tokens::count,
        tokens::tokenize::tokenize,
        tokens::detokenize::detokenize,
        operation::health::health,
        operation::version::version,
        operation::metrics::page,
    )
)]
struct Api;

/// The description of the API, as OpenAPI 3.1.
pub(crate) async fn description() -> Json<Description> {
    Json(Api::openapi())
}
