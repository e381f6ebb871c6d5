//! Encoders with the norms of BERT and rotary embedding: Nomic Embed, GTE, Jina Embeddings 3.

use super::bert::{
    ADAPTERS, BERT, EMBEDDINGS, MULTILINGUAL, XLM_ROBERTA, encoder, shift_positions,
};
use crate::ConvertError;
use crate::config::{Config, invalid};
use crate::family::{Context, Family, Rule, TokenizerFacts, ViewError, map, rename, skip, split};
use crate::keys::Keys;
use crate::lazy::Lazy;
use crate::rope::SCALING_TYPE;
use crate::transforms::{first_half, second_half};

/// Layers as the implementation with flash attention names them, and as transformers does.
const FUSED_LAYERS: &[Rule] = &[
    rename("encoder.layers.{}.attn.Wqkv", "blk.{}.attn_qkv"),
    rename("encoder.layers.{}.mixer.Wqkv", "blk.{}.attn_qkv"),
    rename("encoder.layers.{}.attn.out_proj", "blk.{}.attn_output"),
    rename("encoder.layers.{}.mixer.out_proj", "blk.{}.attn_output"),
    rename("encoder.layers.{}.norm1", "blk.{}.attn_output_norm"),
    rename("encoder.layers.{}.norm2", "blk.{}.layer_output_norm"),
    rename("encoder.layers.{}.mlp.fc1", "blk.{}.ffn_up"),
    rename("encoder.layers.{}.mlp.fc11", "blk.{}.ffn_up"),
    rename("encoder.layers.{}.mlp.fc12", "blk.{}.ffn_gate"),
    rename("encoder.layers.{}.mlp.fc2", "blk.{}.ffn_down"),
    rename("layers.{}.self_attn.q_proj", "blk.{}.attn_q"),
    rename("layers.{}.self_attn.k_proj", "blk.{}.attn_k"),
    rename("layers.{}.self_attn.v_proj", "blk.{}.attn_v"),
    rename("layers.{}.self_attn.o_proj", "blk.{}.attn_output"),
    rename("layers.{}.post_attention_layernorm", "blk.{}.attn_output_norm"),
    rename("layers.{}.post_mlp_layernorm", "blk.{}.layer_output_norm"),
    rename("layers.{}.mlp.fc1", "blk.{}.ffn_up"),
    rename("layers.{}.mlp.fc2", "blk.{}.ffn_down"),
    rename("layers.{}.mlp.up_proj", "blk.{}.ffn_up"),
    rename("layers.{}.mlp.gate_proj", "blk.{}.ffn_gate"),
    rename("layers.{}.mlp.down_proj", "blk.{}.ffn_down"),
];

pub(super) const JINA_BERT_V3: Family = Family {
    classes: &["JinaEmbeddingsV3Model", "JinaEmbeddingsV3ForMaskedLM"],
    architecture: "jina-bert-v3",
    select: None,
    defaults: &[
        ("pad_token_id", "1"),
        ("type_vocab_size", "1"),
        ("layer_norm_eps", "1e-5"),
        ("rotary_emb_base", "20000.0"),
    ],
    rules: &[FUSED_LAYERS, EMBEDDINGS, &[skip(ADAPTERS)]],
    ..XLM_ROBERTA
};

pub(super) const NOMIC_BERT: Family = Family {
    classes: &["NomicBertModel", "NomicBertForMaskedLM"],
    activations: &[],
    architecture: "nomic-bert",
    select: Some(|config, _| {
        let interval = config.count_or(&["moe_every_n_layers"], 0)?;
        Ok(if interval > 0 { &NOMIC_BERT_MOE } else { &NOMIC_BERT })
    }),
    // The names that are looked up last, so that those of published files and of transformers have priority.
    defaults: &[("type_vocab_size", "2"), ("norm_epsilon", "1e-12"), ("rotary_emb_base", "1000.0")],
    expected: &[("hidden_act", r#""silu""#)],
    prepare: nomic,
    rules: &[FUSED_LAYERS, EMBEDDINGS],
    ..BERT
};

pub(super) const NOMIC_BERT_MOE: Family = Family {
    classes: &[],
    architecture: "nomic-bert-moe",
    select: None,
    expected: &[],
    prepare: |config| {
        shift_positions(config)?;
        nomic(config)
    },
    keys: |context, keys| {
        encoder(context, keys)?;
        keys.count("moe_every_n_layers", context.config.count(&["moe_every_n_layers"])?);
        keys.count("expert_used_count", context.config.count(&["moe_top_k"])?);
        Ok(())
    },
    rules: &[
        &[
            rename("encoder.layers.{}.mlp.router.layer", "blk.{}.ffn_gate_inp"),
            map("encoder.layers.{}.mlp.experts.mlp.w1", "blk.{}.ffn_up_exps.weight", expert_rows),
            map(
                "encoder.layers.{}.mlp.experts.mlp.w2",
                "blk.{}.ffn_down_exps.weight",
                |context, tensor| {
                    Ok(expert_rows(context, tensor)?.view(|view| view.transpose(1, 2))?)
                },
            ),
            // Not used by the model.
            skip("encoder.layers.{}.mlp.experts.bias"),
        ],
        FUSED_LAYERS,
        EMBEDDINGS,
    ],
    tokenizer: TokenizerFacts { unigram_pieces: Some(true), ..TokenizerFacts::DEFAULT },
    ..NOMIC_BERT
};

pub(super) const GTE: Family = Family {
    classes: &[
        "GteModel",
        "GteForMaskedLM",
        "GteForSequenceClassification",
        "NewModel",
        "NewForMaskedLM",
        "NewForSequenceClassification",
    ],
    architecture: "gte",
    select: None,
    // By `GteConfig` of transformers.
    defaults: &[("type_vocab_size", "1"), ("layer_norm_eps", "1e-12"), ("rope_theta", "160000.0")],
    expected: &[
        ("position_embedding_type", r#""rope""#),
        ("layer_norm_type", r#""layer_norm""#),
        ("logn_attention_scale", "false"),
    ],
    prepare: |_| Ok(()),
    activations: &["gelu"],
    own_scalings: &["ntk"],
    keys: |context, keys| {
        encoder(context, keys)?;
        ntk_scaling(context.config, keys)
    },
    rules: &[
        &[
            rename("encoder.layer.{}.attention.qkv_proj", "blk.{}.attn_qkv"),
            rename("encoder.layer.{}.attention.q_proj", "blk.{}.attn_q"),
            rename("encoder.layer.{}.attention.k_proj", "blk.{}.attn_k"),
            rename("encoder.layer.{}.attention.v_proj", "blk.{}.attn_v"),
            rename("encoder.layer.{}.attention.o_proj", "blk.{}.attn_output"),
            rename("encoder.layer.{}.attn_ln", "blk.{}.attn_output_norm"),
            rename("encoder.layer.{}.mlp_ln", "blk.{}.layer_output_norm"),
            split(
                "encoder.layer.{}.mlp.up_gate_proj",
                &[("blk.{}.ffn_up", first_half), ("blk.{}.ffn_gate", second_half)],
            ),
            rename("encoder.layer.{}.mlp.down_proj", "blk.{}.ffn_down"),
            skip("lm_head.norm"),
        ],
        FUSED_LAYERS,
        EMBEDDINGS,
    ],
    tokenizer: MULTILINGUAL,
    ..BERT
};

/// NTK scaling of rotary embeddings, in its form for all contexts: the base times a factor, and positions divided by a power of
/// it.
///
/// **Source**: the reference code of GTE (`NTKScalingRotaryEmbedding`).
fn ntk_scaling(config: &Config, keys: &mut Keys) -> Result<(), ConvertError> {
    let rope = config.shared_rope();
    if rope.kind().as_deref() != Some("ntk") {
        return Ok(());
    }
    if let Some(exponent) = rope.get("mixed_b") {
        return Err(invalid("rope_scaling.mixed_b", "null", exponent));
    }
    let factor = rope.float("factor")?;
    keys.float("rope.freq_base", factor * rope.float("rope_theta")?);
    keys.set(SCALING_TYPE, "linear");
    keys.float("rope.scaling.factor", factor.powf(2.0 / config.head_dim()?.max(1) as f64));
    Ok(())
}

/// Rows of matrices of all experts, one below the other, as `[experts, hidden, embedding]`.
fn expert_rows(context: &Context<'_>, tensor: Lazy) -> Result<Lazy, ViewError> {
    let Context { config, .. } = context;
    let shape = [
        config.count(&["num_local_experts", "num_experts"])?,
        config.count(&["n_inner", "intermediate_size"])?,
        config.count(&["n_embd", "hidden_size"])?,
    ];
    Ok(tensor.view(|view| view.reshape(&shape))?)
}

/// The context that Nomic's models are trained for, and the options of which one value can be converted.
fn nomic(config: &mut Config) -> Result<(), ConvertError> {
    if let Some(positions) = config.optional_count(&["n_positions"])? {
        match (positions, config.count_or(&["max_trained_positions"], 2048)?) {
            (8192, 2048) => config.set("n_positions", 2048),
            (2048, 2048) => config.set("n_positions", 512),
            _ => {}
        }
    }
    for key in ["prenorm", "causal", "rotary_emb_interleaved"] {
        if config.is_set(key)? {
            return Err(invalid(key, "false", true));
        }
    }
    let share = config.optional_float(&["rotary_emb_fraction"])?.unwrap_or(1.0);
    if share != 1.0 {
        return Err(invalid("rotary_emb_fraction", "1", share));
    }
    let is_mixture = config.count_or(&["moe_every_n_layers"], 0)? > 0;
    config.expect_text("activation_function", if is_mixture { &["gelu"] } else { &["swiglu"] })
}
