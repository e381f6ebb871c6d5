//! What follows the pooling of hidden states, as data.

use super::layer::NormSpec;
use super::tensors::VectorSpec;
use crate::arch::architecture::{ClassifierActivation, ClassifierPooling};

/// What follows the pooling of hidden states.
#[derive(Debug, Clone, Default)]
pub(crate) struct PooledSpec {
    /// The classifier of a reranker.
    pub(crate) classifier: Option<ClassifierSpec>,
    /// Projections of an embedding, in order.
    pub(crate) projections: Vec<DenseSpec>,
}

/// A classifier of pooled hidden states.
#[derive(Debug, Clone)]
pub(crate) struct ClassifierSpec {
    pub(crate) pooling: ClassifierPooling,
    /// A product and what it is followed by.
    pub(crate) dense: Option<(DenseSpec, ClassifierActivation)>,
    pub(crate) norm: Option<NormSpec>,
    pub(crate) output: Option<DenseSpec>,
    /// Whether outputs become probabilities.
    pub(crate) has_softmax: bool,
    /// The names of the outputs, if the file has them.
    pub(crate) labels: Vec<String>,
}

/// A product with a matrix of numbers.
#[derive(Debug, Clone)]
pub(crate) struct DenseSpec {
    /// One row per output.
    pub(crate) weight: VectorSpec,
    pub(crate) bias: Option<VectorSpec>,
}

impl DenseSpec {
    fn vectors(&self) -> impl Iterator<Item = &VectorSpec> {
        [&self.weight].into_iter().chain(&self.bias)
    }
}

impl PooledSpec {
    /// The names of all tensors.
    pub(super) fn tensor_names(&self) -> Vec<String> {
        let classifier = self.classifier.iter();
        let products = classifier.clone().flat_map(|classifier| {
            classifier.dense.iter().map(|(dense, _)| dense).chain(&classifier.output)
        });
        let norms = classifier.filter_map(|classifier| classifier.norm.as_ref());
        let vectors = products.chain(&self.projections).flat_map(DenseSpec::vectors);
        let vectors = vectors.chain(norms.flat_map(NormSpec::vectors));
        vectors.flat_map(|vector| &vector.parts).map(|(name, _)| name.clone()).collect()
    }
}
