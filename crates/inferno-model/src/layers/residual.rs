//! How the output of a block is added to the residual stream.

use inferno_backend::{Backend, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::NormSpec;

/// The norm of a block's output and a factor on it.
pub(super) struct Residual<B: Backend> {
    post_norm: Option<NormWeights<B>>,
    scale: f32,
}

impl<B: Backend> Residual<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        post_norm: Option<&NormSpec>,
        scale: f32,
    ) -> Result<Self, ModelError> {
        let post_norm = post_norm.map(|norm| NormWeights::load(loader, norm)).transpose()?;
        Ok(Self { post_norm, scale })
    }

    /// Whether outputs are added as they are.
    pub(super) fn is_direct(&self) -> bool {
        self.post_norm.is_none() && self.scale == 1.0
    }

    /// Adds the product of `input` to the residual stream `x`, in one operation if nothing is between
    /// them.
    pub(super) fn add_product(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: &B::Buffer,
        linear: &Linear<B>,
        x: &mut B::Buffer,
        (branch, normed): (&mut Option<B::Buffer>, &mut B::Buffer),
    ) -> Result<(), ModelError> {
        if self.is_direct() {
            return linear.multiply_add(context, input, x);
        }
        let branch = branch.as_mut().expect("the workspace was created for this model");
        linear.multiply(context, input, branch)?;
        self.add(context, branch, x, normed);
        Ok(())
    }

    /// Adds a block's output `branch` to the residual stream `x`.
    pub(super) fn add(
        &self,
        context: &mut ForwardContext<'_, B>,
        branch: &B::Buffer,
        x: &mut B::Buffer,
        normed: &mut B::Buffer,
    ) {
        let rows = context.rows;
        let output = match &self.post_norm {
            Some(_) => {
                self.normalize(context, branch, normed);
                &*normed
            }
            None => branch,
        };
        context.pass.add_scaled(rows, output, self.scale, x);
    }

    /// Writes a block's output after its norm, if it has one.
    pub(super) fn normalize(
        &self,
        context: &mut ForwardContext<'_, B>,
        branch: &B::Buffer,
        normed: &mut B::Buffer,
    ) {
        if let Some(norm) = &self.post_norm {
            context.pass.norm(context.rows, branch, norm.norm(), normed);
        }
    }
}
