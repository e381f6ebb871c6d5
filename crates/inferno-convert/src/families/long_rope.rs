//! LongRoPE: divisors of the rotary frequencies for contexts up to the original one, and others for longer contexts.

use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::Constant;
use crate::keys::Keys;
use crate::rope::unsupported_kind;

type Factors = (Vec<f32>, Vec<f32>);

/// The divisors for long and for short contexts.
fn factors(config: &Config) -> Result<Option<Factors>, ConvertError> {
    let rope = config.shared_rope();
    let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
    match (rope.floats("long_factor")?, rope.floats("short_factor")?) {
        (Some(long), Some(short)) => Ok(Some((single(long), single(short)))),
        (None, None) => Ok(None),
        _ => Err(ConvertError::MissingKey {
            key: "rope_scaling.long_factor\" and \"short_factor".to_owned(),
            expected: "both or none",
        }),
    }
}

/// The tensors of the divisors, if the configuration has them, of which each must be as long as half of the `rotated`
/// components of a head.
pub(super) fn tensors(config: &Config, rotated: usize) -> Result<Vec<Constant>, ConvertError> {
    let Some((long, short)) = factors(config)? else { return Ok(Vec::new()) };
    let expected = rotated / 2;
    if long.len() != expected || short.len() != expected {
        let found = format!("{} and {} numbers", long.len(), short.len());
        return Err(invalid("rope_scaling.long_factor", &format!("{expected} numbers"), found));
    }
    Ok(vec![("rope_factors_long.weight", long), ("rope_factors_short.weight", short)])
}

impl Keys {
    /// Sets the rotary embedding: with LongRoPE for contexts of more than `original` tokens if the configuration has its
    /// divisors, or as [`rotary`](Self::rotary) does.
    ///
    /// **Source**: `_compute_longrope_parameters` of transformers.
    pub(super) fn rotary_with_long_factors(
        &mut self,
        config: &Config,
        original: f64,
    ) -> Result<(), ConvertError> {
        let rope = config.shared_rope();
        self.count("rope.scaling.original_context_length", original as usize);
        self.float("rope.freq_base", config.rope().float("rope_theta")?);
        if factors(config)?.is_none() {
            return self.rotary(config);
        }
        let scale = match rope.optional_float("factor")? {
            Some(scale) => scale,
            None => config.count(&["n_positions", "max_position_embeddings"])? as f64 / original,
        };
        let factor = match rope.kind().as_deref() {
            _ if scale <= 1.0 => 1.0,
            Some("su" | "longrope") => (1.0 + scale.ln() / original.ln()).sqrt(),
            Some("yarn") => 0.1 * scale.ln() + 1.0,
            _ => return Err(unsupported_kind(rope, "longrope or yarn")),
        };
        let stated = rope.optional_float("attention_factor")?;
        self.float("rope.scaling.attn_factor", stated.unwrap_or(factor));
        Ok(())
    }
}
