//! The experts of a model on another device than its other weights.

use std::ops::Range;

use super::ModelSpec;
use super::feed_forward::{ExpertsSpec, FeedForwardSpec, LayerInput};
use super::layer::{BlockSpec, LayerSpec};

impl ModelSpec {
    /// Separates the experts of some layers from the rest of the model: routers and the matrices that tokens choose from,
    /// which are most of the weights of a mixture of experts but little of its work. `layers` are numbered as in the file.
    ///
    /// Returns the rest of the model, and a description of the experts for
    /// [`SeparateExperts::load`](crate::SeparateExperts::load); `None` if none of the layers has experts that can be
    /// separated: those that read what precedes the mixers of their layer cannot.
    pub fn separate_experts(&self, layers: Range<usize>) -> Option<(Self, Self)> {
        let (mut rest, mut separated) = (self.clone(), Vec::with_capacity(self.layers.len()));
        for (index, layer) in rest.layers.iter_mut().enumerate() {
            let is_separate =
                layer.has_separable_experts() && layers.contains(&(self.first_layer + index));
            separated.push(LayerSpec::experts_only(layer.feed_forward.as_ref(), is_separate));
            if let Some(experts) = layer.experts_mut().filter(|_| is_separate) {
                experts.separate_layer = Some(index);
            }
        }
        let experts = Self {
            vocab_size: 0,
            rotaries: Vec::new(),
            input: None,
            fusion: None,
            streams: None,
            layer_embeddings: None,
            layers: separated,
            temperature: None,
            output: None,
            ..self.clone()
        };
        experts.has_separable_experts().then_some((rest, experts))
    }

    /// Whether a layer has experts that can be [separated](Self::separate_experts).
    pub fn has_separable_experts(&self) -> bool {
        self.layers.iter().any(LayerSpec::has_separable_experts)
    }
}

impl LayerSpec {
    /// A layer of nothing but the experts of `block` and the norms of their inputs, and without these unless
    /// `has_experts`.
    fn experts_only(block: Option<&BlockSpec<FeedForwardSpec>>, has_experts: bool) -> Self {
        let experts = block.and_then(|BlockSpec { norm, block, .. }| match block {
            FeedForwardSpec::Experts(experts) if has_experts => Some((norm, experts)),
            FeedForwardSpec::Experts(_) | FeedForwardSpec::Dense(_) => None,
        });
        let block = |norm, experts: &ExpertsSpec| {
            let experts = ExpertsSpec { shared: None, ..experts.clone() };
            BlockSpec::plain(norm, FeedForwardSpec::Experts(Box::new(experts)))
        };
        Self {
            mixers: BlockSpec::plain(None, Vec::new()),
            low_rank: None,
            feed_forward: experts.map(|(norm, experts)| block(norm.clone(), experts)),
            is_parallel: false,
            streams: None,
            embedding: None,
            output_scale: None,
        }
    }

    /// Whether it has experts that read the output of its mixers alone.
    fn has_separable_experts(&self) -> bool {
        self.experts().is_some_and(|experts| matches!(experts.layer_input, LayerInput::Nothing))
    }

    fn experts_mut(&mut self) -> Option<&mut ExpertsSpec> {
        match &mut self.feed_forward.as_mut()?.block {
            FeedForwardSpec::Dense(_) => None,
            FeedForwardSpec::Experts(experts) => Some(experts),
        }
    }
}
