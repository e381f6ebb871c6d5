//! The tensors that files contain but a model does not need.

use std::collections::HashSet;
use std::ops::Range;

use crate::tensor_names::layer_tensor;

/// The tensors that files contain but the model does not need.
#[derive(Debug, Clone)]
pub(crate) struct UnusedTensors {
    /// The layers that predict further tokens.
    pub(crate) predictors: Range<usize>,
    /// The layers that read the keys and values of others, in ascending order: they need no projections of their own.
    pub(crate) layers_without_kv: Vec<usize>,
    /// Those that the [`PooledHead`](crate::PooledHead) needs, and the output head of models without logits.
    pub(crate) beyond_hidden_states: Vec<String>,
    /// Those that other parts of the file's model need.
    pub(crate) others: OtherTensors,
}

/// The tensors of other parts of a model.
#[derive(Debug, Clone)]
pub(crate) enum OtherTensors {
    /// None: it is the whole model.
    None,
    /// Those that other stages need: their names, or the beginnings of these up to the last dot.
    Named(HashSet<String>),
    /// All outside a layer.
    OutsideLayer(usize),
}

impl OtherTensors {
    /// The tensors with these names, and their scales.
    pub(crate) fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self::Named(names.map(|name| name.trim_end_matches("weight").to_owned()).collect())
    }

    fn contains(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Named(names) => {
                let beginning = name.rfind('.').map(|dot| &name[..=dot]);
                names.contains(name) || beginning.is_some_and(|it| names.contains(it))
            }
            Self::OutsideLayer(layer) => {
                layer_tensor(name).is_none_or(|(other, _)| other != *layer)
            }
        }
    }
}

impl UnusedTensors {
    /// Those of a prediction head, which is layer `layer`.
    pub(crate) fn outside_layer(layer: usize) -> Self {
        Self {
            predictors: 0..0,
            layers_without_kv: Vec::new(),
            beyond_hidden_states: Vec::new(),
            others: OtherTensors::OutsideLayer(layer),
        }
    }

    /// Whether the tensor `name` is one of them.
    pub(crate) fn contains(&self, name: &str) -> bool {
        if self.others.contains(name) || self.beyond_hidden_states.iter().any(|it| it == name) {
            return true;
        }
        let Some((layer, name)) = layer_tensor(name) else { return false };
        let is_projection = name.starts_with("attn_k") || name.starts_with("attn_v");
        self.predictors.contains(&layer)
            || is_projection && self.layers_without_kv.binary_search(&layer).is_ok()
    }
}
