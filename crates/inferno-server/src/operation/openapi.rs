//! `/openapi.json`: the API description.

mod request_fields;

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::json;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, OpenApi as Description, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi, ToSchema};

use crate::errors::{AnthropicError, OllamaError, OpenAiError};
use crate::state::App;
use crate::{anthropic, llama_server, ollama, openai, operation, rerank, tokens};

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "inferno", description = "The APIs of OpenAI, Anthropic, Ollama and llama-server over one model."),
    paths(
        openai::models::list,
        openai::models::one,
        openai::chat::create,
        openai::render::chat,
        openai::render::completion,
        openai::render::response,
        openai::completions::create,
        openai::embeddings::create,
        rerank::rank::create,
        rerank::score::create,
        openai::responses::create,
        openai::responses::input_tokens::count,
        openai::responses::stored::one,
        openai::responses::stored::delete,
        openai::responses::input_items::list,
        anthropic::messages::create,
        anthropic::messages::render,
        anthropic::count_tokens::count,
        ollama::chat::create,
        ollama::generate::create,
        ollama::embed::create,
        ollama::embed::create_one,
        ollama::models::list,
        ollama::models::running,
        ollama::models::version,
        ollama::show::show,
        ollama::manage::pull,
        llama_server::completion::create,
        llama_server::infill::create,
        llama_server::embedding::create,
        llama_server::apply_template::apply,
        llama_server::input_tokens::count,
        llama_server::props::props,
        llama_server::slots::list,
        llama_server::lora_adapters::list,
        tokens::tokenize::tokenize,
        tokens::detokenize::detokenize,
        tokens::info::tokenizer_info,
        operation::health::health,
        operation::loads::loads,
        operation::server_info::server_info,
        operation::version::version,
        operation::metrics::page,
    ),
    components(schemas(OpenAiError, AnthropicError, OllamaError)),
    modifiers(&OperationIds, &ErrorResponses, &SecuritySchemes)
)]
struct Api;

/// Derives unique operation ids from methods and paths.
struct OperationIds;

/// Adds the error responses that all model endpoints share.
struct ErrorResponses;

/// Adds the ways to send an API key, which is optional.
struct SecuritySchemes;

/// Errors of requests with and without a body.
const ERRORS: &[(&str, &str)] = &[
    ("401", "The API key is missing or invalid."),
    ("403", "The Host header is not allowed."),
    ("404", "The model or the response was not found."),
    ("500", "Internal error."),
    ("503", "The model is loading, the server is shutting down, or it is overloaded."),
];

/// Errors of requests with a body.
const BODY_ERRORS: &[(&str, &str)] = &[
    ("400", "A field is missing, out of range, unknown or unsupported, or the body is not JSON."),
    ("408", "The body was not received in time."),
    ("413", "The body is too large."),
    ("415", "A browser sent a content type other than JSON, or the body is compressed."),
    ("429", "The queue is full; retry after the time in Retry-After."),
    ("504", "The request timed out."),
];

impl Modify for OperationIds {
    fn modify(&self, description: &mut Description) {
        for (path, item) in &mut description.paths.paths {
            let words: Vec<_> =
                path.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
            let path = words.join("_");
            for (method, operation) in operations(item) {
                operation.operation_id = Some(format!("{method}_{path}"));
            }
        }
    }
}

impl Modify for ErrorResponses {
    fn modify(&self, description: &mut Description) {
        for (path, item) in model_paths(description) {
            let schema = match path.as_str() {
                path if path.starts_with("/v1/messages") => AnthropicError::name(),
                path if path.starts_with("/api/") => OllamaError::name(),
                _ => OpenAiError::name(),
            };
            for (_, operation) in operations(item) {
                let has_body = operation.request_body.is_some();
                let body_errors = BODY_ERRORS.iter().filter(|_| has_body);
                ERRORS.iter().chain(body_errors).for_each(|error| add(operation, error, &schema));
            }
        }
    }
}

impl Modify for SecuritySchemes {
    fn modify(&self, description: &mut Description) {
        const SCHEMES: [&str; 2] = ["bearer", "x-api-key"];
        let components = description.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let header = ApiKey::Header(ApiKeyValue::new("x-api-key"));
        components.add_security_scheme(SCHEMES[0], SecurityScheme::Http(bearer));
        components.add_security_scheme(SCHEMES[1], SecurityScheme::ApiKey(header));
        for (_, operation) in model_paths(description).flat_map(|(_, item)| operations(item)) {
            let one = SCHEMES.map(|name| SecurityRequirement::new(name, [""; 0]));
            let none = SecurityRequirement::default();
            operation.security = Some(one.into_iter().chain([none]).collect());
        }
    }
}

/// The model endpoints, which need an API key.
fn model_paths(description: &mut Description) -> impl Iterator<Item = (&String, &mut PathItem)> {
    let paths = description.paths.paths.iter_mut();
    const OPEN: [&str; 3] = ["/health", "/version", "/metrics"];
    paths.filter(|(path, _)| !OPEN.contains(&path.as_str()))
}

/// The operations of a path, by method.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, post, delete, .. } = item;
    let all = [("get", get), ("post", post), ("delete", delete)];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn add(operation: &mut Operation, (status, description): &(&str, &str), schema: &str) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build();
    let response =
        ResponseBuilder::new().description(*description).content("application/json", body);
    operation.responses.responses.insert((*status).to_owned(), response.into());
}

/// Returns the API description in OpenAPI 3.1.
pub(crate) async fn description(State(app): State<Arc<App>>) -> impl IntoResponse {
    let description = app.description.get_or_init(|| {
        let mut description = json!(Api::openapi());
        request_fields::describe(&mut description, app.options.strict_fields);
        description.to_string().into()
    });
    ([(header::CONTENT_TYPE, "application/json")], description.clone())
}
