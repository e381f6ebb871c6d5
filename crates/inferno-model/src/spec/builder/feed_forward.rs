//! The feed-forward block of a layer.

use inferno_backend::{ExpertGroups, ExpertParams, Gate, Gating};

use super::SpecBuilder;
use crate::ModelError;
use crate::arch::architecture::{Activation, ExpertFacts, ExpertInputs, ModelSize};
use crate::keys::ArchitectureKeys;
use crate::spec::feed_forward::{
    ActivationSpec, ExpertNormsSpec, ExpertProjectionsSpec, ExpertsSpec, FeedForwardSpec,
    LayerInput, MlpSpec, SharedExpertSpec, SparseGateSpec,
};
use crate::spec::layer::NormSpec;
use crate::spec::tensors::{LinearSpec, Presence, TensorFinder};

/// The mixtures of experts of a model, and the layers that have them.
pub(super) struct ExpertLayers {
    params: ExpertParams,
    /// Number of layers before the first one with experts.
    num_dense: usize,
    /// Every layer of this number has experts.
    step: usize,
    /// Whether exactly the layers with a router have experts.
    by_router: bool,
}

impl ExpertLayers {
    /// Reads the experts of a model, if it has any.
    pub(super) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        facts: ExpertFacts,
        size: ModelSize,
    ) -> Result<Option<Self>, ModelError> {
        let num_dense = keys.optional("leading_dense_block_count")?.unwrap_or(0_usize);
        if matches!(keys.optional("expert_count")?, None | Some(0_usize)) {
            return Ok(None);
        }
        let num_experts = keys.positive("expert_count")?;
        let num_experts_used = keys.positive("expert_used_count")?;
        if num_experts_used > num_experts {
            let expected = format!("at most expert_count ({num_experts})");
            return Err(keys.invalid("expert_used_count", expected, num_experts_used));
        }
        // The size of a shared expert follows from its tensors.
        keys.mark_read("expert_shared_count");
        let normalize = keys.optional("expert_weights_norm")?.unwrap_or(facts.normalize);
        let mut params = ExpertParams::softmax(num_experts, num_experts_used, normalize);
        params.gating = facts.gating;
        if facts.has_keys {
            let default = match facts.sigmoid_models.contains(&size) {
                true => Gating::Sigmoid,
                false => facts.gating,
            };
            params.gating = gating(keys, default)?;
            params.scale = keys.optional_float("expert_weights_scale")?.unwrap_or(1.0);
            params.groups = expert_groups(keys, &params)?;
        }
        let step = keys.positive_or("interleave_moe_layer_step", 1)?;
        Ok(Some(Self { params, num_dense, step, by_router: facts.by_router }))
    }
}

fn gating(keys: &ArchitectureKeys<'_>, default: Gating) -> Result<Gating, ModelError> {
    match keys.optional("expert_gating_func")? {
        None | Some(0_u32) => Ok(default),
        Some(1) => Ok(Gating::Softmax),
        Some(2) => Ok(Gating::Sigmoid),
        Some(other) => Err(keys.invalid("expert_gating_func", "1 (softmax) or 2 (sigmoid)", other)),
    }
}

fn expert_groups(
    keys: &ArchitectureKeys<'_>,
    params: &ExpertParams,
) -> Result<Option<ExpertGroups>, ModelError> {
    let num_groups = keys.optional("expert_group_count")?.unwrap_or(1_usize);
    let num_groups_used = keys.optional("expert_group_used_count")?.unwrap_or(1_usize);
    if num_groups <= 1 {
        return Ok(None);
    }
    let ExpertParams { num_experts, num_experts_used, .. } = *params;
    if num_experts % num_groups != 0 {
        let expected = format!("a divisor of expert_count ({num_experts})");
        return Err(keys.invalid("expert_group_count", expected, num_groups));
    }
    let needed = num_experts_used.div_ceil(num_experts / num_groups);
    if !(needed..=num_groups).contains(&num_groups_used) {
        let expected = format!("a number from {needed} to {num_groups}");
        return Err(keys.invalid("expert_group_used_count", expected, num_groups_used));
    }
    let num_scored = match params.gating {
        Gating::Softmax | Gating::SparseMixer => 1,
        Gating::Sigmoid => 2,
    };
    Ok(Some(ExpertGroups { num_groups, num_groups_used, num_scored }))
}

impl SpecBuilder<'_> {
    /// The experts of layer `index`, if it has any.
    pub(super) fn layer_experts(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Option<ExpertParams> {
        let experts = self.experts.as_ref()?;
        let has_experts = match experts.by_router {
            true => tensors.contains("ffn_gate_inp.weight"),
            false => index >= experts.num_dense && (index + 1).is_multiple_of(experts.step),
        };
        has_experts.then_some(experts.params)
    }

    pub(super) fn feed_forward(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<FeedForwardSpec, ModelError> {
        match self.layer_experts(tensors, index) {
            Some(params) => {
                let experts = self.experts(tensors, index, params)?;
                Ok(FeedForwardSpec::Experts(Box::new(experts)))
            }
            None => {
                let size = self.dense_size(index)?;
                Ok(FeedForwardSpec::Dense(Box::new(self.mlp(tensors, index, "", size)?)))
            }
        }
    }

    /// The size of the dense block of layer `index`.
    fn dense_size(&self, index: usize) -> Result<usize, ModelError> {
        const KEY: &str = "feed_forward_length";
        let size = match &self.feed_forward_sizes {
            Some(sizes) => sizes.positive(index)?,
            None => self.keys.positive(KEY)?,
        };
        match self.facts.counts_gate_and_up {
            true if !size.is_multiple_of(2) => {
                Err(self.keys.invalid(KEY, "an even number, of gate and up projection", size))
            }
            true => Ok(size / 2),
            false => Ok(size),
        }
    }

    fn experts(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        params: ExpertParams,
    ) -> Result<ExpertsSpec, ModelError> {
        let (hidden_size, keys) = (self.hidden_size, self.keys);
        let num_experts = params.num_experts;
        let size = keys.positive(match keys.optional("expert_feed_forward_length")? {
            None | Some(0_usize) => "feed_forward_length",
            Some(_) => "expert_feed_forward_length",
        })?;
        let activation = self.expert_activation(index)?;
        let gate_up = [("ffn_gate_exps", size), ("ffn_up_exps", size)];
        let up = match activation {
            ActivationSpec::Gated(_) => &gate_up[..],
            ActivationSpec::Plain(_) => &gate_up[1..],
        };
        let fused = tensors.contains("ffn_gate_up_exps.weight").then_some("ffn_gate_up_exps");
        let per_expert = |parts: &[(&str, usize)], fused, cols| {
            tensors.stacked(parts, fused, [num_experts, cols], Presence::Optional)
        };
        let beside_dense = self.facts.experts.beside_dense;
        // `ffn_gate_inp.scale` is the weight of the norm of the router's input.
        let router_tensors = if beside_dense { tensors.without_scales() } else { tensors };
        let inputs = self.facts.experts.inputs;
        let shared = match tensors.rows_of("ffn_up_shexp.weight") {
            _ if inputs == ExpertInputs::BeforeMixers => {
                let size = tensors.rows_of("ffn_up.weight").unwrap_or(hidden_size);
                Some(SharedExpertSpec { mlp: self.mlp(tensors, index, "", size)?, gate: None })
            }
            _ if beside_dense => {
                let size = self.dense_size(index)?;
                Some(SharedExpertSpec { mlp: self.mlp(tensors, index, "", size)?, gate: None })
            }
            Some(size) => Some(self.shared_expert(tensors, index, size)?),
            None => None,
        };
        // Files of Hy3 lack the suffix.
        let selection_bias = match tensors.contains("exp_probs_b") {
            true => "exp_probs_b",
            false => "exp_probs_b.bias",
        };
        let projections = self.expert_projections(tensors)?;
        let width = projections.as_ref().map_or(hidden_size, ExpertProjectionsSpec::width);
        Ok(ExpertsSpec {
            params,
            activation,
            intermediate_size: size,
            router: router_tensors.linear("ffn_gate_inp", num_experts, hidden_size)?,
            weighs_inputs: self.facts.experts.weighs_inputs,
            selection_bias: tensors.optional_vector(selection_bias, num_experts)?,
            up: per_expert(up, fused, width)?,
            down: per_expert(&[("ffn_down_exps", width)], None, size)?,
            projections,
            shared,
            layer_input: match inputs {
                ExpertInputs::Block => LayerInput::Nothing,
                ExpertInputs::RouterBeforeMixers => LayerInput::Router,
                ExpertInputs::BeforeMixers => {
                    LayerInput::Experts(self.norm(tensors, "ffn_norm_exps", hidden_size)?)
                }
            },
            beside_dense: match beside_dense {
                true => Some(self.expert_norms(tensors)?),
                false => None,
            },
            separate_layer: None,
        })
    }

    fn expert_projections(
        &self,
        tensors: TensorFinder<'_>,
    ) -> Result<Option<ExpertProjectionsSpec>, ModelError> {
        const KEY: &str = "moe_latent_size";
        if matches!(self.keys.optional(KEY)?, None | Some(0_usize)) {
            return Ok(None);
        }
        let width = self.keys.positive(KEY)?;
        Ok(Some(ExpertProjectionsSpec {
            down: tensors.linear("ffn_latent_down", width, self.hidden_size)?,
            up: tensors.linear("ffn_latent_up", self.hidden_size, width)?,
        }))
    }

    fn expert_norms(&self, tensors: TensorFinder<'_>) -> Result<ExpertNormsSpec, ModelError> {
        let norm = |name| self.norm(tensors, name, self.hidden_size);
        Ok(ExpertNormsSpec {
            router: NormSpec {
                kind: self.facts.norm,
                eps: self.eps,
                len: self.hidden_size,
                weight: Some(tensors.vector("ffn_gate_inp.scale", 1, self.hidden_size)?),
                bias: None,
            },
            input: norm("pre_ffw_norm_2")?,
            output: norm("post_ffw_norm_2")?,
            dense_output: norm("post_ffw_norm_1")?,
        })
    }

    fn shared_expert(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        size: usize,
    ) -> Result<SharedExpertSpec, ModelError> {
        const GATE: &str = "ffn_gate_inp_shexp";
        let gate = match tensors.contains(&format!("{GATE}.weight")) {
            true => Some(tensors.linear(GATE, 1, self.hidden_size)?),
            false => None,
        };
        Ok(SharedExpertSpec { mlp: self.mlp(tensors, index, "_shexp", size)?, gate })
    }

    /// The block whose tensors have names with `suffix`.
    fn mlp(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        suffix: &str,
        size: usize,
    ) -> Result<MlpSpec, ModelError> {
        let [gate, up, down] = ["gate", "up", "down"].map(|name| format!("ffn_{name}{suffix}"));
        let activation = match self.facts.activation {
            Activation::GatedIfPresent(function)
                if !tensors.contains(&format!("{gate}.weight"))
                    && tensors.rows_of(&format!("{up}.weight")) != Some(2 * size) =>
            {
                ActivationSpec::Plain(function)
            }
            _ => self.activation(index)?,
        };
        let sparse_gate = match (activation, self.activations.sparsity(index)) {
            (ActivationSpec::Gated(Gate::Product(function)), Some(num_deviations)) => {
                let linear = tensors.linear(&gate, size, self.hidden_size)?;
                Some(Box::new(SparseGateSpec { linear, num_deviations, function }))
            }
            _ => None,
        };
        Ok(MlpSpec {
            activation,
            intermediate_size: size,
            up: match activation {
                ActivationSpec::Gated(_) if sparse_gate.is_none() => {
                    self.gate_up(tensors, [&gate, &up], size)?
                }
                _ => tensors.linear(&up, size, self.hidden_size)?,
            },
            sparse_gate,
            down_norm: self.inner_norm(tensors, &format!("ffn_sub_norm{suffix}"), size)?,
            down: tensors.linear(&down, self.hidden_size, size)?,
        })
    }

    fn gate_up(
        &self,
        tensors: TensorFinder<'_>,
        [gate, up]: [&str; 2],
        size: usize,
    ) -> Result<LinearSpec, ModelError> {
        let has_gate = tensors.contains(&format!("{gate}.weight"));
        let has_both = tensors.rows_of(&format!("{up}.weight")) == Some(2 * size);
        let fused = (!has_gate && has_both).then_some(up);
        let parts = [(gate, size), (up, size)];
        tensors.stacked(&parts, fused, [1, self.hidden_size], Presence::Optional)
    }
}

#[cfg(test)]
mod tests {
    use inferno_gguf::Metadata;

    use super::*;
    use crate::arch::architecture;

    fn gating_of(size: ModelSize, stated: Option<u32>) -> Gating {
        let mut metadata = Metadata::new();
        metadata.insert("deepseek2.expert_count", 8_u32);
        metadata.insert("deepseek2.expert_used_count", 2_u32);
        if let Some(stated) = stated {
            metadata.insert("deepseek2.expert_gating_func", stated);
        }
        let facts = architecture("deepseek2").expect("a known architecture").experts;
        let keys = ArchitectureKeys::new("deepseek2", &metadata);
        let experts = ExpertLayers::from_keys(&keys, facts, size).expect("valid metadata");
        experts.expect("a mixture").params.gating
    }

    /// **Source**: llama.cpp's `load_arch_hparams` of this architecture.
    #[test]
    fn the_first_files_of_glm_4_7_flash_have_no_key_for_their_gating() {
        assert_eq!(gating_of((47, 154_880), None), Gating::Sigmoid);
        assert_eq!(gating_of((48, 154_880), None), Gating::Sigmoid);
        assert_eq!(gating_of((47, 129_280), None), Gating::Softmax);
        assert_eq!(gating_of((61, 129_280), None), Gating::Softmax);
        assert_eq!(gating_of((47, 154_880), Some(1)), Gating::Softmax);
        assert_eq!(gating_of((61, 129_280), Some(2)), Gating::Sigmoid);
    }
}
