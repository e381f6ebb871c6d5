//! Hunyuan, dense and mixtures of experts.

use super::tied_head;
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, count, rename};
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
