//! A checkpoint opened for reading.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::file::{Contents, Storage};
use crate::header::VERSION;
use crate::shards;
use crate::tensor_index::TensorIndex;
use crate::{FileWatch, GgmlType, GgufWriter, MappedFile, Metadata, Payloads, Result, TensorInfo};

/// A checkpoint: metadata, tensor index and payloads of one file, or of all shards of a split one.
///
/// Clones copy the metadata and the index and share the payloads.
#[derive(Debug, Clone)]
pub struct Gguf {
    version: u32,
    alignment: u64,
    metadata: Metadata,
    index: TensorIndex,
    files: Vec<Storage>,
    /// What reads the payloads, if they are not slices of the files.
    payloads: Option<Arc<dyn Payloads>>,
}

impl Gguf {
    /// Memory-maps a file. Opening any shard of a split checkpoint opens all of them.
    ///
    /// The metadata of a split checkpoint is that of its first shard. The other shards must be in the
    /// same directory; symbolic links are followed, as download caches use them.
    ///
    /// Payloads are read from disk on first access. Other processes can change the files in the
    /// meantime, which cannot be prevented: if a file is overwritten in place, payloads change, and if
    /// it is truncated, accessing them ends the process with `SIGBUS` on Unix. Replace model files by
    /// renaming, call [`FileWatch::check`] before reading payloads, or use [`Gguf::from_bytes`] on a
    /// copy in memory.
    ///
    /// **Errors**: all errors of invalid files, wrapped in
    /// [`GgufError::InFile`](crate::GgufError::InFile), which has the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::assemble(shards::open_all(path.as_ref())?)
    }

    /// Opens a checkpoint of one file in memory, such as an embedded one (`Bytes::from_static`).
    ///
    /// **Errors**: all errors of invalid files.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        let storage = Storage::in_memory(bytes.into());
        let contents = Contents::read(&storage.bytes)?;
        Self::assemble(vec![(storage, contents)])
    }

    /// Creates a checkpoint whose payloads are computed from `files` when they are read.
    ///
    /// `tensors` have a name, dimensions in the order of a file, fastest first, and a type.
    ///
    /// **Errors**: those of [`GgufWriter::new`] and [`GgufWriter::add_tensor`].
    pub fn computed<'a>(
        metadata: Metadata,
        tensors: impl IntoIterator<Item = (&'a str, &'a [usize], GgmlType)>,
        files: Vec<MappedFile>,
        payloads: Arc<dyn Payloads>,
    ) -> Result<Self> {
        let mut writer = GgufWriter::new(&metadata)?;
        for (name, dims, ggml_type) in tensors {
            writer.add_tensor(name, dims, ggml_type)?;
        }
        let (alignment, index) = writer.into_index();
        let files = files.into_iter().map(MappedFile::into_storage).collect();
        Ok(Self { version: VERSION, alignment, metadata, index, files, payloads: Some(payloads) })
    }

    /// Combines the files of a checkpoint, of which there must be at least one.
    fn assemble(parts: Vec<(Storage, Contents)>) -> Result<Self> {
        let mut parts = parts.into_iter();
        let Some((storage, Contents { version, alignment, metadata, index })) = parts.next() else {
            unreachable!("a checkpoint has at least the file that was opened");
        };
        let mut gguf =
            Self { version, alignment, metadata, index, files: vec![storage], payloads: None };
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

    /// The format version, 2 or 3 (of the first shard).
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The alignment of payloads (of the first shard).
    ///
    /// **Units**: bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// The metadata (of the first shard).
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors in the order of the files.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.index.tensors()
    }

    /// Looks up a tensor by name in constant time.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name)
    }

    /// The payload of a tensor: a slice that keeps the mapping alive, without copying, unless it is computed. Call
    /// [`Gguf::check_payloads`] before a computed one is used.
    ///
    /// **Panics** if `info` belongs to another checkpoint and is out of range in this one.
    pub fn data(&self, info: &TensorInfo) -> Bytes {
        self.part(info, 0..info.num_bytes())
    }

    /// A part of the payload of a tensor, like [`Gguf::data`]. The parts of a computed payload are computed separately.
    ///
    /// **Units**: `part` is in bytes from the start of the payload, on borders of blocks.
    ///
    /// **Panics** like [`Gguf::data`], and if the part is not in the payload.
    pub fn part(&self, info: &TensorInfo, part: Range<usize>) -> Bytes {
        assert!(part.start <= part.end && part.end <= info.num_bytes(), "a part of the payload");
        match &self.payloads {
            Some(payloads) => payloads.read(self.position(info), part),
            None => {
                let start = file_range(info).start;
                self.files[info.shard].bytes.slice(start + part.start..start + part.end)
            }
        }
    }

    /// Checks the computed payloads that were read so far, as [`Gguf::data`] cannot fail. Always succeeds for those of files.
    ///
    /// **Errors**: [`PayloadError::ValueTooLarge`](crate::PayloadError::ValueTooLarge) for a value that became infinite.
    pub fn check_payloads(&self) -> Result<()> {
        match &self.payloads {
            Some(payloads) => Ok(payloads.check()?),
            None => Ok(()),
        }
    }

    fn position(&self, info: &TensorInfo) -> usize {
        self.index.position(info.name()).expect("the tensor belongs to this checkpoint")
    }

    /// Returns a watch that detects changes of the mapped files.
    pub fn watch(&self) -> FileWatch {
        FileWatch::new(self.files.iter().filter_map(|file| file.watched.clone()))
    }

    /// Starts reading a payload from disk in the background. Does nothing if it is in memory.
    ///
    /// **Panics** like [`Gguf::data`].
    pub fn preload(&self, info: &TensorInfo) {
        if let Some(payloads) = &self.payloads {
            payloads.preload(self.position(info));
        } else if let Some(mapping) = &self.files[info.shard].mapping {
            mapping.preload(file_range(info));
        }
    }

    /// Releases the memory of a payload; later accesses read the file again. Does nothing if the
    /// payload is in memory or the system is not Unix.
    ///
    /// **Panics** like [`Gguf::data`].
    pub fn release(&self, info: &TensorInfo) {
        self.release_part(info, 0..info.num_bytes());
    }

    /// Releases the memory of a part of a payload, like [`Gguf::release`].
    ///
    /// Code that repacks weights calls this continually, so that memory peaks near the size of the
    /// file.
    ///
    /// **Units**: `part` is in bytes from the start of the payload and is clamped to it.
    ///
    /// **Panics** like [`Gguf::data`].
    pub fn release_part(&self, info: &TensorInfo, part: Range<usize>) {
        let whole = file_range(info);
        let start = whole.start.saturating_add(part.start).min(whole.end);
        let end = whole.start.saturating_add(part.end).clamp(start, whole.end);
        if let Some(payloads) = &self.payloads {
            payloads.release(self.position(info), start - whole.start..end - whole.start);
        } else if let Some(mapping) = &self.files[info.shard].mapping {
            mapping.release(start..end);
        }
    }

    /// Number of files: 1 unless the checkpoint is split.
    pub fn num_shards(&self) -> usize {
        self.files.len()
    }

    /// Whether the payloads are computed when they are read.
    pub fn is_computed(&self) -> bool {
        self.payloads.is_some()
    }

    /// Whether the payloads are in memory rather than mapped from files.
    pub fn is_in_memory(&self) -> bool {
        self.files.iter().all(|file| file.mapping.is_none())
    }

    /// Total size of all files, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }

    /// The paths of the files in order; empty if the checkpoint is in memory.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().filter_map(|file| file.path.as_deref())
    }
}

/// The range of a payload in its file. The index reader has checked that it fits `usize`.
fn file_range(info: &TensorInfo) -> Range<usize> {
    let start = info.file_offset() as usize;
    start..start + info.num_bytes()
}
