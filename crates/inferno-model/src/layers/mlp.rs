//! The dense feed-forward block: a projection, an activation, and a projection back.

use inferno_backend::{Backend, Function, LinearInput, Pass};

use super::context::ForwardContext;
use super::linear::Linear;
use super::norm::NormWeights;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::feed_forward::{ActivationSpec, MlpSpec};
use crate::workspace::BuffersByWidth;

/// Gate and up are one stacked projection.
pub(super) struct Mlp<B: Backend> {
    activation: ActivationSpec,
    intermediate_size: usize,
    up: Linear<B>,
    sparse_gate: Option<SparseGate<B>>,
    down_norm: Option<NormWeights<B>>,
    down: Linear<B>,
}

/// A gate of which only large values are used.
struct SparseGate<B: Backend> {
    linear: Linear<B>,
    num_deviations: f32,
    function: Function,
}

impl<B: Backend> Mlp<B> {
    pub(super) fn load(loader: &mut Loader<'_, B>, spec: &MlpSpec) -> Result<Self, ModelError> {
        Ok(Self {
            activation: spec.activation,
            intermediate_size: spec.intermediate_size,
            up: Linear::load(loader, &spec.up)?,
            sparse_gate: match &spec.sparse_gate {
                Some(gate) => Some(SparseGate {
                    linear: Linear::load(loader, &gate.linear)?,
                    num_deviations: gate.num_deviations,
                    function: gate.function,
                }),
                None => None,
            },
            down_norm: NormWeights::load_optional(loader, spec.down_norm.as_ref())?,
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
        context: &mut ForwardContext<'_, B>,
        input: LinearInput<'_, B::Buffer>,
        [hidden, gates]: [&mut BuffersByWidth<B>; 2],
    ) -> Result<(), ModelError> {
        let rows = context.rows;
        let (weight, bias) = (&self.up.weight, self.up.bias());
        let hidden = hidden.get(self.intermediate_size);
        match (self.activation, &self.sparse_gate) {
            (_, Some(SparseGate { linear, num_deviations, function })) => {
                let gates = gates.get(self.intermediate_size);
                linear.multiply(context, input, gates)?;
                context.pass.sparsify(rows, *num_deviations, gates);
                context.pass.linear(rows, input, weight, bias, hidden)?;
                context.pass.gate(rows, *function, gates, hidden);
            }
            (ActivationSpec::Gated(gate), None) => {
                context.pass.linear_gated(rows, input, weight, bias, gate, hidden)?;
            }
            (ActivationSpec::Plain(function), None) => {
                context.pass.linear(rows, input, weight, bias, hidden)?;
                context.pass.apply(rows, function, hidden);
            }
        }
        if let Some(norm) = &self.down_norm {
            norm.apply(context, hidden, gates.get(self.intermediate_size));
        }
        Ok(())
    }
}
