//! BitNet b1.58, from weights that are not packed.

use crate::family::{Family, rename};

pub(super) const BITNET: Family = Family {
    classes: &["BitNetForCausalLM"],
    activations: &["relu2", "silu"],
    architecture: "bitnet",
    // By `BitNetConfig` of transformers.
    defaults: &[("rope_theta", "500000.0"), ("rms_norm_eps", "1e-5"), ("hidden_act", r#""relu2""#)],
    keys: |context, keys| {
        if let Some(function) = context.config.text("hidden_act")? {
            keys.set("hidden_activation", function);
        }
        Ok(())
    },
    rules: &[&[
        rename("model.layers.{}.self_attn.attn_sub_norm", "blk.{}.attn_sub_norm"),
        rename("model.layers.{}.mlp.ffn_sub_norm", "blk.{}.ffn_sub_norm"),
    ]],
    ..Family::DEFAULT
};
