//! Products of low rank: the steps of linear attention, and the gates of its output.

use inferno_backend::{Backend, LinearInput};

use super::context::ForwardContext;
use super::linear::Linear;
use crate::ModelError;
use crate::loader::Loader;
use crate::spec::recurrent::{LowRankGatesSpec, LowRankProductSpec};
use crate::workspace::LowRankGateBuffers;

/// The products for steps and gates.
pub(super) struct LowRankGates<B: Backend> {
    steps: LowRank<B>,
    gates: LowRank<B>,
}

impl<B: Backend> LowRankGates<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &LowRankGatesSpec,
    ) -> Result<Self, ModelError> {
        let LowRankGatesSpec { steps, gates } = spec;
        Ok(Self { steps: LowRank::load(loader, steps)?, gates: LowRank::load(loader, gates)? })
    }

    /// Computes steps and gates from the input of the mixer.
    ///
    /// **Errors**: out of memory.
    pub(super) fn project<'x>(
        &self,
        context: &mut ForwardContext<'_, B>,
        input: impl Fn() -> LinearInput<'x, B::Buffer>,
        buffers: &mut LowRankGateBuffers<B>,
    ) -> Result<(), ModelError> {
        let LowRankGateBuffers { compressed, steps, gates } = buffers;
        for (product, out) in [(&self.steps, steps), (&self.gates, gates)] {
            product.down.multiply(context, input(), compressed)?;
            product.up.multiply(context, &*compressed, out)?;
        }
        Ok(())
    }
}

struct LowRank<B: Backend> {
    down: Linear<B>,
    up: Linear<B>,
}

impl<B: Backend> LowRank<B> {
    fn load(loader: &mut Loader<'_, B>, spec: &LowRankProductSpec) -> Result<Self, ModelError> {
        Ok(Self { down: Linear::load(loader, &spec.down)?, up: Linear::load(loader, &spec.up)? })
    }
}
