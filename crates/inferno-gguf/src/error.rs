//! Errors of reading and writing GGUF files, with names, expected and found values, and byte offsets.

mod payload;

use std::io;
use std::path::PathBuf;

use crate::metadata::MAX_ALIGNMENT;
use crate::{FileKind, GgmlType};

pub use payload::PayloadError;

/// An error of reading or writing a GGUF file.
///
/// **Units**: every `offset` counts bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The operating system failed to open, map or write a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// A mapped file was overwritten or truncated.
    #[error(
        "{}: the file changed while it was in use; load it again, and replace model files by renaming instead of \
         overwriting them",
        path.display()
    )]
    FileChanged {
        /// The file.
        path: PathBuf,
    },
    /// The path is a directory, a pipe or a device.
    #[error("{}: not a regular file (it is a directory, pipe or device)", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file at this path is invalid.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// The error in the file.
        error: Box<GgufError>,
    },

    /// The file does not start with `GGUF`.
    #[error(
        "not a GGUF file: expected the bytes 47 47 55 46 (\"GGUF\") at byte 0, found {found:02x?}{}",
        looks_like.map_or(String::new(), |kind| format!("; it looks like {kind}"))
    )]
    BadMagic {
        /// The first four bytes.
        found: [u8; 4],
        /// The kind of file that it resembles.
        looks_like: Option<FileKind>,
    },
    /// The file was written for big-endian machines.
    #[error(
        "the file is big-endian (byte-swapped version {version} at byte 4); convert it with gguf-py's \
         gguf-convert-endian"
    )]
    BigEndian {
        /// The version after swapping the bytes.
        version: u32,
    },
    /// The format version is neither 2 nor 3.
    #[error(
        "unsupported GGUF version {version} at byte 4; expected 2 or 3. Convert the model again"
    )]
    UnsupportedVersion {
        /// The version in the file.
        version: u32,
    },
    /// The file ends before the end of one of its parts.
    #[error(
        "the file is truncated: {what} at byte {offset} requires {needed} bytes, {available} are left; download the \
         file again"
    )]
    Truncated {
        /// The part being read.
        what: &'static str,
        /// Its offset.
        offset: u64,
        /// Its size, in bytes.
        needed: u64,
        /// Number of bytes left in the file.
        available: u64,
    },
    /// A count exceeds what the rest of the file could contain.
    #[error(
        "the file is truncated or damaged: the number of {what} at byte {offset} is {count}, but the remaining \
         {available} bytes can contain at most {max}; download the file again"
    )]
    CountTooLarge {
        /// The counted items.
        what: &'static str,
        /// The offset of the count.
        offset: u64,
        /// The count in the file.
        count: u64,
        /// The maximum possible count.
        max: u64,
        /// Number of bytes after the count.
        available: u64,
    },
    /// A metadata key or tensor name is not valid UTF-8.
    #[error("the {what} at byte {offset} is not valid UTF-8")]
    InvalidUtf8 {
        /// The kind of name.
        what: &'static str,
        /// The offset of its length field.
        offset: u64,
    },
    /// A key or tensor name in a file is longer than the format allows.
    #[error("the {what} at byte {offset} has {length} bytes; the maximum is {max}")]
    NameTooLong {
        /// The kind of name.
        what: &'static str,
        /// The offset of its length field.
        offset: u64,
        /// Its length in bytes.
        length: u64,
        /// The maximum length in bytes.
        max: u64,
    },
    /// A key or tensor name to be written is longer than the format allows.
    #[error("the {what} {name:.80} has {} bytes; the maximum is {max}", name.len())]
    WrittenNameTooLong {
        /// The kind of name.
        what: &'static str,
        /// The name.
        name: String,
        /// The maximum length in bytes.
        max: u64,
    },

    /// A metadata value has a type that the format does not define.
    #[error(
        "metadata key {key:?} has unknown value type {type_id} at byte {offset}; expected 0 to 12"
    )]
    UnknownValueType {
        /// The key.
        key: String,
        /// The type number in the file.
        type_id: u32,
        /// Its offset.
        offset: u64,
    },
    /// A string in a metadata value is not valid UTF-8.
    #[error("metadata key {key:?} has a string at byte {offset} that is not valid UTF-8")]
    InvalidString {
        /// The key.
        key: String,
        /// The offset of the string's length field.
        offset: u64,
    },
    /// A boolean is neither 0 nor 1.
    #[error("metadata key {key:?} has invalid boolean {found} at byte {offset}; expected 0 or 1")]
    InvalidBool {
        /// The key.
        key: String,
        /// The byte in the file.
        found: u8,
        /// Its offset.
        offset: u64,
    },
    /// Arrays are nested more deeply than in any real file.
    #[error("metadata key {key:?} has arrays nested more than {max} levels deep at byte {offset}")]
    NestedTooDeep {
        /// The key.
        key: String,
        /// The offset of the first array beyond the limit.
        offset: u64,
        /// The limit.
        max: usize,
    },
    /// A metadata key is duplicated.
    #[error("duplicate metadata key {key:?} at byte {offset}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// The offset of the second occurrence.
        offset: u64,
    },
    /// `general.alignment` is not a `u32`, not a power of two, or too large.
    #[error(
        "general.alignment at byte {offset} is {found}; expected a u32 power of two up to {MAX_ALIGNMENT} \
         (typically 32)"
    )]
    BadAlignment {
        /// The type and value in the file.
        found: String,
        /// The offset of the value.
        offset: u64,
    },

    /// A required metadata key is missing.
    #[error("metadata key {key:?} is missing; expected {expected}")]
    MissingKey {
        /// The key.
        key: String,
        /// The requested type.
        expected: &'static str,
    },
    /// A metadata value does not convert to the requested type.
    #[error("metadata key {key:?}: expected {expected}, found {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The requested type.
        expected: &'static str,
        /// The type in the file and, if it is short, the value.
        found: String,
    },

    /// A tensor has an unknown type and therefore an unknown size.
    #[error(
        "tensor {tensor:?} has unknown ggml type {type_id} at byte {offset}; known types are 0 to {}, except 4 and 5. \
         The file was written by {}; use another quantization of the model",
        GgmlType::MAX_ID,
        match *.type_id > GgmlType::MAX_ID {
            true => "a newer version of ggml or by a fork, such as ik_llama.cpp",
            false => "a version of ggml from before GGUF",
        }
    )]
    UnknownTensorType {
        /// The tensor.
        tensor: String,
        /// The type number in the file.
        type_id: u32,
        /// Its offset.
        offset: u64,
    },
    /// A tensor has more than four dimensions.
    #[error("tensor {tensor:?} has {num_dims} dimensions at byte {offset}; the maximum is {max}")]
    TooManyDims {
        /// The tensor.
        tensor: String,
        /// The number of dimensions in the file.
        num_dims: u32,
        /// The maximum.
        max: usize,
        /// The offset of the number.
        offset: u64,
    },
    /// A dimension of a tensor is zero.
    #[error("tensor {tensor:?} at byte {offset} has dimensions {dims:?}; each must be at least 1")]
    ZeroDim {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// The offset of the tensor's index entry.
        offset: u64,
    },
    /// The size of a tensor exceeds this machine's address space.
    #[error(
        "tensor {tensor:?} at byte {offset} has dimensions {dims:?}; their product is too large"
    )]
    SizeOverflow {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// The offset of the tensor's index entry.
        offset: u64,
    },
    /// The rows of a tensor cannot be divided into whole blocks.
    #[error(
        "tensor {tensor:?} at byte {offset} has rows of {row_len} values; expected a multiple of {}, the block \
         length of {ggml_type}",
        ggml_type.block_len()
    )]
    PartialBlock {
        /// The tensor.
        tensor: String,
        /// Number of values in a row.
        row_len: usize,
        /// Its type.
        ggml_type: GgmlType,
        /// The offset of the tensor's index entry.
        offset: u64,
    },
    /// A tensor name is duplicated.
    #[error("duplicate tensor {tensor:?} at byte {offset}")]
    DuplicateTensor {
        /// The tensor.
        tensor: String,
        /// The offset of the second entry.
        offset: u64,
    },
    /// A payload is not aligned.
    #[error(
        "tensor {tensor:?} at byte {offset} has data offset {data_offset}; expected a multiple of the alignment, \
         {alignment}"
    )]
    MisalignedTensor {
        /// The tensor.
        tensor: String,
        /// The offset of its payload in the data section.
        data_offset: u64,
        /// The alignment.
        alignment: u64,
        /// The offset of the tensor's index entry.
        offset: u64,
    },
    /// A payload extends past the end of the file.
    #[error(
        "the file is truncated: expected {expected_size} bytes, found {file_size} (tensor {tensor:?} has {num_bytes} \
         bytes at byte {offset}); download the file again"
    )]
    TensorOutOfRange {
        /// The tensor.
        tensor: String,
        /// The offset of its payload (saturating).
        offset: u64,
        /// The size of its payload.
        num_bytes: u64,
        /// The size of the file.
        file_size: u64,
        /// The size that all payloads require (saturating).
        expected_size: u64,
    },
    /// Two payloads overlap.
    #[error(
        "tensors {first:?} and {second:?} overlap: the first ends at byte {first_end}, the second starts at {offset}"
    )]
    OverlappingTensors {
        /// The tensor that starts first.
        first: String,
        /// The offset of its end.
        first_end: u64,
        /// The tensor that starts inside it.
        second: String,
        /// The offset of its start.
        offset: u64,
    },

    /// A file is part of a split checkpoint, but its name does not have the form of a shard's.
    #[error(
        "{}: the file is one of {count} shards; rename it to the form NAME-00001-of-{count:05}.gguf so that the \
         others can be found",
        path.display()
    )]
    ShardName {
        /// The file.
        path: PathBuf,
        /// Number of shards of the checkpoint.
        count: u64,
    },
    /// A shard of a split checkpoint is missing.
    #[error(
        "{}: shard not found; the checkpoint has {count} shards, download all of them into one folder",
        path.display()
    )]
    ShardMissing {
        /// The expected path of the shard.
        path: PathBuf,
        /// Number of shards of the checkpoint.
        count: u64,
    },
    /// A shard is inconsistent with its name or the other shards.
    #[error("{}: {key} is {found}, expected {expected}; the shards are not from the same checkpoint", path.display())]
    ShardMismatch {
        /// The shard.
        path: PathBuf,
        /// The inconsistent metadata key.
        key: &'static str,
        /// The value implied by the name or the other shards.
        expected: u64,
        /// The value in the file.
        found: u64,
    },

    /// The payload of a tensor is not the expected one.
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl GgufError {
    /// The underlying error, without the path that [`Gguf::open`](crate::Gguf::open) adds.
    pub fn without_path(&self) -> &GgufError {
        match self {
            GgufError::InFile { error, .. } => error.without_path(),
            error => error,
        }
    }

    pub(crate) fn in_file(self, path: impl Into<PathBuf>) -> GgufError {
        GgufError::InFile { path: path.into(), error: Box::new(self) }
    }
}
