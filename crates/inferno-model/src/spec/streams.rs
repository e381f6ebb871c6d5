//! Several residual streams as data.
//!
//! A layer predicts all streams from those before it, computes the active one, and corrects all of them by how far the
//! prediction was off.
//!
//! **Source**: Baykal et al., Alternating Updates for Efficient Transformers, section 3.

use super::layer::NormSpec;
use super::tensors::{LinearSpec, VectorSpec};

/// The residual streams of a model. The first begins with the embeddings.
#[derive(Debug, Clone)]
pub(crate) struct StreamsSpec {
    pub(crate) num_streams: usize,
    /// From the first stream to each of the others.
    pub(crate) expand: LinearSpec,
    /// From each of the others back to the width of the first, of which all are the mean.
    pub(crate) merge: Vec<LinearSpec>,
}

impl StreamsSpec {
    /// Every product outside the layers.
    pub(super) fn linears(&self) -> impl Iterator<Item = &LinearSpec> {
        std::iter::once(&self.expand).chain(&self.merge)
    }
}

/// How a layer predicts and corrects the streams.
#[derive(Debug, Clone)]
pub(crate) struct LayerStreamsSpec {
    pub(crate) num_streams: usize,
    /// The stream that the layer computes.
    pub(crate) active: usize,
    /// The norm of the router's input, whose weight is divided by the width.
    pub(crate) router_norm: NormSpec,
    /// From the active stream to a number for each stream, before a hyperbolic tangent.
    pub(crate) router: LinearSpec,
    /// From these numbers to a factor for each pair of streams.
    pub(crate) prediction: LinearSpec,
    /// From these numbers to a factor for each stream, which 1 is added to.
    pub(crate) correction: LinearSpec,
    /// Factors on the active stream for the gate of the layer's embeddings.
    pub(crate) output_scale: Option<VectorSpec>,
}

impl LayerStreamsSpec {
    pub(super) fn linears(&self) -> [&LinearSpec; 3] {
        [&self.router, &self.prediction, &self.correction]
    }

    /// Every vector but the biases of products.
    pub(super) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        self.router_norm.vectors().chain(&self.output_scale)
    }
}

/// A product of low rank next to the mixers, whose input is added to its normalized output.
///
/// **Source**: Menghani et al., LAuReL: Learned Augmented Residual Layer, section 2.
#[derive(Debug, Clone)]
pub(crate) struct LowRankSpec {
    /// The norm of its input: that of the mixers.
    pub(crate) norm: NormSpec,
    pub(crate) down: LinearSpec,
    pub(crate) up: LinearSpec,
    pub(crate) post_norm: NormSpec,
}

impl LowRankSpec {
    /// Number of values between both products.
    pub(crate) fn rank(&self) -> usize {
        self.up.weight.cols
    }

    pub(super) fn linears(&self) -> [&LinearSpec; 2] {
        [&self.down, &self.up]
    }

    /// Every vector but the biases of products.
    pub(super) fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        self.norm.vectors().chain(self.post_norm.vectors())
    }
}
