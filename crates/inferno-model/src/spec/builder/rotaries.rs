//! The rotary embeddings of a model's layers.

use std::ops::RangeInclusive;

use inferno_backend::RopePairing;

use super::attention;
use crate::arch::architecture::RecurrentLayers;
use crate::arch::attention_facts::{AttentionFacts, Temperature, Unrotated};
use crate::keys::{ArchitectureKeys, PerLayer, ROPE_PATTERN};
use crate::spec::RotarySpec;
use crate::spec::rotary::{RotaryFacts, rotary_dim};
use crate::spec::tensors::TensorFinder;
use crate::{Architecture, ModelError};

/// The rotary embedding of the layers, then that of layers with a window if it is another one.
pub(super) fn rotaries(
    keys: &ArchitectureKeys<'_>,
    tensors: TensorFinder<'_>,
    facts: &Architecture,
    (hidden_size, num_heads): (usize, Option<&PerLayer<usize>>),
    has_window: bool,
) -> Result<Vec<RotarySpec>, ModelError> {
    let head_dim = match facts.recurrent.map(|facts| facts.layers) {
        // No layer has heads.
        Some(RecurrentLayers::All) => 32,
        _ => attention::head_dim(keys, hidden_size, num_heads)?,
    };
    let rotary_facts = RotaryFacts {
        pairing: pairing(keys, &facts.attention)?,
        has_log_multiplier: matches!(facts.attention.temperature, Temperature::ByKey { .. }),
        rounds_ramp: facts.attention.unrounded_ramp_dim != Some(head_dim),
        has_scaled_base: facts.attention.has_scaled_base,
    };
    let full = RotarySpec::from_keys(keys, tensors, rotary_facts, head_dim)?;
    let windowed = match has_window {
        true => windowed_rotary(keys, &facts.attention, &full, head_dim)?,
        false => None,
    };
    let rotary_dim = match facts.attention.halves_unwindowed {
        true => full.rotary_dim / 2,
        false => full.rotary_dim,
    };
    let full = RotarySpec { rotary_dim, ..full };
    Ok(std::iter::once(full).chain(windowed).collect())
}

/// Which layers have rotary embedding, if the file lists them. `list_lens` are the possible lengths of the list.
pub(super) fn rotated_layers(
    keys: &ArchitectureKeys<'_>,
    facts: &AttentionFacts,
    list_lens: &RangeInclusive<usize>,
) -> Result<Option<Vec<bool>>, ModelError> {
    match facts.unrotated == Unrotated::ByPattern && keys.is_list(ROPE_PATTERN) {
        true => keys.booleans(ROPE_PATTERN, list_lens),
        false => Ok(None),
    }
}

fn pairing(keys: &ArchitectureKeys<'_>, facts: &AttentionFacts) -> Result<RopePairing, ModelError> {
    if !facts.pairs_halves_in_sections {
        return Ok(facts.pairing);
    }
    // One section each for the time, the height, the width and a further kind of position.
    let sections = keys.optional::<Vec<i64>>("rope.dimension_sections")?.unwrap_or_default();
    let has_sections = sections.len() >= 2 && sections[..2].iter().all(|&len| len > 0);
    Ok(if has_sections { RopePairing::Halves } else { facts.pairing })
}

/// The embedding of layers with a window, if it is not that of the others.
fn windowed_rotary(
    keys: &ArchitectureKeys<'_>,
    facts: &AttentionFacts,
    full: &RotarySpec,
    head_dim: usize,
) -> Result<Option<RotarySpec>, ModelError> {
    const DIM: &str = "rope.dimension_count_swa";
    let own = facts.windowed_rotary;
    let default_base = own.and_then(|own| own.default_base).unwrap_or(full.freq_base);
    let freq_base = keys.positive_float("rope.freq_base_swa", Some(default_base))?;
    if own.is_some() {
        let dim = match keys.optional::<usize>("attention.key_length_swa")? {
            Some(_) => rotary_dim(keys, DIM, keys.positive("attention.key_length_swa")?)?,
            None if keys.contains(DIM) => rotary_dim(keys, DIM, head_dim)?,
            None => full.rotary_dim,
        };
        return Ok(Some(full.unscaled(freq_base, dim)));
    }
    let dim = keys.positive_or(DIM, full.rotary_dim)?;
    if dim != full.rotary_dim {
        let expected = format!("rope.dimension_count ({})", full.rotary_dim);
        return Err(keys.invalid(DIM, expected, dim));
    }
    Ok((freq_base != full.freq_base).then(|| RotarySpec { freq_base, ..full.clone() }))
}
