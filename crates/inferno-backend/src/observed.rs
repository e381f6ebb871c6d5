//! A backend that shows operations, and the inputs of products, to an observer.
//!
//! It wraps another backend and forwards every operation, so that models need no code for it, and models on other backends
//! cost nothing. Weights carry their tensors. Before a product whose input is of interest, its rows are downloaded: those of
//! a fused norm are computed once more, separately.

mod memory;
mod operation;
mod pass;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

pub use memory::{ObservedBatch, ObservedRouting, ObservedWeight};
pub use operation::{AttentionOperation, Operation, ProductOperation, WeightTensor};
pub use pass::ObservedPass;

use crate::{Backend, Requirement};

/// Receives what a pass does.
pub trait PassObserver: Send + Sync + 'static {
    /// Whether operations are observed. Otherwise, [`begin`](Self::begin) and [`end`](Self::end) are not called.
    const OBSERVES_OPERATIONS: bool = false;

    /// Returns whether the inputs of products with a tensor are of interest (default: none).
    fn wants(&self, _tensor: &str) -> bool {
        false
    }

    /// Receives the inputs of a product with tensors of interest.
    fn observe(&self, _product: &ObservedProduct<'_>) {}

    /// The next operation is about to be issued. Operations of a pass do not overlap.
    fn begin(&self) {}

    /// The operation has been issued. Backends that execute operations at once have completed it.
    fn end(&self, _operation: &Operation<'_>) {}
}

/// The inputs of a product.
#[derive(Debug, Clone, Copy)]
pub struct ObservedProduct<'a> {
    /// Names of the tensors that multiply each row: several if their rows are stacked.
    pub tensors: &'a [String],
    /// Number of input features, which is the length of a row.
    pub cols: usize,
    /// The input rows, one after the other.
    pub values: &'a [f32],
    /// Which matrix of the tensors multiplies each row.
    pub matrices: ObservedMatrices<'a>,
}

/// Which matrix of a tensor multiplies each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedMatrices<'a> {
    /// The only one.
    One,
    /// All of them in order, one row each.
    Each {
        /// Number of matrices.
        count: usize,
    },
    /// Those of chosen experts.
    Experts {
        /// Number of matrices.
        count: usize,
        /// The matrices, in the order of the rows.
        chosen: &'a [u32],
        /// Number of consecutive choices that read the same row.
        choices_per_row: usize,
    },
}

/// The backend `B` with an observer of its passes.
pub struct ObservedBackend<B, O> {
    inner: Arc<B>,
    observer: Arc<O>,
    /// Tensors whose products are observed. Rows of a tensor can be parts of several weights, which have the same inputs.
    observed: Mutex<HashSet<String>>,
}

impl<B: Backend, O: PassObserver> ObservedBackend<B, O> {
    /// Shows operations, and the inputs of products with weights that are loaded from now on, to `observer`.
    pub fn new(inner: Arc<B>, observer: Arc<O>) -> Self {
        Self { inner, observer, observed: Mutex::default() }
    }

    /// Returns which of the tensors of a weight are observed with it: those of interest that no other weight contains.
    fn claim<'a>(&self, tensors: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        tensors
            .filter(|&tensor| self.observer.wants(tensor) && observed.insert(tensor.to_owned()))
            .map(str::to_owned)
            .collect()
    }
}

impl<B: Backend, O: PassObserver> Backend for ObservedBackend<B, O> {
    type Pass<'a> = ObservedPass<'a, B, O>;

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn unsupported(&self, requirement: &Requirement<'_>) -> Option<String> {
        self.inner.unsupported(requirement)
    }

    fn begin(&self) -> ObservedPass<'_, B, O> {
        ObservedPass::new(self)
    }
}
