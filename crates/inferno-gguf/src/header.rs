//! The first 24 bytes: magic, version and the two counts.

use crate::cursor::Cursor;
use crate::{FileKind, GgufError, Result};

pub(crate) const MAGIC: [u8; 4] = *b"GGUF";

/// The version of written files.
pub(crate) const VERSION: u32 = 3;

/// Minimum size of a metadata entry: a key's length, a type, a value of one byte.
const MIN_ENTRY_BYTES: u64 = 8 + 4 + 1;

/// Minimum size of an entry of the tensor index: a name's length, a number of dimensions, a type, an
/// offset.
pub(crate) const MIN_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;

/// The header of a file.
pub(crate) struct FileHeader {
    pub(crate) version: u32,
    /// Checked against the number of bytes after the header.
    pub(crate) num_tensors: usize,
    /// Checked against the size of the file.
    pub(crate) num_entries: usize,
}

impl FileHeader {
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let whole = cursor.clone();
        let found = cursor.array("magic")?;
        if found != MAGIC {
            let begin = whole.peek(64);
            return Err(GgufError::BadMagic { found, looks_like: FileKind::guess(begin) });
        }
        let version = cursor.u32("version")?;
        match version {
            2 | 3 => {}
            // The lower half of a small version with swapped bytes is zero.
            _ if version != 0 && version & 0xffff == 0 => {
                return Err(GgufError::BigEndian { version: version.swap_bytes() });
            }
            _ => return Err(GgufError::UnsupportedVersion { version }),
        }
        let num_tensors_offset = cursor.offset();
        let num_tensors = cursor.u64("tensor count")?;
        let num_entries = cursor.count("metadata entries", MIN_ENTRY_BYTES)?;
        let num_tensors =
            cursor.check_count(num_tensors, num_tensors_offset, "tensors", MIN_TENSOR_BYTES)?;
        Ok(Self { version, num_tensors, num_entries })
    }
}
