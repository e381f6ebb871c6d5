//! Decoding metadata from the bytes of a file.
//!
//! Invariant: memory for a count of elements is only allocated after the cursor has checked that the
//! file is long enough for them.

use super::{
    ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAX_NAME_BYTES, Metadata, MetadataArray, MetadataType,
    MetadataValue, StringArray, to_alignment,
};
use crate::cursor::Cursor;
use crate::{GgufError, Result};

/// Maximum nesting depth of arrays; the array of a key has depth 1.
pub(super) const MAX_DEPTH: usize = 32;

/// Size of an array's type and count, in bytes.
const ARRAY_HEADER_BYTES: u64 = TYPE_BYTES + 8;

/// Size of a string's length, in bytes.
const STRING_LENGTH_BYTES: u64 = 8;

/// Size of a value's type, in bytes.
const TYPE_BYTES: u64 = 4;

/// Reads `num_entries` keys and values; also returns the alignment of payloads that they set.
pub(crate) fn read_metadata(
    cursor: &mut Cursor<'_>,
    num_entries: usize,
) -> Result<(Metadata, u64)> {
    let mut metadata = Metadata::new();
    let mut alignment = DEFAULT_ALIGNMENT;
    for _ in 0..num_entries {
        let offset = cursor.offset();
        let key = cursor.name("metadata key", MAX_NAME_BYTES)?;
        if metadata.contains(&key) {
            return Err(GgufError::DuplicateKey { key, offset });
        }
        let value_offset = cursor.offset() + TYPE_BYTES;
        let value = read_value(cursor, &key)?;
        if key == ALIGNMENT_KEY {
            alignment = to_alignment(&value, value_offset)?;
        }
        metadata.insert(key, value);
    }
    Ok((metadata, alignment))
}

fn read_value(cursor: &mut Cursor<'_>, key: &str) -> Result<MetadataValue> {
    const WHAT: &str = "metadata value";
    Ok(match read_type(cursor, key)? {
        MetadataType::U8 => MetadataValue::U8(u8::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::I8 => MetadataValue::I8(i8::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::U16 => MetadataValue::U16(u16::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::I16 => MetadataValue::I16(i16::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::U32 => MetadataValue::U32(u32::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::I32 => MetadataValue::I32(i32::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::F32 => MetadataValue::F32(f32::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::Bool => {
            let offset = cursor.offset();
            let [byte] = cursor.array(WHAT)?;
            MetadataValue::Bool(to_bool(byte, key, offset)?)
        }
        MetadataType::String => {
            let offset = cursor.offset();
            let text = cursor.string("metadata string")?;
            MetadataValue::String(text.ok_or_else(|| invalid_string(key, offset))?)
        }
        MetadataType::Array => MetadataValue::Array(read_array(cursor, key, 1)?),
        MetadataType::U64 => MetadataValue::U64(u64::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::I64 => MetadataValue::I64(i64::from_le_bytes(cursor.array(WHAT)?)),
        MetadataType::F64 => MetadataValue::F64(f64::from_le_bytes(cursor.array(WHAT)?)),
    })
}

fn read_type(cursor: &mut Cursor<'_>, key: &str) -> Result<MetadataType> {
    let offset = cursor.offset();
    let type_id = cursor.u32("metadata value type")?;
    MetadataType::from_id(type_id).ok_or_else(|| GgufError::UnknownValueType {
        key: key.to_owned(),
        type_id,
        offset,
    })
}

fn read_array(cursor: &mut Cursor<'_>, key: &str, depth: usize) -> Result<MetadataArray> {
    if depth > MAX_DEPTH {
        return Err(GgufError::NestedTooDeep {
            key: key.to_owned(),
            offset: cursor.offset(),
            max: MAX_DEPTH,
        });
    }
    Ok(match read_type(cursor, key)? {
        MetadataType::U8 => MetadataArray::U8(read_numbers(cursor, u8::from_le_bytes)?),
        MetadataType::I8 => MetadataArray::I8(read_numbers(cursor, i8::from_le_bytes)?),
        MetadataType::U16 => MetadataArray::U16(read_numbers(cursor, u16::from_le_bytes)?),
        MetadataType::I16 => MetadataArray::I16(read_numbers(cursor, i16::from_le_bytes)?),
        MetadataType::U32 => MetadataArray::U32(read_numbers(cursor, u32::from_le_bytes)?),
        MetadataType::I32 => MetadataArray::I32(read_numbers(cursor, i32::from_le_bytes)?),
        MetadataType::F32 => MetadataArray::F32(read_numbers(cursor, f32::from_le_bytes)?),
        MetadataType::Bool => MetadataArray::Bool(read_bools(cursor, key)?),
        MetadataType::String => MetadataArray::String(read_strings(cursor, key)?),
        MetadataType::Array => {
            let count = cursor.count("nested arrays", ARRAY_HEADER_BYTES)?;
            let arrays = (0..count).map(|_| read_array(cursor, key, depth + 1));
            MetadataArray::Array(arrays.collect::<Result<_>>()?)
        }
        MetadataType::U64 => MetadataArray::U64(read_numbers(cursor, u64::from_le_bytes)?),
        MetadataType::I64 => MetadataArray::I64(read_numbers(cursor, i64::from_le_bytes)?),
        MetadataType::F64 => MetadataArray::F64(read_numbers(cursor, f64::from_le_bytes)?),
    })
}

fn read_numbers<const N: usize, T>(
    cursor: &mut Cursor<'_>,
    from_bytes: fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let count = cursor.count("array elements", N as u64)?;
    let (elements, _) = cursor.take((count * N) as u64, "array")?.as_chunks::<N>();
    Ok(elements.iter().map(|&bytes| from_bytes(bytes)).collect())
}

fn read_bools(cursor: &mut Cursor<'_>, key: &str) -> Result<Vec<bool>> {
    let count = cursor.count("array elements", 1)?;
    let start = cursor.offset();
    let bytes = cursor.take(count as u64, "array")?;
    bytes.iter().zip(start..).map(|(&byte, offset)| to_bool(byte, key, offset)).collect()
}

fn to_bool(byte: u8, key: &str, offset: u64) -> Result<bool> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(GgufError::InvalidBool { key: key.to_owned(), found, offset }),
    }
}

fn invalid_string(key: &str, offset: u64) -> GgufError {
    GgufError::InvalidString { key: key.to_owned(), offset }
}

fn read_strings(cursor: &mut Cursor<'_>, key: &str) -> Result<StringArray> {
    const WHAT: &str = "string of an array";
    let count = cursor.count("array strings", STRING_LENGTH_BYTES)?;
    let start = cursor.clone();
    let mut text = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..count {
        text.extend_from_slice(cursor.string_bytes(WHAT)?);
        ends.push(text.len());
    }
    StringArray::from_parts(text, ends)
        .map_err(|index| invalid_string(key, offset_of_string(start, index)))
}

/// The offset of the string at `index`, found by reading the strings before it again.
fn offset_of_string(mut cursor: Cursor<'_>, index: usize) -> u64 {
    for _ in 0..index {
        if cursor.string_bytes("string of an array").is_err() {
            break;
        }
    }
    cursor.offset()
}
