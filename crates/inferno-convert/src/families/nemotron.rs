//! Nemotron, and the hybrids Nemotron-H and Nemotron 3.

use super::{granite, mamba};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, count, flag, float, map, rename};
use crate::keys::Keys;
use crate::transforms::{
    column, negative_exp_column, paired_keys, paired_queries, plus_one, squeezed,
};

pub(super) const NEMOTRON: Family = Family {
    classes: &["NemotronForCausalLM"],
    activations: &["relu2"],
    architecture: "nemotron",
    defaults: &[("partial_rotary_factor", "0.5")],
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        float(
            "attention.layer_norm_epsilon",
            &["layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"],
        )
        .required(),
    ],
    keys: |context, keys| {
        let (config, rope) = (context.config, context.config.shared_rope());
        let rotated = rope.float("partial_rotary_factor")? * config.head_dim()? as f64;
        keys.count("rope.dimension_count", rotated as usize);
        // A factor without the kind of its scaling.
        let factor = config.optional_float(&["factor"])?.or(rope.optional_float("factor")?);
        if let (None, Some(factor)) = (rope.kind(), factor) {
            keys.linear(factor);
        }
        keys.unscaled();
        Ok(())
    },
    rules: &[&[
        map("model.norm.weight", "output_norm.weight", plus_one),
        map("model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", plus_one),
        map("model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", plus_one),
    ]],
    tokenizer: TokenizerFacts { ids: &[("pad", 0), ("unk", 1)], ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

pub(super) const NEMOTRON_H: Family = Family {
    classes: &["NemotronHForCausalLM"],
    select: Some(|config, _| match has_experts(config)? {
        true => Ok(&HYBRID_MOE),
        false => Ok(&HYBRID),
    }),
    ..HYBRID
};

const MIXER: &[Rule] = &[
    rename("model.embeddings", "token_embd"),
    rename("model.norm_f", "output_norm"),
    rename("model.layers.{}.norm", "blk.{}.attn_norm"),
    rename("model.layers.{}.mixer.in_proj", "blk.{}.ssm_in"),
    map("model.layers.{}.mixer.conv1d", "blk.{}.ssm_conv1d", squeezed),
    map("model.layers.{}.mixer.A_log", "blk.{}.ssm_a", negative_exp_column),
    map("model.layers.{}.mixer.D", "blk.{}.ssm_d", column),
    rename("model.layers.{}.mixer.dt_bias", "blk.{}.ssm_dt.bias"),
    map("model.layers.{}.mixer.norm", "blk.{}.ssm_norm", mamba::grouped_norm),
    rename("model.layers.{}.mixer.out_proj", "blk.{}.ssm_out"),
    // Without rotary embeddings, any order is correct that is the same for both; this is the usual one.
    map("model.layers.{}.mixer.q_proj", "blk.{}.attn_q", paired_queries),
    map("model.layers.{}.mixer.k_proj", "blk.{}.attn_k", paired_keys),
    rename("model.layers.{}.mixer.v_proj", "blk.{}.attn_v"),
    rename("model.layers.{}.mixer.o_proj", "blk.{}.attn_output"),
    rename("model.layers.{}.mixer.up_proj", "blk.{}.ffn_up"),
    rename("model.layers.{}.mixer.down_proj", "blk.{}.ffn_down"),
    rename("model.layers.{}.mixer.gate", "blk.{}.ffn_gate_inp"),
    rename("model.layers.{}.mixer.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
    rename("model.layers.{}.mixer.experts.{}.up_proj", "blk.{}.ffn_up_exps"),
    rename("model.layers.{}.mixer.experts.{}.down_proj", "blk.{}.ffn_down_exps"),
    rename("model.layers.{}.mixer.shared_experts.up_proj", "blk.{}.ffn_up_shexp"),
    rename("model.layers.{}.mixer.shared_experts.down_proj", "blk.{}.ffn_down_shexp"),
    rename("model.layers.{}.mixer.fc1_latent_proj", "blk.{}.ffn_latent_down"),
    rename("model.layers.{}.mixer.fc2_latent_proj", "blk.{}.ffn_latent_up"),
    // The layers that predict further tokens are not converted.
    crate::family::skip(UNUSED),
];

const UNUSED: &str = "unused";

const HYBRID: Family = Family {
    architecture: "nemotron_h",
    expected: &[("mamba_hidden_act", r#""silu""#), ("mlp_hidden_act", r#""relu2""#)],
    select: None,
    prepare: |config| {
        if let Some(layers) = config.texts("layers_block_type")?.map(|layers| layers.len()) {
            config.set("num_hidden_layers", layers);
        }
        Ok(())
    },
    facts: &[count("vocab_size", &["vocab_size"]).required()],
    keys: hybrid,
    rename: |_, name| match name.starts_with("mtp.") {
        true => Ok(UNUSED.to_owned()),
        false => Ok(name),
    },
    rules: &[MIXER],
    tokenizer: TokenizerFacts { padding: 8, ..TokenizerFacts::DEFAULT },
    ..Family::DEFAULT
};

const HYBRID_MOE: Family = Family {
    architecture: "nemotron_h_moe",
    defaults: &[("norm_topk_prob", "true")],
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("expert_used_count", &["num_experts_per_tok"]).required(),
        count("expert_feed_forward_length", &["moe_intermediate_size"]).required(),
        count("expert_shared_feed_forward_length", &["moe_shared_expert_intermediate_size"])
            .required(),
        count("expert_count", &["n_routed_experts"]).required(),
        count("expert_shared_count", &["n_shared_experts"]).required(),
        flag("expert_weights_norm", &["norm_topk_prob"]),
        float("expert_weights_scale", &["routed_scaling_factor"]).required(),
        count("expert_group_count", &["n_group"]).required(),
        count("moe_latent_size", &["moe_latent_size"]),
    ],
    ..HYBRID
};

/// Whether feed-forward layers are mixtures of experts. Configurations have numbers of experts in any case.
fn has_experts(config: &Config) -> Result<bool, ConvertError> {
    match config.text("hybrid_override_pattern")? {
        Some(letters) => Ok(letters.contains('E')),
        None => {
            Ok(config.texts("layers_block_type")?.is_some_and(|layers| layers.contains(&"moe")))
        }
    }
}

/// The kind of a layer.
#[derive(Clone, Copy, PartialEq)]
enum LayerKind {
    Recurrent,
    Attention,
    FeedForward,
}

fn layers(config: &Config) -> Result<Vec<LayerKind>, ConvertError> {
    let by_letter = config.text("hybrid_override_pattern").ok().flatten();
    let kinds: Option<Vec<LayerKind>> = match by_letter {
        Some(letters) => letters
            .chars()
            .map(|letter| match letter {
                'M' => Some(LayerKind::Recurrent),
                '*' => Some(LayerKind::Attention),
                '-' | 'E' => Some(LayerKind::FeedForward),
                _ => None,
            })
            .collect(),
        None => config
            .texts("layers_block_type")?
            .unwrap_or_default()
            .into_iter()
            .map(|name| match name {
                "mamba" | "linear_attention" => Some(LayerKind::Recurrent),
                "attention" | "full_attention" => Some(LayerKind::Attention),
                "moe" | "mlp" => Some(LayerKind::FeedForward),
                _ => None,
            })
            .collect(),
    };
    let expected = config.num_layers()?;
    match kinds {
        Some(kinds) if kinds.len() == expected => Ok(kinds),
        _ => Err(invalid(
            "layers_block_type\" or \"hybrid_override_pattern",
            &format!("the kind of each of {expected} layers"),
            by_letter.unwrap_or("another list"),
        )),
    }
}

fn hybrid(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let Context { config, .. } = context;
    granite::granite(context, keys)?;
    if !has_experts(config)? {
        // Defaults of configurations without mixtures.
        ["expert_count", "expert_used_count", "expert_group_count", "expert_group_used_count"]
            .iter()
            .for_each(|key| keys.remove(key));
    }
    mamba::expect_unlimited_time_steps(config)?;
    let kinds = layers(config)?;
    let heads = config.count(&["mamba_num_heads", "n_heads", "num_heads"])?;
    keys.count("ssm.conv_kernel", config.count(&["conv_kernel", "mamba_d_conv"])?);
    keys.count("ssm.state_size", config.count(&["ssm_state_size", "state_size", "mamba_d_state"])?);
    keys.count("ssm.group_count", config.count(&["n_groups", "mamba_n_groups"])?);
    keys.count("ssm.inner_size", heads * config.count(&["mamba_head_dim"])?);
    keys.count("ssm.time_step_rank", heads);
    let kv_heads = config.num_kv_heads()?;
    let of = |kind, number| kinds.iter().map(move |&own| if own == kind { number } else { 0 });
    keys.counts("attention.head_count_kv", of(LayerKind::Attention, kv_heads));
    keys.set("rope.scaling.finetuned", false);
    keys.count("context_length", mamba::CONTEXT_LENGTH);
    let size = config.count(&["head_dim", "attention_head_dim"])?;
    keys.count("attention.key_length", size);
    keys.count("attention.value_length", size);
    let size = match has_experts(config)? {
        true => config.count(&["moe_intermediate_size"])?,
        false => config.count(&["intermediate_size"])?,
    };
    keys.counts("feed_forward_length", of(LayerKind::FeedForward, size));
    Ok(())
}
