//! Describes the policy on request fields: the accepted values of unimplemented fields, and whether unknown fields are ignored.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::anthropic::count_tokens::CountTokensRequest;
use crate::anthropic::messages::MessagesRequest;
use crate::fields::{Accepts, FieldTable, NoOp, UnimplementedField};
use crate::llama_server::completion::LlamaCompletionRequest;
use crate::llama_server::embedding::LlamaEmbeddingRequest;
use crate::llama_server::infill::LlamaInfillRequest;
use crate::ollama::chat::OllamaChatRequest;
use crate::ollama::embed::{OllamaEmbedRequest, OllamaEmbeddingRequest};
use crate::ollama::generate::OllamaGenerateRequest;
use crate::ollama::show::OllamaModelName;
use crate::openai::chat::ChatCompletionRequest;
use crate::openai::completions::CompletionRequest;
use crate::openai::embeddings::EmbeddingsRequest;
use crate::openai::messages::MessageField;
use crate::openai::responses::ResponsesRequest;
use crate::request::RequestBody;
use crate::rerank::rank::RerankRequest;
use crate::rerank::score::ScoreRequest;
use crate::tokens::detokenize::DetokenizeRequest;
use crate::tokens::tokenize::TokenizeRequest;

/// Requests by the name of their schema.
fn requests() -> [(Cow<'static, str>, &'static [FieldTable]); 18] {
    fn entry<T: RequestBody + ToSchema>() -> (Cow<'static, str>, &'static [FieldTable]) {
        (T::name(), T::UNIMPLEMENTED)
    }
    [
        entry::<ChatCompletionRequest>(),
        entry::<CompletionRequest>(),
        entry::<ResponsesRequest>(),
        entry::<EmbeddingsRequest>(),
        entry::<RerankRequest>(),
        entry::<ScoreRequest>(),
        entry::<MessagesRequest>(),
        entry::<CountTokensRequest>(),
        entry::<TokenizeRequest>(),
        entry::<DetokenizeRequest>(),
        entry::<OllamaChatRequest>(),
        entry::<OllamaGenerateRequest>(),
        entry::<OllamaEmbedRequest>(),
        entry::<OllamaEmbeddingRequest>(),
        entry::<OllamaModelName>(),
        entry::<LlamaCompletionRequest>(),
        entry::<LlamaInfillRequest>(),
        entry::<LlamaEmbeddingRequest>(),
    ]
}

/// Completes the schemas of all requests.
pub(super) fn describe(description: &mut Value, is_strict: bool) {
    let Some(schemas) = description["components"]["schemas"].as_object_mut() else {
        return;
    };
    for (name, tables) in requests() {
        if let Some(schema) = schemas.get_mut(name.as_ref()) {
            describe_request(schema, tables, is_strict);
        }
    }
    require_one_of(schemas, &TokenizeRequest::name(), &["prompt", "messages", "content"]);
    require_one_of(schemas, &MessageField::name(), &["content", "tool_calls", "refusal"]);
}

fn describe_request(schema: &mut Value, tables: &[FieldTable], is_strict: bool) {
    let mut fields = json!({"type": "object", "properties": {}});
    for field in tables.iter().copied().flatten() {
        insert(&mut fields, field.path, field_schema(field));
    }
    let text = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    let original = schema.take();
    *schema = json!({"allOf": [original, fields]});
    if let Some(text) = text {
        schema["description"] = text;
    }
    match is_strict {
        true => schema["unevaluatedProperties"] = json!(false),
        false => schema["additionalProperties"] = json!(true),
    }
}

/// Adds the schema of a field at a path, such as `reasoning.summary`, to the schema of an object.
fn insert(object: &mut Value, path: &str, schema: Value) {
    match path.split_once('.') {
        None => object["properties"][path] = schema,
        Some((name, rest)) => insert(&mut object["properties"][name], rest, schema),
    }
}

fn field_schema(field: &UnimplementedField) -> Value {
    let reason = field.reason;
    match field.accepts {
        Accepts::Anything => json!({"description": format!("Accepted without effect: {reason}.")}),
        Accepts::Hint(_) => json!({"description": format!("Ignored and reported: {reason}.")}),
        Accepts::Only(values) => {
            let accepted = values.iter().flat_map(|&value| value_schemas(value));
            let accepted: Vec<_> = [json!({"type": "null"})].into_iter().chain(accepted).collect();
            json!({
                "description": format!("Other values are rejected: {reason}."),
                "anyOf": accepted,
            })
        }
    }
}

fn value_schemas(value: NoOp) -> Vec<Value> {
    match value {
        NoOp::Bool(value) => vec![json!({"const": value})],
        NoOp::Number(value) => vec![json!({"const": value})],
        NoOp::Text(value) => vec![json!({"const": value})],
        NoOp::ArrayOf(values) => vec![json!({"type": "array", "items": {"enum": values}})],
        NoOp::Empty => vec![
            json!({"type": "array", "maxItems": 0}),
            json!({"type": "object", "maxProperties": 0}),
            json!({"type": "string", "maxLength": 0}),
        ],
    }
}

/// Requires at least one of these fields.
fn require_one_of(schemas: &mut Map<String, Value>, name: &str, fields: &[&str]) {
    if let Some(schema) = schemas.get_mut(name) {
        let alternatives = fields.iter().map(|field| json!({"required": [field]}));
        schema["anyOf"] = alternatives.collect();
    }
}
