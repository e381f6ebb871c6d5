//! The attention of a layer.

use inferno_backend::{AttentionMask, KvValues, NormKind, QkvLayout};

use super::SpecBuilder;
use crate::ModelError;
use crate::arch::attention_facts::{DistanceBias, OutputGate, QkNormKind, Temperature, Unrotated};
use crate::keys::{ArchitectureKeys, PerLayer, ROPE_PATTERN};
use crate::spec::layer::{
    AttentionSpec, DistanceBiasSpec, HeadGateSpec, NormSpec, ProjectionSpec, QkNormSpec,
};
use crate::spec::tensors::{LinearSpec, Presence, TensorFinder, TensorRows};
use crate::tensor_names::DISTANCE_BUCKETS;

/// Number of rows of the table of what distances add to scores, in all models.
const NUM_DISTANCE_BUCKETS: usize = 32;

/// The number of components of heads without a window.
pub(super) fn head_dim(
    keys: &ArchitectureKeys<'_>,
    hidden_size: usize,
    num_heads: Option<&PerLayer<usize>>,
) -> Result<usize, ModelError> {
    if let Some(head_dim) = keys.optional::<usize>("attention.key_length")? {
        return keys.positive_or("attention.key_length", head_dim);
    }
    let num_heads = query_heads(keys, num_heads, 0)?;
    if !hidden_size.is_multiple_of(num_heads) {
        let expected = format!("a divisor of embedding_length ({hidden_size}), or a key_length");
        return Err(keys.invalid("attention.head_count", expected, num_heads));
    }
    Ok(hidden_size / num_heads)
}

/// The number of query heads of layer `layer`.
fn query_heads(
    keys: &ArchitectureKeys<'_>,
    num_heads: Option<&PerLayer<usize>>,
    layer: usize,
) -> Result<usize, ModelError> {
    match num_heads {
        Some(num_heads) => num_heads.positive(layer),
        None => keys.positive("attention.head_count"),
    }
}

/// The slope of each of `num_heads` heads: powers of `2^(-max / n)`, where `n` is the largest power of two up to their
/// number, and for further heads odd powers of its root.
///
/// **Source**: Press et al., Train Short, Test Long, section 3, and its reference code.
fn distance_slopes(max: f32, num_heads: usize) -> Vec<f32> {
    let num_first = 1 << num_heads.ilog2();
    let exponent = |head: usize| match head < num_first {
        true => (head + 1) as f64,
        false => (2 * (head - num_first) + 1) as f64 / 2.0,
    };
    let slope = |head| libm::exp2(-f64::from(max) / num_first as f64 * exponent(head)) as f32;
    (0..num_heads).map(slope).collect()
}

impl SpecBuilder<'_> {
    pub(super) fn attention(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        cache_layer: usize,
    ) -> Result<AttentionSpec, ModelError> {
        let facts = &self.facts.attention;
        let is_windowed = self.is_windowed(index);
        if facts.is_latent {
            return self.latent_attention(tensors, index, cache_layer);
        }
        let shared = self.shared_layer(index)?;
        let heads = QkvLayout { has_kv: shared.is_none(), ..self.heads(index)? };
        let (out_len, hidden_size) = (heads.out_len(), self.hidden_size);
        let (qkv, gate) = match facts.gate {
            OutputGate::WithQueries => {
                let [q_rows, kv_rows, _] = heads.part_lens();
                let head_dim = heads.head_dim;
                let queries = |first| {
                    TensorRows::periodic("attn_q", 2 * q_rows, 2 * head_dim, first, head_dim)
                };
                let [keys, values] =
                    ["attn_k", "attn_v"].map(|name| TensorRows::all(name, kv_rows));
                let linear = tensors.rows_of_tensors(&[queries(head_dim)], hidden_size)?;
                let qkv = tensors.rows_of_tensors(&[queries(0), keys, values], hidden_size)?;
                (qkv, Some((linear, false)))
            }
            gate => {
                let is_per_head = tensors.rows_of("attn_gate.weight") == Some(heads.num_heads);
                let rows = if is_per_head { heads.num_heads } else { out_len };
                let has_gate = match gate {
                    OutputGate::Own => true,
                    OutputGate::OwnIfPresent => tensors.contains("attn_gate.weight"),
                    OutputGate::None | OutputGate::WithQueries => false,
                };
                let gate = match has_gate {
                    true => Some((tensors.linear("attn_gate", rows, hidden_size)?, is_per_head)),
                    false => None,
                };
                (self.stacked_projection(tensors, &heads)?, gate)
            }
        };
        let function = facts.gate_function;
        let gate = gate.map(|(linear, is_per_head)| HeadGateSpec { linear, function, is_per_head });
        let sinks = "attn_sinks.weight";
        let sinks = match facts.sinks {
            Some(Presence::Required) => Some(tensors.vector(sinks, 1, heads.num_heads)?),
            Some(Presence::Optional) => tensors.optional_vector(sinks, heads.num_heads)?,
            None => None,
        };
        let rotary = self.rotary(tensors, index, is_windowed)?;
        Ok(AttentionSpec {
            heads,
            cache_layer: shared.unwrap_or(cache_layer),
            scale: self.scale(&heads),
            softcap: self.softcap("attn_logit_softcapping", self.facts.score_softcap)?,
            mask: self.mask(index),
            distance_bias: self.distance_bias(&heads)?,
            rotary,
            has_temperature: self.has_temperature(rotary),
            qk_norm: self.qk_norm(tensors, &heads, rotary.is_some())?,
            bound: self.bound()?,
            part_norms: self.part_norms(tensors, &heads)?,
            qkv: ProjectionSpec::Stacked(qkv),
            output_norm: self.inner_norm(tensors, "attn_sub_norm", out_len)?,
            output: tensors.linear("attn_output", self.hidden_size, out_len)?,
            sinks,
            gate,
        })
    }

    /// The bound of the magnitude of queries, keys and values. Negative ones have no effect, as in llama.cpp.
    fn bound(&self) -> Result<Option<f32>, ModelError> {
        match self.facts.attention.has_bound {
            true => {
                Ok(self.keys.optional_float("attention.clamp_kqv")?.filter(|&bound| bound > 0.0))
            }
            false => Ok(None),
        }
    }

    /// What distances add to the scores of `heads`.
    fn distance_bias(&self, heads: &QkvLayout) -> Result<Option<DistanceBiasSpec>, ModelError> {
        if let DistanceBias::Buckets = self.facts.attention.distance_bias {
            let buckets =
                self.tensors.vector(DISTANCE_BUCKETS, NUM_DISTANCE_BUCKETS, heads.num_heads)?;
            return Ok(Some(DistanceBiasSpec::Buckets(buckets)));
        }
        let slopes = self.max_distance_bias()?.map(|max| distance_slopes(max, heads.num_heads));
        Ok(slopes.map(DistanceBiasSpec::Slopes))
    }

    /// The largest factor on distances, if scores are lowered by them.
    fn max_distance_bias(&self) -> Result<Option<f32>, ModelError> {
        const KEY: &str = "attention.max_alibi_bias";
        let max = match self.facts.attention.distance_bias {
            DistanceBias::None | DistanceBias::Buckets => return Ok(None),
            DistanceBias::ByKey => return self.keys.optional_float(KEY),
            DistanceBias::OfVariant { num_layers, .. } if num_layers != self.num_layers => {
                return Ok(None);
            }
            DistanceBias::OfVariant { max, .. } | DistanceBias::Max(max) => max,
        };
        // llama.cpp saves models with this fact as well.
        match self.keys.optional_float(KEY)? {
            Some(found) if found != max => Err(self.keys.invalid(KEY, max.to_string(), found)),
            _ => Ok(Some(max)),
        }
    }

    fn stacked_projection(
        &self,
        tensors: TensorFinder<'_>,
        heads: &QkvLayout,
    ) -> Result<LinearSpec, ModelError> {
        let facts = &self.facts.attention;
        let [q_rows, k_rows, v_rows] = heads.part_lens();
        let is_key_value = facts.keys_as_values && !tensors.contains("attn_v.weight");
        let value = if is_key_value { "attn_k" } else { "attn_v" };
        let parts = [("attn_q", q_rows), ("attn_k", k_rows), (value, v_rows)];
        let parts = if heads.has_kv { &parts[..] } else { &parts[..1] };
        let fused = tensors.contains("attn_qkv.weight").then_some("attn_qkv");
        if let (Some(name), true) = (fused, facts.fuses_by_head) {
            if k_rows != q_rows {
                let QkvLayout { num_heads, num_kv_heads, .. } = *heads;
                let expected = format!("attention.head_count ({num_heads})");
                return Err(self.keys.invalid("attention.head_count_kv", expected, num_kv_heads));
            }
            let (rows, len) = (q_rows + k_rows + v_rows, heads.head_dim);
            let part = |index| TensorRows::periodic(name, rows, 3 * len, index * len, len);
            return tensors.rows_of_tensors(&[part(0), part(1), part(2)], self.hidden_size);
        }
        tensors.stacked(parts, fused, [1, self.hidden_size], facts.bias)
    }

    /// The number of query heads of layer `index`.
    pub(super) fn num_heads(&self, index: usize) -> Result<usize, ModelError> {
        query_heads(self.keys, self.num_heads.as_ref(), index)
    }

    /// The heads of layer `index`.
    fn heads(&self, index: usize) -> Result<QkvLayout, ModelError> {
        let keys = self.keys;
        let num_heads = self.num_heads(index)?;
        let num_kv_heads = match &self.num_kv_heads {
            Some(num_kv_heads) => match num_kv_heads.positive(index)? {
                number if num_heads.is_multiple_of(number) => number,
                _ => {
                    let expected = format!("a divisor of attention.head_count ({num_heads})");
                    return Err(num_kv_heads.invalid(index, expected));
                }
            },
            None => num_heads,
        };
        let facts = &self.facts.attention;
        let mut head_dim = head_dim(keys, self.hidden_size, self.num_heads.as_ref())?;
        let mut value_key = "attention.value_length";
        let mut value_dim = keys.positive_or(value_key, head_dim)?;
        let has_own = keys.optional::<usize>("attention.key_length_swa")?.is_some();
        if has_own && self.is_windowed(index) {
            let windowed_dim = keys.positive("attention.key_length_swa")?;
            // Gates of heads multiply rows of one size.
            let is_uniform = facts.windowed_rotary.is_none() || facts.gate != OutputGate::None;
            if windowed_dim != head_dim && is_uniform {
                let expected = format!("attention.key_length ({head_dim})");
                return Err(keys.invalid("attention.key_length_swa", expected, windowed_dim));
            }
            head_dim = windowed_dim;
            value_key = "attention.value_length_swa";
            value_dim = keys.positive_or(value_key, value_dim)?;
        }
        if value_dim != head_dim && !facts.has_value_len {
            let expected = format!("the length of keys ({head_dim})");
            return Err(keys.invalid(value_key, expected, value_dim));
        }
        let values = KvValues::Separate { dim: value_dim };
        Ok(QkvLayout { values, ..QkvLayout::new(num_heads, num_kv_heads, head_dim) })
    }

    /// The layer whose keys and values layer `index` reads, if it has none of its own: the last one of the same kind
    /// that has.
    fn shared_layer(&self, index: usize) -> Result<Option<usize>, ModelError> {
        const KEY: &str = "attention.shared_kv_layers";
        let num_shared = match self.facts.attention.shares_kv {
            true => self.keys.optional(KEY)?.unwrap_or(0_usize),
            false => 0,
        };
        let num_own = self.num_layers.saturating_sub(num_shared);
        if index < num_own {
            return Ok(None);
        }
        let is_windowed = self.is_windowed(index);
        let shared = (0..num_own).rev().find(|&own| self.is_windowed(own) == is_windowed);
        let shared = shared.ok_or_else(|| {
            let expected = "fewer layers, so that one of each kind has its own keys and values";
            self.keys.invalid(KEY, expected, num_shared)
        })?;
        let [own, reader] = [self.heads(shared)?.kv_layer(), self.heads(index)?.kv_layer()];
        if own.num_heads != reader.num_heads {
            let expected = format!(
                "{}, as in layer {shared}, whose keys and values layer {index} reads",
                own.num_heads
            );
            return Err(match &self.num_kv_heads {
                Some(num_kv_heads) => num_kv_heads.invalid(index, expected),
                None => self.keys.invalid("attention.head_count", expected, reader.num_heads),
            });
        }
        Ok(Some(shared))
    }

    /// Whether layer `index` has the sliding window.
    fn is_windowed(&self, index: usize) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.contains(index))
    }

    /// The positions that a position attends to in layer `index`. The window of attention in both directions has its
    /// position in the middle.
    pub(super) fn mask(&self, index: usize) -> AttentionMask {
        let windows = self.windows.as_ref().filter(|windows| windows.contains(index));
        let window = windows.map(|windows| windows.window);
        match self.is_causal {
            true => AttentionMask::Causal(window),
            false => {
                AttentionMask::Bidirectional { reach: window.map(|window| window.max_len() / 2) }
            }
        }
    }

    /// The index of the layer's rotary embedding, if it has one.
    pub(super) fn rotary(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        is_windowed: bool,
    ) -> Result<Option<usize>, ModelError> {
        let is_rotated = match self.facts.attention.unrotated {
            Unrotated::None => true,
            Unrotated::All => false,
            Unrotated::ByKey => {
                // llama.cpp saves models with the same value for each layer.
                self.keys.mark_read(ROPE_PATTERN);
                self.keys.optional("rope.scaling.finetuned")?.unwrap_or(true)
            }
            Unrotated::ByPattern => self.rotated_layers.as_ref().is_none_or(|layers| layers[index]),
            Unrotated::Periodic(period) => !(index + 1).is_multiple_of(period),
            Unrotated::Unwindowed => is_windowed || self.windows.is_none(),
            Unrotated::WithDistanceBias => self.max_distance_bias()?.is_none(),
            Unrotated::UnwindowedExperts => {
                is_windowed || self.layer_experts(tensors, index).is_none()
            }
        };
        Ok(is_rotated.then_some(usize::from(is_windowed && self.rotaries.len() > 1)))
    }

    /// Whether a layer with this rotary embedding has factors on its queries, if the model has them.
    pub(super) fn has_temperature(&self, rotary: Option<usize>) -> bool {
        match self.facts.attention.temperature {
            Temperature::None => false,
            Temperature::ByKey { .. } => true,
            Temperature::Unrotated { .. } => rotary.is_none(),
        }
    }

    fn scale(&self, heads: &QkvLayout) -> f32 {
        let QkvLayout { num_heads, head_dim, .. } = *heads;
        let facts = &self.facts.attention;
        let head_scale = match self.num_layers == facts.hidden_scale_layers {
            _ if facts.has_unit_scale => 1.0,
            _ if facts.is_scaled_by_size => 1.0 / head_dim as f32,
            true => 1.0 / ((self.hidden_size / num_heads) as f32).sqrt(),
            false => 1.0 / (head_dim as f32).sqrt(),
        };
        self.attention_scale.unwrap_or(head_scale)
    }

    /// The norms of all queries and of all keys, which are as wide as the residual stream.
    fn part_norms(
        &self,
        tensors: TensorFinder<'_>,
        heads: &QkvLayout,
    ) -> Result<Option<[NormSpec; 2]>, ModelError> {
        let is_present = tensors.contains("attn_q_norm.weight");
        if self.facts.attention.qk_norm != QkNormKind::WholeIfPresent || !is_present {
            return Ok(None);
        }
        let hidden_size = self.hidden_size;
        let [query_len, key_len, _] = heads.part_lens();
        if query_len != hidden_size || key_len != hidden_size {
            let expected = format!("heads of {hidden_size} values together, which are normalized");
            return Err(self.keys.invalid("attention.head_count_kv", expected, key_len));
        }
        let norm = |name| self.norm(tensors, name, hidden_size);
        Ok(Some([norm("attn_q_norm")?, norm("attn_k_norm")?]))
    }

    fn qk_norm(
        &self,
        tensors: TensorFinder<'_>,
        heads: &QkvLayout,
        is_rotated: bool,
    ) -> Result<Option<QkNormSpec>, ModelError> {
        let QkvLayout { num_heads, num_kv_heads, head_dim, has_kv, .. } = *heads;
        let kind = self.facts.attention.qk_norm;
        let is_optional = matches!(kind, QkNormKind::OwnWeights | QkNormKind::PerHeadIfPresent);
        let is_absent = match kind {
            QkNormKind::Unweighted { except_experts } => {
                !is_rotated || self.keys.optional("expert_count")? == Some(except_experts)
            }
            _ => is_optional && !tensors.contains("attn_q_norm.weight"),
        };
        if matches!(kind, QkNormKind::None | QkNormKind::WholeIfPresent) || is_absent {
            return Ok(None);
        }
        let vector = |name, num_heads| match kind {
            QkNormKind::Whole => tensors.vector(name, 1, num_heads * head_dim),
            QkNormKind::OwnWeights => tensors.flat_vector(name, num_heads, head_dim),
            _ => tensors.vector(name, 1, head_dim),
        };
        let is_unweighted = matches!(kind, QkNormKind::Unweighted { .. });
        let weights = match is_unweighted {
            true => None,
            false => {
                let q = vector("attn_q_norm.weight", num_heads)?;
                let k = has_kv.then(|| vector("attn_k_norm.weight", num_kv_heads)).transpose()?;
                Some((q, k))
            }
        };
        Ok(Some(QkNormSpec {
            kind: match kind {
                QkNormKind::OwnWeights => self.facts.norm,
                _ => NormKind::Rms,
            },
            eps: self.eps,
            whole: kind == QkNormKind::Whole,
            after_rotation: is_unweighted || kind == QkNormKind::PerHeadAfterRotation,
            weights,
            normalizes_values: self.facts.attention.normalizes_values && has_kv,
        }))
    }
}
