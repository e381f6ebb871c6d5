//! Norms of the residual stream.

use inferno_backend::{Backend, LinearInput, Norm, NormKind};

use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::NormSpec;

/// The weights of a norm.
pub(crate) struct NormWeights<B: Backend> {
    kind: NormKind,
    eps: f32,
    weight: B::Buffer,
    bias: Option<B::Buffer>,
}

impl<B: Backend> NormWeights<B> {
    pub(crate) fn load(loader: &mut Loader<'_, B>, spec: &NormSpec) -> Result<Self, ModelError> {
        Ok(Self {
            kind: spec.kind,
            eps: spec.eps,
            weight: loader.vector(&spec.weight)?,
            bias: loader.optional_vector(spec.bias.as_ref())?,
        })
    }

    /// Loads a norm whose weight is multiplied by `factor`.
    pub(crate) fn load_scaled(
        loader: &mut Loader<'_, B>,
        spec: &NormSpec,
        factor: f32,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            weight: loader.scaled_vector(&spec.weight, factor)?,
            ..Self::load(loader, spec)?
        })
    }

    /// The norm, for an operation.
    pub(crate) fn norm(&self) -> Norm<'_, B::Buffer> {
        let Self { kind, eps, weight, bias } = self;
        Norm { kind: *kind, weight, bias: bias.as_ref(), eps: *eps }
    }
}

/// The rows of `x` after `norm`, or as they are without one.
pub(super) fn input_rows<'a, B: Backend>(
    norm: Option<&'a NormWeights<B>>,
    x: &'a B::Buffer,
) -> LinearInput<'a, B::Buffer> {
    match norm {
        Some(norm) => LinearInput::Normed { x, norm: norm.norm() },
        None => LinearInput::Plain(x),
    }
}
