//! Routes and middleware.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{Any as AnyOrigin, CorsLayer};

use crate::errors::ApiError;
use crate::request::{require_allowed_host, require_api_key, with_request_id};
use crate::state::App;
use crate::{anthropic, openai, operation, page, tokens};

/// All routes of the server.
pub(crate) fn router(app: Arc<App>) -> Router {
    let guarded = Router::new()
        .route("/v1/models", get(openai::models::list))
        .route("/v1/models/{*model}", get(openai::models::one))
        .route("/v1/chat/completions", post(openai::chat::create))
        .route("/v1/chat/completions/render", post(openai::render::render))
        .route("/v1/completions", post(openai::completions::create))
        .route("/v1/embeddings", post(openai::embeddings::create))
        .route("/v1/responses", post(openai::responses::create))
        .route("/v1/responses/input_tokens", post(openai::responses::input_tokens::count))
        .route(
            "/v1/responses/{id}",
            get(openai::responses::stored::one).delete(openai::responses::stored::delete),
        )
        .route("/v1/responses/{id}/input_items", get(openai::responses::input_items::list))
        .route("/v1/messages", post(anthropic::messages::create))
        .route("/v1/messages/count_tokens", post(anthropic::count_tokens::count))
        .route("/tokenize", post(tokens::tokenize::tokenize))
        .route("/detokenize", post(tokens::detokenize::detokenize))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), require_api_key));
    let open = Router::new()
        .route("/health", get(operation::health::health))
        .route("/version", get(operation::version::version))
        .route("/metrics", get(operation::metrics::page))
        .route("/openapi.json", get(operation::openapi::description))
        .merge(page::routes());
    let cors = cors(&app.options.allowed_origins);
    let router = guarded
        .merge(open)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), require_allowed_host))
        .layer(middleware::from_fn(anthropic_errors))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), operation::metrics::count))
        .with_state(app);
    let router = match cors {
        Some(cors) => router.layer(cors),
        None => router,
    };
    router.layer(middleware::from_fn(with_request_id))
}

/// Allows requests from pages of these origins, if there are any.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let cors = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(tower_http::cors::AllowHeaders::mirror_request())
        .expose_headers([HeaderName::from_static("x-request-id"), header::RETRY_AFTER]);
    match origins {
        [] => None,
        origins if origins.iter().any(|origin| origin == "*") => Some(cors.allow_origin(AnyOrigin)),
        origins => {
            let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
            Some(cors.allow_origin(origins.collect::<Vec<_>>()))
        }
    }
}

async fn not_found(uri: Uri) -> ApiError {
    let path = uri.path();
    let hint = match path.starts_with("/v1/") {
        true => "see /openapi.json for all paths",
        false => {
            "the paths of OpenAI and Anthropic begin with /v1; see /openapi.json for all paths"
        }
    };
    let message = format!("path {path} not found; {hint}");
    ApiError::new(StatusCode::NOT_FOUND, message)
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} does not support {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

/// A panic fails one request and no other.
fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "no message".to_owned(),
    };
    tracing::error!(%message, "a request panicked");
    ApiError::internal("internal error; see the server log").into_response()
}

/// Converts errors on Anthropic's paths to Anthropic's format.
async fn anthropic_errors(request: Request, next: Next) -> Response {
    let is_anthropic = request.uri().path().starts_with("/v1/messages");
    let response = next.run(request).await;
    match response.extensions().get::<ApiError>() {
        Some(error) if is_anthropic => {
            let error = error.clone();
            let body = error.anthropic();
            error.response(&body)
        }
        _ => response,
    }
}
