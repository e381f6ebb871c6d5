//! Keys that request a computation which the architecture does not have.

use super::{ArchitectureKeys, ROPE_PATTERN, WINDOW_PATTERN};
use crate::ModelError;

/// Keys that change what a model computes but that only some architectures read, and the values at which they have no
/// effect on the others: neutral ones, and those that llama.cpp saves for models that do not have the key. A list has no
/// effect if none of its values has one.
///
/// The list is precise rather than complete: files have keys that no computation depends on, such as sizes that follow
/// from tensors (`vocab_size`, `expert_shared_feed_forward_length`), divisions of positions that are equal for text
/// (`rope.dimension_sections`) or properties of the training (`rope.scaling.finetuned`). A key that comes with tensors of
/// its own needs no entry, since an unknown tensor is an error.
///
/// **Source**: the keys of llama.cpp (`llama-arch.cpp`), what its models do with them, and the defaults in
/// `llama-hparams.h`, which `llama-model-saver.cpp` writes.
const NEUTRAL: &[(&str, &[f32])] = &[
    ("attn_logit_softcapping", &[0.0, 50.0]),
    ("final_logit_softcapping", &[0.0, 30.0]),
    ("router_logit_softcapping", &[0.0, 30.0]),
    ("attention.scale", &[0.0]),
    ("attention.output_scale", &[1.0, 0.0]),
    ("attention.value_scale", &[1.0, 0.0]),
    ("attention.temperature_scale", &[0.0]),
    ("attention.clamp_kqv", &[0.0]),
    ("attention.max_alibi_bias", &[0.0]),
    ("embedding_scale", &[1.0, 0.0]),
    ("residual_scale", &[1.0, 0.0]),
    ("logit_scale", &[1.0, 0.0]),
    ("swiglu_clamp_exp", &[0.0]),
    ("swiglu_clamp_shexp", &[0.0]),
    ("expert_shared_count", &[0.0]),
    ("expert_group_count", &[0.0, 1.0]),
    ("expert_group_scale", &[1.0, 0.0, 0.05]),
    ("expert_weights_scale", &[1.0, 0.0]),
    // 1 means softmax.
    ("expert_gating_func", &[1.0, 0.0]),
    ("rope.scaling.alpha", &[0.0, 1.0]),
    ("rope.scaling.attn_factor", &[1.0, 0.0]),
    ("rope.scaling.yarn_log_multiplier", &[0.0]),
    ("rope.scaling.yarn_ext_factor", &[1.0, -1.0]),
    ("num_loops", &[1.0, 0.0]),
];

impl ArchitectureKeys<'_> {
    /// Rejects values of keys that the architecture did not read, unless they have no effect.
    pub(crate) fn check_others(&self) -> Result<(), ModelError> {
        let is_unread = |key: &str| !self.read.borrow().contains(key);
        for &(key, neutral) in NEUTRAL.iter().filter(|(key, _)| is_unread(key)) {
            if let Some(value) = self.numbers(key)?.into_iter().find(|it| !neutral.contains(it)) {
                let expected = format!("{}, as other values are not supported", neutral[0]);
                return Err(self.invalid(key, expected, value));
            }
        }
        if is_unread(WINDOW_PATTERN) && self.contains(WINDOW_PATTERN) {
            return Err(self.invalid(WINDOW_PATTERN, "one window for all layers", "a pattern"));
        }
        let are_rotated = match (is_unread(ROPE_PATTERN), self.is_list(ROPE_PATTERN)) {
            (false, _) => Vec::new(),
            (true, true) => self.booleans(ROPE_PATTERN, &(0..=usize::MAX))?.unwrap_or_default(),
            (true, false) => {
                self.numbers(ROPE_PATTERN)?.iter().map(|&number| number != 0.0).collect()
            }
        };
        match are_rotated.iter().position(|is_rotated| !is_rotated) {
            Some(layer) => {
                let expected = "true for all layers, as other values are not supported";
                Err(self.invalid(ROPE_PATTERN, expected, format!("false for layer {layer}")))
            }
            None => Ok(()),
        }
    }

    /// The numbers of a list, or a single one; none if the key is absent.
    fn numbers(&self, key: &str) -> Result<Vec<f32>, ModelError> {
        match self.is_list(key) {
            true => Ok(self.optional(key)?.unwrap_or_default()),
            false => Ok(self.optional(key)?.into_iter().collect()),
        }
    }
}
