//! Prompts: strings, tokens, mixtures of both, and several of these.

use inferno_tokenizer::EncodeOptions;
use serde_json::Value;

use crate::ServedModel;
use crate::errors::ApiError;

/// Encoded prompts.
pub(crate) struct Prompts {
    pub tokens: Vec<Vec<u32>>,
    /// Whether the request was for an array of prompts, so that the answer is one, too.
    pub are_many: bool,
}

/// Encodes one prompt or several, from `field`.
///
/// **Errors**: an empty array, a value of another type, images.
pub(crate) fn prompts(
    prompt: &Value,
    field: &str,
    model: &ServedModel,
) -> Result<Prompts, ApiError> {
    match prompt {
        // Numbers are tokens of one prompt, so strings between them are parts of it.
        Value::Array(items) if !items.iter().any(Value::is_number) => {
            if items.is_empty() {
                let message = format!("{field} must not be empty");
                return Err(ApiError::invalid(field, message));
            }
            let items = items.iter().enumerate();
            let tokens =
                items.map(|(index, item)| prompt_tokens(item, &format!("{field}[{index}]"), model));
            Ok(Prompts { tokens: tokens.collect::<Result<_, _>>()?, are_many: true })
        }
        one => Ok(Prompts { tokens: vec![prompt_tokens(one, field, model)?], are_many: false }),
    }
}

/// Encodes the prompt at `path`.
///
/// **Errors**: a value of another type, images.
fn prompt_tokens(prompt: &Value, path: &str, model: &ServedModel) -> Result<Vec<u32>, ApiError> {
    let encode = |text: &str, add_special| {
        let options = EncodeOptions { add_special, parse_special: true };
        model.tokenizer().encode_prompt(text, options)
    };
    match prompt {
        Value::String(text) => Ok(encode(text, true)),
        Value::Array(items) => {
            let mut tokens = Vec::new();
            for (place, item) in items.iter().enumerate() {
                match item {
                    Value::String(text) => tokens.extend(encode(text, place == 0)),
                    item => tokens.push(token(item, &format!("{path}[{place}]"))?),
                }
            }
            Ok(tokens)
        }
        Value::Object(fields) => {
            let has_media = fields.get("multimodal_data").is_some_and(|data| !data.is_null());
            ApiError::reject_given([(
                &format!("{path}.multimodal_data"),
                has_media,
                "this model reads text only",
            )])?;
            match fields.get("prompt_string") {
                Some(Value::String(text)) => Ok(encode(text, true)),
                _ => {
                    let param = format!("{path}.prompt_string");
                    let message = format!("{param} must be a string");
                    Err(ApiError::invalid(param, message))
                }
            }
        }
        _ => {
            let message = format!("{path} must be a string, an array or an object");
            Err(ApiError::invalid(path, message))
        }
    }
}

fn token(item: &Value, path: &str) -> Result<u32, ApiError> {
    let id = item.as_u64().and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| ApiError::invalid(path, format!("{path} must be a token id or a string")))
}
