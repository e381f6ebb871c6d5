//! The layers of a model that one device computes.

use std::collections::HashSet;
use std::ops::Range;

use inferno_backend::KvLayout;

use super::ModelSpec;
use super::layer::{LayerSpec, MixerSpec};
use super::recurrent::{RecurrentSpec, ScanSpec};
use super::unused::OtherTensors;
use crate::{CacheLayout, ModelError};

impl ModelSpec {
    /// Whether it has the output head: a stage without it returns the residual stream.
    pub fn has_output(&self) -> bool {
        self.output.is_some()
    }

    /// Number of decoder layers.
    pub fn num_layers(&self) -> usize {
        self.layers.len()
    }

    /// The part of the model that computes `layers`: with the embeddings if it begins with the first layer, and with the
    /// output head if it ends with the last.
    ///
    /// **Errors**: [`ModelError::Indivisible`] if the layers need what others have computed besides the residual
    /// stream.
    ///
    /// **Panics** if the range is empty or not within the model.
    pub fn stage(&self, layers: Range<usize>) -> Result<Self, ModelError> {
        let num_layers = self.num_layers();
        assert!(!layers.is_empty() && layers.end <= num_layers, "{layers:?} of {num_layers}");
        if layers == (0..num_layers) {
            return Ok(self.clone());
        }
        let cut = if layers.start == 0 { layers.end } else { layers.start };
        let indivisible = |reason| ModelError::Indivisible { layer: cut, reason };
        if self.streams.is_some() {
            return Err(indivisible("layers have several residual streams"));
        }
        if self.loops.count > 1 {
            return Err(indivisible("the layers are computed several times"));
        }
        if self.layer_embeddings.is_some() {
            return Err(indivisible("layers have embeddings of their own"));
        }
        let before = &self.layers[..layers.start];
        let [num_cached, num_recurrent] = [cached_layers(before), recurrent_layers(before)];
        let mut own = self.layers[layers.clone()].to_vec();
        for layer in &mut own {
            for mixer in &mut layer.mixers.block {
                match mixer {
                    MixerSpec::Attention(attention) => {
                        let index = attention.cache_layer.checked_sub(num_cached);
                        attention.cache_layer = index.ok_or_else(|| {
                            indivisible("a layer reads the cache of an earlier one")
                        })?;
                    }
                    MixerSpec::Recurrent(recurrent) => recurrent.move_up(num_recurrent),
                    MixerSpec::Linear(_) => {}
                }
            }
        }
        let mut stage = Self {
            layers: own,
            first_layer: layers.start,
            input: self.input.clone().filter(|_| layers.start == 0),
            output: self.output.clone().filter(|_| layers.end == num_layers),
            ..self.clone()
        };
        let own: HashSet<&str> = stage.tensor_names().collect();
        let others = OtherTensors::named(self.tensor_names().filter(|name| !own.contains(name)));
        stage.unused_tensors.others = others;
        Ok(stage)
    }

    /// The part of the whole model's cache that belongs to this stage.
    pub fn stage_cache(&self, whole: &CacheLayout) -> CacheLayout {
        let layers = self.kv_layout(0, whole.kv.dtype).layers;
        let state = whole.state.as_ref().and_then(|whole| self.state_layout(whole.num_slots));
        CacheLayout { kv: KvLayout { layers, ..whole.kv.clone() }, state }
    }

    /// The names of all tensors that the model needs, except scales.
    fn tensor_names(&self) -> impl Iterator<Item = &str> {
        let of_matrices = self.matrices().flat_map(|usage| &usage.matrix.parts);
        let parts = of_matrices.chain(self.tables().map(|(table, _)| table));
        let biases = self.matrices().filter_map(|usage| usage.bias);
        let vectors = self.vectors().chain(biases).flat_map(|vector| &vector.parts);
        parts.map(|part| part.name.as_str()).chain(vectors.map(|(name, _)| name.as_str()))
    }
}

/// Number of layers with keys and values of their own.
fn cached_layers(layers: &[LayerSpec]) -> usize {
    let attentions = layers.iter().filter_map(LayerSpec::attention);
    attentions.filter(|attention| attention.heads.has_kv).count()
}

fn recurrent_layers(layers: &[LayerSpec]) -> usize {
    layers.iter().filter_map(LayerSpec::recurrent).count()
}

impl RecurrentSpec {
    /// Moves the layer's place in the state up by `num_layers`.
    fn move_up(&mut self, num_layers: usize) {
        self.conv.params.layer -= num_layers;
        match &mut self.scan {
            Some(ScanSpec::LinearAttention(attention)) => attention.params.layer -= num_layers,
            Some(ScanSpec::Selective(selective)) => selective.params.layer -= num_layers,
            None => {}
        }
    }
}
