//! A checkpoint that is open for reading.

use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use crate::file::{Contents, Storage};
use crate::shards;
use crate::tensor_index::TensorIndex;
use crate::{Metadata, Result, TensorInfo};

/// A checkpoint: metadata, tensor index and payloads, of one file or of all the shards of a split
/// one.
///
/// Cloning copies metadata and index and shares the payloads.
#[derive(Debug, Clone)]
pub struct Gguf {
    version: u32,
    alignment: u64,
    metadata: Metadata,
    index: TensorIndex,
    files: Vec<Storage>,
}

impl Gguf {
    /// Opens a file, memory-mapped. Any one of the shards of a split checkpoint opens all of them.
    ///
    /// The metadata of a split checkpoint is that of its first shard. The other shards are looked
    /// for beside the given one only (links in that folder are followed, as download caches use
    /// them).
    ///
    /// Payloads are read from the disk when they are touched. Nothing can promise that no other
    /// process changes the files meanwhile, and no check would notice: a file that is overwritten
    /// in place gives changed bytes, one that is cut shorter ends the process with `SIGBUS` on
    /// Unix. This is the one accepted exception to the rule that no file can do harm. Replace model
    /// files by renaming, or use [`Gguf::from_bytes`] on a copy in memory.
    ///
    /// **Errors**: every variant that says what is wrong with a file, inside
    /// [`GgufError::InFile`](crate::GgufError::InFile), which names the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::assemble(shards::open_all(path.as_ref())?)
    }

    /// Takes a checkpoint of one file that is in memory, such as an embedded one
    /// (`Bytes::from_static`).
    ///
    /// **Errors**: every variant that says what is wrong with a file.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        let storage = Storage::in_memory(bytes.into());
        let contents = Contents::read(&storage.bytes)?;
        Self::assemble(vec![(storage, contents)])
    }

    /// Joins the files of a checkpoint, of which there is at least one.
    fn assemble(parts: Vec<(Storage, Contents)>) -> Result<Self> {
        let mut parts = parts.into_iter();
        let Some((storage, Contents { version, alignment, metadata, index })) = parts.next() else {
            unreachable!("a checkpoint has at least the file that was opened");
        };
        let mut gguf = Self { version, alignment, metadata, index, files: vec![storage] };
        for (storage, contents) in parts {
            let shard = gguf.files.len();
            for mut info in contents.index.into_tensors() {
                info.shard = shard;
                gguf.index.push(info).map_err(|error| match &storage.path {
                    Some(path) => error.in_file(path),
                    None => error,
                })?;
            }
            gguf.files.push(storage);
        }
        Ok(gguf)
    }

    /// The version of the format, 2 or 3 (of the first shard).
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The alignment of payloads (of the first shard).
    ///
    /// **Units**: bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The keys and values (of the first shard).
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors in the order of the files.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.index.tensors()
    }

    /// The tensor of this name, if there is one, in constant time.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name)
    }

    /// The payload of a tensor, without copying: a slice of the mapping, which it keeps alive.
    ///
    /// **Panics** where `info` comes from another checkpoint and lies outside of this one.
    pub fn data(&self, info: &TensorInfo) -> Bytes {
        self.files[info.shard].bytes.slice(file_range(info))
    }

    /// Asks the operating system to read a payload soon, in the background. Does nothing where it
    /// is in memory.
    ///
    /// **Panics** as [`Gguf::data`].
    pub fn preload(&self, info: &TensorInfo) {
        if let Some(mapping) = &self.files[info.shard].mapping {
            mapping.preload(file_range(info));
        }
    }

    /// Gives the memory of a payload back; touching it again reads the file again. Does nothing
    /// where it is in memory, or the system is not Unix.
    ///
    /// **Panics** as [`Gguf::data`].
    pub fn release(&self, info: &TensorInfo) {
        self.release_part(info, 0..info.num_bytes());
    }

    /// Gives the memory of a part of a payload back, as [`Gguf::release`] does of the whole.
    ///
    /// Loaders that repack weights call it as they go, so that memory peaks near the size of the
    /// file.
    ///
    /// **Units**: `part` counts bytes from the start of the payload; what lies beyond its end is
    /// ignored.
    ///
    /// **Panics** as [`Gguf::data`].
    pub fn release_part(&self, info: &TensorInfo, part: Range<usize>) {
        let whole = file_range(info);
        let start = whole.start.saturating_add(part.start).min(whole.end);
        let end = whole.start.saturating_add(part.end).clamp(start, whole.end);
        if let Some(mapping) = &self.files[info.shard].mapping {
            mapping.release(start..end);
        }
    }

    /// The number of files, 1 unless the checkpoint is split.
    pub fn num_shards(&self) -> usize {
        self.files.len()
    }

    /// Whether the payloads are in memory, where they stay, rather than mapped from files.
    pub fn is_in_memory(&self) -> bool {
        self.files.iter().all(|file| file.mapping.is_none())
    }

    /// The size of all files together.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }

    /// The paths of the files in order; none where the checkpoint is in memory.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().filter_map(|file| file.path.as_deref())
    }
}

/// Where a payload lies in its file. That it fits `usize` was checked when the index was read.
fn file_range(info: &TensorInfo) -> Range<usize> {
    let start = info.file_offset() as usize;
    start..start + info.num_bytes()
}
