//! The rotary embeddings of a model's layers.

use inferno_backend::RopePairing;

use super::tensors::{TensorFinder, VectorSpec};
use crate::ModelError;
use crate::keys::ArchitectureKeys;
use crate::tensor_names::{LONG_ROPE_FACTORS, ROPE_FACTORS, SHORT_ROPE_FACTORS};

/// Base of the rotary frequencies if the file sets none, from the RoFormer paper.
const DEFAULT_FREQ_BASE: f32 = 10_000.0;

/// Rotary position embedding.
#[derive(Debug, Clone)]
pub struct RotarySpec {
    /// Which components of a head are rotated together.
    pub pairing: RopePairing,
    /// Number of components of a head that are rotated.
    pub rotary_dim: usize,
    /// Base of the geometric series of frequencies.
    pub freq_base: f32,
    /// Scaling for contexts longer than those of training.
    pub scaling: RopeScaling,
    /// Factor on cosines and sines, in addition to that of the scaling.
    pub amplitude: f64,
    /// Divisors of the frequencies.
    pub(crate) factors: RotaryFactors,
}

/// Divisors of the rotary frequencies, one per frequency.
#[derive(Debug, Clone)]
pub(crate) enum RotaryFactors {
    /// None.
    None,
    /// The same for all contexts: how files store Llama 3's scaling.
    Fixed(VectorSpec),
    /// LongRoPE: one set for contexts up to the original one, another for longer ones.
    ///
    /// **Source**: Ding et al., LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens.
    ByContext { short: VectorSpec, long: VectorSpec, original_context_length: usize },
}

/// How rotary frequencies are scaled for contexts longer than those of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// No scaling.
    None,
    /// Every position is divided by `factor`.
    ///
    /// **Source**: Chen et al., Extending Context Window of LLMs via Positional Interpolation.
    Linear {
        /// The divisor.
        factor: f32,
    },
    /// Low frequencies are interpolated, high ones unchanged, with a linear ramp in between.
    Yarn(YarnParams),
}

/// Parameters of YaRN scaling.
///
/// **Source**: Peng et al., YaRN: Efficient Context Window Extension of LLMs, section 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YarnParams {
    /// Ratio of the extended context to the original one.
    pub factor: f32,
    /// Context length of training, in tokens.
    pub original_context_length: usize,
    /// Factor on cosines and sines.
    pub amplitude: f64,
    /// Frequencies with at least this many rotations over the original context are unchanged.
    pub beta_fast: f32,
    /// Frequencies with at most this many rotations over the original context are fully
    /// interpolated.
    pub beta_slow: f32,
    /// Whether the ends of the ramp between both are rounded to whole numbers of frequencies.
    pub rounds_ramp: bool,
}

/// Facts of an architecture that the metadata do not contain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RotaryFacts {
    pub(crate) pairing: RopePairing,
    /// Whether YaRN's `log_multiplier` replaces the factor on cosines and sines.
    pub(crate) has_log_multiplier: bool,
    /// Whether the ends of YaRN's ramp are rounded if the file does not say.
    pub(crate) rounds_ramp: bool,
    /// Whether `alpha` scales the base.
    pub(crate) has_scaled_base: bool,
}

impl RotarySpec {
    /// Reads the embedding of layers whose heads have `head_dim` components.
    pub(crate) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        tensors: TensorFinder<'_>,
        facts: RotaryFacts,
        head_dim: usize,
    ) -> Result<Self, ModelError> {
        let rotary_dim = rotary_dim(keys, "rope.dimension_count", head_dim)?;
        let freq_base = keys.positive_float("rope.freq_base", Some(DEFAULT_FREQ_BASE))?;
        let freq_base = match facts.has_scaled_base {
            true => scaled_base(keys, freq_base, head_dim)?,
            false => freq_base,
        };
        let factors = RotaryFactors::find(keys, tensors, rotary_dim / 2)?;
        let scaling = RopeScaling::from_keys(keys, facts, &factors)?;
        let amplitude = match factors {
            RotaryFactors::ByContext { .. } => {
                f64::from(keys.positive_float("rope.scaling.attn_factor", Some(1.0))?)
            }
            _ => 1.0,
        };
        Ok(Self { pairing: facts.pairing, rotary_dim, freq_base, scaling, amplitude, factors })
    }

    /// The same embedding with another base and width, and without scaling.
    pub(crate) fn unscaled(&self, freq_base: f32, rotary_dim: usize) -> Self {
        let (scaling, factors) = (RopeScaling::None, RotaryFactors::None);
        Self { freq_base, rotary_dim, scaling, factors, amplitude: 1.0, ..self.clone() }
    }
}

impl RotaryFactors {
    fn find(
        keys: &ArchitectureKeys<'_>,
        tensors: TensorFinder<'_>,
        len: usize,
    ) -> Result<Self, ModelError> {
        if tensors.contains(LONG_ROPE_FACTORS) || tensors.contains(SHORT_ROPE_FACTORS) {
            return Ok(Self::ByContext {
                short: tensors.vector(SHORT_ROPE_FACTORS, 1, len)?,
                long: tensors.vector(LONG_ROPE_FACTORS, 1, len)?,
                original_context_length: keys.positive_or(
                    "rope.scaling.original_context_length",
                    keys.positive("context_length")?,
                )?,
            });
        }
        let fixed = tensors.optional_vector(ROPE_FACTORS, len)?;
        Ok(fixed.map_or(Self::None, Self::Fixed))
    }

    /// Every vector of factors.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        match self {
            Self::None => [None, None],
            Self::Fixed(factors) => [Some(factors), None],
            Self::ByContext { short, long, .. } => [Some(short), Some(long)],
        }
        .into_iter()
        .flatten()
    }
}

impl RopeScaling {
    fn from_keys(
        keys: &ArchitectureKeys<'_>,
        facts: RotaryFacts,
        factors: &RotaryFactors,
    ) -> Result<Self, ModelError> {
        const TYPE: &str = "rope.scaling.type";
        let kind = keys.optional::<String>(TYPE)?;
        match kind.as_deref() {
            Some("none") => Ok(Self::None),
            Some("longrope") if !matches!(factors, RotaryFactors::ByContext { .. }) => {
                let expected =
                    format!("the tensors {SHORT_ROPE_FACTORS:?} and {LONG_ROPE_FACTORS:?}");
                Err(keys.invalid(TYPE, expected, "`longrope` without them"))
            }
            // A factor without a type is linear.
            None | Some("longrope") => Self::linear(keys, Some(1.0)),
            Some("linear") => Self::linear(keys, None),
            Some("yarn") => YarnParams::from_keys(keys, facts).map(Self::Yarn),
            Some(other) => {
                let expected = "none, linear, yarn or longrope";
                Err(keys.invalid(TYPE, expected, format!("`{other}`")))
            }
        }
    }

    /// The scaling by a factor, which is required without a default.
    fn linear(keys: &ArchitectureKeys<'_>, default: Option<f32>) -> Result<Self, ModelError> {
        const FACTOR: &str = "rope.scaling.factor";
        // Files older than the typed keys store the factor under this name.
        let old_factor = keys.optional("rope.scale_linear")?;
        // llama.cpp saves models without scaling with the factor 0.
        if keys.optional(FACTOR)? == Some(0.0_f32) {
            return Ok(Self::None);
        }
        match keys.positive_float(FACTOR, old_factor.or(default))? {
            1.0 => Ok(Self::None),
            factor => Ok(Self::Linear { factor }),
        }
    }
}

impl YarnParams {
    fn from_keys(keys: &ArchitectureKeys<'_>, facts: RotaryFacts) -> Result<Self, ModelError> {
        let factor = keys.positive_float("rope.scaling.factor", None)?;
        let attention_factor = keys.positive_float("rope.scaling.attn_factor", Some(1.0))?;
        let has_multiplier = facts.has_log_multiplier
            && keys.optional_float("rope.scaling.yarn_log_multiplier")?.is_some();
        let amplitude = match keys.optional_float("rope.scaling.yarn_attn_factor")? {
            Some(amplitude) => f64::from(amplitude),
            None if has_multiplier => 1.0,
            None => temperature(factor) * f64::from(attention_factor),
        };
        Ok(Self {
            factor,
            original_context_length: keys.positive_or(
                "rope.scaling.original_context_length",
                keys.positive("context_length")?,
            )?,
            amplitude,
            beta_fast: keys.positive_float("rope.scaling.yarn_beta_fast", Some(32.0))?,
            beta_slow: keys.positive_float("rope.scaling.yarn_beta_slow", Some(1.0))?,
            rounds_ramp: keys.optional("rope.scaling.yarn_truncate")?.unwrap_or(facts.rounds_ramp),
        })
    }
}

/// The number of rotated components of heads with `head_dim` components: the value of `key`, or all.
pub(super) fn rotary_dim(
    keys: &ArchitectureKeys<'_>,
    key: &str,
    head_dim: usize,
) -> Result<usize, ModelError> {
    let rotary_dim = keys.positive_or(key, head_dim)?;
    if rotary_dim % 2 != 0 || rotary_dim > head_dim {
        let expected = format!("an even number of at most the head size ({head_dim})");
        return Err(keys.invalid(key, expected, rotary_dim));
    }
    Ok(rotary_dim)
}

/// The base for heads of `head_dim` components, times a power of `alpha` if the file sets it: the lowest frequency becomes about
/// `alpha` times lower, the highest one is unchanged.
///
/// **Source**: bloc97, NTK-Aware Scaled RoPE.
fn scaled_base(
    keys: &ArchitectureKeys<'_>,
    freq_base: f32,
    head_dim: usize,
) -> Result<f32, ModelError> {
    const KEY: &str = "rope.scaling.alpha";
    let Some(alpha) = keys.optional_float(KEY)? else { return Ok(freq_base) };
    let dim = head_dim as f64;
    let scaled = (f64::from(freq_base) * libm::pow(alpha.into(), dim / (dim - 2.0))) as f32;
    match scaled > 0.0 && scaled.is_finite() {
        true => Ok(scaled),
        false => Err(keys.invalid(KEY, "a positive number whose power is finite", alpha)),
    }
}

/// YaRN's attention temperature.
fn temperature(factor: f32) -> f64 {
    if factor > 1.0 { 0.1 * libm::log(factor.into()) + 1.0 } else { 1.0 }
}
