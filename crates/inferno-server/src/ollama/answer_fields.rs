//! Fields that chats and generations share.

use inferno_engine::{GenerationParams, StopParams};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::ServedModel;
use crate::chat::{ENABLE_THINKING, OutputFormat};
use crate::errors::{ApiError, shortened};
use crate::fields::ollama::ANSWER;
use crate::fields::{UnknownFields, is_listed};
use crate::llama_sampling::LlamaSampling;
use crate::request::to_integer;

/// Efforts of reasoning.
const EFFORTS: [&str; 4] = ["low", "medium", "high", "max"];

/// How to answer.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct OllamaAnswerFields {
    /// Name of the model (default: the served model).
    pub model: Option<String>,
    /// Streams the answer, one JSON object per line (default: true).
    pub stream: Option<bool>,
    /// `json` for any JSON object, or a JSON schema.
    format: Option<Value>,
    /// Sampling parameters and limits: `temperature`, `top_k`, `top_p`, `min_p`, `typical_p`, `repeat_penalty`,
    /// `repeat_last_n`, `presence_penalty`, `frequency_penalty`, `seed`, `stop`, `num_predict`. Unknown ones are ignored and
    /// reported, as are those about how the model is loaded.
    options: Option<Map<String, Value>>,
    /// Switches reasoning on or off, or sets its effort: `low`, `medium`, `high` or `max`.
    think: Option<Value>,
}

/// The option of [`OllamaLimits`].
const NUM_PREDICT: &str = "num_predict";

/// Limits in `options`.
#[derive(Debug, Default, Deserialize)]
struct OllamaLimits {
    /// Maximum number of generated tokens; the rest of the context if it is not positive.
    num_predict: Option<i64>,
}

impl OllamaAnswerFields {
    pub fn is_streamed(&self) -> bool {
        self.stream.unwrap_or(true)
    }

    /// Generation parameters, with the model's recommended defaults.
    ///
    /// **Errors**: an option of the wrong type, or that is unsupported or out of range; in strict mode, an unknown option.
    pub fn params(
        &self,
        model: &ServedModel,
        unknown: &UnknownFields,
    ) -> Result<GenerationParams, ApiError> {
        let mut options = self.options.clone().unwrap_or_default();
        options.values_mut().for_each(to_integer);
        options.retain(|name, _| !is_listed(&[ANSWER], &format!("options.{name}")));
        let limits = options.remove(NUM_PREDICT).unwrap_or_default();
        let limits: OllamaLimits = unknown.read(&json!({NUM_PREDICT: limits}), "options")?;
        let sampling: LlamaSampling = unknown.read(&Value::Object(options), "options")?;
        let max_tokens = limits.num_predict.filter(|&count| count > 0);
        let stop = StopParams {
            max_tokens: max_tokens.and_then(|count| usize::try_from(count).ok()),
            stop: sampling.stop(),
            ..StopParams::default()
        };
        stop.validate()?;
        let sampling = sampling.params(&model.info.sampling)?;
        Ok(GenerationParams { sampling, stop, ..GenerationParams::default() })
    }

    /// The format of the answer.
    ///
    /// **Errors**: a format that is neither `json` nor a schema.
    pub fn format(&self) -> Result<OutputFormat, ApiError> {
        match &self.format {
            None => Ok(OutputFormat::Text),
            Some(Value::String(name)) if name.is_empty() => Ok(OutputFormat::Text),
            Some(Value::String(name)) if name == "json" => Ok(OutputFormat::json_object()),
            Some(schema @ Value::Object(_)) => Ok(OutputFormat::JsonSchema(schema.clone())),
            Some(_) => Err(ApiError::invalid("format", "format must be \"json\" or a JSON schema")),
        }
    }

    /// The reasoning effort: a hint, which templates may not support.
    pub fn effort(&self) -> Option<String> {
        self.think.as_ref()?.as_str().map(str::to_owned)
    }

    /// The template variables for reasoning.
    ///
    /// **Errors**: a value that is neither a boolean nor an effort.
    pub fn variables(&self) -> Result<Map<String, Value>, ApiError> {
        let mut variables = Map::new();
        match &self.think {
            None => {}
            Some(Value::String(effort)) if EFFORTS.contains(&effort.as_str()) => {}
            Some(Value::Bool(thinks)) => {
                variables.insert(ENABLE_THINKING.to_owned(), json!(thinks));
            }
            Some(found) => {
                let found = shortened(&found.to_string());
                let message = format!(
                    "think must be true, false, \"low\", \"medium\", \"high\" or \"max\", but is {found}"
                );
                return Err(ApiError::invalid("think", message));
            }
        }
        Ok(variables)
    }
}
