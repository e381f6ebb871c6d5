//! The options of a generation.

use std::time::{Duration, Instant};

use inferno::{
    DryParams, GenerationParams, LoadedModel, OutputFormat, Request, SamplingParams, StopParams,
    TokenConstraint,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::arguments::{Json, LogitBias, OneOrMore, TopK, keyword_arguments};
use crate::errors::{engine_exception, exception, invalid};

keyword_arguments! {
    /// The options of a generation, as in vLLM's and OpenAI's APIs.
    GenerationArguments {
        max_tokens: usize,
        min_tokens: usize,
        temperature: f32,
        top_k: TopK,
        top_p: f32,
        min_p: f32,
        typical_p: f32,
        repetition_penalty: f32,
        frequency_penalty: f32,
        presence_penalty: f32,
        dry_multiplier: f32,
        dry_base: f32,
        dry_allowed_length: usize,
        dry_penalty_last_n: i64,
        dry_sequence_breakers: Vec<String>,
        logit_bias: LogitBias,
        seed: u64,
        logprobs: usize,
        stop: OneOrMore,
        stop_token_ids: Vec<u32>,
        ignore_eos: bool,
        include_stop_str_in_output: bool,
        skip_special_tokens: bool,
        prompt_logprobs: usize,
        json_schema: Json,
        regex: String,
        grammar: String,
        choice: Vec<String>,
        priority: i32,
        timeout: f64,
    }
}

impl GenerationArguments {
    /// Completes the arguments with the sampling parameters that the model's file recommends.
    ///
    /// **Errors**: a file with invalid recommendations.
    pub fn params(&mut self, model: &LoadedModel) -> PyResult<GenerationParams> {
        let recommended = SamplingParams::recommended(model.checkpoint().metadata());
        let recommended = recommended.map_err(|error| engine_exception(&error))?;
        let base = recommended.for_temperature(self.temperature);
        let sampling = SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.as_ref().map_or(base.top_k, |TopK(k)| *k),
            top_p: self.top_p.unwrap_or(base.top_p),
            min_p: self.min_p.unwrap_or(base.min_p),
            typical_p: self.typical_p.unwrap_or(base.typical_p),
            repetition_penalty: self.repetition_penalty.unwrap_or(base.repetition_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(base.frequency_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(base.presence_penalty),
            dry: self.dry(base.dry),
            logit_bias: self.logit_bias.take().into_iter().flat_map(|LogitBias(it)| it).collect(),
            seed: self.seed,
            logprobs: self.logprobs,
        };
        let stop = StopParams {
            max_tokens: self.max_tokens,
            min_tokens: self.min_tokens.unwrap_or_default(),
            stop: self.stop.take().map(Vec::from).unwrap_or_default(),
            stop_token_ids: self.stop_token_ids.take().unwrap_or_default(),
            ignore_eos: self.ignore_eos.unwrap_or_default(),
            include_stop_str_in_output: self.include_stop_str_in_output.unwrap_or_default(),
        };
        let skip_special_tokens = self.skip_special_tokens.unwrap_or(true);
        Ok(GenerationParams { sampling, stop, skip_special_tokens, ..Default::default() })
    }

    fn dry(&mut self, base: DryParams) -> DryParams {
        DryParams {
            multiplier: self.dry_multiplier.unwrap_or(base.multiplier),
            base: self.dry_base.unwrap_or(base.base),
            allowed_length: self.dry_allowed_length.unwrap_or(base.allowed_length),
            // Negative for all tokens.
            penalty_last_n: (self.dry_penalty_last_n)
                .map_or(base.penalty_last_n, |count| usize::try_from(count).ok()),
            sequence_breakers: self.dry_sequence_breakers.take().unwrap_or(base.sequence_breakers),
        }
    }

    /// Compiles the format of the output, without the interpreter's lock.
    ///
    /// **Errors**: several formats; an invalid or too complex one.
    pub fn constraint(
        &mut self,
        py: Python<'_>,
        model: &LoadedModel,
    ) -> PyResult<Option<Box<dyn TokenConstraint>>> {
        let formats = [
            self.json_schema.take().map(schema).transpose()?.map(OutputFormat::JsonSchema),
            self.regex.take().map(OutputFormat::Regex),
            self.grammar.take().map(OutputFormat::Lark),
            self.choice.take().map(OutputFormat::Choice),
        ];
        let mut formats = formats.into_iter().flatten();
        let format = formats.next().unwrap_or_default();
        if formats.next().is_some() {
            return Err(invalid("pass only one of json_schema, regex, grammar and choice"));
        }
        py.detach(|| model.constraint(&format)).map_err(|error| exception(&error))
    }
}

/// The schema, also if it is the text of one.
///
/// **Errors**: a text that is not JSON.
fn schema(Json(schema): Json) -> PyResult<Value> {
    match schema {
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|error| invalid(format!("json_schema is not valid JSON: {error}"))),
        schema => Ok(schema),
    }
}

/// Builds a request to the engine.
///
/// **Errors**: as [`GenerationArguments`] and its methods; a timeout that is no duration.
pub(crate) fn request(
    py: Python<'_>,
    model: &LoadedModel,
    prompt: Vec<u32>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Request> {
    let mut arguments = GenerationArguments::read(options)?;
    let constraint = arguments.constraint(py, model)?;
    let generation = arguments.params(model)?;
    Ok(Request {
        prompt_logprobs: arguments.prompt_logprobs,
        priority: arguments.priority.unwrap_or_default(),
        deadline: arguments.timeout.map(deadline).transpose()?,
        constraint,
        ..Request::new(prompt, generation)
    })
}

fn deadline(seconds: f64) -> PyResult<Instant> {
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration.and_then(|duration| Instant::now().checked_add(duration)).ok_or_else(|| {
        invalid(format!("timeout must be a number of seconds from 0 on, but is {seconds}"))
    })
}
