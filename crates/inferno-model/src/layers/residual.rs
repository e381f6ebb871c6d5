//! How the output of a block is added to the residual stream.

use inferno_backend::{Backend, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::{NormSpec, SumNormSpec};

/// The norm of a block's output and a factor on it, and the norm of the sum.
pub(super) struct Residual<B: Backend> {
    post_norm: Option<NormWeights<B>>,
    scale: f32,
    sum_norm: Option<SumNorm<B>>,
}

/// See [`SumNormSpec`].
struct SumNorm<B: Backend> {
    norm: NormWeights<B>,
    with_input: Option<NormWeights<B>>,
}

impl<B: Backend> Residual<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        post_norm: Option<&NormSpec>,
        scale: f32,
        sum_norm: Option<&SumNormSpec>,
    ) -> Result<Self, ModelError> {
        let post_norm = NormWeights::load_optional(loader, post_norm)?;
        let sum_norm = match sum_norm {
            Some(SumNormSpec { norm, with_input }) => Some(SumNorm {
                norm: NormWeights::load(loader, norm)?,
                with_input: NormWeights::load_optional(loader, with_input.as_ref())?,
            }),
            None => None,
        };
        Ok(Self { post_norm, scale, sum_norm })
    }

    /// Whether outputs are added as they are. [`normalize_sum`](Self::normalize_sum) follows.
    pub(super) fn is_direct(&self) -> bool {
        let adds_input = self.sum_norm.as_ref().is_some_and(|norm| norm.with_input.is_some());
        self.post_norm.is_none() && self.scale == 1.0 && !adds_input
    }

    /// Normalizes the residual stream after an output was added to it directly.
    pub(super) fn normalize_sum(
        &self,
        context: &mut ForwardContext<'_, B>,
        x: &mut B::Buffer,
        normed: &mut B::Buffer,
    ) {
        if let Some(SumNorm { norm, .. }) = &self.sum_norm {
            norm.apply(context, x, normed);
        }
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
            linear.multiply_add(context, input, x)?;
            self.normalize_sum(context, x, normed);
            return Ok(());
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
        branch: &mut B::Buffer,
        x: &mut B::Buffer,
        normed: &mut B::Buffer,
    ) {
        let rows = context.rows;
        if let Some(SumNorm { norm, with_input: Some(second) }) = &self.sum_norm {
            context.pass.add_scaled(rows, x, 1.0, branch);
            context.pass.norm(rows, branch, norm.norm(), normed);
            context.pass.add_scaled(rows, normed, 1.0, x);
            second.apply(context, x, normed);
            return;
        }
        let output = match &self.post_norm {
            Some(_) => {
                self.normalize(context, branch, normed);
                &*normed
            }
            None => &*branch,
        };
        context.pass.add_scaled(rows, output, self.scale, x);
        self.normalize_sum(context, x, normed);
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
