//! MiniCPM 3.

use super::{long_rope, tied_head};
use crate::ConvertError;
use crate::family::{Context, Family, count, float, rename};
use crate::keys::Keys;

pub(super) const MINICPM3: Family = Family {
    classes: &["MiniCPM3ForCausalLM"],
    architecture: "minicpm3",
    has_common_keys: false,
    // By `MiniCPM3Config` of transformers.
    defaults: &[
        ("rms_norm_eps", "1e-5"),
        ("rope_theta", "10000.0"),
        ("kv_lora_rank", "256"),
        ("qk_nope_head_dim", "64"),
        ("qk_rope_head_dim", "32"),
        ("scale_emb", "12"),
        ("tie_word_embeddings", "true"),
    ],
    facts: &[
        count("vocab_size", &["vocab_size"]).required(),
        count("context_length", &["max_position_embeddings"]).required(),
        count("embedding_length", &["hidden_size"]).required(),
        count("feed_forward_length", &["intermediate_size"]).required(),
        count("attention.head_count", &["num_attention_heads"]).required(),
        count("attention.head_count_kv", &["num_key_value_heads", "num_attention_heads"])
            .required(),
        float("attention.layer_norm_rms_epsilon", &["rms_norm_eps"]).required(),
        count("attention.q_lora_rank", &["q_lora_rank"]),
        count("attention.kv_lora_rank", &["kv_lora_rank"]).required(),
        count("rope.dimension_count", &["qk_rope_head_dim"]).required(),
        float("embedding_scale", &["scale_emb"]),
    ],
    keys: minicpm3,
    rename: tied_head::rename,
    rules: &[
        &[
            rename("model.layers.{}.self_attn.q_a_proj", "blk.{}.attn_q_a"),
            rename("model.layers.{}.self_attn.q_a_layernorm", "blk.{}.attn_q_a_norm"),
            rename("model.layers.{}.self_attn.q_b_proj", "blk.{}.attn_q_b"),
            rename("model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"),
            rename("model.layers.{}.self_attn.kv_a_layernorm", "blk.{}.attn_kv_a_norm"),
            rename("model.layers.{}.self_attn.kv_b_proj", "blk.{}.attn_kv_b"),
        ],
        tied_head::RULES,
    ],
    constants: |context| {
        let rotated = context.config.count(&["qk_rope_head_dim"])?;
        long_rope::tensors(context.config, rotated)
    },
    ..Family::DEFAULT
};

/// The metadata, with the factors of the configuration, which llama.cpp assumes to be the defaults.
fn minicpm3(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let (config, rope) = (context.config, context.config.shared_rope());
    let size = config.count(&["hidden_size"])?;
    let [plain, rotated] = ["qk_nope_head_dim", "qk_rope_head_dim"];
    keys.count("attention.key_length", config.count(&[plain])? + config.count(&[rotated])?);
    let value_dim = config.count_or(&["v_head_dim"], size / config.num_heads()?.max(1))?;
    keys.count("attention.value_length", value_dim);
    let depth = (config.num_layers()? as f64).sqrt();
    let scale_depth = config.float_unless_null("scale_depth", 1.4)?.unwrap_or(depth);
    keys.float("residual_scale", scale_depth / depth);
    let base = config.float_unless_null("dim_model_base", 256.0)?.unwrap_or(size as f64);
    keys.float("logit_scale", size as f64 / base);
    let length = config.float(&["max_position_embeddings"])?;
    let original = rope.optional_float("original_max_position_embeddings")?.unwrap_or(length);
    keys.rotary_with_long_factors(config, original)
}
