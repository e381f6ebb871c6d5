//! Norms of the residual stream.

use std::mem;

use inferno_backend::{Backend, LinearInput, Norm, NormKind, Pass};

use super::context::ForwardContext;
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
            weight: match &spec.weight {
                Some(weight) => loader.vector(weight)?,
                None => loader.ones(spec.len)?,
            },
            bias: loader.optional_vector(spec.bias.as_ref())?,
        })
    }

    /// Loads a norm if there is one.
    pub(crate) fn load_optional(
        loader: &mut Loader<'_, B>,
        spec: Option<&NormSpec>,
    ) -> Result<Option<Self>, ModelError> {
        spec.map(|norm| Self::load(loader, norm)).transpose()
    }

    /// Normalizes the rows of `x`. `scratch` is overwritten.
    pub(super) fn apply(
        &self,
        context: &mut ForwardContext<'_, B>,
        x: &mut B::Buffer,
        scratch: &mut B::Buffer,
    ) {
        context.pass.norm(context.rows, x, self.norm(), scratch);
        mem::swap(x, scratch);
    }

    /// Loads a norm whose weight is multiplied by `factor`.
    pub(crate) fn load_scaled(
        loader: &mut Loader<'_, B>,
        spec: &NormSpec,
        factor: f32,
    ) -> Result<Self, ModelError> {
        let weight = match &spec.weight {
            Some(weight) => loader.scaled_vector(weight, factor)?,
            None => loader.row(&vec![factor; spec.len])?,
        };
        Ok(Self { weight, ..Self::load(loader, spec)? })
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
