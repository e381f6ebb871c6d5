//! Routes and middleware.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::errors::ApiError;
use crate::on_demand::dispatch;
use crate::request::{
    IGNORED_FIELDS, UNENFORCED_SCHEMA, is_loopback, report_ignored_fields, require_allowed_host,
    require_api_key, with_request_id,
};
use crate::state::App;
use crate::{anthropic, llama_server, ollama, openai, operation, page, rerank, tokens};

/// All routes of the server.
pub(crate) fn router(app: Arc<App>) -> Router {
    let guarded = model_routes()
        .layer(middleware::from_fn_with_state(Arc::clone(&app), dispatch))
        .merge(catalog_routes())
        .layer(middleware::from_fn_with_state(Arc::clone(&app), report_ignored_fields))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), require_api_key));
    let open = Router::new()
        .route("/health", get(operation::health::health))
        .route("/v1/health", get(operation::health::health))
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
        .layer(middleware::from_fn(error_formats))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), operation::metrics::count))
        .with_state(app);
    router.layer(cors).layer(middleware::from_fn(with_request_id))
}

/// The routes of one of several models, for requests that passed the checks of [`router`].
pub(crate) fn model_router(app: Arc<App>) -> Router {
    model_routes()
        .layer(middleware::from_fn_with_state(Arc::clone(&app), report_ignored_fields))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), operation::metrics::count))
        .with_state(app)
}

/// The routes that need a loaded model.
fn model_routes() -> Router<Arc<App>> {
    // OpenAI's clients leave out /v1 if their base URL does.
    let openai = Router::new()
        .route("/chat/completions", post(openai::chat::create))
        .route("/chat/completions/render", post(openai::render::chat))
        .route("/completions/render", post(openai::render::completion))
        .route("/embeddings", post(openai::embeddings::create))
        .route("/rerank", post(rerank::rank::create))
        .route("/reranking", post(rerank::rank::create))
        .route("/score", post(rerank::score::create))
        .route("/responses", post(openai::responses::create))
        .route("/responses/render", post(openai::render::response))
        .route("/responses/input_tokens", post(openai::responses::input_tokens::count));
    openai
        .clone()
        .nest("/v1", openai)
        .route("/v1/completions", post(openai::completions::create))
        .route("/v2/rerank", post(rerank::rank::create))
        .route("/v1/messages", post(anthropic::messages::create))
        .route("/v1/messages/render", post(anthropic::messages::render))
        .route("/v1/messages/count_tokens", post(anthropic::count_tokens::count))
        .route("/tokenize", post(tokens::tokenize::tokenize))
        .route("/detokenize", post(tokens::detokenize::detokenize))
        .route("/tokenizer_info", get(tokens::info::tokenizer_info))
        .route("/server_info", get(operation::server_info::server_info))
        .route("/loads", get(operation::loads::loads))
        .route("/v1/loads", get(operation::loads::loads))
        .route("/api/chat", post(ollama::chat::create))
        .route("/api/generate", post(ollama::generate::create))
        .route("/api/embed", post(ollama::embed::create))
        .route("/api/embeddings", post(ollama::embed::create_one))
        .merge(llama_server_routes())
}

/// The routes that describe models, whether they are loaded or not, and those of stored responses.
fn catalog_routes() -> Router<Arc<App>> {
    let openai = Router::new()
        .route("/models", get(openai::models::list))
        .route("/models/{*model}", get(openai::models::one))
        // Without them, the words would be names of models.
        .route("/models/load", any(no_loading))
        .route("/models/unload", any(no_loading))
        // Without it, the name would be an id.
        .route("/responses/compact", any(no_compaction))
        .route(
            "/responses/{id}",
            get(openai::responses::stored::one).delete(openai::responses::stored::delete),
        )
        .route("/responses/{id}/input_items", get(openai::responses::input_items::list));
    let unavailable = || any(ollama::manage::unavailable);
    openai
        .clone()
        .nest("/v1", openai)
        .route("/api/tags", get(ollama::models::list))
        .route("/api/ps", get(ollama::models::running))
        .route("/api/version", get(ollama::models::version))
        .route("/api/show", post(ollama::show::show))
        .route("/api/pull", post(ollama::manage::pull))
        .route("/api/create", unavailable())
        .route("/api/copy", unavailable())
        .route("/api/push", unavailable())
        .route("/api/delete", unavailable())
        .route("/api/blobs/{digest}", unavailable())
}

fn llama_server_routes() -> Router<Arc<App>> {
    let count = || post(llama_server::input_tokens::count);
    let adapters = get(llama_server::lora_adapters::list).post(llama_server::lora_adapters::change);
    Router::new()
        .route("/completion", post(llama_server::completion::create))
        .route("/completions", post(llama_server::completions::create))
        .route("/infill", post(llama_server::infill::create))
        .route("/embedding", post(llama_server::embedding::create))
        .route("/apply-template", post(llama_server::apply_template::apply))
        .route("/chat/completions/input_tokens", count())
        .route("/v1/chat/completions/input_tokens", count())
        .route("/props", get(llama_server::props::props))
        .route("/slots", get(llama_server::slots::list))
        .route("/lora-adapters", adapters)
}

/// Allows requests from pages of these origins; without any, from pages that a loopback address serves.
///
/// It grants other sites nothing: their pages have other origins, and a name that they rebind to this machine is not a
/// loopback name.
fn cors(origins: &[String]) -> CorsLayer {
    let cors = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(tower_http::cors::AllowHeaders::mirror_request())
        .expose_headers([
            HeaderName::from_static("x-request-id"),
            IGNORED_FIELDS,
            UNENFORCED_SCHEMA,
            header::RETRY_AFTER,
        ]);
    match origins {
        [] => cors.allow_origin(AllowOrigin::predicate(|origin, _| is_loopback_origin(origin))),
        origins if origins.iter().any(|origin| origin == "*") => {
            cors.allow_origin(AllowOrigin::mirror_request())
        }
        origins => {
            let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
            cors.allow_origin(origins.collect::<Vec<_>>())
        }
    }
}

fn is_loopback_origin(origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    origin.is_some_and(|origin| {
        matches!(origin.scheme_str(), Some("http" | "https"))
            && origin.host().is_some_and(is_loopback)
    })
}

async fn no_compaction() -> ApiError {
    let message = "responses cannot be compacted by this server; shorten the input";
    ApiError::new(StatusCode::NOT_FOUND, message)
}

async fn no_loading() -> ApiError {
    let message = "inferno serve loads models when it starts, or with --on-demand when a request names them; \
                   keep_alive 0 in a request to /api/generate then unloads one";
    ApiError::new(StatusCode::NOT_FOUND, message)
}

async fn not_found(uri: Uri) -> ApiError {
    let path = uri.path();
    let message = format!("path {path} not found; see /openapi.json for the documented paths");
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

/// Converts errors on the paths of other APIs from OpenAI's format to theirs. Paths without a prefix are llama-server's.
async fn error_formats(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let (is_anthropic, is_openai, is_ollama) =
        (path.starts_with("/v1/messages"), path.starts_with("/v1/"), path.starts_with("/api/"));
    let response = next.run(request).await;
    let Some(error) = response.extensions().get::<ApiError>().cloned() else {
        return response;
    };
    if is_anthropic {
        let body = error.anthropic();
        error.response(&body)
    } else if is_ollama {
        let body = error.ollama();
        error.response(&body)
    } else if is_openai {
        response
    } else {
        let body = error.llama_server();
        error.response(&body)
    }
}
