//! A mapped file of another format, whose contents become the payloads of a checkpoint.

use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use crate::file::Storage;
use crate::{GgufError, Result};

/// A file of any format, mapped for reading.
///
/// What [`Gguf::open`](crate::Gguf::open) says about files that change while they are mapped applies here, too.
#[derive(Debug, Clone)]
pub struct MappedFile {
    storage: Storage,
}

impl MappedFile {
    /// Maps a file.
    ///
    /// **Errors**: [`GgufError::NotAFile`], [`GgufError::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { storage: Storage::map(path.as_ref())? })
    }

    /// The contents, without copying: a slice that keeps the mapping alive.
    pub fn bytes(&self) -> Bytes {
        self.storage.bytes.clone()
    }

    /// Starts reading a range from disk in the background.
    ///
    /// **Units**: bytes.
    ///
    /// **Panics** if the range is not in the file.
    pub fn preload(&self, range: Range<usize>) {
        if let Some(mapping) = &self.storage.mapping {
            mapping.preload(range);
        }
    }

    /// Releases the memory of a range; later accesses read the file again. Does nothing if the system is not Unix.
    ///
    /// **Units**: bytes.
    ///
    /// **Panics** if the range is not in the file.
    pub fn release(&self, range: Range<usize>) {
        if let Some(mapping) = &self.storage.mapping {
            mapping.release(range);
        }
    }

    /// Checks that the file has not changed since it was mapped.
    ///
    /// **Errors**: [`GgufError::FileChanged`], [`GgufError::Io`].
    pub fn check(&self) -> Result<(), GgufError> {
        crate::FileWatch::new(self.storage.watched.clone().into_iter()).check()
    }

    pub(crate) fn into_storage(self) -> Storage {
        self.storage
    }
}
