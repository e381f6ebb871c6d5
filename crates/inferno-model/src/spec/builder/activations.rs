//! What feed-forward blocks compute between their projections.

use std::ops::RangeInclusive;

use inferno_backend::{Function, Gate};

use super::SpecBuilder;
use crate::arch::architecture::Activation;
use crate::keys::ArchitectureKeys;
use crate::spec::feed_forward::ActivationSpec;
use crate::{Architecture, ModelError};

/// Parameters of activations that differ from layer to layer.
pub(super) struct LayerActivations {
    /// Number of standard deviations above the mean from which on gates are used; minus infinity stands for all of them.
    sparsity: Option<Vec<f32>>,
    /// The functions of blocks with xIELU.
    xielu: Vec<Function>,
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
        Ok(Self { sparsity, xielu })
    }

    /// Number of standard deviations above the mean from which on layer `layer` uses gates, if not all.
    pub(super) fn sparsity(&self, layer: usize) -> Option<f32> {
        let scale = self.sparsity.as_ref().map(|scales| scales[layer]);
        scale.filter(|scale| scale.is_finite())
    }
}

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
    /// What the block of layer `index` computes between its projections.
    pub(super) fn activation(&self, index: usize) -> Result<ActivationSpec, ModelError> {
        Ok(match self.facts.activation {
            Activation::Gated(gate) => ActivationSpec::Gated(gate),
            Activation::GatedIfPresent(function) => ActivationSpec::Gated(Gate::Product(function)),
            Activation::GatedByKey => {
                ActivationSpec::Gated(Gate::Product(self.hidden_activation()?))
            }
            Activation::Plain(function) => ActivationSpec::Plain(function),
            Activation::Xielu => ActivationSpec::Plain(self.activations.xielu[index]),
        })
    }

    /// The function that the key `hidden_activation` names.
    fn hidden_activation(&self) -> Result<Function, ModelError> {
        const KEY: &str = "hidden_activation";
        match self.keys.optional::<String>(KEY)?.as_deref() {
            None | Some("gelu") => Ok(Function::Gelu),
            Some("gelu_pytorch_tanh" | "gelu_new") => Ok(Function::GeluTanh),
            Some("silu" | "swish") => Ok(Function::Silu),
            Some(other) => Err(self.keys.invalid(KEY, "gelu, gelu_pytorch_tanh or silu", other)),
        }
    }
}

/// `ln(1 + exp(x))`, without overflow for large `x`.
fn softplus(x: f32) -> f32 {
    let x = f64::from(x);
    (x.max(0.0) + libm::log1p(libm::exp(-x.abs()))) as f32
}
