//! Mellum 2.

use super::layer_patterns::state_windows;
use super::prediction;
use super::qwen::QWEN2_MOE;
use crate::config::invalid;
use crate::family::Family;

pub(super) const MELLUM: Family = Family {
    classes: &["MellumForCausalLM"],
    architecture: "mellum",
    // By `MellumConfig` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-6"),
        ("sliding_window", "1024"),
        ("norm_topk_prob", "true"),
        (
            "rope_parameters",
            r#"{"full_attention": {"rope_theta": 500000.0},
                "sliding_attention": {"rope_theta": 10000.0}}"#,
        ),
    ],
    keys: |context, keys| {
        let config = context.config;
        keys.unnormalized_experts(config)?;
        if let Some(kinds) = config.texts("mlp_layer_types")?
            && let Some(other) = kinds.into_iter().find(|kind| *kind != "sparse")
        {
            return Err(invalid("mlp_layer_types", "\"sparse\" for all layers", other));
        }
        match config.layers_of_type(&["sliding_attention"])? {
            Some(windows) if windows.contains(&true) => state_windows(config, keys, None, None),
            _ => Ok(()),
        }
    },
    rename: |_, name| Ok(prediction::leave_out(name)),
    rules: &[prediction::LEFT_OUT_RULES],
    ..QWEN2_MOE
};
