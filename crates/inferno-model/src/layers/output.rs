//! From the residual stream after the last layer to hidden states and logits.

use std::mem;
use std::sync::Arc;

use inferno_backend::{Backend, Function, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::OutputSpec;
use crate::workspace::Workspace;

/// The final norm and the output head.
pub(crate) struct Output<B: Backend> {
    norm: Option<NormWeights<B>>,
    /// `None` for models that compute no logits.
    head: Option<Arc<Linear<B>>>,
    functions: Vec<Function>,
}

impl<B: Backend> Output<B> {
    /// Loads both, or the norm alone if the head is `shared`.
    pub(crate) fn load(
        loader: &mut Loader<'_, B>,
        spec: &OutputSpec,
        shared: Option<&Self>,
    ) -> Result<Self, ModelError> {
        let OutputSpec { norm, head, functions } = spec;
        Ok(Self {
            head: match (shared, head) {
                (Some(output), _) => output.head.clone(),
                (None, Some(head)) => Some(Arc::new(Linear::load(loader, head)?)),
                (None, None) => None,
            },
            norm: NormWeights::load_optional(loader, norm.as_ref())?,
            functions: functions.clone(),
        })
    }

    /// Applies the final norm to the residual stream of all tokens.
    pub(crate) fn normalize(
        &self,
        context: &mut ForwardContext<'_, B>,
        workspace: &mut Workspace<B>,
    ) {
        if let Some(norm) = &self.norm {
            norm.apply(context, &mut workspace.x, &mut workspace.normed);
        }
    }

    /// Leaves the normalized rows of the batch that logits are computed for in `workspace.x`.
    pub(crate) fn gather(
        &self,
        pass: &mut B::Pass<'_>,
        num_rows: usize,
        workspace: &mut Workspace<B>,
    ) {
        let Workspace { batch, x, normed, .. } = workspace;
        if num_rows > 0 {
            pass.gather_logit_rows(batch, x, normed);
            match &self.norm {
                Some(norm) => pass.norm(num_rows, normed, norm.norm(), x),
                None => mem::swap(x, normed),
            }
        }
    }

    /// Writes the residual stream of all tokens after the final norm to `workspace.hidden_rows`, if it is captured.
    pub(crate) fn capture(
        &self,
        pass: &mut B::Pass<'_>,
        num_tokens: usize,
        workspace: &mut Workspace<B>,
    ) {
        let Workspace { x, hidden_rows, .. } = workspace;
        if let Some(hidden_rows) = hidden_rows {
            match &self.norm {
                Some(norm) => pass.norm(num_tokens, x, norm.norm(), hidden_rows),
                None => pass.repeat_rows(num_tokens, 1, x, hidden_rows),
            }
        }
    }

    /// Computes the logits of the gathered rows.
    ///
    /// **Errors**: [`ModelError::NoLogits`], out of memory.
    pub(crate) fn logits(
        &self,
        pass: &mut B::Pass<'_>,
        num_rows: usize,
        workspace: &mut Workspace<B>,
    ) -> Result<(), ModelError> {
        let Workspace { x, logits, .. } = workspace;
        let head = self.head.as_ref().ok_or(ModelError::NoLogits)?;
        if num_rows > 0 {
            pass.linear(num_rows, &*x, &head.weight, head.bias(), logits)?;
            for &function in &self.functions {
                pass.apply(num_rows, function, logits);
            }
        }
        Ok(())
    }
}
