//! Rotary embeddings: their parameters in a configuration, and the metadata and factors that they become.

use std::f64::consts::PI;

use serde_json::{Map, Value};

use crate::ConvertError;
use crate::config::{Config, floats, invalid, missing};
use crate::family::Constant;
use crate::keys::Keys;

/// The key of a configuration with its context length.
const CONTEXT_LENGTH: &str = "max_position_embeddings";
/// The key of the kind of scaling.
pub(crate) const SCALING_TYPE: &str = "rope.scaling.type";
/// The key of the number of rotated components of a head.
const ROTATED: &str = "rope.dimension_count";
/// The key of YaRN's factor on cosines and sines.
const YARN_AMPLITUDE: &str = "rope.scaling.yarn_attn_factor";

/// YaRN's factor on cosines and sines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct YarnAmplitude {
    /// The factor of the model.
    own: f64,
    /// The factor that follows from the scaling of positions.
    usual: f64,
}

/// How the scaling of positions extends the context length that the configuration states. Most configurations state the extended
/// length; those do not that state about the original one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContextExtension {
    /// By a factor, if the length is not that of a model of [`SHORTEST_CONTEXT`] tokens or more extended by it: 4096 tokens of Vicuna
    /// 16k with a factor of 4 are extended, 16384 of DeepSeek Coder with the same factor are not.
    Factor(f64),
    /// To `extended` tokens, if the length is below twice the `original` one.
    To { original: f64, extended: f64 },
}

/// No model whose context was extended had a shorter one before.
const SHORTEST_CONTEXT: f64 = 2048.0;

/// Parameters of rotary embeddings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rope<'a> {
    keys: &'a Map<String, Value>,
}

impl<'a> Rope<'a> {
    pub(crate) fn new(keys: &'a Map<String, Value>) -> Self {
        Self { keys }
    }

    /// The value of a key.
    pub(crate) fn get(self, key: &str) -> Option<&'a Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    /// A number.
    pub(crate) fn optional_float(self, key: &str) -> Result<Option<f64>, ConvertError> {
        let named = |value: &Value| invalid(&full_name(key), "a number", value);
        self.get(key).map(|value| value.as_f64().ok_or_else(|| named(value))).transpose()
    }

    /// A number that must exist.
    pub(crate) fn float(self, key: &str) -> Result<f64, ConvertError> {
        self.optional_float(key)?.ok_or_else(|| missing(&[&full_name(key)], "a number"))
    }

    /// A list of numbers.
    pub(crate) fn floats(self, key: &str) -> Result<Option<Vec<f64>>, ConvertError> {
        let named = |value: &Value| invalid(&full_name(key), "a list of numbers", value);
        self.get(key).map(|value| floats(value).ok_or_else(|| named(value))).transpose()
    }

    fn optional_flag(self, key: &str) -> Result<Option<bool>, ConvertError> {
        let named = |value: &Value| invalid(&full_name(key), "true or false", value);
        self.get(key).map(|value| value.as_bool().ok_or_else(|| named(value))).transpose()
    }

    /// The kind of scaling in lower case, if the file names one.
    pub(crate) fn kind(self) -> Option<String> {
        let kind = self.get("rope_type").or_else(|| self.get("type"));
        kind.and_then(Value::as_str).map(str::to_ascii_lowercase)
    }
}

fn full_name(key: &str) -> String {
    format!("rope_parameters.{key}")
}

/// The error of a kind of scaling that is not supported.
pub(crate) fn unsupported_kind(rope: Rope<'_>, expected: &str) -> ConvertError {
    invalid(&full_name("rope_type"), expected, rope.kind().unwrap_or("nothing".to_owned()))
}

impl Keys {
    /// Sets the base and the scaling of rotary embeddings.
    ///
    /// **Errors**: a kind of scaling that the family does not convert.
    pub(crate) fn rotary(&mut self, config: &Config) -> Result<(), ConvertError> {
        let rope = config.rope();
        match rope.kind().as_deref() {
            // Dynamic scaling changes nothing up to the context length that is written.
            None | Some("default" | "mrope" | "dynamic") => {}
            Some("linear") => self.linear(rope.float("factor")?),
            Some("yarn") => self.yarn(config, rope)?,
            Some("llama3") => self.has_llama3_scaling = true,
            Some(kind) if self.family.own_scalings.contains(&kind) => {}
            Some(_) => {
                let expected = "default, linear, yarn, dynamic or llama3";
                return Err(unsupported_kind(rope, expected));
            }
        }
        if let Some(mut sections) = config.shared_rope().floats("mrope_section")? {
            sections.resize(4, 0.0);
            self.counts("rope.dimension_sections", sections.into_iter().map(|size| size as usize));
        }
        if let Some(base) = rope.optional_float("rope_theta")? {
            self.float("rope.freq_base", base);
        }
        if let Some(windowed) = config.windowed_rope() {
            if let Some(base) = windowed.optional_float("rope_theta")? {
                self.float("rope.freq_base_swa", base);
            }
            if windowed.kind().is_some_and(|kind| kind != "default") {
                let expected = "default for layers with a sliding window";
                return Err(unsupported_kind(windowed, expected));
            }
        }
        Ok(())
    }

    /// Divides positions by `factor`.
    pub(crate) fn linear(&mut self, factor: f64) {
        self.set(SCALING_TYPE, "linear");
        self.float("rope.scaling.factor", factor);
        self.context_extension = Some(ContextExtension::Factor(factor));
    }

    /// States that rotary embeddings are not scaled, unless the configuration has a scaling.
    pub(crate) fn unscaled(&mut self) {
        if !self.contains(SCALING_TYPE) {
            self.set(SCALING_TYPE, "none");
        }
    }

    /// **Source**: `_compute_yarn_parameters` of transformers.
    fn yarn(&mut self, config: &Config, rope: Rope<'_>) -> Result<(), ConvertError> {
        let original = original_context_length(config, rope)?;
        let factor = match rope.optional_float("factor")? {
            Some(factor) => factor,
            None => config.float(&[CONTEXT_LENGTH])? / original,
        };
        self.set(SCALING_TYPE, "yarn");
        self.float("rope.scaling.factor", factor);
        self.count("rope.scaling.original_context_length", original as usize);
        self.context_extension =
            Some(ContextExtension::To { original, extended: factor * original });
        let numbers = [
            ("rope.scaling.yarn_ext_factor", ["extrapolation_factor"; 2]),
            (YARN_AMPLITUDE, ["attention_factor", "attn_factor"]),
            ("rope.scaling.yarn_beta_fast", ["beta_fast"; 2]),
            ("rope.scaling.yarn_beta_slow", ["beta_slow"; 2]),
        ];
        for (key, [first, second]) in numbers {
            let value = rope.optional_float(first)?.or(rope.optional_float(second)?);
            if let Some(value) = value {
                self.float(key, value);
            }
        }
        // Whether the ends of the ramp between both kinds of frequencies are rounded.
        let truncates = rope.optional_flag("truncate")?.unwrap_or(true);
        match self.family.states_yarn_truncation {
            true => self.set("rope.scaling.yarn_truncate", truncates),
            false if !truncates => return Err(invalid(&full_name("truncate"), "true", truncates)),
            false => {}
        }
        let scale = |key| -> Result<Option<f64>, ConvertError> {
            Ok(rope.optional_float(key)?.filter(|scale| *scale != 0.0))
        };
        let temperature = |scale| if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 };
        let usual = temperature(1.0);
        let own = match (scale("mscale")?, scale("mscale_all_dim")?) {
            (Some(own), Some(all)) => temperature(own) / temperature(all),
            _ => usual,
        };
        self.yarn_amplitude = Some(YarnAmplitude { own, usual });
        Ok(())
    }

    /// Adds what depends on other metadata, which the family has set by now.
    pub(crate) fn finish_rotary(&mut self, config: &Config) -> Result<Vec<Constant>, ConvertError> {
        if let (Some(extension), Some(stated)) =
            (self.context_extension, self.optional_count("context_length"))
        {
            let length = stated as f64;
            let extended = match extension {
                ContextExtension::Factor(factor) if length / factor < SHORTEST_CONTEXT => {
                    factor * length
                }
                ContextExtension::To { original, extended } if length < 2.0 * original => extended,
                _ => length,
            };
            self.count("context_length", stated.max(extended as usize));
        }
        if let Some(YarnAmplitude { own, usual }) = self.yarn_amplitude
            && !self.contains(YARN_AMPLITUDE)
        {
            // With this key, runtimes do not scale cosines and sines.
            let assumed = match self.contains("rope.scaling.yarn_log_multiplier") {
                true => 1.0,
                false => usual,
            };
            if own != assumed {
                self.float(YARN_AMPLITUDE, own);
            }
        }
        if !self.has_llama3_scaling {
            return Ok(Vec::new());
        }
        let rotated = match self.optional_count(ROTATED) {
            Some(rotated) => rotated,
            None => config.head_dim()?,
        };
        Ok(vec![("rope_freqs.weight", frequency_divisors(config, rotated)?)])
    }
}

/// The context length of the training before the one with scaled frequencies, in tokens.
///
/// **Source**: `standardize_rope_params` of transformers.
fn original_context_length(config: &Config, rope: Rope<'_>) -> Result<f64, ConvertError> {
    match rope.optional_float("original_max_position_embeddings")? {
        Some(original) => Ok(original),
        None => config.float(&[CONTEXT_LENGTH]),
    }
}

/// Llama 3's divisors of the rotary frequencies of `rotated` components.
///
/// **Source**: `_compute_llama3_parameters` of transformers.
fn frequency_divisors(config: &Config, rotated: usize) -> Result<Vec<f32>, ConvertError> {
    let rope = config.rope();
    let number = |key, default| Ok::<_, ConvertError>(rope.optional_float(key)?.unwrap_or(default));
    let (base, factor) = (number("rope_theta", 10_000.0)?, rope.float("factor")?);
    let (low, high) = (number("low_freq_factor", 1.0)?, number("high_freq_factor", 4.0)?);
    let original = original_context_length(config, rope)?;
    let divisors = (0..rotated).step_by(2).map(|component| {
        // In single precision, as the reference computes them.
        let exponent = component as f32 / rotated as f32;
        let frequency = 1.0 / (base as f32).powf(exponent);
        let wavelength = (2.0 * PI) as f32 / frequency;
        if f64::from(wavelength) < original / high {
            1.0
        } else if f64::from(wavelength) > original / low {
            factor as f32
        } else {
            let smooth = (original as f32 / wavelength - low as f32) / (high - low) as f32;
            1.0 / ((1.0 - smooth) / factor as f32 + smooth)
        }
    });
    Ok(divisors.collect())
}
