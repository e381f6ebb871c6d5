//! Sampling parameters that a model file recommends.

use inferno_gguf::Metadata;

use super::{DryParams, SamplingParams};
use crate::EngineError;

const PREFIX: &str = "general.sampling.";
const TEMPERATURE: &str = "general.sampling.temp";
const TOP_K: &str = "general.sampling.top_k";
const TOP_P: &str = "general.sampling.top_p";
const MIN_P: &str = "general.sampling.min_p";
const REPETITION_PENALTY: &str = "general.sampling.penalty_repeat";
const DRY_MULTIPLIER: &str = "general.sampling.dry_multiplier";
const DRY_BASE: &str = "general.sampling.dry_base";
const DRY_ALLOWED_LENGTH: &str = "general.sampling.dry_allowed_length";
const DRY_PENALTY_LAST_N: &str = "general.sampling.dry_penalty_last_n";
const KEYS: [&str; 9] = [
    TEMPERATURE,
    TOP_K,
    TOP_P,
    MIN_P,
    REPETITION_PENALTY,
    DRY_MULTIPLIER,
    DRY_BASE,
    DRY_ALLOWED_LENGTH,
    DRY_PENALTY_LAST_N,
];

impl SamplingParams {
    /// Returns the parameters that a model's file recommends; the defaults for those that it does not mention.
    ///
    /// ```
    /// use inferno_engine::SamplingParams;
    /// use inferno_gguf::Metadata;
    ///
    /// let mut metadata = Metadata::new();
    /// metadata.insert("general.sampling.temp", 0.6_f32);
    /// let params = SamplingParams::recommended(&metadata)?;
    /// assert_eq!(params, SamplingParams { temperature: 0.6, ..Default::default() });
    /// # Ok::<(), inferno_engine::EngineError>(())
    /// ```
    ///
    /// **Errors**: [`EngineError::RecommendationOutOfRange`]; [`EngineError::Metadata`] for a key of another type.
    ///
    /// **Source**: the names of Python's `gguf` and of llama.cpp, where a `top_k` below 1 keeps all tokens too. They have
    /// no keys for DRY; these are named after llama.cpp's parameters, and other programs ignore them.
    pub fn recommended(metadata: &Metadata) -> Result<Self, EngineError> {
        let neutral = Self::default();
        let float =
            |key, otherwise| Ok::<_, EngineError>(metadata.optional(key)?.unwrap_or(otherwise));
        let top_k = metadata.optional::<i64>(TOP_K)?.map(|k| usize::try_from(k).unwrap_or(0));
        let dry = DryParams {
            multiplier: float(DRY_MULTIPLIER, neutral.dry.multiplier)?,
            base: float(DRY_BASE, neutral.dry.base)?,
            allowed_length: metadata
                .optional(DRY_ALLOWED_LENGTH)?
                .unwrap_or(neutral.dry.allowed_length),
            // Negative for all tokens.
            penalty_last_n: (metadata.optional::<i64>(DRY_PENALTY_LAST_N)?)
                .and_then(|count| usize::try_from(count).ok()),
            ..neutral.dry.clone()
        };
        let params = Self {
            temperature: float(TEMPERATURE, neutral.temperature)?,
            top_k: top_k.unwrap_or(neutral.top_k),
            top_p: float(TOP_P, neutral.top_p)?,
            min_p: float(MIN_P, neutral.min_p)?,
            repetition_penalty: float(REPETITION_PENALTY, neutral.repetition_penalty)?,
            dry,
            ..neutral
        };
        match params.validate() {
            Ok(()) => Ok(params),
            Err(EngineError::ParamOutOfRange { field, range, value }) => {
                Err(EngineError::RecommendationOutOfRange { key: key_of(field), range, value })
            }
            Err(error) => Err(error),
        }
    }

    /// The keys by which a model's file recommends something that the sampler does not have, such as Mirostat.
    pub fn unknown_recommendations(metadata: &Metadata) -> impl Iterator<Item = &str> {
        let keys = metadata.iter().map(|(key, _)| key);
        keys.filter(|key| key.starts_with(PREFIX) && !KEYS.contains(key))
    }
}

/// The key that recommends a field of [`SamplingParams`].
fn key_of(field: &str) -> &'static str {
    match field {
        "temperature" => TEMPERATURE,
        "top_p" => TOP_P,
        "min_p" => MIN_P,
        "repetition_penalty" => REPETITION_PENALTY,
        "dry_multiplier" => DRY_MULTIPLIER,
        "dry_base" => DRY_BASE,
        _ => PREFIX,
    }
}

#[cfg(test)]
mod tests {
    use inferno_gguf::MetadataValue;

    use super::*;

    fn metadata<V: Into<MetadataValue>>(
        entries: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Metadata {
        let mut metadata = Metadata::new();
        for (name, value) in entries {
            metadata.insert(format!("{PREFIX}{name}"), value);
        }
        metadata
    }

    #[test]
    fn a_file_that_recommends_nothing_gives_the_defaults() {
        let recommended = SamplingParams::recommended(&Metadata::new()).unwrap();
        assert_eq!(recommended, SamplingParams::default());
    }

    #[test]
    fn every_key_sets_its_field() {
        let mut metadata = metadata([
            ("temp", 0.5_f32),
            ("top_p", 0.75),
            ("min_p", 0.25),
            ("penalty_repeat", 1.5),
            ("dry_multiplier", 0.875),
            ("dry_base", 2.5),
        ]);
        metadata.insert("general.sampling.top_k", 20_i32);
        metadata.insert("general.sampling.dry_allowed_length", 6_i32);
        metadata.insert("general.sampling.dry_penalty_last_n", 512_i32);
        let expected = SamplingParams {
            temperature: 0.5,
            top_k: 20,
            top_p: 0.75,
            min_p: 0.25,
            repetition_penalty: 1.5,
            dry: DryParams {
                multiplier: 0.875,
                base: 2.5,
                allowed_length: 6,
                penalty_last_n: Some(512),
                ..Default::default()
            },
            ..Default::default()
        };
        assert_eq!(SamplingParams::recommended(&metadata).unwrap(), expected);
        metadata.insert("general.sampling.dry_penalty_last_n", -1_i32);
        assert_eq!(SamplingParams::recommended(&metadata).unwrap().dry.penalty_last_n, None);
    }

    #[test]
    fn a_top_k_below_1_keeps_all_tokens() {
        for top_k in [0, -1] {
            let recommended = SamplingParams::recommended(&metadata([("top_k", top_k)])).unwrap();
            assert_eq!(recommended.top_k, 0);
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_its_key() {
        for (name, value, range) in [
            ("temp", -0.5, "0 or more"),
            ("temp", f32::NAN, "0 or more"),
            ("top_p", 1.5, "above 0 and at most 1"),
            ("min_p", -0.5, "from 0 to 1"),
            ("penalty_repeat", 0.0, "above 0"),
            ("dry_multiplier", -1.0, "0 or more"),
            ("dry_base", 0.5, "1 or more"),
        ] {
            let error = SamplingParams::recommended(&metadata([(name, value)])).unwrap_err();
            let expected = format!(
                "the model's file recommends {value} in its key general.sampling.{name}, expected {range}"
            );
            assert_eq!(error.to_string(), expected);
        }
        let error = SamplingParams::recommended(&metadata([("temp", "hot")])).unwrap_err();
        assert!(matches!(error, EngineError::Metadata(_)), "{error}");
    }

    #[test]
    fn stages_that_the_sampler_does_not_have_are_named() {
        let metadata = metadata([("temp", 1), ("mirostat", 2), ("xtc_probability", 1)]);
        let unknown: Vec<_> = SamplingParams::unknown_recommendations(&metadata).collect();
        assert_eq!(unknown, ["general.sampling.mirostat", "general.sampling.xtc_probability"]);
    }
}
