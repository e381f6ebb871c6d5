//! The metadata keys of one architecture: reads them, checks their range, and rejects values that
//! request a computation that is not implemented.

use std::cell::RefCell;
use std::collections::HashSet;

use inferno_gguf::{FromMetadata, Metadata, StringArray};

use crate::ModelError;
use crate::tensor_names::EMBEDDINGS;

/// Keys that only some architectures read, and the values at which they have no effect on the others.
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
    ("expert_shared_count", &[0.0]),
    ("expert_group_count", &[0.0, 1.0]),
    ("expert_weights_scale", &[1.0, 0.0]),
    // 1 means softmax.
    ("expert_gating_func", &[1.0, 0.0]),
    ("rope.scaling.yarn_log_multiplier", &[0.0]),
    ("rope.scaling.yarn_ext_factor", &[1.0, -1.0]),
];
/// The epsilon of RMS norms.
pub(crate) const RMS_EPS: &str = "attention.layer_norm_rms_epsilon";
/// The epsilon of layer norms.
pub(crate) const LAYER_NORM_EPS: &str = "attention.layer_norm_epsilon";
/// Which layers have a sliding window: one boolean per layer, or the length of a period.
pub(crate) const WINDOW_PATTERN: &str = "attention.sliding_window_pattern";

/// A number for each layer.
pub(crate) enum PerLayer {
    Same(usize),
    Each(Vec<usize>),
}

impl PerLayer {
    /// The number of layer `index`.
    pub(crate) fn get(&self, index: usize) -> usize {
        match self {
            Self::Same(number) => *number,
            Self::Each(numbers) => numbers[index],
        }
    }
}

/// Metadata keys of one architecture, named without its prefix.
pub(crate) struct ArchitectureKeys<'a> {
    prefix: &'static str,
    metadata: &'a Metadata,
    /// The keys that were requested.
    read: RefCell<HashSet<String>>,
}

impl<'a> ArchitectureKeys<'a> {
    pub(crate) fn new(prefix: &'static str, metadata: &'a Metadata) -> Self {
        Self { prefix, metadata, read: RefCell::default() }
    }

    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.prefix)
    }

    pub(crate) fn optional<T: for<'m> FromMetadata<'m>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, ModelError> {
        self.read.borrow_mut().insert(key.to_owned());
        Ok(self.metadata.optional(&self.full(key))?)
    }

    /// The model's own name, if the file has one.
    pub(crate) fn name(&self) -> Result<Option<String>, ModelError> {
        Ok(self.metadata.optional("general.name")?)
    }

    /// The value of a key without an architecture's prefix.
    pub(crate) fn global<T: for<'m> FromMetadata<'m>>(&self, key: &str) -> Result<T, ModelError> {
        Ok(self.metadata.required(key)?)
    }

    fn required<T: for<'m> FromMetadata<'m>>(&self, key: &str) -> Result<T, ModelError> {
        self.read.borrow_mut().insert(key.to_owned());
        Ok(self.metadata.required(&self.full(key))?)
    }

    pub(crate) fn positive(&self, key: &str) -> Result<usize, ModelError> {
        let value = self.required(key)?;
        self.check_positive(key, value)
    }

    pub(crate) fn positive_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        let value = self.optional(key)?.unwrap_or(default);
        self.check_positive(key, value)
    }

    /// The strings of a list; none if it is absent.
    pub(crate) fn strings(&self, key: &str) -> Result<Vec<String>, ModelError> {
        let strings = self.metadata.optional::<&StringArray>(&self.full(key))?;
        Ok(strings.into_iter().flat_map(StringArray::iter).map(str::to_owned).collect())
    }

    /// A number for each layer, of which files may store a single one for all of them.
    pub(crate) fn per_layer(
        &self,
        key: &str,
        num_layers: usize,
    ) -> Result<Option<PerLayer>, ModelError> {
        match self.optional::<Vec<usize>>(key) {
            Ok(Some(numbers)) if numbers.len() < num_layers => {
                let expected = format!("a number for each of {num_layers} layers");
                Err(self.invalid(key, expected, numbers.len()))
            }
            Ok(numbers) => Ok(numbers.map(PerLayer::Each)),
            Err(_) => Ok(self.optional(key)?.map(PerLayer::Same)),
        }
    }

    /// The positive number of layer `index`; the key is required if `default` is `None`.
    pub(crate) fn positive_in_layer(
        &self,
        key: &str,
        index: usize,
        default: Option<usize>,
    ) -> Result<usize, ModelError> {
        let number = self.per_layer(key, index + 1)?.map(|numbers| numbers.get(index));
        match number.or(default) {
            Some(number) => self.check_positive(key, number),
            None => self.positive(key),
        }
    }

    /// Sizes are multiplied with each other; the limit keeps the product of any two, with some
    /// margin, within `usize`.
    pub(crate) fn check_positive(&self, key: &str, value: usize) -> Result<usize, ModelError> {
        const MAX: usize = 1 << 24;
        match value {
            1..=MAX => Ok(value),
            _ => Err(self.invalid(key, format!("a number from 1 to {MAX}"), value)),
        }
    }

    /// A positive number; the key is required if `default` is `None`.
    pub(crate) fn positive_float(
        &self,
        key: &str,
        default: Option<f32>,
    ) -> Result<f32, ModelError> {
        let value = match (self.optional(key)?, default) {
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => self.required(key)?,
        };
        match value > 0.0 && f32::is_finite(value) {
            true => Ok(value),
            false => Err(self.invalid(key, "a positive number", value)),
        }
    }

    /// A number that has no effect if it is absent or zero.
    pub(crate) fn optional_float(&self, key: &str) -> Result<Option<f32>, ModelError> {
        match self.optional::<f32>(key)? {
            None => Ok(None),
            Some(value) if value.is_finite() => Ok(Some(value).filter(|&value| value != 0.0)),
            Some(value) => Err(self.invalid(key, "a finite number", value)),
        }
    }

    /// Rejects metadata that request a computation that is not implemented: values of keys that the
    /// architecture did not read, unless they have no effect.
    pub(crate) fn check_others(&self) -> Result<(), ModelError> {
        let is_read = |key: &str| self.read.borrow().contains(key);
        for &(key, neutral) in NEUTRAL.iter().filter(|(key, _)| !is_read(key)) {
            let value = self.optional::<f64>(key)?.unwrap_or(neutral[0]);
            if !neutral.contains(&value) {
                let expected = format!("{}, as other values are not supported", neutral[0]);
                return Err(self.invalid(key, expected, value));
            }
        }
        match !is_read(WINDOW_PATTERN) && self.metadata.contains(&self.full(WINDOW_PATTERN)) {
            true => Err(self.invalid(WINDOW_PATTERN, "one window for all layers", "a pattern")),
            false => Ok(()),
        }
    }

    /// The error for a missing embedding table; its expected row count is that of the tokenizer's
    /// tokens, if the file has them.
    pub(crate) fn no_embeddings(&self, hidden_size: usize) -> ModelError {
        let tokens = self.metadata.optional::<&StringArray>("tokenizer.ggml.tokens");
        let num_tokens = tokens.ok().flatten().map_or(0, StringArray::len);
        ModelError::MissingTensor {
            name: EMBEDDINGS.to_owned(),
            expected: vec![num_tokens, hidden_size],
        }
    }

    pub(crate) fn invalid(
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
