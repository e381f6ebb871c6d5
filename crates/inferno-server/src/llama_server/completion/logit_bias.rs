//! Logit biases, by tokens or by the text of tokens.

use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::Value;

use crate::errors::ApiError;

/// The strongest finite bias.
const MAX_BIAS: f32 = 100.0;

/// Reads `[[TOKEN, BIAS], …]` or `{TOKEN: BIAS, …}`, whose tokens are ids, or strings that stand for each of their tokens.
/// A bias of false excludes a token.
///
/// **Errors**: a value of another type.
pub(super) fn logit_bias(json: &Value, tokenizer: &Tokenizer) -> Result<Vec<(u32, f32)>, ApiError> {
    let mut biases = Vec::new();
    match json {
        Value::Array(pairs) => {
            for pair in pairs {
                let Some([token, bias]) = pair.as_array().map(Vec::as_slice) else {
                    return Err(invalid());
                };
                let bias = value_of(bias)?;
                match token {
                    Value::String(text) => biases.extend(of_text(text, bias, tokenizer)),
                    id => biases.push((id_of(id)?, bias)),
                }
            }
        }
        Value::Object(pairs) => {
            for (token, bias) in pairs {
                let bias = value_of(bias)?;
                match token.parse() {
                    Ok(id) => biases.push((id, bias)),
                    Err(_) => biases.extend(of_text(token, bias, tokenizer)),
                }
            }
        }
        _ => return Err(invalid()),
    }
    Ok(biases)
}

fn of_text(text: &str, bias: f32, tokenizer: &Tokenizer) -> impl Iterator<Item = (u32, f32)> {
    let tokens = tokenizer.encode(text, EncodeOptions::default());
    tokens.into_iter().map(move |id| (id, bias))
}

fn id_of(json: &Value) -> Result<u32, ApiError> {
    json.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(invalid)
}

fn value_of(json: &Value) -> Result<f32, ApiError> {
    match json {
        Value::Bool(false) => Ok(f32::NEG_INFINITY),
        Value::Number(bias) => {
            let bias = bias.as_f64().unwrap_or_default() as f32;
            Ok(bias.clamp(-MAX_BIAS, MAX_BIAS))
        }
        _ => Err(invalid()),
    }
}

fn invalid() -> ApiError {
    let message = "logit_bias must be an array of [token, bias] or an object {token: bias}, with token ids or strings, and biases \
                   that are numbers or false";
    ApiError::invalid("logit_bias", message)
}
