//! MiniCPM 1, 2 and 4.

use super::{llama, long_rope};
use crate::ConvertError;
use crate::family::{Context, Family, float};
use crate::keys::Keys;
use crate::rope::SCALING_TYPE;

pub(super) const MINICPM: Family = Family {
    classes: &["MiniCPMForCausalLM"],
    architecture: "minicpm",
    prepare: |_| Ok(()),
    facts: &[float("embedding_scale", &["scale_emb"]).required()],
    keys: factors,
    own_scalings: &["longrope"],
    constants: |context| long_rope::tensors(context.config, context.config.head_dim()?),
    ..llama::LLAMA
};

fn factors(context: &Context<'_>, keys: &mut Keys) -> Result<(), ConvertError> {
    let config = context.config;
    let layers = config.num_layers()? as f64;
    keys.float("residual_scale", config.float(&["scale_depth"])? / layers.sqrt());
    let base_width = config.float(&["dim_model_base"])?;
    keys.float("logit_scale", config.float(&["hidden_size"])? / base_width);
    let rope = config.shared_rope();
    if rope.kind().as_deref() == Some("longrope") {
        keys.set(SCALING_TYPE, "longrope");
        if let Some(original) = rope.optional_float("original_max_position_embeddings")? {
            keys.count("rope.scaling.original_context_length", original as usize);
            let ratio = config.float(&["max_position_embeddings"])? / original;
            if ratio > 1.0 {
                let amplitude = (1.0 + ratio.ln() / original.ln()).sqrt();
                keys.float("rope.scaling.attn_factor", amplitude);
            }
        }
    }
    llama::rotary_dimensions(context, keys)
}
