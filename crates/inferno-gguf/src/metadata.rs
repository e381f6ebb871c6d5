//! Typed metadata keys and values, in the order of the file.

mod array;
mod decode;
mod encode;
mod from_metadata;
mod metadata_type;
mod show;
mod string_array;
mod value;
mod variants;

use indexmap::IndexMap;

pub use array::MetadataArray;
pub(crate) use decode::read_metadata;
pub(crate) use encode::{encode_metadata, encode_string};
pub use from_metadata::FromMetadata;
pub use metadata_type::MetadataType;
pub use string_array::StringArray;
pub use value::MetadataValue;

use crate::{GgufError, Result};

/// The key of the alignment of payloads.
const ALIGNMENT_KEY: &str = "general.alignment";

/// The alignment if a file does not set it.
const DEFAULT_ALIGNMENT: u64 = 32;

/// The largest supported alignment, far above any in use; limits the padding of a writer.
pub(crate) const MAX_ALIGNMENT: u64 = 1 << 24;

/// Maximum length of a key or tensor name.
///
/// **Source**: the format's limit for keys, 2^16 - 1 bytes.
pub(crate) const MAX_NAME_BYTES: u64 = u16::MAX as u64;

/// The metadata of a file: keys in insertion order, with constant-time lookup.
///
/// ```
/// use inferno_gguf::Metadata;
///
/// let mut metadata = Metadata::new();
/// metadata.insert("llama.context_length", 4096_u32);
/// metadata.insert("tokenizer.ggml.tokens", ["<s>", "</s>"].into_iter().collect::<inferno_gguf::StringArray>());
///
/// assert_eq!(metadata.required::<usize>("llama.context_length")?, 4096);
/// assert_eq!(metadata.optional::<f32>("llama.rope.freq_base")?.unwrap_or(10_000.0), 10_000.0);
/// let tokens: &inferno_gguf::StringArray = metadata.required("tokenizer.ggml.tokens")?;
/// assert_eq!(tokens.get(1), Some("</s>"));
///
/// let error = metadata.required::<&str>("llama.context_length").unwrap_err();
/// assert_eq!(error.to_string(), r#"metadata key "llama.context_length": expected a string, found u32 4096"#);
/// # Ok::<(), inferno_gguf::GgufError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    entries: IndexMap<String, MetadataValue>,
}

impl Metadata {
    /// Creates empty metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the key exists.
    pub fn contains(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The value of a key, of any type.
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.entries.get(key)
    }

    /// The value of a required key.
    ///
    /// **Errors**: [`GgufError::MissingKey`]; [`GgufError::WrongType`] if the value does not convert
    /// to `T`.
    pub fn required<'a, T: FromMetadata<'a>>(&'a self, key: &str) -> Result<T> {
        self.optional(key)?
            .ok_or_else(|| GgufError::MissingKey { key: key.to_owned(), expected: T::EXPECTED })
    }

    /// The value of an optional key.
    ///
    /// **Errors**: [`GgufError::WrongType`] if the key exists but its value does not convert to `T`.
    pub fn optional<'a, T: FromMetadata<'a>>(&'a self, key: &str) -> Result<Option<T>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match T::from_metadata(value) {
            Some(converted) => Ok(Some(converted)),
            None => Err(GgufError::WrongType {
                key: key.to_owned(),
                expected: T::EXPECTED,
                found: value.summary(),
            }),
        }
    }

    /// Sets a key and returns its previous value. A new key is appended, an existing one keeps its
    /// position.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        value: impl Into<MetadataValue>,
    ) -> Option<MetadataValue> {
        self.entries.insert(key.into(), value.into())
    }

    /// Removes a key and returns its value; the order of the other keys is unchanged.
    pub fn remove(&mut self, key: &str) -> Option<MetadataValue> {
        self.entries.shift_remove(key)
    }

    /// Iterates over the keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &MetadataValue)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }
}

/// Validates the value of [`ALIGNMENT_KEY`], which is stored at `offset`.
///
/// Other readers reject files whose alignment is not a `u32`, so this one does, too.
///
/// **Errors**: [`GgufError::BadAlignment`].
fn to_alignment(value: &MetadataValue, offset: u64) -> Result<u64> {
    match *value {
        MetadataValue::U32(alignment)
            if alignment.is_power_of_two() && u64::from(alignment) <= MAX_ALIGNMENT =>
        {
            Ok(alignment.into())
        }
        _ => Err(GgufError::BadAlignment { found: value.summary(), offset }),
    }
}
