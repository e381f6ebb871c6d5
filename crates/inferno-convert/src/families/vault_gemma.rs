//! VaultGemma: Gemma 2 without norms of outputs.

use super::gemma::GEMMA2;
use super::tied_head;
use crate::family::{Family, map};
use crate::transforms::plus_one;

pub(super) const VAULT_GEMMA: Family = Family {
    classes: &["VaultGemmaForCausalLM"],
    architecture: "vaultgemma",
    // By `VaultGemmaConfig` of transformers.
    defaults: &[
        ("tie_word_embeddings", "true"),
        ("attn_logit_softcapping", "50.0"),
        ("final_logit_softcapping", "30.0"),
        ("sliding_window", "4096"),
    ],
    rules: &[
        &[
            map("model.norm", "output_norm", plus_one),
            map("model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one),
            map("model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm", plus_one),
        ],
        tied_head::RULES,
    ],
    ..GEMMA2
};
