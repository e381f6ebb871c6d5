//! Typed keys and values, in the order of the file.

mod array;
mod decode;
mod encode;
mod from_metadata;
mod show;
mod string_array;
mod value;
mod variants;

use indexmap::IndexMap;

pub use array::MetadataArray;
pub(crate) use decode::read_metadata;
pub(crate) use encode::{encode_metadata, encode_string};
pub use from_metadata::FromMetadata;
pub use string_array::StringArray;
pub use value::{MetadataType, MetadataValue};

use crate::{GgufError, Result};

/// The key that states the alignment of payloads.
const ALIGNMENT_KEY: &str = "general.alignment";

/// The alignment of files that state none.
const DEFAULT_ALIGNMENT: u64 = 32;

/// The largest alignment that is taken, far beyond any use: it bounds the padding that a writer
/// makes.
pub(crate) const MAX_ALIGNMENT: u64 = 1 << 24;

/// The longest key or tensor name that is read.
///
/// **Source**: the format's limit for keys, 2^16 - 1 bytes.
pub(crate) const MAX_NAME_BYTES: u64 = u16::MAX as u64;

/// The metadata of a file: keys in insertion order, each found in constant time.
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
    /// Metadata without any key.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The value of a key, whatever its type.
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.entries.get(key)
    }

    /// The value of a key that must be there.
    ///
    /// **Errors**: [`GgufError::MissingKey`]; [`GgufError::WrongType`] where the value does not
    /// convert to `T`.
    pub fn required<'a, T: FromMetadata<'a>>(&'a self, key: &str) -> Result<T> {
        self.optional(key)?
            .ok_or_else(|| GgufError::MissingKey { key: key.to_owned(), expected: T::EXPECTED })
    }

    /// The value of a key that may be absent.
    ///
    /// **Errors**: [`GgufError::WrongType`] where the key is there but its value does not convert
    /// to `T`.
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

    /// Sets a key; returns the value that it had before. A new key goes to the end, a known one
    /// keeps its place.
    pub fn insert(
        &mut self,
        key: impl Into<String>,
        value: impl Into<MetadataValue>,
    ) -> Option<MetadataValue> {
        self.entries.insert(key.into(), value.into())
    }

    /// Removes a key and returns its value; the order of the others stays.
    pub fn remove(&mut self, key: &str) -> Option<MetadataValue> {
        self.entries.shift_remove(key)
    }

    /// The keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &MetadataValue)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }
}

/// The alignment that the value of [`ALIGNMENT_KEY`], which stands at `offset`, asks for.
///
/// Its type is not a matter of taste: other readers refuse a file whose alignment is no `u32`.
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
