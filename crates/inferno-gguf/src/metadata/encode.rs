//! Encoding metadata in the file format.

use super::decode::MAX_DEPTH;
use super::variants::match_numbers;
use super::{
    ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAX_NAME_BYTES, Metadata, MetadataArray, MetadataValue,
    to_alignment,
};
use crate::{GgufError, Result};

/// Encodes the keys and values in order, to be stored at `offset` in the file. Also returns the
/// alignment of payloads that they set.
///
/// **Errors**: [`GgufError::WrittenNameTooLong`], [`GgufError::NestedTooDeep`] and [`GgufError::BadAlignment`], for metadata
/// that a reader would reject.
pub(crate) fn encode_metadata(metadata: &Metadata, offset: u64) -> Result<(Vec<u8>, u64)> {
    let mut out = Vec::new();
    let mut alignment = DEFAULT_ALIGNMENT;
    for (key, value) in metadata.iter() {
        let entry_offset = offset + out.len() as u64;
        if key.len() as u64 > MAX_NAME_BYTES {
            return Err(GgufError::WrittenNameTooLong {
                what: "metadata key",
                name: key.to_owned(),
                max: MAX_NAME_BYTES,
            });
        }
        encode_string(key, &mut out);
        out.extend_from_slice(&value.value_type().id().to_le_bytes());
        if key == ALIGNMENT_KEY {
            alignment = to_alignment(value, offset + out.len() as u64)?;
        }
        if !encode_value(value, &mut out) {
            return Err(GgufError::NestedTooDeep {
                key: key.to_owned(),
                offset: entry_offset,
                max: MAX_DEPTH,
            });
        }
    }
    Ok((out, alignment))
}

/// Encodes a string, prefixed with its length.
pub(crate) fn encode_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Encodes a value; returns false if its arrays are nested too deeply.
pub(super) fn encode_value(value: &MetadataValue, out: &mut Vec<u8>) -> bool {
    match_numbers!(
        MetadataValue, value, number => out.extend_from_slice(&number.to_le_bytes()),
        MetadataValue::Bool(value) => out.push(u8::from(*value)),
        MetadataValue::String(text) => encode_string(text, out),
        MetadataValue::Array(array) => return encode_array(array, 1, out),
    );
    true
}

/// Encodes an array; returns false if it is nested too deeply.
fn encode_array(array: &MetadataArray, depth: usize, out: &mut Vec<u8>) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    out.extend_from_slice(&array.element_type().id().to_le_bytes());
    out.extend_from_slice(&(array.len() as u64).to_le_bytes());
    match_numbers!(
        MetadataArray, array,
        numbers => out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        MetadataArray::Bool(values) => out.extend(values.iter().map(|&value| u8::from(value))),
        MetadataArray::String(strings) => {
            strings.iter().for_each(|string| encode_string(string, out));
        }
        MetadataArray::Array(arrays) => {
            return arrays.iter().all(|array| encode_array(array, depth + 1, out));
        }
    );
    true
}
