//! `/openapi.json`: the description of all of it.

use axum::Json;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, OpenApi as Description, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi, ToSchema};

use crate::errors::{AnthropicError, OpenAiError};
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
        openai::embeddings::create,
        openai::responses::create,
        openai::responses::input_tokens::count,
        openai::responses::kept::one,
        openai::responses::kept::delete,
        openai::responses::input_items::list,
        anthropic::messages::create,
        anthropic::count_tokens::count,
        tokens::tokenize::tokenize,
        tokens::detokenize::detokenize,
        operation::health::health,
        operation::version::version,
        operation::metrics::page,
    ),
    components(schemas(OpenAiError, AnthropicError)),
    modifiers(&Names, &Refusals, &Keys)
)]
struct Api;

/// Names each operation by its method and its path, as no two may have one name.
struct Names;

/// Describes how requests are refused, which is the same for all that the model is asked for.
struct Refusals;

/// Describes how keys are shown, which a server without any does not ask for.
struct Keys;

/// Of requests with and without a body.
const REFUSALS: &[(&str, &str)] = &[
    ("401", "No key was shown, or one that is not the server's."),
    ("404", "There is no such model, or no such response."),
    ("500", "The server made a mistake."),
    ("503", "The model is being loaded, the server stops, or there are too many connections."),
];

/// Of requests with a body.
const REFUSALS_OF_BODIES: &[(&str, &str)] = &[
    ("400", "A field is missing, out of range, unknown, or not honoured; or the body is no JSON."),
    ("408", "The body did not come in time."),
    ("413", "The body is too large."),
    ("415", "The body's content type is not JSON."),
    ("429", "Too many requests wait; the header Retry-After says when to come again."),
    ("504", "The answer took longer than the server allows."),
];

impl Modify for Names {
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

impl Modify for Refusals {
    fn modify(&self, description: &mut Description) {
        for (path, item) in of_model(description) {
            let schema = match path.starts_with("/v1/messages") {
                true => AnthropicError::name(),
                false => OpenAiError::name(),
            };
            for (_, operation) in operations(item) {
                let of_body = operation.request_body.is_some();
                let further = REFUSALS_OF_BODIES.iter().filter(|_| of_body);
                REFUSALS.iter().chain(further).for_each(|refusal| add(operation, refusal, &schema));
            }
        }
    }
}

impl Modify for Keys {
    fn modify(&self, description: &mut Description) {
        const SCHEMES: [&str; 2] = ["bearer", "x-api-key"];
        let components = description.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let header = ApiKey::Header(ApiKeyValue::new("x-api-key"));
        components.add_security_scheme(SCHEMES[0], SecurityScheme::Http(bearer));
        components.add_security_scheme(SCHEMES[1], SecurityScheme::ApiKey(header));
        for (_, operation) in of_model(description).flat_map(|(_, item)| operations(item)) {
            let one = SCHEMES.map(|name| SecurityRequirement::new(name, [""; 0]));
            let none = SecurityRequirement::default();
            operation.security = Some(one.into_iter().chain([none]).collect());
        }
    }
}

/// The paths that ask the model, which keys guard.
fn of_model(description: &mut Description) -> impl Iterator<Item = (&String, &mut PathItem)> {
    let paths = description.paths.paths.iter_mut();
    paths.filter(|(path, _)| path.starts_with("/v1/") || path.ends_with("tokenize"))
}

/// The operations of a path, by their methods.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, post, delete, .. } = item;
    let all = [("get", get), ("post", post), ("delete", delete)];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn add(operation: &mut Operation, (status, why): &(&str, &str), schema: &str) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build();
    let response = ResponseBuilder::new().description(*why).content("application/json", body);
    operation.responses.responses.insert((*status).to_owned(), response.into());
}

/// The description of the API, as OpenAPI 3.1.
pub(crate) async fn description() -> Json<Description> {
    Json(Api::openapi())
}
