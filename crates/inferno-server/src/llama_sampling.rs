//! Sampling fields in llama.cpp's terms, which llama-server's requests and Ollama's options share.

use inferno_engine::{DryParams, SamplingParams};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::openai::sampling::StopTexts;

/// Sampling fields in llama.cpp's terms. A value beyond the useful range disables its sampler, as in llama.cpp.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
pub(crate) struct LlamaSampling {
    /// Sampling temperature; higher values are more random, 0 is greedy.
    temperature: Option<f32>,
    /// Samples from this many of the most probable tokens; 0 or less for all.
    top_k: Option<i64>,
    /// Nucleus sampling: samples from the most probable tokens whose probabilities add up to this.
    top_p: Option<f32>,
    /// Minimum probability of a token, relative to the most probable one.
    min_p: Option<f32>,
    /// Locally typical sampling; 1 disables it.
    typical_p: Option<f32>,
    /// Penalizes tokens of the prompt and the answer; above 1, they become less likely.
    repeat_penalty: Option<f32>,
    /// 0 disables `repeat_penalty`; otherwise, it applies to all tokens.
    repeat_last_n: Option<i64>,
    /// Penalty on a token's logit if it was generated before.
    presence_penalty: Option<f32>,
    /// Penalty on a token's logit for each time that it was generated.
    frequency_penalty: Option<f32>,
    /// Penalizes tokens that would continue a repetition (DRY); 0 disables it.
    dry_multiplier: Option<f32>,
    /// Growth of the DRY penalty with each repeated token; at least 1.
    dry_base: Option<f32>,
    /// Length from which on DRY penalizes repetitions, in tokens.
    dry_allowed_length: Option<usize>,
    /// Number of last tokens in which DRY searches repetitions; negative for all, 0 disables it.
    dry_penalty_last_n: Option<i64>,
    /// Strings that end repetitions for DRY.
    dry_sequence_breakers: Option<Vec<String>>,
    /// Seed; the same request with the same seed returns the same answer. -1 for a random one.
    seed: Option<i64>,
    /// One or more stop sequences.
    #[schema(value_type = Option<StopTexts>)]
    stop: Option<StopTexts>,
}

/// llama.cpp's seed for a random one, in its unsigned form.
const RANDOM_SEED: i64 = u32::MAX as i64;

impl LlamaSampling {
    /// Sampling parameters, with the model's recommended defaults.
    ///
    /// **Errors**: a penalty that is out of range.
    pub fn params(&self, recommended: &SamplingParams) -> Result<SamplingParams, ApiError> {
        let temperature = self.temperature.map(|temperature| temperature.max(0.0));
        let base = recommended.for_temperature(temperature);
        let share = |share: Option<f32>, base| share.map_or(base, above_0_to_1);
        let repetition_penalty = match self.repeat_last_n {
            Some(0) => 1.0,
            _ => self.repeat_penalty.unwrap_or(base.repetition_penalty),
        };
        let params = SamplingParams {
            temperature: temperature.unwrap_or(base.temperature),
            top_k: self.top_k.map_or(base.top_k, |k| usize::try_from(k).unwrap_or(0)),
            top_p: share(self.top_p, base.top_p),
            min_p: self.min_p.map_or(base.min_p, |share| share.clamp(0.0, 1.0)),
            typical_p: share(self.typical_p, base.typical_p),
            repetition_penalty,
            presence_penalty: self.presence_penalty.unwrap_or(base.presence_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(base.frequency_penalty),
            dry: DryParams {
                multiplier: self.dry_multiplier.unwrap_or(base.dry.multiplier),
                base: self.dry_base.unwrap_or(base.dry.base),
                allowed_length: self.dry_allowed_length.unwrap_or(base.dry.allowed_length),
                penalty_last_n: self.dry_penalty_last_n.map_or(base.dry.penalty_last_n, last_n),
                sequence_breakers: (self.dry_sequence_breakers.clone())
                    .unwrap_or(base.dry.sequence_breakers),
            },
            seed: match self.seed {
                None => base.seed,
                Some(..0 | RANDOM_SEED) => None,
                Some(seed) => Some(seed.cast_unsigned()),
            },
            ..base
        };
        params.validate()?;
        Ok(params)
    }

    /// The stop sequences; llama.cpp ignores empty ones.
    pub fn stop(&self) -> Vec<String> {
        let texts = self.stop.clone().map_or_else(Vec::new, StopTexts::into_vec);
        texts.into_iter().filter(|text| !text.is_empty()).collect()
    }
}

/// A number of last tokens, `None` for all.
pub(crate) fn last_n(count: i64) -> Option<usize> {
    usize::try_from(count).ok()
}

/// llama.cpp always keeps at least one token, also for a share of 0.
fn above_0_to_1(share: f32) -> f32 {
    share.clamp(f32::MIN_POSITIVE, 1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn params(fields: Value) -> Result<SamplingParams, ApiError> {
        let fields: LlamaSampling = serde_json::from_value(fields).unwrap();
        fields.params(&SamplingParams { top_k: 20, seed: Some(7), ..SamplingParams::default() })
    }

    #[test]
    fn missing_fields_are_those_of_the_model() {
        let expected = SamplingParams { top_k: 20, seed: Some(7), ..SamplingParams::default() };
        assert_eq!(params(json!({})).unwrap(), expected);
    }

    #[test]
    fn dry_has_llama_cpp_s_names_and_defaults() {
        let expected = DryParams { multiplier: 0.5, ..DryParams::default() };
        assert_eq!(params(json!({"dry_multiplier": 0.5})).unwrap().dry, expected);
        let all = json!({"dry_multiplier": 0.5, "dry_base": 1.25, "dry_allowed_length": 4, "dry_penalty_last_n": 64,
            "dry_sequence_breakers": ["---"]});
        let expected = DryParams {
            multiplier: 0.5,
            base: 1.25,
            allowed_length: 4,
            penalty_last_n: Some(64),
            sequence_breakers: vec!["---".to_owned()],
        };
        assert_eq!(params(all).unwrap().dry, expected);
        assert_eq!(params(json!({"dry_penalty_last_n": -1})).unwrap().dry.penalty_last_n, None);
        assert!(params(json!({"dry_base": 0.5})).is_err());
    }

    #[test]
    fn values_beyond_the_range_disable_a_sampler() {
        let off = json!({"temperature": -1, "top_k": -1, "top_p": 2, "min_p": -1, "seed": -1});
        let found = params(off).unwrap();
        assert_eq!((found.temperature, found.top_k, found.top_p), (0.0, 0, 1.0));
        assert_eq!((found.min_p, found.seed), (0.0, None));
        assert_eq!(params(json!({"seed": 4294967295_u32})).unwrap().seed, None);
        let penalty = json!({"repeat_penalty": 1.5, "repeat_last_n": 0});
        assert_eq!(params(penalty).unwrap().repetition_penalty, 1.0);
        let penalty = json!({"repeat_penalty": 1.5, "repeat_last_n": 64});
        assert_eq!(params(penalty).unwrap().repetition_penalty, 1.5);
    }
}
