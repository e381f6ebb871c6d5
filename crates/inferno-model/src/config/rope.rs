//! Configuration of rotary position embedding.

use super::architecture_keys::ArchitectureKeys;
use crate::ModelError;

/// Base of the rotary frequencies if the file sets none, from the RoFormer paper.
const DEFAULT_FREQ_BASE: f32 = 10_000.0;

/// Rotary position embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeConfig {
    /// Number of components of a head that are rotated.
    pub rotary_dim: usize,
    /// Base of the geometric series of frequencies.
    pub freq_base: f32,
    /// Scaling for contexts longer than those of training.
    pub scaling: RopeScaling,
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
    /// Additional factor on the attention temperature that follows from `factor`.
    pub attention_factor: f32,
    /// Frequencies with at least this many rotations over the original context are unchanged.
    pub beta_fast: f32,
    /// Frequencies with at most this many rotations over the original context are fully
    /// interpolated.
    pub beta_slow: f32,
}

impl RopeConfig {
    pub(super) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        head_dim: usize,
    ) -> Result<Self, ModelError> {
        let rotary_dim = keys.positive_or("rope.dimension_count", head_dim)?;
        if rotary_dim % 2 != 0 || rotary_dim > head_dim {
            let expected = format!("an even number of at most the head size ({head_dim})");
            return Err(keys.invalid("rope.dimension_count", expected, rotary_dim));
        }
        let freq_base = keys.positive_float("rope.freq_base", Some(DEFAULT_FREQ_BASE))?;
        Ok(Self { rotary_dim, freq_base, scaling: RopeScaling::from_keys(keys)? })
    }
}

impl RopeScaling {
    fn from_keys(keys: &ArchitectureKeys<'_>) -> Result<Self, ModelError> {
        let kind = keys.optional::<String>("rope.scaling.type")?;
        // Files older than the typed keys store a linear factor under this name.
        let old_factor = keys.optional("rope.scale_linear")?;
        match kind.as_deref() {
            Some("none") => Ok(Self::None),
            // A factor without a type is linear.
            None => match keys.positive_float("rope.scaling.factor", old_factor.or(Some(1.0)))? {
                1.0 => Ok(Self::None),
                factor => Ok(Self::Linear { factor }),
            },
            Some("linear") => {
                let factor = keys.positive_float("rope.scaling.factor", old_factor)?;
                Ok(Self::Linear { factor })
            }
            Some("yarn") => YarnParams::from_keys(keys).map(Self::Yarn),
            Some(other) => {
                Err(keys.invalid("rope.scaling.type", "none, linear or yarn", format!("`{other}`")))
            }
        }
    }
}

impl YarnParams {
    fn from_keys(keys: &ArchitectureKeys<'_>) -> Result<Self, ModelError> {
        Ok(Self {
            factor: keys.positive_float("rope.scaling.factor", None)?,
            original_context_length: keys.positive_or(
                "rope.scaling.original_context_length",
                keys.positive("context_length")?,
            )?,
            attention_factor: keys.positive_float("rope.scaling.attn_factor", Some(1.0))?,
            beta_fast: keys.positive_float("rope.scaling.yarn_beta_fast", Some(32.0))?,
            beta_slow: keys.positive_float("rope.scaling.yarn_beta_slow", Some(1.0))?,
        })
    }
}
