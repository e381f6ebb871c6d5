//! The fields that chat and text completions share: OpenAI's, and vLLM's further ones.

use std::collections::BTreeMap;

use inferno_engine::{GenerationParams, SamplingParams, StopParams};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::Limits;
use crate::chat::OutputFormat;
use crate::errors::ApiError;
use crate::request::Unsupported;

/// Fields of these APIs that are refused.
pub(super) const UNSUPPORTED: &[Unsupported] = &[
    ("use_beam_search", "sampling is"),
    ("guided_json", "use structured_outputs"),
    ("guided_regex", "use structured_outputs"),
    ("guided_choice", "use structured_outputs"),
    ("guided_grammar", "use structured_outputs"),
    ("prompt_logprobs", "only /v1/completions has it"),
    ("truncate_prompt_tokens", "a prompt is never cut; shorten it"),
    ("length_penalty", "it is part of beam search"),
    ("logits_processors", "requests bring no code"),
    ("bad_words", "use logit_bias"),
    ("prompt_cache_options", "prompts are always cached, and how long depends on what others ask"),
    ("prompt_cache_retention", "how long a prompt is kept depends on what others ask"),
    ("moderation", "answers are not moderated"),
];

/// Bytes of a grammar that a request brings itself: its rules take longer to compile than schemas as long.
const MAX_LARK_BYTES: usize = 64 << 10;

/// How tokens are chosen, when to end, and how to answer.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct SamplingFields {
    /// The model's name; where it is missing, the only one.
    pub model: Option<String>,
    /// Flatter choices above 1, sharper below; 0 takes the most probable token.
    #[schema(minimum = 0.0)]
    temperature: Option<f32>,
    /// Keeps the most probable tokens that together reach this probability.
    #[schema(exclusive_minimum = 0.0, maximum = 1.0)]
    top_p: Option<f32>,
    /// Keeps this many of the most probable tokens; 0 or -1 for all.
    #[schema(minimum = -1)]
    top_k: Option<i64>,
    /// Drops tokens less probable than this share of the most probable one.
    #[schema(minimum = 0.0, maximum = 1.0)]
    min_p: Option<f32>,
    /// Taken from a token's logit for each time that it was generated.
    #[schema(minimum = -2.0, maximum = 2.0)]
    frequency_penalty: Option<f32>,
    /// Taken from a token's logit if it was generated at all.
    #[schema(minimum = -2.0, maximum = 2.0)]
    presence_penalty: Option<f32>,
    /// Makes tokens of the prompt and the answer less likely above 1.
    #[schema(exclusive_minimum = 0.0)]
    repetition_penalty: Option<f32>,
    /// Added to the logits of tokens, by their ids, from -100 to 100.
    logit_bias: Option<BTreeMap<String, f32>>,
    /// The same seed gives the same answer.
    seed: Option<i64>,
    /// A text, or several, before which the answer ends.
    #[schema(value_type = Option<StopTexts>)]
    stop: Option<StopTexts>,
    /// Tokens that end the answer.
    stop_token_ids: Option<Vec<u32>>,
    /// So many tokens come before the answer may end.
    min_tokens: Option<usize>,
    /// Goes on after the model's own end.
    ignore_eos: Option<bool>,
    /// Keeps the stop text at the end of the answer.
    include_stop_str_in_output: Option<bool>,
    /// SGLang's name of `include_stop_str_in_output`, which routers send.
    no_stop_trim: Option<bool>,
    /// False: answers are text.
    return_hidden_states: Option<bool>,
    /// Leaves control tokens out of the answer; true unless it is said otherwise.
    skip_special_tokens: Option<bool>,
    /// True, as every token's text stands by itself.
    spaces_between_special_tokens: Option<bool>,
    /// Answers to give.
    #[schema(minimum = 1)]
    n: Option<usize>,
    /// Lower goes first.
    priority: Option<i32>,
    /// Sends the answer as it comes.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// The form that the answer must have.
    structured_outputs: Option<StructuredOutputs>,
    /// Who asks, in the words of the caller; nothing is kept of it.
    pub user: Option<String>,
}

/// One text, or several.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(crate) enum StopTexts {
    One(String),
    Many(Vec<String>),
}

/// What a stream tells beside the answer.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Ends with a chunk that has no choices and the usage of all.
    include_usage: Option<bool>,
    /// With `include_usage`: every chunk also has the usage of its answer so far.
    continuous_usage_stats: Option<bool>,
    /// False: nothing is padded.
    include_obfuscation: Option<bool>,
}

/// The form that an answer must have: exactly one of these.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct StructuredOutputs {
    /// A JSON schema, as an object or as text.
    json: Option<Value>,
    /// Any JSON object.
    json_object: Option<bool>,
    /// A regular expression that the whole answer fits.
    regex: Option<String>,
    /// Texts of which the answer is one.
    choice: Option<Vec<String>>,
    /// A grammar in llguidance's dialect of Lark.
    grammar: Option<String>,
}

/// What a stream tells beside the answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Streaming {
    /// The usage of all at the end.
    pub include_usage: bool,
    /// The usage of each answer with every part of it.
    pub continuous_usage: bool,
}

impl StreamOptions {
    /// **Errors**: padding.
    pub fn refuse_unsupported(&self) -> Result<(), ApiError> {
        let field = "stream_options.include_obfuscation";
        ApiError::refuse_given([(
            field,
            self.include_obfuscation == Some(true),
            "nothing is padded",
        )])
    }
}

impl SamplingFields {
    /// How the answer is to be streamed, if it is.
    ///
    /// **Errors**: `stream_options` without `stream`.
    pub fn streaming(&self) -> Result<Option<Streaming>, ApiError> {
        match (self.stream, &self.stream_options) {
            (Some(true), None) => Ok(Some(Streaming::default())),
            (Some(true), Some(options)) => {
                options.refuse_unsupported()?;
                let include_usage = options.include_usage == Some(true);
                let continuous_usage =
                    include_usage && options.continuous_usage_stats == Some(true);
                Ok(Some(Streaming { include_usage, continuous_usage }))
            }
            (_, None) => Ok(None),
            (_, Some(_)) => {
                let message = "stream_options is only allowed when stream is true";
                Err(ApiError::invalid("stream_options", message))
            }
        }
    }

    /// Answers to give to each prompt.
    pub fn n(&self) -> usize {
        self.n.unwrap_or(1)
    }

    /// Answers to give to each prompt, checked.
    ///
    /// **Errors**: none, or more than the server allows.
    pub fn num_choices(&self, num_prompts: usize, limits: &Limits) -> Result<usize, ApiError> {
        check_num_choices("n", self.n(), num_prompts, limits)?;
        Ok(self.n())
    }

    pub fn priority(&self) -> i32 {
        self.priority.unwrap_or(0)
    }

    /// What the engine is asked for, over what the model's file recommends.
    ///
    /// **Errors**: a field that is out of range, by name.
    pub fn params(
        &self,
        recommended: &SamplingParams,
        max_tokens: Option<usize>,
        logprobs: Option<usize>,
    ) -> Result<GenerationParams, ApiError> {
        let base = recommended.for_temperature(self.temperature);
        ApiError::refuse_given([
            (
                "spaces_between_special_tokens",
                self.spaces_between_special_tokens == Some(false),
                "every token's text stands by itself; leave it out",
            ),
            ("return_hidden_states", self.return_hidden_states == Some(true), "answers are text"),
        ])?;
        let sampling = SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.map_or(Ok(base.top_k), top_k)?,
            top_p: self.top_p.unwrap_or(base.top_p),
            min_p: self.min_p.unwrap_or(base.min_p),
            typical_p: base.typical_p,
            repetition_penalty: self.repetition_penalty.unwrap_or(base.repetition_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(base.frequency_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(base.presence_penalty),
            logit_bias: self.logit_bias.iter().flatten().map(bias).collect::<Result<_, _>>()?,
            // Every number is a seed; which one it is does not matter.
            seed: self.seed.map(i64::cast_unsigned),
            logprobs,
        };
        sampling.validate()?;
        let stop = StopParams {
            max_tokens,
            min_tokens: self.min_tokens.unwrap_or(0),
            stop: match &self.stop {
                None => Vec::new(),
                Some(StopTexts::One(text)) => vec![text.clone()],
                Some(StopTexts::Many(texts)) => texts.clone(),
            },
            stop_token_ids: self.stop_token_ids.clone().unwrap_or_default(),
            ignore_eos: self.ignore_eos.unwrap_or(false),
            include_stop_str_in_output: self.include_stop_str_in_output == Some(true)
                || self.no_stop_trim == Some(true),
        };
        stop.validate()?;
        let skip_special_tokens = self.skip_special_tokens.unwrap_or(true);
        Ok(GenerationParams { sampling, stop, skip_special_tokens, ..GenerationParams::default() })
    }

    /// The form that `structured_outputs` asks for, or the one that `field` does, and which of the two it was.
    ///
    /// **Errors**: those of [`format`](Self::format); both.
    pub fn format_or(
        &self,
        asked: OutputFormat,
        field: &'static str,
    ) -> Result<(OutputFormat, &'static str), ApiError> {
        match (asked, self.format()?) {
            (OutputFormat::Text, structured) => Ok((structured, "structured_outputs")),
            (asked, OutputFormat::Text) => Ok((asked, field)),
            _ => {
                let message = format!("{field} and structured_outputs exclude each other");
                Err(ApiError::invalid("structured_outputs", message))
            }
        }
    }

    /// The form that `structured_outputs` asks for.
    ///
    /// **Errors**: none or several forms, a schema that is no JSON.
    pub fn format(&self) -> Result<OutputFormat, ApiError> {
        const FIELD: &str = "structured_outputs";
        let Some(asked) = &self.structured_outputs else {
            return Ok(OutputFormat::Text);
        };
        let json = asked.json.as_ref().map(|schema| match schema {
            Value::String(text) => serde_json::from_str(text).map_err(|error| {
                ApiError::invalid(
                    "structured_outputs.json",
                    format!("the schema is no JSON: {error}"),
                )
            }),
            schema => Ok(schema.clone()),
        });
        let forms = [
            json.transpose()?.map(OutputFormat::JsonSchema),
            (asked.json_object == Some(true)).then(OutputFormat::json_object),
            asked.regex.clone().map(OutputFormat::Regex),
            asked.choice.clone().map(OutputFormat::Choice),
            asked.grammar.clone().map(OutputFormat::Lark),
        ];
        let mut forms = forms.into_iter().flatten();
        match (forms.next(), forms.next()) {
            (Some(OutputFormat::Lark(grammar)), None) if grammar.len() > MAX_LARK_BYTES => {
                let message = format!(
                    "the grammar has {} bytes, but {MAX_LARK_BYTES} is the most",
                    grammar.len()
                );
                Err(ApiError::invalid("structured_outputs.grammar", message))
            }
            (Some(OutputFormat::Choice(texts)), None) if texts.is_empty() => Err(
                ApiError::invalid("structured_outputs.choice", "there is nothing to choose from"),
            ),
            (Some(form), None) => Ok(form),
            _ => {
                let message = "give exactly one of json, json_object, regex, choice and grammar";
                Err(ApiError::invalid(FIELD, message))
            }
        }
    }
}

/// Checks how many answers to each prompt `field` asks for.
///
/// **Errors**: none, or more in all than the server allows.
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
        let message = format!("the request asks for {all} answers, but {limit} is the most");
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
        ApiError::invalid("logit_bias", format!("logit_bias names {token:?}, which is no token id"))
    })?;
    Ok((id, bias))
}
