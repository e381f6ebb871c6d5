//! Fields that `/completion` and `/infill` share.

use inferno_engine::{GenerationParams, StopParams};
use inferno_tokenizer::TokenConstraint;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::logit_bias::logit_bias;
use crate::ServedModel;
use crate::chat::OutputFormat;
use crate::errors::ApiError;
use crate::fields::UnknownFields;
use crate::generation::Job;
use crate::llama_sampling::LlamaSampling;
use crate::openai::sampling::grammar_format;

/// Maximum number of alternatives per token.
const MAX_PROBS: usize = 1000;

/// Maximum number of alternatives of all tokens of an answer that is not streamed, and is built in memory.
const MAX_PROBS_AT_ONCE: usize = 1_000_000;

/// Limits, constraints and what is returned.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct LlamaAnswerFields {
    /// Name of the model (default: the served model).
    pub model: Option<String>,
    /// Maximum number of generated tokens; -1 for the rest of the context, which is the default; 0 only reads the prompt.
    n_predict: Option<i64>,
    /// Another name of `n_predict`.
    max_tokens: Option<i64>,
    /// Streams the answer as server-sent events.
    pub stream: Option<bool>,
    /// Constrains the answer to a JSON schema.
    json_schema: Option<Value>,
    /// Constrains the answer to a grammar.
    grammar: Option<String>,
    /// Continues after end-of-generation tokens.
    ignore_eos: Option<bool>,
    /// `[[TOKEN, BIAS], …]` or `{TOKEN: BIAS, …}`: tokens are ids or strings, a bias of false excludes a token.
    #[schema(value_type = Option<Object>)]
    logit_bias: Option<Value>,
    /// Returns the log-probability of each token, and of this many alternatives.
    #[schema(maximum = 1000)]
    n_probs: Option<usize>,
    /// Returns the generated tokens.
    pub return_tokens: Option<bool>,
    /// Returns only these fields; those of nested objects as `generation_settings/n_predict`.
    pub response_fields: Option<Vec<String>>,
    /// Adds the timings so far to each part of a stream.
    pub timings_per_token: Option<bool>,
    /// In a stream, reports how much of the prompt has been processed.
    return_progress: Option<bool>,
}

impl LlamaAnswerFields {
    /// The engine's requests for these prompts.
    ///
    /// **Errors**: an invalid or unsupported field; a schema or grammar that does not compile.
    pub fn jobs(
        &self,
        prompts: &[Vec<u32>],
        sampling: &LlamaSampling,
        model: &ServedModel,
        unknown: &UnknownFields,
    ) -> Result<Vec<Job>, ApiError> {
        let num_places = model.handle.options().max_num_waiting;
        if prompts.len() > num_places {
            let found = prompts.len();
            let message = format!(
                "there are {found} prompts, but at most {num_places} requests may wait; send fewer prompts"
            );
            return Err(ApiError::invalid("prompt", message));
        }
        let mut params = self.params(sampling, model)?;
        self.limit_probs(prompts.len(), &mut params, model)?;
        let constraint = self.constraint(model, unknown)?;
        // The engine only reads the prompt if its log-probabilities are requested.
        let prompt_logprobs = (params.stop.max_tokens == Some(0)).then_some(0);
        let job = |prompt: &Vec<u32>| Job {
            prompt: prompt.clone(),
            params: params.clone(),
            prompt_logprobs,
            reports_progress: self.return_progress == Some(true) && self.stream == Some(true),
            num_choices: 1,
            priority: 0,
            constraint: constraint.as_ref().map(|constraint| constraint.fork()),
        };
        Ok(prompts.iter().map(job).collect())
    }

    /// Limits the tokens of an answer in one piece, so that it has at most [`MAX_PROBS_AT_ONCE`] alternatives.
    ///
    /// **Errors**: an `n_predict` that exceeds this limit.
    fn limit_probs(
        &self,
        num_prompts: usize,
        params: &mut GenerationParams,
        model: &ServedModel,
    ) -> Result<(), ApiError> {
        let num_probs = params.sampling.logprobs.unwrap_or(0) * num_prompts;
        if self.stream == Some(true) || num_probs == 0 {
            return Ok(());
        }
        let most = (MAX_PROBS_AT_ONCE / num_probs).max(1);
        match params.stop.max_tokens {
            Some(max_tokens) if max_tokens.min(model.handle.context_length()) > most => {
                let message = format!(
                    "answers with {num_probs} alternatives per token have at most {most} tokens unless they are streamed; set a \
                     smaller n_predict or n_probs, or stream"
                );
                Err(ApiError::invalid("n_probs", message))
            }
            Some(_) => Ok(()),
            None => {
                params.stop.max_tokens = Some(most);
                Ok(())
            }
        }
    }

    fn params(
        &self,
        sampling: &LlamaSampling,
        model: &ServedModel,
    ) -> Result<GenerationParams, ApiError> {
        let mut params = sampling.params(&model.info.sampling)?;
        if let Some(json) = &self.logit_bias {
            params.logit_bias = logit_bias(json, model.tokenizer())?;
            params.validate()?;
        }
        if self.n_probs.is_some_and(|count| count > MAX_PROBS) {
            return Err(ApiError::invalid(
                "n_probs",
                format!("n_probs must be at most {MAX_PROBS}"),
            ));
        }
        params.logprobs = self.n_probs.filter(|&count| count > 0);
        let n_predict = self.n_predict.or(self.max_tokens);
        let stop = StopParams {
            max_tokens: n_predict.and_then(|count| usize::try_from(count).ok()),
            stop: sampling.stop(),
            ignore_eos: self.ignore_eos == Some(true),
            ..StopParams::default()
        };
        if stop.max_tokens != Some(0) {
            stop.validate()?;
        }
        Ok(GenerationParams { sampling: params, stop, ..GenerationParams::default() })
    }

    fn constraint(
        &self,
        model: &ServedModel,
        unknown: &UnknownFields,
    ) -> Result<Option<Box<dyn TokenConstraint>>, ApiError> {
        let grammar = self.grammar.as_ref().filter(|grammar| !grammar.is_empty());
        let (format, field) = match (&self.json_schema, grammar) {
            (None, None) => return Ok(None),
            (Some(schema), None) => (OutputFormat::JsonSchema(schema.clone()), "json_schema"),
            (None, Some(grammar)) => (grammar_format(grammar, "grammar")?, "grammar"),
            (Some(_), Some(_)) => {
                let message = "json_schema and grammar are mutually exclusive";
                return Err(ApiError::invalid("grammar", message));
            }
        };
        model.constraint(&format, field, unknown)
    }
}
