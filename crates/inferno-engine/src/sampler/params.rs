//! Sampling parameters.

use std::fmt;

use super::DryParams;
use crate::EngineError;
use crate::error::check_list;

/// Maximum number of tokens with a logit bias in a request.
const MAX_LOGIT_BIASES: usize = 8192;

/// How the next token is sampled from the logits.
///
/// Plain data; every stage is off by default, so that `SamplingParams::default()` draws from the
/// model's own distribution. [`Sampler`](crate::Sampler) states the order of the stages.
///
/// ```
/// use inferno_engine::SamplingParams;
///
/// let params = SamplingParams { temperature: 0.7, top_p: 0.9, seed: Some(7), ..Default::default() };
/// assert!(params.validate().is_ok());
///
/// let wrong = SamplingParams { top_p: 1.5, ..Default::default() };
/// assert_eq!(wrong.validate().unwrap_err().to_string(), "top_p must be above 0 and at most 1, but is 1.5");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingParams {
    /// Divides the logits; higher values are more random, 0 selects the most probable token.
    pub temperature: f32,
    /// Keeps this many of the most probable tokens; 0 keeps all.
    pub top_k: usize,
    /// Keeps the most probable tokens that together reach this probability; 1 keeps all.
    pub top_p: f32,
    /// Drops tokens less probable than this share of the most probable one; 0 keeps all.
    pub min_p: f32,
    /// Keeps the tokens whose information content is nearest to the expected one, up to this total
    /// probability; 1 keeps all.
    pub typical_p: f32,
    /// Divides positive and multiplies negative logits of tokens in the prompt or the output; 1 is
    /// neutral.
    pub repetition_penalty: f32,
    /// Subtracted from a token's logit for each time that it was generated.
    pub frequency_penalty: f32,
    /// Subtracted from a token's logit if it was generated before.
    pub presence_penalty: f32,
    /// Penalty of tokens that would extend a repetition.
    pub dry: DryParams,
    /// Added to the logits of single tokens.
    pub logit_bias: Vec<(u32, f32)>,
    /// Seed of the random draws; the same seed reproduces the text. `None` for a fresh one.
    pub seed: Option<u64>,
    /// Reports the log-probability of each sampled token, and of this many most probable ones.
    pub logprobs: Option<usize>,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            typical_p: 1.0,
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            dry: DryParams::default(),
            logit_bias: Vec::new(),
            seed: None,
            logprobs: None,
        }
    }
}

impl SamplingParams {
    /// Selects the most probable token, the lowest id among equals.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// Returns these recommended parameters for a request with this temperature: greedy sampling for 0, unchanged
    /// otherwise.
    pub fn for_temperature(&self, temperature: Option<f32>) -> Self {
        if temperature == Some(0.0) { Self::greedy() } else { self.clone() }
    }

    /// Checks every field against its range.
    ///
    /// **Errors**: [`EngineError::ParamOutOfRange`] for the first field that is out of range,
    /// [`EngineError::ListTooLong`] for a bias on more than 8192 tokens, and for more than 32 sequence breakers or one
    /// of more than 40 bytes. [`Sampler::new`](crate::Sampler::new)
    /// checks token ids against the vocabulary.
    pub fn validate(&self) -> Result<(), EngineError> {
        let finite = f32::MAX;
        check("temperature", self.temperature, "0 or more", 0.0..=finite)?;
        check("top_p", self.top_p, ABOVE_0_TO_1, f32::MIN_POSITIVE..=1.0)?;
        check("min_p", self.min_p, "from 0 to 1", 0.0..=1.0)?;
        check("typical_p", self.typical_p, ABOVE_0_TO_1, f32::MIN_POSITIVE..=1.0)?;
        check(
            "repetition_penalty",
            self.repetition_penalty,
            "above 0",
            f32::MIN_POSITIVE..=finite,
        )?;
        check("frequency_penalty", self.frequency_penalty, "from -2 to 2", -2.0..=2.0)?;
        check("presence_penalty", self.presence_penalty, "from -2 to 2", -2.0..=2.0)?;
        self.dry.validate()?;
        check_list("logit_bias", "tokens", self.logit_bias.len(), MAX_LOGIT_BIASES)?;
        let excludes = |bias: f32| bias == f32::NEG_INFINITY;
        for &(_, bias) in self.logit_bias.iter().filter(|&&(_, bias)| !excludes(bias)) {
            check("logit_bias", bias, "from -100 to 100", -100.0..=100.0)?;
        }
        Ok(())
    }

    /// Whether the most probable token is selected, without randomness.
    pub fn is_greedy(&self) -> bool {
        self.temperature == 0.0
    }

    /// Whether any stage changes logits.
    pub(super) fn changes_logits(&self) -> bool {
        !self.logit_bias.is_empty() || self.has_penalties() || self.dry.is_enabled()
    }

    /// Whether a stage leaves tokens out.
    pub(super) fn truncates(&self) -> bool {
        self.top_k != 0 || self.typical_p < 1.0 || self.top_p < 1.0 || self.min_p > 0.0
    }

    pub(super) fn has_penalties(&self) -> bool {
        self.repetition_penalty != 1.0
            || self.frequency_penalty != 0.0
            || self.presence_penalty != 0.0
    }
}

impl fmt::Display for SamplingParams {
    /// Formats the temperature and all parameters that differ from their neutral values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let neutral = Self::default();
        match self.is_greedy() {
            true => f.write_str("greedy")?,
            false => write!(f, "temperature {}", self.temperature)?,
        }
        if self.top_k != neutral.top_k {
            write!(f, ", top_k {}", self.top_k)?;
        }
        for (name, value, neutral) in [
            ("top_p", self.top_p, neutral.top_p),
            ("min_p", self.min_p, neutral.min_p),
            ("typical_p", self.typical_p, neutral.typical_p),
            ("repetition_penalty", self.repetition_penalty, neutral.repetition_penalty),
            ("frequency_penalty", self.frequency_penalty, neutral.frequency_penalty),
            ("presence_penalty", self.presence_penalty, neutral.presence_penalty),
        ] {
            if value != neutral {
                write!(f, ", {name} {value}")?;
            }
        }
        if self.dry.is_enabled() {
            write!(f, ", {}", self.dry)?;
        }
        match self.logit_bias.len() {
            0 => Ok(()),
            biased => write!(f, ", {biased} logit biases"),
        }
    }
}

const ABOVE_0_TO_1: &str = "above 0 and at most 1";

/// **Errors**: [`EngineError::ParamOutOfRange`].
pub(super) fn check(
    field: &'static str,
    value: f32,
    range: &'static str,
    allowed: std::ops::RangeInclusive<f32>,
) -> Result<(), EngineError> {
    if allowed.contains(&value) {
        Ok(())
    } else {
        Err(EngineError::ParamOutOfRange { field, range, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_neutral_is_shown() {
        assert_eq!(SamplingParams::default().to_string(), "temperature 1");
        assert_eq!(SamplingParams::greedy().to_string(), "greedy");
        let params = SamplingParams {
            temperature: 0.7,
            top_k: 20,
            min_p: 0.05,
            presence_penalty: -0.5,
            dry: DryParams { multiplier: 0.8, allowed_length: 6, ..Default::default() },
            logit_bias: vec![(1, 2.0), (3, 4.0)],
            ..Default::default()
        };
        let shown = "temperature 0.7, top_k 20, min_p 0.05, presence_penalty -0.5, dry_multiplier 0.8, \
                     dry_allowed_length 6, 2 logit biases";
        assert_eq!(params.to_string(), shown);
    }

    #[test]
    fn a_parameter_out_of_range_is_refused_by_name() {
        let neutral = SamplingParams::default;
        let cases = [
            (
                SamplingParams { temperature: -0.5, ..neutral() },
                "temperature must be 0 or more, but is -0.5",
            ),
            (
                SamplingParams { temperature: f32::NAN, ..neutral() },
                "temperature must be 0 or more, but is NaN",
            ),
            (
                SamplingParams { top_p: 0.0, ..neutral() },
                "top_p must be above 0 and at most 1, but is 0",
            ),
            (SamplingParams { min_p: 1.5, ..neutral() }, "min_p must be from 0 to 1, but is 1.5"),
            (
                SamplingParams { typical_p: 2.0, ..neutral() },
                "typical_p must be above 0 and at most 1, but is 2",
            ),
            (
                SamplingParams { repetition_penalty: 0.0, ..neutral() },
                "repetition_penalty must be above 0, but is 0",
            ),
            (
                SamplingParams { frequency_penalty: 2.5, ..neutral() },
                "frequency_penalty must be from -2 to 2, but is 2.5",
            ),
            (
                SamplingParams { presence_penalty: -3.0, ..neutral() },
                "presence_penalty must be from -2 to 2, but is -3",
            ),
            (
                SamplingParams { logit_bias: vec![(1, 101.0)], ..neutral() },
                "logit_bias must be from -100 to 100, but is 101",
            ),
        ];
        for (params, message) in cases {
            let error = params.validate().expect_err("it is out of range");
            assert_eq!(error.to_string(), message);
        }
    }
}
