//! The metadata keys of one architecture: reads them, checks their range, and rejects values that
//! request a computation that is not implemented.

use inferno_gguf::{FromMetadata, Metadata, StringArray};

use crate::ModelError;
use crate::tensor_names::EMBEDDINGS;

/// Keys that other architectures define, and the values at which they have no effect.
const NEUTRAL: &[(&str, &[f64])] = &[
    ("attn_logit_softcapping", &[0.0]),
    ("final_logit_softcapping", &[0.0]),
    ("attention.scale", &[0.0]),
    ("attention.temperature_scale", &[0.0]),
    ("attention.clamp_kqv", &[0.0]),
    ("attention.max_alibi_bias", &[0.0]),
    ("embedding_scale", &[1.0, 0.0]),
    ("residual_scale", &[1.0, 0.0]),
    ("logit_scale", &[1.0, 0.0]),
    ("leading_dense_block_count", &[0.0]),
    ("expert_shared_count", &[0.0]),
    ("expert_group_count", &[0.0, 1.0]),
    ("expert_weights_scale", &[1.0, 0.0]),
    // 1 means softmax.
    ("expert_gating_func", &[1.0, 0.0]),
    ("rope.scaling.yarn_log_multiplier", &[0.0]),
    ("rope.scaling.yarn_ext_factor", &[1.0, -1.0]),
];
const WINDOW_PATTERN: &str = "attention.sliding_window_pattern";

/// Metadata keys of one architecture, named without its prefix.
pub(super) struct ArchitectureKeys<'a> {
    prefix: &'static str,
    metadata: &'a Metadata,
}

impl<'a> ArchitectureKeys<'a> {
    pub(super) fn new(prefix: &'static str, metadata: &'a Metadata) -> Self {
        Self { prefix, metadata }
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.prefix)
    }

    pub(super) fn optional<T: for<'m> FromMetadata<'m>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, ModelError> {
        Ok(self.metadata.optional(&self.full(key))?)
    }

    pub(super) fn positive(&self, key: &str) -> Result<usize, ModelError> {
        let value = self.metadata.required(&self.full(key))?;
        self.check_positive(key, value)
    }

    pub(super) fn positive_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        let value = self.optional(key)?.unwrap_or(default);
        self.check_positive(key, value)
    }

    /// Sizes are multiplied with each other; the limit keeps the product of any two, with some
    /// margin, within `usize`.
    fn check_positive(&self, key: &str, value: usize) -> Result<usize, ModelError> {
        const MAX: usize = 1 << 24;
        match value {
            1..=MAX => Ok(value),
            _ => Err(self.invalid(key, format!("a number from 1 to {MAX}"), value)),
        }
    }

    /// A positive number; the key is required if `default` is `None`.
    pub(super) fn positive_float(
        &self,
        key: &str,
        default: Option<f32>,
    ) -> Result<f32, ModelError> {
        let value = match (self.optional(key)?, default) {
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => self.metadata.required(&self.full(key))?,
        };
        match value > 0.0 && f32::is_finite(value) {
            true => Ok(value),
            false => Err(self.invalid(key, "a positive number", value)),
        }
    }

    /// Rejects metadata that request a computation that is not implemented.
    pub(super) fn check_neutral(&self) -> Result<(), ModelError> {
        for &(key, neutral) in NEUTRAL {
            let value = self.optional::<f64>(key)?.unwrap_or(neutral[0]);
            if !neutral.contains(&value) {
                let expected = format!("{}, as other values are not supported", neutral[0]);
                return Err(self.invalid(key, expected, value));
            }
        }
        match self.metadata.contains(&self.full(WINDOW_PATTERN)) {
            true => Err(self.invalid(WINDOW_PATTERN, "one window for all layers", "a pattern")),
            false => Ok(()),
        }
    }

    /// The error for a missing embedding table; its expected row count is that of the tokenizer's
    /// tokens, if the file has them.
    pub(super) fn no_embeddings(&self, hidden_size: usize) -> ModelError {
        let tokens = self.metadata.optional::<&StringArray>("tokenizer.ggml.tokens");
        let num_tokens = tokens.ok().flatten().map_or(0, StringArray::len);
        ModelError::MissingTensor {
            name: EMBEDDINGS.to_owned(),
            expected: vec![num_tokens, hidden_size],
        }
    }

    pub(super) fn invalid(
        &self,
        key: &str,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> ModelError {
        ModelError::InvalidConfig {
            key: self.full(key),
            expected: expected.into(),
            found: found.to_string(),
        }
    }
}
