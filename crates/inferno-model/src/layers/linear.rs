//! A product with a weight, with or without a bias.

use inferno_backend::{Backend, LinearInput, Pass};

use super::context::ForwardContext;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::tensors::LinearSpec;

/// A weight and its bias.
pub(crate) struct Linear<B: Backend> {
    pub(crate) weight: B::Weight,
    bias: Option<B::Buffer>,
}

impl<B: Backend> Linear<B> {
    pub(crate) fn load(loader: &mut Loader<'_, B>, spec: &LinearSpec) -> Result<Self, ModelError> {
        let weight = loader.matrix(&spec.weight)?;
        Ok(Self { weight, bias: loader.optional_vector(spec.bias.as_ref())? })
    }

    /// Loads a product whose bias, of which files have none, is all ones.
    pub(crate) fn load_plus_one(
        loader: &mut Loader<'_, B>,
        spec: &LinearSpec,
    ) -> Result<Self, ModelError> {
        let bias = loader.ones(spec.weight.num_rows())?;
        Ok(Self { weight: loader.matrix(&spec.weight)?, bias: Some(bias) })
    }

    /// `out = input * weight^T (+ bias)`.
    ///
    /// **Errors**: out of memory.
    pub(super) fn multiply<'x>(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: impl Into<LinearInput<'x, B::Buffer>>,
        out: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        Ok(context.pass.linear(context.rows, input, &self.weight, self.bias(), out)?)
    }

    /// `out += input * weight^T (+ bias)`.
    ///
    /// **Errors**: out of memory.
    pub(super) fn multiply_add(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: &B::Buffer,
        out: &mut B::Buffer,
    ) -> Result<(), ModelError> {
        Ok(context.pass.linear_add(context.rows, input, &self.weight, self.bias(), out)?)
    }

    pub(crate) fn bias(&self) -> Option<&B::Buffer> {
        self.bias.as_ref()
    }
}
