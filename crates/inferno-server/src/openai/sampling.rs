//! Fields that chat and text completions share: OpenAI's, and vLLM's additional ones.

use std::collections::BTreeMap;

use inferno_engine::{DryParams, GenerationParams, SamplingParams, StopParams};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::Limits;
use crate::chat::OutputFormat;
use crate::errors::ApiError;
use crate::llama_sampling::last_n;

/// Bytes of a grammar in a request; rules take longer to compile than a schema of the same size.
const MAX_LARK_BYTES: usize = 64 << 10;

/// Sampling, stop conditions and streaming.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct SamplingFields {
    /// Name of the model (default: the served model).
    pub model: Option<String>,
    /// Sampling temperature; higher values are more random, 0 is greedy.
    #[schema(minimum = 0.0)]
    temperature: Option<f32>,
    /// Nucleus sampling: samples from the most probable tokens whose probabilities add up to this.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    top_p: Option<f32>,
    /// Samples from this many of the most probable tokens; 0 or -1 for all.
    #[schema(minimum = -1)]
    top_k: Option<i64>,
    /// Minimum probability of a token, relative to the most probable one.
    #[schema(minimum = 0.0, maximum = 1.0)]
    min_p: Option<f32>,
    /// Penalty on a token's logit for each time that it was generated.
    #[schema(minimum = -2.0, maximum = 2.0)]
    frequency_penalty: Option<f32>,
    /// Penalty on a token's logit if it was generated before.
    #[schema(minimum = -2.0, maximum = 2.0)]
    presence_penalty: Option<f32>,
    /// Penalizes tokens of the prompt and the answer; above 1, they become less likely.
    #[schema(exclusive_minimum = 0.0)]
    repetition_penalty: Option<f32>,
    /// llama.cpp's name of `repetition_penalty`.
    #[schema(exclusive_minimum = 0.0)]
    repeat_penalty: Option<f32>,
    /// Locally typical sampling: the probability mass of the most typical tokens to sample from; 1 for all.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    typical_p: Option<f32>,
    /// Penalizes tokens that would continue a repetition (DRY); 0 disables it.
    #[schema(minimum = 0.0)]
    dry_multiplier: Option<f32>,
    /// Growth of the DRY penalty with each repeated token.
    #[schema(minimum = 1.0)]
    dry_base: Option<f32>,
    /// Length from which on DRY penalizes repetitions, in tokens.
    dry_allowed_length: Option<usize>,
    /// Number of last tokens in which DRY searches repetitions; negative for all, 0 disables it.
    dry_penalty_last_n: Option<i64>,
    /// Strings that end repetitions for DRY.
    #[schema(max_items = 32)]
    dry_sequence_breakers: Option<Vec<String>>,
    /// Biases that are added to logits, from -100 to 100, by token id.
    logit_bias: Option<BTreeMap<String, f32>>,
    /// Seed; the same request with the same seed returns the same answer.
    seed: Option<i64>,
    /// One or more stop sequences.
    #[schema(value_type = Option<StopTexts>)]
    stop: Option<StopTexts>,
    /// Stop tokens.
    stop_token_ids: Option<Vec<u32>>,
    /// Minimum number of generated tokens.
    min_tokens: Option<usize>,
    /// Continues after end-of-generation tokens.
    ignore_eos: Option<bool>,
    /// Includes the stop sequence in the answer.
    include_stop_str_in_output: Option<bool>,
    /// SGLang's name of `include_stop_str_in_output`, which routers send.
    no_stop_trim: Option<bool>,
    /// Omits control tokens from the answer (default: true).
    skip_special_tokens: Option<bool>,
    /// Number of choices (default: 1).
    #[schema(minimum = 1)]
    n: Option<usize>,
    /// Scheduling priority; lower values are scheduled first. Ignored unless the server runs with `--allow-priority`.
    priority: Option<i32>,
    /// Streams the answer as server-sent events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Returns `timings`, in the format of llama-server; in a stream of a chat, those so far with each chunk.
    timings_per_token: Option<bool>,
    /// In a stream, reports how much of the prompt has been processed as `prompt_progress`, in the format of llama-server. Not
    /// for `/v1/completions`.
    return_progress: Option<bool>,
    /// Constrains the answer to a schema, expression, list or grammar.
    structured_outputs: Option<StructuredOutputs>,
    /// llama-server's name of `structured_outputs.json`.
    json_schema: Option<Value>,
    /// llama-server's name of `structured_outputs.grammar`.
    grammar: Option<String>,
    /// An identifier of the end user; ignored.
    pub user: Option<String>,
}

/// One or more stop sequences.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
pub(crate) enum StopTexts {
    One(String),
    Many(Vec<String>),
}

impl StopTexts {
    pub fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Options of a stream.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Sends the total usage in a last chunk without choices.
    include_usage: Option<bool>,
    /// With `include_usage`: sends the usage so far of its choice with each chunk.
    continuous_usage_stats: Option<bool>,
}

/// A constraint on the answer: exactly one of these.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct StructuredOutputs {
    /// A JSON schema, as an object or a string.
    json: Option<Value>,
    /// Any JSON object.
    json_object: Option<bool>,
    /// A regular expression that the whole answer matches.
    regex: Option<String>,
    /// Possible answers.
    choice: Option<Vec<String>>,
    /// A grammar in llguidance's dialect of Lark, or in GBNF.
    grammar: Option<String>,
}

/// What a stream includes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Streaming {
    /// The total usage at the end.
    pub include_usage: bool,
    /// The usage so far of a choice with each of its chunks.
    pub continuous_usage: bool,
    /// The timings so far with each chunk.
    pub timings: bool,
}

impl SamplingFields {
    /// The options of the stream, if the answer is to be streamed.
    ///
    /// **Errors**: `stream_options` without `stream`.
    pub fn streaming(&self) -> Result<Option<Streaming>, ApiError> {
        match (self.stream, &self.stream_options) {
            (Some(true), None) => {
                let timings = self.has_timings();
                Ok(Some(Streaming { timings, ..Streaming::default() }))
            }
            (Some(true), Some(options)) => {
                let include_usage = options.include_usage == Some(true);
                let continuous_usage =
                    include_usage && options.continuous_usage_stats == Some(true);
                let timings = self.has_timings();
                Ok(Some(Streaming { include_usage, continuous_usage, timings }))
            }
            (_, None) => Ok(None),
            (_, Some(_)) => {
                let message = "stream_options is only allowed when stream is true";
                Err(ApiError::invalid("stream_options", message))
            }
        }
    }

    /// Whether timings are returned.
    pub fn has_timings(&self) -> bool {
        self.timings_per_token == Some(true)
    }

    /// Whether the progress of the prompt is reported.
    pub fn reports_progress(&self) -> bool {
        self.return_progress == Some(true) && self.stream == Some(true)
    }

    /// Number of choices per prompt.
    pub fn n(&self) -> usize {
        self.n.unwrap_or(1)
    }

    /// Number of choices per prompt, checked.
    ///
    /// **Errors**: 0, or more than the server allows.
    pub fn num_choices(&self, num_prompts: usize, limits: &Limits) -> Result<usize, ApiError> {
        check_num_choices("n", self.n(), num_prompts, limits)?;
        Ok(self.n())
    }

    pub fn priority(&self) -> i32 {
        self.priority.unwrap_or(0)
    }

    /// Generation parameters, with the model's recommended defaults.
    ///
    /// **Errors**: a field that is out of range, by name.
    pub fn params(
        &self,
        recommended: &SamplingParams,
        max_tokens: Option<usize>,
        logprobs: Option<usize>,
    ) -> Result<GenerationParams, ApiError> {
        let base = recommended.for_temperature(self.temperature);
        let sampling = SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.map_or(Ok(base.top_k), top_k)?,
            top_p: self.top_p.unwrap_or(base.top_p),
            min_p: self.min_p.unwrap_or(base.min_p),
            typical_p: self.typical_p.unwrap_or(base.typical_p),
            repetition_penalty: (self.repetition_penalty.or(self.repeat_penalty))
                .unwrap_or(base.repetition_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(base.frequency_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(base.presence_penalty),
            dry: DryParams {
                multiplier: self.dry_multiplier.unwrap_or(base.dry.multiplier),
                base: self.dry_base.unwrap_or(base.dry.base),
                allowed_length: self.dry_allowed_length.unwrap_or(base.dry.allowed_length),
                penalty_last_n: self.dry_penalty_last_n.map_or(base.dry.penalty_last_n, last_n),
                sequence_breakers: (self.dry_sequence_breakers.clone())
                    .unwrap_or(base.dry.sequence_breakers),
            },
            logit_bias: match &self.logit_bias {
                Some(biases) => biases.iter().map(bias).collect::<Result<_, _>>()?,
                None => base.logit_bias,
            },
            // Negative seeds are valid as well.
            seed: self.seed.map(i64::cast_unsigned).or(base.seed),
            logprobs,
        };
        sampling.validate()?;
        let stop = StopParams {
            max_tokens,
            min_tokens: self.min_tokens.unwrap_or(0),
            stop: self.stop.clone().map_or_else(Vec::new, StopTexts::into_vec),
            stop_token_ids: self.stop_token_ids.clone().unwrap_or_default(),
            ignore_eos: self.ignore_eos.unwrap_or(false),
            include_stop_str_in_output: self.include_stop_str_in_output == Some(true)
                || self.no_stop_trim == Some(true),
        };
        stop.validate()?;
        let skip_special_tokens = self.skip_special_tokens.unwrap_or(true);
        Ok(GenerationParams { sampling, stop, skip_special_tokens, ..GenerationParams::default() })
    }

    /// The output format from these fields or from `field`, and which of them set it.
    ///
    /// **Errors**: those of [`format`](Self::format); several are set.
    pub fn format_or(
        &self,
        asked: OutputFormat,
        field: &'static str,
    ) -> Result<(OutputFormat, &'static str), ApiError> {
        match (asked, self.format()?) {
            (OutputFormat::Text, structured) => Ok(structured),
            (asked, (OutputFormat::Text, _)) => Ok((asked, field)),
            (_, (_, other)) => {
                let message = format!("{field} and {other} are mutually exclusive");
                Err(ApiError::invalid(other, message))
            }
        }
    }

    /// The output format from `structured_outputs`, `json_schema` or `grammar`, and which of them set it.
    ///
    /// **Errors**: several formats, a schema that is not JSON, a grammar that is too large.
    pub fn format(&self) -> Result<(OutputFormat, &'static str), ApiError> {
        let structured = self.structured_outputs.as_ref().map(StructuredOutputs::format);
        let schema = self.json_schema.clone().map(OutputFormat::JsonSchema);
        let grammar = self.grammar.as_ref().filter(|grammar| !grammar.is_empty());
        let grammar = grammar.map(|grammar| grammar_format(grammar, "grammar"));
        let formats = [
            structured.transpose()?.map(|format| (format, "structured_outputs")),
            schema.map(|format| (format, "json_schema")),
            grammar.transpose()?.map(|format| (format, "grammar")),
        ];
        let mut formats = formats.into_iter().flatten();
        match (formats.next(), formats.next()) {
            (None, _) => Ok((OutputFormat::Text, "structured_outputs")),
            (Some(format), None) => Ok(format),
            (Some((_, one)), Some((_, other))) => {
                let message = format!("{one} and {other} are mutually exclusive");
                Err(ApiError::invalid(other, message))
            }
        }
    }
}

impl StructuredOutputs {
    /// **Errors**: no format or several, a schema that is not JSON, a grammar that is too large.
    fn format(&self) -> Result<OutputFormat, ApiError> {
        let json = self.json.as_ref().map(|schema| match schema {
            Value::String(text) => serde_json::from_str(text).map_err(|error| {
                ApiError::invalid(
                    "structured_outputs.json",
                    format!("the schema is not JSON: {error}"),
                )
            }),
            schema => Ok(schema.clone()),
        });
        let grammar = self.grammar.as_ref();
        let grammar = grammar.map(|grammar| grammar_format(grammar, "structured_outputs.grammar"));
        let formats = [
            json.transpose()?.map(OutputFormat::JsonSchema),
            (self.json_object == Some(true)).then(OutputFormat::json_object),
            self.regex.clone().map(OutputFormat::Regex),
            self.choice.clone().map(OutputFormat::Choice),
            grammar.transpose()?,
        ];
        let mut formats = formats.into_iter().flatten();
        match (formats.next(), formats.next()) {
            (Some(OutputFormat::Choice(texts)), None) if texts.is_empty() => {
                Err(ApiError::invalid("structured_outputs.choice", "choice must not be empty"))
            }
            (Some(format), None) => Ok(format),
            _ => {
                let message = "send exactly one of json, json_object, regex, choice and grammar";
                Err(ApiError::invalid("structured_outputs", message))
            }
        }
    }
}

/// The format of a grammar in `field`.
///
/// **Errors**: a grammar that is too large.
pub(crate) fn grammar_format(grammar: &str, field: &str) -> Result<OutputFormat, ApiError> {
    match grammar.len() {
        0..=MAX_LARK_BYTES => Ok(OutputFormat::Lark(grammar.to_owned())),
        len => {
            let message =
                format!("the grammar has {len} bytes, but at most {MAX_LARK_BYTES} are accepted");
            Err(ApiError::invalid(field, message))
        }
    }
}

/// Checks the number of choices per prompt in `field`.
///
/// **Errors**: 0, or more in total than the server allows.
pub(super) fn check_num_choices(
    field: &str,
    num_choices: usize,
    num_prompts: usize,
    limits: &Limits,
) -> Result<(), ApiError> {
    if num_choices == 0 {
        return Err(ApiError::invalid(field, format!("{field} must be 1 or more, but is 0")));
    }
    let all = num_choices.saturating_mul(num_prompts);
    let limit = limits.max_num_choices;
    if all > limit {
        let message = format!(
            "the request asks for {all} choices, but at most {limit} are allowed (--max-choices)"
        );
        return Err(ApiError::invalid(field, message));
    }
    Ok(())
}

fn top_k(k: i64) -> Result<usize, ApiError> {
    match k {
        -1 => Ok(0),
        k => usize::try_from(k).map_err(|_| {
            ApiError::invalid("top_k", format!("top_k must be 0 or more, or -1, but is {k}"))
        }),
    }
}

fn bias((token, &bias): (&String, &f32)) -> Result<(u32, f32), ApiError> {
    let id = token.parse().map_err(|_| {
        ApiError::invalid("logit_bias", format!("logit_bias: {token:?} is not a token id"))
    })?;
    Ok((id, bias))
}
