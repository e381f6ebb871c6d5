//! The layers of the decoder.

use inferno_backend::Function;

use super::SpecBuilder;
use crate::ModelError;
use crate::arch::architecture::RecurrentLayers;
use crate::spec::layer::{
    BlockSpec, LayerEmbeddingSpec, LayerSpec, MixerSpec, NormSpec, SumNormSpec,
};
use crate::spec::tensors::TensorFinder;

/// The places of the next layer's mixers in the KV cache and in the recurrent state.
#[derive(Default)]
pub(super) struct MixerPlaces {
    cache: usize,
    state: usize,
}

impl SpecBuilder<'_> {
    /// The layers of the decoder.
    pub(super) fn layers(&self) -> Result<Vec<LayerSpec>, ModelError> {
        let mut places = MixerPlaces::default();
        (0..self.num_layers).map(|index| self.layer(index, &mut places)).collect()
    }

    /// Layer `index`, whose mixers take the next of `places`.
    pub(super) fn layer(
        &self,
        index: usize,
        places: &mut MixerPlaces,
    ) -> Result<LayerSpec, ModelError> {
        let tensors = self.tensors.in_layer(index);
        let (names, residual_scale) = (&self.facts.norms, self.residual_scale);
        let size = self.feed_forward_sizes.as_ref().map(|sizes| sizes.get(index));
        let has_experts = self.layer_experts(tensors, index).is_some();
        let may_have_none = self.facts.recurrent.is_some() || self.facts.has_optional_blocks;
        let has_feed_forward = match self.facts.has_single_blocks {
            true => size != Some(0),
            false => !may_have_none || size != Some(0) || has_experts,
        };
        let heads = [&self.num_heads, &self.num_kv_heads]
            .map(|heads| heads.as_ref().is_none_or(|heads| heads.get(index) > 0));
        let has_mixers = match self.facts.has_optional_blocks {
            true => heads[0],
            false => !self.facts.has_single_blocks || !has_feed_forward,
        };
        let [mixer_sum, feed_forward_sum] = match names.sums {
            Some(names) => names.map(Some),
            None => [None; 2],
        };
        let mixer_scale = match self.facts.attention.has_value_scale {
            true => self.keys.optional_float("attention.value_scale")?.unwrap_or(1.0),
            false => 1.0,
        };
        // The mean of two sums.
        let is_averaged = self.facts.experts.averages_shared
            && has_experts
            && tensors.contains("ffn_up_shexp.weight");
        let feed_forward_scale = if is_averaged { 0.5 } else { 1.0 };
        let has_no_norm =
            index == 0 && names.first_is_optional && !tensors.contains("attn_norm.weight");
        let input_norm = if has_mixers && !has_no_norm { names.attention } else { &[] };
        let mixers = BlockSpec {
            norm: self.layer_norm(tensors, input_norm)?,
            block: match has_mixers {
                true if self.facts.has_optional_blocks && !heads[1] => {
                    let size = self.hidden_size;
                    vec![MixerSpec::Linear(tensors.linear("attn_output", size, size)?)]
                }
                true => self.mixers(tensors, index, places)?,
                false => Vec::new(),
            },
            post_norm: self.layer_norm(tensors, names.post_attention)?,
            residual_scale: residual_scale * mixer_scale,
            sum_norm: self.sum_norm(tensors, mixer_sum, Some("attn_norm_2"))?,
        };
        let feed_forward = match has_feed_forward {
            true => Some(BlockSpec {
                norm: self.layer_norm(tensors, names.feed_forward)?,
                block: self.feed_forward(tensors, index)?,
                post_norm: self.layer_norm(tensors, names.post_feed_forward)?,
                residual_scale: residual_scale * feed_forward_scale,
                sum_norm: self.sum_norm(tensors, feed_forward_sum, None)?,
            }),
            false => None,
        };
        Ok(LayerSpec {
            mixers,
            feed_forward,
            low_rank: self.low_rank(tensors)?,
            is_parallel: self.is_parallel,
            streams: self.layer_streams(tensors)?,
            embedding: self.layer_embedding(tensors, index)?,
            output_scale: tensors.optional_vector("layer_output_scale.weight", 1)?,
        })
    }

    /// The mixers of layer `index`.
    fn mixers(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        places: &mut MixerPlaces,
    ) -> Result<Vec<MixerSpec>, ModelError> {
        let mut mixers = Vec::new();
        let is_recurrent = self.recurrent_layers.contains(index);
        let layers = self.facts.recurrent.map(|facts| facts.layers);
        if !is_recurrent || layers == Some(RecurrentLayers::NextToAttention) {
            let attention = self.attention(tensors, index, places.cache)?;
            places.cache += 1;
            mixers.push(MixerSpec::Attention(Box::new(attention)));
        }
        if let Some(facts) = self.facts.recurrent.filter(|_| is_recurrent) {
            let recurrent = self.recurrent(tensors, facts.kind, places.state)?;
            places.state += 1;
            mixers.push(MixerSpec::Recurrent(Box::new(recurrent)));
        }
        Ok(mixers)
    }

    /// The norm `name` of a sum, and that of a second one under the name `second` if the file has it.
    fn sum_norm(
        &self,
        tensors: TensorFinder<'_>,
        name: Option<&str>,
        second: Option<&str>,
    ) -> Result<Option<SumNormSpec>, ModelError> {
        let Some(name) = name else { return Ok(None) };
        let second = second.filter(|name| tensors.contains(&format!("{name}.weight")));
        Ok(Some(SumNormSpec {
            norm: self.norm(tensors, name, self.hidden_size)?,
            with_input: match second {
                Some(second) => Some(self.norm(tensors, second, self.hidden_size)?),
                None => None,
            },
        }))
    }

    /// The norm under the first of `names` that the file has; if it has none of them, the last is missing.
    fn layer_norm(
        &self,
        tensors: TensorFinder<'_>,
        names: &[&str],
    ) -> Result<Option<NormSpec>, ModelError> {
        let has_weight =
            |name: &&&str| tensors.contains(&format!("{name}.weight")) || tensors.contains(name);
        let name = names.iter().find(has_weight).or(names.last());
        name.map(|name| self.norm(tensors, name, self.hidden_size)).transpose()
    }

    fn layer_embedding(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<Option<LayerEmbeddingSpec>, ModelError> {
        let Some(width) = self.layer_embedding_size()? else { return Ok(None) };
        Ok(Some(LayerEmbeddingSpec {
            width,
            column: index * width,
            function: Function::GeluTanh,
            gate: tensors.linear("inp_gate", width, self.hidden_size)?,
            projection: tensors.linear("proj", self.hidden_size, width)?,
            post_norm: self.norm(tensors, "post_norm", self.hidden_size)?,
        }))
    }
}
