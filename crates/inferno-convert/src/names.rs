//! The names of tensors that most families share.

use crate::family::{Action, Rule, map, rename, skip, split};
use crate::transforms::{first_half, same, second_half, single_row};

/// Looked up after the rules of the family.
pub(crate) const SHARED: &[Rule] = &[
    rename("model.embed_tokens", "token_embd"),
    rename("lm_head", "output"),
    rename("model.lm_head", "output"),
    rename("model.norm", "output_norm"),
    map("score", "cls.output", single_row),
    rename("model.layers.{}.input_layernorm", "blk.{}.attn_norm"),
    rename("model.layers.{}.self_attn.q_proj", "blk.{}.attn_q"),
    rename("model.layers.{}.self_attn.k_proj", "blk.{}.attn_k"),
    rename("model.layers.{}.self_attn.v_proj", "blk.{}.attn_v"),
    rename("model.layers.{}.self_attn.qkv_proj", "blk.{}.attn_qkv"),
    rename("model.layers.{}.self_attn.o_proj", "blk.{}.attn_output"),
    rename("model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm"),
    rename("model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm"),
    rename("model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"),
    rename("model.layers.{}.mlp.gate_proj", "blk.{}.ffn_gate"),
    rename("model.layers.{}.mlp.up_proj", "blk.{}.ffn_up"),
    rename("model.layers.{}.mlp.gate_up_proj", "blk.{}.ffn_up"),
    rename("model.layers.{}.mlp.down_proj", "blk.{}.ffn_down"),
    // Mixtures of experts.
    rename("model.layers.{}.mlp.gate", "blk.{}.ffn_gate_inp"),
    rename("model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
    rename("model.layers.{}.mlp.experts.{}.gate_proj", "blk.{}.ffn_gate_exps"),
    rename("model.layers.{}.mlp.experts.{}.up_proj", "blk.{}.ffn_up_exps"),
    rename("model.layers.{}.mlp.experts.{}.down_proj", "blk.{}.ffn_down_exps"),
    split(
        "model.layers.{}.mlp.experts.gate_up_proj",
        &[("blk.{}.ffn_gate_exps.weight", first_half), ("blk.{}.ffn_up_exps.weight", second_half)],
    ),
    split("model.layers.{}.mlp.experts.down_proj", &[("blk.{}.ffn_down_exps.weight", same)]),
    rename("model.layers.{}.mlp.shared_expert.gate_proj", "blk.{}.ffn_gate_shexp"),
    rename("model.layers.{}.mlp.shared_expert.up_proj", "blk.{}.ffn_up_shexp"),
    rename("model.layers.{}.mlp.shared_expert.down_proj", "blk.{}.ffn_down_shexp"),
    rename("model.layers.{}.mlp.shared_experts.gate_proj", "blk.{}.ffn_gate_shexp"),
    rename("model.layers.{}.mlp.shared_experts.up_proj", "blk.{}.ffn_up_shexp"),
    rename("model.layers.{}.mlp.shared_experts.down_proj", "blk.{}.ffn_down_shexp"),
    rename("model.layers.{}.mlp.shared_mlp.gate_proj", "blk.{}.ffn_gate_shexp"),
    rename("model.layers.{}.mlp.shared_mlp.up_proj", "blk.{}.ffn_up_shexp"),
    rename("model.layers.{}.mlp.shared_mlp.down_proj", "blk.{}.ffn_down_shexp"),
    rename("model.layers.{}.mlp.shared_expert_gate", "blk.{}.ffn_gate_inp_shexp"),
    rename("model.layers.{}.block_sparse_moe.gate", "blk.{}.ffn_gate_inp"),
    rename("model.layers.{}.block_sparse_moe.e_score_correction_bias", "blk.{}.exp_probs_b.bias"),
    rename("model.layers.{}.block_sparse_moe.experts.{}.w1", "blk.{}.ffn_gate_exps"),
    rename("model.layers.{}.block_sparse_moe.experts.{}.w2", "blk.{}.ffn_down_exps"),
    rename("model.layers.{}.block_sparse_moe.experts.{}.w3", "blk.{}.ffn_up_exps"),
    // Layers that predict further tokens.
    rename("model.layers.{}.eh_proj", "blk.{}.nextn.eh_proj"),
    rename("model.layers.{}.embed_tokens", "blk.{}.nextn.embed_tokens"),
    rename("model.layers.{}.enorm", "blk.{}.nextn.enorm"),
    rename("model.layers.{}.hnorm", "blk.{}.nextn.hnorm"),
    rename("model.layers.{}.shared_head.head", "blk.{}.nextn.shared_head_head"),
    rename("model.layers.{}.shared_head.norm", "blk.{}.nextn.shared_head_norm"),
    // Computed at run time.
    skip("model.layers.{}.self_attn.rotary_emb.inv_freq"),
    skip("model.rotary_emb.inv_freq"),
];

/// Beginnings of the names of tensors that are not in the text model, such as those of a vision encoder.
const OTHER_BEGINNINGS: &[&str] = &["mlp", "vit.", "vpm.", "siglip2.", "merger.", "resampler."];

/// Parts of such names.
const OTHER_PARTS: &[&str] = &[
    "visual.",
    "vision.",
    "audio.",
    "talker.",
    "vision_",
    "audio_",
    "token2wav.",
    "code2wav.",
    "sam_model.",
    "patch_merger.",
    "pre_mm_projector_norm.",
    "image_newline",
    "view_seperator",
    "patch_embed",
    "visual_embeddings_table",
    "model.connector.",
];

/// Whether a tensor belongs to the encoder of another modality than text.
pub(crate) fn is_other_modality(name: &str) -> bool {
    OTHER_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || OTHER_PARTS.iter().any(|part| name.contains(part))
        || name.split('.').any(is_projector)
}

/// Whether a part of a name is that of a projection to the embeddings of the text model, such as `multi_modal_projector`, which
/// is not the one of DistilBERT's output.
fn is_projector(part: &str) -> bool {
    part != "vocab_projector" && (part == "projector" || part.ends_with("_projector"))
}

/// Beginnings of names with the same meaning.
const BEGINNINGS: [(&str, &str); 4] = [
    ("backbone.", "model."),
    ("ernie.", "model."),
    ("model.backbone.", "model."),
    ("thinker.", ""),
];

/// A name as the rules have it.
pub(crate) fn canonical(name: &str) -> String {
    let name = name.replace("language_model.", "").replace("text_model.", "");
    for (beginning, replacement) in BEGINNINGS {
        if let Some(rest) = name.strip_prefix(beginning) {
            return format!("{replacement}{rest}");
        }
    }
    name
}

/// The action for a name whose numbers are `{}`, and the ending of the name that the rule does not have.
pub(crate) fn find<'n>(rules: &[&[Rule]], name: &'n str) -> Option<(Action, &'n str)> {
    let endings = [".weight", ".bias"];
    let ending = endings.into_iter().find(|ending| name.ends_with(ending)).unwrap_or("");
    let stem = &name[..name.len() - ending.len()];
    let lists = rules.iter().copied().chain([SHARED]);
    for list in lists {
        for (searched, ending) in [(name, ""), (stem, &name[stem.len()..])] {
            if let Some(rule) = list.iter().find(|rule| rule.source == searched) {
                return Some((rule.action, ending));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_of_other_modalities_are_recognized() {
        for name in [
            "model.sam_model.blocks.0.attn.qkv.weight",
            "model.vision_model.embeddings.class_embedding",
            "model.projector.layers.weight",
            "model.image_newline",
            "model.view_seperator",
            "model.visual.blocks.0.attn.qkv.weight",
            "model.visual_embeddings_table.weight",
            "model.vision_tower.encoder.layers.0.mlp.fc1.weight",
            "model.multi_modal_projector.linear_1.weight",
            "model.connector.modality_projection.proj.weight",
            "patch_merger.merging_layer.weight",
            "pre_mm_projector_norm.weight",
            "mm_projector.linear_1.weight",
            "vision_language_adapter.w_in.weight",
            "mlp1.0.weight",
            "vit.layers.0.mlp.fc1.weight",
            "vpm.encoder.layers.0.mlp.fc1.weight",
            "resampler.query",
            "siglip2.vision_model.head.probe",
            "merger.ln_q.weight",
            "audio_tower.layers.0.fc1.weight",
            "thinker.audio.layers.0.weight",
            "talker.model.layers.0.mlp.gate_proj.weight",
            "token2wav.code2wav_dit_model.proj_in.weight",
            "code2wav.decoder.0.weight",
        ] {
            assert!(is_other_modality(&canonical(name)), "{name}");
        }
    }

    #[test]
    fn tensors_of_text_models_belong_to_no_other_modality() {
        for name in [
            "model.embed_tokens.weight",
            "model.layers.0.mlp.gate_proj.weight",
            "model.language_model.layers.0.self_attn.q_proj.weight",
            "language_model.model.norm.weight",
            "thinker.model.layers.0.mlp.experts.0.up_proj.weight",
            "vocab_projector.bias",
            "lm_head.weight",
        ] {
            assert!(!is_other_modality(&canonical(name)), "{name}");
        }
    }
}
