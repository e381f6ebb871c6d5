//! Multi-head latent attention.

use inferno_backend::{KvValues, QkvLayout};

use super::SpecBuilder;
use crate::ModelError;
use crate::spec::layer::{AttentionSpec, LatentSpec, NormSpec, ProjectionSpec};
use crate::spec::tensors::{Presence, TensorFinder};

/// Epsilon of the norms of latent vectors in all models, whatever that of their other norms.
const EPS: f32 = 1e-6;

impl SpecBuilder<'_> {
    pub(super) fn latent_attention(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        cache_layer: usize,
    ) -> Result<AttentionSpec, ModelError> {
        let keys = self.keys;
        if let Some(windows) = &self.windows {
            let expected = "0 or at least context_length, as latent attention has no window";
            let found = windows.window.max_len();
            return Err(keys.invalid("attention.sliding_window", expected, found));
        }
        let num_heads = self.num_heads(index)?;
        let latent_dim = keys.positive("attention.kv_lora_rank")?;
        // The up-projections of keys and values of a head, one below the other, in files of MiniCPM 3 and those of DeepSeek
        // from before April 2025.
        let is_unsplit =
            tensors.contains("attn_kv_b.weight") && !tensors.contains("attn_k_b.weight");
        // The other keys are lengths of the latent vector in files that have these.
        let length = |key: &'static str, other: &'static str| match keys.optional::<usize>(key)? {
            None | Some(0) => Ok::<_, ModelError>(other),
            Some(_) => Ok(key),
        };
        let key_length = length("attention.key_length_mla", "attention.key_length")?;
        let value_length = length("attention.value_length_mla", "attention.value_length")?;
        let head_dim = keys.positive(key_length)?;
        let value_dim = keys.positive_or(value_length, self.hidden_size / num_heads)?;
        let rotary_dim = self.rotaries[0].rotary_dim;
        let Some(plain_dim) = head_dim.checked_sub(rotary_dim).filter(|&dim| dim > 0) else {
            let expected = format!("more than rope.dimension_count ({rotary_dim})");
            return Err(keys.invalid(key_length, expected, head_dim));
        };
        let [key_up, value_up] = match is_unsplit {
            true => {
                let matrices = [num_heads, plain_dim + value_dim, latent_dim];
                tensors.split_matrices("attn_kv_b", matrices, plain_dim)?
            }
            false => {
                let per_head = |name, rows, cols| {
                    tensors.stacked(&[(name, rows)], None, [num_heads, cols], Presence::Optional)
                };
                [
                    per_head("attn_k_b", latent_dim, plain_dim)?,
                    per_head("attn_v_b", value_dim, latent_dim)?,
                ]
            }
        };
        let (query_down, query) = match keys.optional("attention.q_lora_rank")? {
            None | Some(0_usize) => {
                (None, tensors.linear("attn_q", num_heads * head_dim, self.hidden_size)?)
            }
            Some(_) => {
                let rank = keys.positive("attention.q_lora_rank")?;
                let down = tensors.linear("attn_q_a", rank, self.hidden_size)?;
                let norm = self.latent_norm(tensors, "attn_q_a_norm", rank)?;
                let query = tensors.linear("attn_q_b", num_heads * head_dim, rank)?;
                (Some((down, norm)), query)
            }
        };
        let latent = LatentSpec {
            latent_dim,
            rotary_dim,
            plain_dim,
            value_dim,
            query_down,
            query,
            kv_down: tensors.linear("attn_kv_a_mqa", latent_dim + rotary_dim, self.hidden_size)?,
            kv_norm: self.latent_norm(tensors, "attn_kv_a_norm", latent_dim)?,
            key_up,
            value_up,
        };
        let rotary = self.rotary(tensors, index, false)?;
        let heads = QkvLayout::new(num_heads, 1, rotary_dim + latent_dim);
        Ok(AttentionSpec {
            heads: QkvLayout { values: KvValues::InKeys { start: rotary_dim }, ..heads },
            cache_layer,
            scale: self.latent_scale(head_dim)?,
            softcap: None,
            mask: self.mask(index),
            distance_bias: None,
            rotary,
            has_temperature: self.has_temperature(rotary),
            qk_norm: None,
            bound: None,
            qkv: ProjectionSpec::Latent(Box::new(latent)),
            output_norm: None,
            output: tensors.linear("attn_output", self.hidden_size, num_heads * value_dim)?,
            part_norms: None,
            sinks: None,
            gate: None,
        })
    }

    fn latent_norm(
        &self,
        tensors: TensorFinder<'_>,
        name: &str,
        len: usize,
    ) -> Result<NormSpec, ModelError> {
        Ok(NormSpec { eps: EPS, ..self.norm(tensors, name, len)? })
    }

    /// The scale of heads with `head_dim` components: YaRN's temperature applies to it, squared, instead of to
    /// cosines and sines.
    fn latent_scale(&self, head_dim: usize) -> Result<f32, ModelError> {
        let scale = 1.0 / (head_dim as f32).sqrt();
        let Some(multiplier) = self.keys.optional_float("rope.scaling.yarn_log_multiplier")? else {
            return Ok(scale);
        };
        let factor = self.keys.positive_float("rope.scaling.factor", Some(1.0))?;
        let temperature = 1.0 + f64::from(multiplier) * libm::log(factor.into());
        Ok((f64::from(scale) * temperature * temperature) as f32)
    }
}
