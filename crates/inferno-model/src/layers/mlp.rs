//! The dense feed-forward block: a projection, an activation, and a projection back.

use inferno_backend::{Backend, LinearInput};

use super::context::ForwardContext;
use super::linear::Linear;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::{ActivationSpec, MlpSpec};
use crate::workspace::BuffersByWidth;

/// Gate and up are one stacked projection.
pub(super) struct Mlp<B: Backend> {
    activation: ActivationSpec,
    intermediate_size: usize,
    up: Linear<B>,
    down: Linear<B>,
}

impl<B: Backend> Mlp<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &MlpSpec) -> Result<Self, ModelError> {
        Ok(Self {
            activation: spec.activation,
            intermediate_size: spec.intermediate_size,
            up: Linear::load(loader, &spec.up)?,
            down: Linear::load(loader, &spec.down)?,
        })
    }

    pub(super) fn intermediate_size(&self) -> usize {
        self.intermediate_size
    }

    pub(super) fn down(&self) -> &Linear<B> {
        &self.down
    }

    /// Computes the input of the down projection.
    pub(super) fn expand(
        &self,
        context: &ForwardContext<'_, B>,
        input: LinearInput<'_, B::Buffer>,
        hidden: &mut BuffersByWidth<B>,
    ) -> Result<(), ModelError> {
        let ForwardContext { backend, rows, .. } = *context;
        let (weight, bias) = (&self.up.weight, self.up.bias());
        let hidden = hidden.get(self.intermediate_size);
        match self.activation {
            ActivationSpec::Gated(gate) => {
                backend.linear_gated(rows, input, weight, bias, gate, hidden)?;
            }
            ActivationSpec::Plain(function) => {
                backend.linear(rows, input, weight, bias, hidden)?;
                backend.apply(rows, function, hidden);
            }
        }
        Ok(())
    }
}
