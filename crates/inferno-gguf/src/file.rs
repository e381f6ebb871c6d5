//! One file: its bytes, mapped or in memory, and its parsed header.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::cursor::Cursor;
use crate::header::FileHeader;
use crate::metadata::read_metadata;
use crate::mmap::Mapping;
use crate::tensor_index::TensorIndex;
use crate::watch::WatchedFile;
use crate::{GgufError, Metadata, Result};

/// The parsed contents of a file, without the payloads.
pub(crate) struct Contents {
    pub(crate) version: u32,
    pub(crate) alignment: u64,
    pub(crate) metadata: Metadata,
    pub(crate) index: TensorIndex,
}

impl Contents {
    /// Reads and validates everything but the payloads.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let header = FileHeader::read(&mut cursor)?;
        let (metadata, alignment) = read_metadata(&mut cursor, header.num_entries)?;
        let file_size = bytes.len() as u64;
        let index = TensorIndex::read(&mut cursor, header.num_tensors, alignment, file_size)?;
        Ok(Self { version: header.version, alignment, metadata, index })
    }
}

/// The bytes of one file.
#[derive(Debug, Clone)]
pub(crate) struct Storage {
    pub(crate) bytes: Bytes,
    pub(crate) mapping: Option<Mapping>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) watched: Option<WatchedFile>,
}

impl Storage {
    /// Maps a file.
    pub(crate) fn map(path: &Path) -> Result<Self> {
        let io_error = |error| GgufError::Io { path: path.to_owned(), error };
        // Checked before opening, as opening a pipe would block until its other end is opened.
        if !fs::metadata(path).map_err(io_error)?.is_file() {
            return Err(GgufError::NotAFile { path: path.to_owned() });
        }
        let file = File::open(path).map_err(io_error)?;
        let mapping = Mapping::new(&file).map_err(io_error)?;
        Ok(Self {
            bytes: Bytes::from_owner(mapping.clone()),
            mapping: Some(mapping),
            path: Some(path.to_owned()),
            watched: Some(WatchedFile::new(path.to_owned(), file).map_err(io_error)?),
        })
    }

    /// Wraps bytes in memory.
    pub(crate) fn in_memory(bytes: Bytes) -> Self {
        Self { bytes, mapping: None, path: None, watched: None }
    }
}
