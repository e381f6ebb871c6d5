//! A product in the place of attention, without regard to other tokens.

use inferno_backend::{Backend, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use super::residual::Residual;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::tensors::LinearSpec;
use crate::workspace::Workspace;

pub(super) struct LinearMixer<B: Backend> {
    linear: Linear<B>,
    hidden_size: usize,
}

impl<B: Backend> LinearMixer<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &LinearSpec) -> Result<Self, ModelError> {
        Ok(Self { linear: Linear::load(loader, spec)?, hidden_size: spec.weight.cols })
    }

    /// Computes the input of the product from the residual stream.
    pub(super) fn prepare(
        &self,
        context: &mut ForwardContext<'_, B>,
        norm: Option<&NormWeights<B>>,
        workspace: &mut Workspace<B>,
    ) {
        let Workspace { x, attended, .. } = workspace;
        let input = attended.get(self.hidden_size);
        match norm {
            Some(norm) => context.pass.norm(context.rows, x, norm.norm(), input),
            None => context.pass.repeat_rows(context.rows, 1, x, input),
        }
    }

    /// Adds the product to the residual stream.
    pub(super) fn project(
        &self,
        context: &mut ForwardContext<'_, B>,
        residual: &Residual<B>,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, attended, normed, branch, .. } = workspace;
        let input = attended.get(self.hidden_size);
        residual.add_product(context, input, &self.linear, x, (branch, normed))
    }
}
