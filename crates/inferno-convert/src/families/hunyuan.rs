//! Hunyuan, dense and mixtures of experts, and Hy3.

use super::{prediction, tied_head};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, count, flag, float, rename};
use crate::keys::Keys;
use crate::rope::SCALING_TYPE;

/// The context that the dynamic scaling of published models is made for.
const DYNAMIC_CONTEXT: usize = 256 * 1024;

const NORMS: &[Rule] = &[
    rename("model.layers.{}.self_attn.query_layernorm", "blk.{}.attn_q_norm"),
    rename("model.layers.{}.self_attn.key_layernorm", "blk.{}.attn_k_norm"),
];

pub(super) const HUNYUAN_DENSE: Family = Family {
    classes: &["HunYuanDenseV1ForCausalLM"],
    architecture: "hunyuan-dense",
    keys: |context, keys| {
        keys.remove("expert_count");
        dynamic_rotation(context, keys, 50.0)
    },
    own_scalings: &["xdrope"],
    rename: tied_head::rename,
    rules: &[NORMS, tied_head::RULES],
    ..Family::DEFAULT
};

/// Scaling by a larger base, which is written instead.
fn dynamic_rotation(
    context: &Context<'_>,
    keys: &mut Keys,
    default_alpha: f64,
) -> Result<(), ConvertError> {
    let (config, rope) = (context.config, context.config.shared_rope());
    let kind = rope.kind();
    let Some(kind @ ("dynamic" | "xdrope")) = kind.as_deref() else { return Ok(()) };
    let alpha = rope.optional_float("alpha")?.unwrap_or(default_alpha);
    let base = rope.optional_float("rope_theta")?.unwrap_or(10_000.0);
    let size = config.head_dim()? as f64;
    let exponent = size / (size - 2.0);
    keys.float("rope.freq_base", base * alpha.powf(exponent));
    keys.set(SCALING_TYPE, "none");
    keys.float("rope.scaling.factor", 1.0);
    if kind == "dynamic" {
        let context_length = config.count(&["max_position_embeddings"])?;
        if base != 10_000.0 || ![32 * 1024, DYNAMIC_CONTEXT].contains(&context_length) {
            let found = format!("{context_length} with a base of {base}");
            return Err(invalid(
                "max_position_embeddings",
                "32768 or 262144 with a base of 10000",
                found,
            ));
        }
        keys.count("rope.scaling.original_context_length", DYNAMIC_CONTEXT);
        keys.count("context_length", DYNAMIC_CONTEXT);
    }
    Ok(())
}

pub(super) const HUNYUAN_MOE: Family = Family {
    classes: &["HunYuanMoEV1ForCausalLM"],
    architecture: "hunyuan-moe",
    facts: &[count("expert_shared_feed_forward_length", &["intermediate_size"]).required()],
    keys: |context, keys| {
        let config = context.config;
        keys.count(
            "expert_feed_forward_length",
            same_in_all_layers(config, "moe_intermediate_size")?,
        );
        keys.count("expert_used_count", same_in_all_layers(config, "moe_topk")?);
        keys.count("expert_shared_count", same_in_all_layers(config, "num_shared_expert")?);
        dynamic_rotation(context, keys, 1000.0)
    },
    rules: &[
        NORMS,
        &[rename("model.layers.{}.mlp.gate.wg", "blk.{}.ffn_gate_inp")],
        tied_head::RULES,
    ],
    tokenizer: TokenizerFacts::DEFAULT,
    ..HUNYUAN_DENSE
};

/// A number for all layers, or the same for each.
fn same_in_all_layers(config: &Config, key: &str) -> Result<usize, ConvertError> {
    if !config.get(key).is_some_and(serde_json::Value::is_array) {
        return config.count(&[key]);
    }
    let numbers = config.floats(key)?.unwrap_or_default();
    match numbers.first() {
        Some(first) if numbers.iter().all(|number| number == first) => Ok(*first as usize),
        _ => Err(invalid(key, "the same number for each layer", format!("{numbers:?}"))),
    }
}

/// Layers without a router have no experts.
pub(super) const HY_V3: Family = Family {
    classes: &["HYV3ForCausalLM"],
    architecture: "hy_v3",
    // By `HYV3Config` and `HYV3TopKRouter` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-5"),
        ("route_norm", "true"),
        ("router_scaling_factor", "2.826"),
        ("rope_theta", "11158840.0"),
        ("num_shared_experts", "1"),
    ],
    facts: &[
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        count("expert_shared_count", &["num_shared_experts"]),
        flag("expert_weights_norm", &["route_norm"]),
        float("expert_weights_scale", &["router_scaling_factor"]),
    ],
    keys: |context, keys| {
        keys.set("expert_gating_func", 2_u32);
        prediction::state(keys, prediction::layers_in_files(context)?);
        Ok(())
    },
    prediction_layers: prediction::layers_in_files,
    rules: &[&[
        rename("model.layers.{}.mlp.router.gate", "blk.{}.ffn_gate_inp"),
        rename("model.layers.{}.mlp.expert_bias", "blk.{}.exp_probs_b"),
        rename("model.layers.{}.final_layernorm", "blk.{}.nextn.shared_head_norm"),
    ]],
    ..Family::DEFAULT
};
