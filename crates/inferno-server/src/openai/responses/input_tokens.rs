//! `/v1/responses/input_tokens`: how many tokens a response would be the answer to.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::ResponsesRequest;
use crate::errors::ApiError;
use crate::request::Body;
use crate::state::App;

/// How many there are.
#[derive(Serialize, ToSchema)]
pub(crate) struct InputTokens {
    /// Always `response.input_tokens`.
    object: &'static str,
    input_tokens: usize,
}

/// Counts the tokens of what is to be answered, with those of the response that it goes on from, and computes nothing.
#[utoipa::path(post, path = "/v1/responses/input_tokens", tag = "openai",
    request_body = ResponsesRequest,
    responses((status = 200, body = InputTokens)))]
pub(crate) async fn count(
    State(app): State<Arc<App>>,
    Body { request, mut preparation }: Body<ResponsesRequest>,
) -> Result<Json<InputTokens>, ApiError> {
    let model = app.model_named(request.sampling.model.as_deref())?;
    let earlier = request.earlier(&app, &mut preparation)?;
    let rendered = preparation.run(move || {
        let earlier = earlier.map_or(Ok(Vec::new()), |earlier| earlier.items())?;
        request.job(&app, &model, &earlier)?.render(&model)
    });
    let rendered = rendered.await?;
    let input_tokens = rendered.tokens.len();
    Ok(Json(InputTokens { object: "response.input_tokens", input_tokens }))
}
