//! `/v1/responses/input_tokens`: the number of prompt tokens of a response.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::ResponsesRequest;
use super::stored_input::StoredInput;
use crate::chat::Rendered;
use crate::errors::ApiError;
use crate::request::Body;
use crate::state::App;

/// The number of tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct InputTokens {
    /// Always `response.input_tokens`.
    object: &'static str,
    input_tokens: usize,
}

/// Counts the prompt tokens of a response, including the conversation that it continues, without generating an answer.
#[utoipa::path(post, path = "/v1/responses/input_tokens", tag = "openai",
    request_body = ResponsesRequest,
    responses((status = 200, body = InputTokens)))]
pub(crate) async fn count(
    State(app): State<Arc<App>>,
    body: Body<ResponsesRequest>,
) -> Result<Json<InputTokens>, ApiError> {
    let input_tokens = rendered(app, body).await?.tokens.len();
    Ok(Json(InputTokens { object: "response.input_tokens", input_tokens }))
}

/// Renders the prompt of a response.
pub(crate) async fn rendered(
    app: Arc<App>,
    body: Body<ResponsesRequest>,
) -> Result<Rendered, ApiError> {
    let Body { mut request, unknown, mut preparation } = body;
    let model = app.model_named(request.sampling.model.as_deref())?;
    let stored = StoredInput::find(&request.fields, &app.responses, &mut preparation)?;
    let rendering = preparation.run(move || {
        let earlier = stored.resolve(&mut request.fields.input)?;
        request.job(&app, &model, &earlier, &unknown)?.0.render(&model)
    });
    rendering.await
}
