//! What feed-forward blocks compute between their projections.

use std::ops::RangeInclusive;

use inferno_backend::{Function, Gate};

use super::SpecBuilder;
use crate::arch::architecture::Activation;
use crate::keys::{ArchitectureKeys, PerLayer};
use crate::spec::feed_forward::ActivationSpec;
use crate::{Architecture, ModelError};

/// Parameters of activations that differ from layer to layer.
pub(super) struct LayerActivations {
    /// Number of standard deviations above the mean from which on gates are used; minus infinity stands for all of them.
    sparsity: Option<Vec<f32>>,
    /// The functions of blocks with xIELU.
    xielu: Vec<Function>,
    /// The bounds of gated projections of experts, and of dense blocks and shared experts.
    bounds: [Option<PerLayer<f32>>; 2],
}

impl LayerActivations {
    /// `list_lens` are the possible lengths of lists with one value per layer.
    pub(super) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        facts: &Architecture,
        list_lens: &RangeInclusive<usize>,
    ) -> Result<Self, ModelError> {
        let sparsity = match facts.has_streams {
            true => keys.list("activation_sparsity_scale", list_lens)?,
            false => None,
        };
        let xielu = match facts.activation {
            Activation::Xielu => xielu(keys, list_lens)?,
            _ => Vec::new(),
        };
        let bounds = |key| match facts.has_gate_bounds {
            true => keys.per_layer(key, list_lens),
            false => Ok(None),
        };
        let bounds = [bounds("swiglu_clamp_exp")?, bounds("swiglu_clamp_shexp")?];
        Ok(Self { sparsity, xielu, bounds })
    }

    /// Number of standard deviations above the mean from which on layer `layer` uses gates, if not all.
    pub(super) fn sparsity(&self, layer: usize) -> Option<f32> {
        let scale = self.sparsity.as_ref().map(|scales| scales[layer]);
        scale.filter(|scale| scale.is_finite())
    }
}

/// A gate that is bounded in layer `layer` if `bounds` has a positive number for it.
fn bounded(gate: Gate, bounds: Option<&PerLayer<f32>>, layer: usize) -> Gate {
    let limit = bounds.map(|bounds| bounds.get(layer)).filter(|&limit| limit > MIN_BOUND);
    match (gate, limit) {
        (Gate::Product(Function::Silu), Some(limit)) => Gate::Bounded { limit },
        (gate, _) => gate,
    }
}

/// Bounds up to this number have no effect, as in llama.cpp.
const MIN_BOUND: f32 = 1e-6;

/// The function of each layer.
fn xielu(
    keys: &ArchitectureKeys<'_>,
    list_lens: &RangeInclusive<usize>,
) -> Result<Vec<Function>, ModelError> {
    let parameters = |name| keys.global_list::<f32>(name, list_lens);
    let (alpha_p, alpha_n) = (parameters("xielu.alpha_p")?, parameters("xielu.alpha_n")?);
    let (beta, eps) = (parameters("xielu.beta")?, parameters("xielu.eps")?);
    let alphas = alpha_p.into_iter().zip(alpha_n);
    let functions =
        alphas.zip(beta.into_iter().zip(eps)).map(|((alpha_p, alpha_n), (beta, eps))| {
            let (positive, negative) = (softplus(alpha_p), beta + softplus(alpha_n));
            Function::Xielu { positive, negative, beta, eps }
        });
    Ok(functions.collect())
}

impl SpecBuilder<'_> {
    /// What the dense block or the shared expert of layer `index` computes between its projections.
    pub(super) fn activation(&self, index: usize) -> Result<ActivationSpec, ModelError> {
        self.bounded_activation(index, self.activations.bounds[1].as_ref())
    }

    /// What the experts of layer `index` compute between their projections.
    pub(super) fn expert_activation(&self, index: usize) -> Result<ActivationSpec, ModelError> {
        self.bounded_activation(index, self.activations.bounds[0].as_ref())
    }

    fn bounded_activation(
        &self,
        index: usize,
        bounds: Option<&PerLayer<f32>>,
    ) -> Result<ActivationSpec, ModelError> {
        Ok(match self.facts.activation {
            Activation::Gated(gate) => ActivationSpec::Gated(bounded(gate, bounds, index)),
            Activation::GatedIfPresent(function) => ActivationSpec::Gated(Gate::Product(function)),
            Activation::GatedByKey { default } => {
                ActivationSpec::Gated(Gate::Product(self.hidden_activation(default)?))
            }
            Activation::Plain(function) => ActivationSpec::Plain(function),
            Activation::Xielu => ActivationSpec::Plain(self.activations.xielu[index]),
        })
    }

    /// The function that the key `hidden_activation` names.
    fn hidden_activation(&self, default: Function) -> Result<Function, ModelError> {
        const KEY: &str = "hidden_activation";
        match self.keys.optional::<String>(KEY)?.as_deref() {
            None => Ok(default),
            Some("gelu") => Ok(Function::Gelu),
            Some("gelu_pytorch_tanh" | "gelu_new") => Ok(Function::GeluTanh),
            Some("silu" | "swish") => Ok(Function::Silu),
            Some("relu2") => Ok(Function::ReluSquared),
            Some(other) => {
                Err(self.keys.invalid(KEY, "gelu, gelu_pytorch_tanh, silu or relu2", other))
            }
        }
    }
}

/// `ln(1 + exp(x))`, without overflow for large `x`.
fn softplus(x: f32) -> f32 {
    let x = f64::from(x);
    (x.max(0.0) + libm::log1p(libm::exp(-x.abs()))) as f32
}
