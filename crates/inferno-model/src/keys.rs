//! The metadata keys of one architecture: reads them and checks their range.

mod per_layer;
mod unsupported;

use std::cell::RefCell;
use std::collections::HashSet;

use inferno_gguf::{FromMetadata, Metadata, MetadataValue, StringArray};

use crate::ModelError;
use crate::tensor_names::EMBEDDINGS;
pub(crate) use per_layer::PerLayer;

/// The epsilon of RMS norms.
pub(crate) const RMS_EPS: &str = "attention.layer_norm_rms_epsilon";
/// The epsilon of layer norms.
pub(crate) const LAYER_NORM_EPS: &str = "attention.layer_norm_epsilon";
/// Which layers have a sliding window: one boolean per layer, or the length of a period.
pub(crate) const WINDOW_PATTERN: &str = "attention.sliding_window_pattern";
/// Which layers have rotary embedding: a boolean or a number for each layer, or a number for all of them.
pub(crate) const ROPE_PATTERN: &str = "attention.rope_pattern";

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

    pub(crate) fn contains(&self, key: &str) -> bool {
        self.metadata.contains(&self.full(key))
    }

    /// Whether the key has a list as its value.
    pub(crate) fn is_list(&self, key: &str) -> bool {
        matches!(self.metadata.get(&self.full(key)), Some(MetadataValue::Array(_)))
    }

    pub(crate) fn optional<T: for<'m> FromMetadata<'m>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, ModelError> {
        self.mark_read(key);
        Ok(self.metadata.optional(&self.full(key))?)
    }

    /// Counts a key as read, so that [`check_others`](Self::check_others) accepts any value.
    pub(crate) fn mark_read(&self, key: &str) {
        self.read.borrow_mut().insert(key.to_owned());
    }

    /// The model's own name, if the file has one.
    pub(crate) fn name(&self) -> Result<Option<String>, ModelError> {
        Ok(self.metadata.optional("general.name")?)
    }

    fn required<T: for<'m> FromMetadata<'m>>(&self, key: &str) -> Result<T, ModelError> {
        self.mark_read(key);
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

    fn check_positive(&self, key: &str, value: usize) -> Result<usize, ModelError> {
        match check_size(value) {
            Ok(value) => Ok(value),
            Err(expected) => Err(self.invalid(key, expected, value)),
        }
    }

    /// The strings of a list; none if it is absent.
    pub(crate) fn strings(&self, key: &str) -> Result<Vec<String>, ModelError> {
        let strings = self.metadata.optional::<&StringArray>(&self.full(key))?;
        Ok(strings.into_iter().flat_map(StringArray::iter).map(str::to_owned).collect())
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
        ModelError::invalid_config(self.full(key), expected, found)
    }
}

/// Returns a size if it is within its range, else a description of the range. Sizes are multiplied with each other; the
/// limit keeps the product of any two, with some margin, within `usize`.
fn check_size(size: usize) -> Result<usize, String> {
    const MAX: usize = 1 << 24;
    match size {
        1..=MAX => Ok(size),
        _ => Err(format!("a number from 1 to {MAX}")),
    }
}
