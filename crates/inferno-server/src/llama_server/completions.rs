//! `/completions`: OpenAI's API without its prefix, unless a request has fields of llama-server, whose own path this is.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::completion::{self, LlamaCompletionRequest};
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::openai::completions::{self, CompletionRequest};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// Fields that only requests of llama-server have.
const LLAMA_SERVER_FIELDS: [&str; 7] = [
    "n_predict",
    "n_probs",
    "return_tokens",
    "response_fields",
    "post_sampling_probs",
    "n_indent",
    "t_max_predict_ms",
];

/// A request in either format.
pub(crate) enum EitherCompletionRequest {
    OpenAi(Box<CompletionRequest>),
    LlamaServer(Box<LlamaCompletionRequest>),
}

impl RequestBody for EitherCompletionRequest {
    const UNIMPLEMENTED: &'static [FieldTable] = &[
        fields::openai::COMPLETIONS,
        fields::openai::SAMPLING,
        fields::llama_server::COMPLETION,
        fields::llama_server::SAMPLERS,
    ];
    const ELSEWHERE: &'static [(&'static str, &'static str)] = CompletionRequest::ELSEWHERE;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        match LLAMA_SERVER_FIELDS.iter().any(|name| reader.has(name)) {
            true => RequestBody::read(reader).map(|request| Self::LlamaServer(Box::new(request))),
            false => RequestBody::read(reader).map(|request| Self::OpenAi(Box::new(request))),
        }
    }
}

/// Completes prompts, with an answer in the format of the request.
pub(crate) async fn create(
    app: State<Arc<App>>,
    Body { request, unknown, preparation }: Body<EitherCompletionRequest>,
) -> Result<Response, ApiError> {
    match request {
        EitherCompletionRequest::OpenAi(request) => {
            completions::create(app, Body { request: *request, unknown, preparation }).await
        }
        EitherCompletionRequest::LlamaServer(request) => {
            completion::create(app, Body { request: *request, unknown, preparation }).await
        }
    }
}
