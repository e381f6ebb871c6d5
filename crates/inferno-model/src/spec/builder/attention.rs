//! The attention of a layer.

use inferno_backend::{NormKind, QkvLayout};

use super::SpecBuilder;
use crate::arch::architecture::{OutputGate, QkNormKind, Unrotated, Windows};
use crate::keys::{ArchitectureKeys, WINDOW_PATTERN};
use crate::spec::layer::{AttentionSpec, QkNormSpec};
use crate::spec::tensors::{TensorFinder, TensorRows};
use crate::{Architecture, ModelError};

/// The sliding window, and the file's own list of layers that have it.
pub(super) fn windows(
    keys: &ArchitectureKeys<'_>,
    facts: &Architecture,
    num_layers: usize,
) -> Result<(Option<usize>, Option<Vec<bool>>), ModelError> {
    if facts.attention.windows == Windows::Ignored {
        return Ok((None, None));
    }
    let window = keys.optional("attention.sliding_window")?.filter(|&window| window > 0);
    if window.is_none() || facts.attention.windows == Windows::All {
        return Ok((window, None));
    }
    let pattern = match keys.optional::<Vec<bool>>(WINDOW_PATTERN) {
        Ok(Some(pattern)) if pattern.len() < num_layers => {
            let expected = format!("a boolean for each of {num_layers} layers");
            return Err(keys.invalid(WINDOW_PATTERN, expected, pattern.len()));
        }
        Ok(pattern) => pattern,
        // Some files have the length of the period instead of a list.
        Err(_) => {
            let period = keys.positive(WINDOW_PATTERN)?;
            Some((0..num_layers).map(|layer| !(layer + 1).is_multiple_of(period)).collect())
        }
    };
    if pattern.is_none() && facts.attention.windows == Windows::ByKey {
        return Err(keys.invalid(WINDOW_PATTERN, "a boolean for each layer", "nothing"));
    }
    Ok((window, pattern))
}

impl SpecBuilder<'_> {
    pub(super) fn attention(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        cache_layer: usize,
    ) -> Result<AttentionSpec, ModelError> {
        let (facts, heads) = (&self.facts.attention, self.heads);
        let QkvLayout { num_heads, num_kv_heads, head_dim } = heads;
        let (q_rows, kv_rows) = (num_heads * head_dim, num_kv_heads * head_dim);
        let parts = [("attn_q", q_rows), ("attn_k", kv_rows), ("attn_v", kv_rows)];
        let hidden_size = self.hidden_size;
        let (qkv, gate) = match facts.gate {
            OutputGate::WithQueries => {
                let queries = |first| {
                    TensorRows::periodic("attn_q", 2 * q_rows, 2 * head_dim, first, head_dim)
                };
                let [keys, values] =
                    ["attn_k", "attn_v"].map(|name| TensorRows::all(name, kv_rows));
                let gate = tensors.rows_of_tensors(&[queries(head_dim)], hidden_size)?;
                (tensors.rows_of_tensors(&[queries(0), keys, values], hidden_size)?, Some(gate))
            }
            gate => {
                let fused = tensors.contains("attn_qkv.weight").then_some("attn_qkv");
                let gate = match gate == OutputGate::Own {
                    true => Some(tensors.linear("attn_gate", q_rows, hidden_size)?),
                    false => None,
                };
                (tensors.stacked(&parts, fused, [1, hidden_size], facts.bias)?, gate)
            }
        };
        let window = self.window.filter(|_| self.is_windowed(index));
        let sinks = match facts.has_sinks {
            true => Some(tensors.vector("attn_sinks.weight", 1, num_heads)?),
            false => None,
        };
        Ok(AttentionSpec {
            heads,
            cache_layer,
            scale: self.scale()?,
            softcap: self.softcap()?,
            window,
            rotary: self.rotary(index, window.is_some())?,
            qk_norm: self.qk_norm(tensors)?,
            qkv,
            output: tensors.linear("attn_output", self.hidden_size, q_rows)?,
            sinks,
            gate,
        })
    }

    /// Whether layer `index` has the sliding window.
    fn is_windowed(&self, index: usize) -> bool {
        match (&self.window_pattern, self.facts.attention.windows) {
            (Some(pattern), _) => pattern[index],
            (None, Windows::Periodic(period)) => !(index + 1).is_multiple_of(period),
            (None, windows) => windows == Windows::All,
        }
    }

    /// The index of the layer's rotary embedding, if it has one.
    fn rotary(&self, index: usize, is_windowed: bool) -> Result<Option<usize>, ModelError> {
        let is_rotated = match self.facts.attention.unrotated {
            Unrotated::None => true,
            Unrotated::All => false,
            Unrotated::ByKey => self.keys.optional("rope.scaling.finetuned")?.unwrap_or(true),
            Unrotated::Periodic(period) => !(index + 1).is_multiple_of(period),
            Unrotated::Unwindowed => is_windowed || self.window.is_none(),
        };
        Ok(is_rotated.then_some(usize::from(is_windowed && self.rotaries.len() > 1)))
    }

    fn scale(&self) -> Result<f32, ModelError> {
        let QkvLayout { num_heads, head_dim, .. } = self.heads;
        let head_scale = match self.num_layers == self.facts.attention.hidden_scale_layers {
            true => 1.0 / ((self.hidden_size / num_heads) as f32).sqrt(),
            false => 1.0 / (head_dim as f32).sqrt(),
        };
        match self.facts.has_multipliers {
            true => Ok(self.keys.optional_float("attention.scale")?.unwrap_or(head_scale)),
            false => Ok(head_scale),
        }
    }

    fn softcap(&self) -> Result<Option<f32>, ModelError> {
        let Some([default, _]) = self.facts.softcaps else { return Ok(None) };
        self.keys.positive_float("attn_logit_softcapping", Some(default)).map(Some)
    }

    fn qk_norm(&self, tensors: TensorFinder<'_>) -> Result<Option<QkNormSpec>, ModelError> {
        let QkvLayout { num_heads, num_kv_heads, head_dim } = self.heads;
        let kind = self.facts.attention.qk_norm;
        let is_optional = matches!(kind, QkNormKind::OwnWeights | QkNormKind::PerHeadIfPresent);
        let is_absent = is_optional && !tensors.contains("attn_q_norm.weight");
        if kind == QkNormKind::None || is_absent {
            return Ok(None);
        }
        let vector = |name, num_heads| match kind {
            QkNormKind::Whole => tensors.vector(name, 1, num_heads * head_dim),
            QkNormKind::OwnWeights => tensors.flat_vector(name, num_heads, head_dim),
            _ => tensors.vector(name, 1, head_dim),
        };
        Ok(Some(QkNormSpec {
            kind: match kind {
                QkNormKind::OwnWeights => self.facts.norm,
                _ => NormKind::Rms,
            },
            eps: self.eps,
            whole: kind == QkNormKind::Whole,
            after_rotation: kind == QkNormKind::PerHeadAfterRotation,
            q: vector("attn_q_norm.weight", num_heads)?,
            k: vector("attn_k_norm.weight", num_kv_heads)?,
        }))
    }
}
