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

/// Encodes one prompt or several, from `field`. `encode` encodes a string, given whether a prompt begins with it.
///
/// **Errors**: an empty array, a value of another type, images and other media.
pub(crate) fn prompts(
    prompt: &Value,
    field: &str,
    encode: impl Fn(&str, bool) -> Vec<u32>,
) -> Result<Prompts, ApiError> {
    match prompt {
        // Numbers are tokens of one prompt, so strings between them are parts of it.
        Value::Array(items) if !items.iter().any(Value::is_number) => {
            if items.is_empty() {
                let message = format!("{field} must not be empty");
                return Err(ApiError::invalid(field, message));
            }
            let items = items.iter().enumerate();
            let tokens = items
                .map(|(index, item)| prompt_tokens(item, &format!("{field}[{index}]"), &encode));
            Ok(Prompts { tokens: tokens.collect::<Result<_, _>>()?, are_many: true })
        }
        one => Ok(Prompts { tokens: vec![prompt_tokens(one, field, &encode)?], are_many: false }),
    }
}

/// Encodes a string of a prompt that is completed.
pub(crate) fn encode_completed(model: &ServedModel) -> impl Fn(&str, bool) -> Vec<u32> {
    |text, is_first| {
        let options = EncodeOptions { add_special: is_first, parse_special: true };
        model.tokenizer().encode_prompt(text, options)
    }
}

/// Encodes the prompt at `path`.
///
/// **Errors**: a value of another type, images and other media.
fn prompt_tokens(
    prompt: &Value,
    path: &str,
    encode: &impl Fn(&str, bool) -> Vec<u32>,
) -> Result<Vec<u32>, ApiError> {
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
            match (fields.get("prompt_string"), fields.get("content")) {
                (Some(Value::String(text)), None) => Ok(encode(text, true)),
                (None, Some(Value::Array(parts))) => {
                    Ok(encode(&joined_text(parts, &format!("{path}.content"))?, true))
                }
                _ => {
                    let message =
                        format!("{path} must have a prompt_string or an array of content parts");
                    Err(ApiError::invalid(path, message))
                }
            }
        }
        _ => {
            let message = format!("{path} must be a string, an array or an object");
            Err(ApiError::invalid(path, message))
        }
    }
}

/// The text of content parts.
///
/// **Errors**: parts that are not text.
fn joined_text(parts: &[Value], path: &str) -> Result<String, ApiError> {
    let text = |(place, part): (usize, &Value)| match (part["type"].as_str(), part["text"].as_str())
    {
        (Some("text"), Some(text)) => Ok(text.to_owned()),
        _ => Err(ApiError::unsupported(format!("{path}[{place}]"), "this model reads text only")),
    };
    parts.iter().enumerate().map(text).collect()
}

fn token(item: &Value, path: &str) -> Result<u32, ApiError> {
    let id = item.as_u64().and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| ApiError::invalid(path, format!("{path} must be a token id or a string")))
}
