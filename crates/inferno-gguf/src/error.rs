//! Everything that can be wrong with a GGUF file, as data: names, expected and found values, byte
//! offsets.

use std::io;
use std::path::PathBuf;

use crate::metadata::MAX_ALIGNMENT;
use crate::{FileKind, GgmlType};

/// Why a GGUF file could not be read or written.
///
/// **Units**: every `offset` counts bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The operating system refused to open, map, or write a file.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file in question.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
    /// The path names a folder, a pipe, or a device.
    #[error("{}: expected a regular file, found something else (a folder, pipe or device)", path.display())]
    NotAFile {
        /// The path as given.
        path: PathBuf,
    },
    /// Something is wrong inside the file at this path.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file in question.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<GgufError>,
    },

    /// The file does not begin with `GGUF`.
    #[error(
        "expected a GGUF file, which begins with the bytes 47 47 55 46 (\"GGUF\"), found {found:02x?} at byte 0{}",
        looks_like.map_or(String::new(), |kind| format!(": this looks like {kind}"))
    )]
    BadMagic {
        /// The first four bytes.
        found: [u8; 4],
        /// What the file seems to be instead.
        looks_like: Option<FileKind>,
    },
    /// The file was written for big-endian machines.
    #[error(
        "the file is big-endian (version {version} with its bytes swapped at byte 4); convert it with gguf-py's \
         gguf-convert-endian"
    )]
    BigEndian {
        /// The version after swapping the bytes.
        version: u32,
    },
    /// The format version is neither 2 nor 3.
    #[error(
        "GGUF version {version} at byte 4 is not supported, only versions 2 and 3 are; convert the model again"
    )]
    UnsupportedVersion {
        /// The version that the file states.
        version: u32,
    },
    /// The file ends before something that it announces.
    #[error(
        "the file ends too early: {what} at byte {offset} needs {needed} bytes, {available} are left; the download \
         may be incomplete"
    )]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Where it begins.
        offset: u64,
        /// How many bytes it needs.
        needed: u64,
        /// How many bytes the file still has.
        available: u64,
    },
    /// A count is larger than the rest of the file could hold.
    #[error(
        "the number of {what} at byte {offset} is {count}, but the {available} bytes that follow can hold at most \
         {max}"
    )]
    CountTooLarge {
        /// What is counted.
        what: &'static str,
        /// Where the count stands.
        offset: u64,
        /// The count that the file states.
        count: u64,
        /// The most that could fit.
        max: u64,
        /// How many bytes follow the count.
        available: u64,
    },
    /// A string is not valid UTF-8.
    #[error("the {what} at byte {offset} is not valid UTF-8")]
    InvalidUtf8 {
        /// What the string is.
        what: &'static str,
        /// Where its length field stands.
        offset: u64,
    },
    /// A key or tensor name is longer than the format allows.
    #[error("the {what} at byte {offset} is {length} bytes long, at most {max} are allowed")]
    NameTooLong {
        /// What the name names.
        what: &'static str,
        /// Where its length field stands.
        offset: u64,
        /// Its length in bytes.
        length: u64,
        /// The longest length that is allowed.
        max: u64,
    },

    /// A metadata value has a type that the format does not define.
    #[error(
        "metadata key {key:?} has value type {type_id} at byte {offset}, expected a type from 0 to 12"
    )]
    UnknownValueType {
        /// The key.
        key: String,
        /// The type that the file states.
        type_id: u32,
        /// Where it stands.
        offset: u64,
    },
    /// A boolean is neither 0 nor 1.
    #[error("a boolean at byte {offset} is {found}, expected 0 or 1")]
    InvalidBool {
        /// The byte found.
        found: u8,
        /// Where it stands.
        offset: u64,
    },
    /// Arrays are nested deeper than any real file nests them.
    #[error("metadata key {key:?} nests arrays deeper than {max} levels at byte {offset}")]
    NestedTooDeep {
        /// The key.
        key: String,
        /// Where the first array beyond the limit begins.
        offset: u64,
        /// The limit.
        max: usize,
    },
    /// A metadata key occurs twice.
    #[error("metadata key {key:?} occurs a second time at byte {offset}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it occurs again.
        offset: u64,
    },
    /// `general.alignment` is no `u32`, not a power of two, or absurdly large.
    #[error(
        "general.alignment at byte {offset} is {found}, expected a u32 that is a power of two up to {MAX_ALIGNMENT} \
         (32 is usual)"
    )]
    BadAlignment {
        /// The type and value that the file states.
        found: String,
        /// Where the value stands.
        offset: u64,
    },

    /// A metadata key that is needed is not there.
    #[error("metadata key {key:?} is missing, expected {expected}")]
    MissingKey {
        /// The key.
        key: String,
        /// The type that was asked for.
        expected: &'static str,
    },
    /// A metadata value has another type than was asked for, or does not fit it.
    #[error("metadata key {key:?}: expected {expected}, found {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The type that was asked for.
        expected: &'static str,
        /// The type found and, where it is short, the value.
        found: String,
    },

    /// No ggml type has this name.
    #[error("unknown ggml type {name:?}: expected a name such as F16 or Q4_K")]
    UnknownTypeName {
        /// The name as given.
        name: String,
    },
    /// A tensor has a type that is not known, so its size is not known either.
    #[error(
        "tensor {tensor:?} has ggml type {type_id} at byte {offset}, which is unknown (known are 0 to {}, less some \
         that were withdrawn)",
        GgmlType::MAX_ID
    )]
    UnknownTensorType {
        /// The tensor.
        tensor: String,
        /// The type that the file states.
        type_id: u32,
        /// Where it stands.
        offset: u64,
    },
    /// A tensor has more than four dimensions.
    #[error(
        "tensor {tensor:?} has {num_dims} dimensions at byte {offset}, at most {max} are allowed"
    )]
    TooManyDims {
        /// The tensor.
        tensor: String,
        /// The number of dimensions that the file states.
        num_dims: u32,
        /// The limit.
        max: usize,
        /// Where the number stands.
        offset: u64,
    },
    /// A dimension of a tensor is zero.
    #[error(
        "tensor {tensor:?} at byte {offset} has dimensions {dims:?}, expected each to be at least 1"
    )]
    ZeroDim {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// Where the tensor's index entry begins.
        offset: u64,
    },
    /// The size of a tensor does not fit this machine's integers.
    #[error(
        "tensor {tensor:?} at byte {offset} has dimensions {dims:?}, whose product is too large"
    )]
    SizeOverflow {
        /// The tensor.
        tensor: String,
        /// Its dimensions, fastest first.
        dims: Vec<u64>,
        /// Where the tensor's index entry begins.
        offset: u64,
    },
    /// The rows of a tensor are not made of whole blocks.
    #[error(
        "tensor {tensor:?} at byte {offset} has rows of {row_len} values, expected a multiple of {}, the block \
         length of {ggml_type}",
        ggml_type.block_len()
    )]
    PartialBlock {
        /// The tensor.
        tensor: String,
        /// The length of a row in values.
        row_len: usize,
        /// Its type.
        ggml_type: GgmlType,
        /// Where the tensor's index entry begins.
        offset: u64,
    },
    /// A tensor name occurs twice.
    #[error("tensor {tensor:?} is listed a second time at byte {offset}")]
    DuplicateTensor {
        /// The tensor.
        tensor: String,
        /// Where it is listed again.
        offset: u64,
    },
    /// A payload does not begin on the alignment.
    #[error(
        "tensor {tensor:?} at byte {offset} begins {data_offset} bytes into the data, expected a multiple of the \
         alignment {alignment}"
    )]
    MisalignedTensor {
        /// The tensor.
        tensor: String,
        /// Where its payload begins, counted from the start of the data section.
        data_offset: u64,
        /// The alignment.
        alignment: u64,
        /// Where the tensor's index entry begins.
        offset: u64,
    },
    /// A payload ends past the end of the file.
    #[error(
        "tensor {tensor:?} needs {num_bytes} bytes from byte {offset} on, but the file has {file_size} bytes; the \
         download may be incomplete"
    )]
    TensorOutOfRange {
        /// The tensor.
        tensor: String,
        /// Where its payload begins (saturating).
        offset: u64,
        /// The size of its payload.
        num_bytes: u64,
        /// The size of the file.
        file_size: u64,
    },
    /// Two payloads share bytes.
    #[error(
        "tensors {first:?} and {second:?} overlap: the first ends at byte {first_end}, the second begins at {offset}"
    )]
    OverlappingTensors {
        /// The tensor that begins first.
        first: String,
        /// Where it ends.
        first_end: u64,
        /// The tensor that begins inside it.
        second: String,
        /// Where that one begins.
        offset: u64,
    },

    /// A file that is part of a split checkpoint is not named as one.
    #[error(
        "{}: the file is one of {count} shards, expected a name like NAME-00001-of-{count:05}.gguf so that the others \
         can be found",
        path.display()
    )]
    ShardName {
        /// The file.
        path: PathBuf,
        /// How many shards the checkpoint has.
        count: u64,
    },
    /// A shard of a split checkpoint is not there.
    #[error("{}: this shard is missing, the checkpoint has {count}", path.display())]
    ShardMissing {
        /// Where the shard was expected.
        path: PathBuf,
        /// How many shards the checkpoint has.
        count: u64,
    },
    /// A shard contradicts its name or the other shards.
    #[error("{}: {key} is {found}, expected {expected}: the shards do not belong together", path.display())]
    ShardMismatch {
        /// The shard.
        path: PathBuf,
        /// The metadata key that contradicts.
        key: &'static str,
        /// The value that the name or the other shards ask for.
        expected: u64,
        /// The value found.
        found: u64,
    },

    /// Payloads were written in another order than the tensors were added.
    #[error(
        "expected the payload of {}, found that of {found:?}",
        expected.as_ref().map_or("no further tensor".to_owned(), |name| format!("tensor {name:?}"))
    )]
    PayloadOrder {
        /// The tensor whose turn it was, if any was left.
        expected: Option<String>,
        /// The tensor that was given.
        found: String,
    },
    /// A payload has another size than its type and dimensions ask for.
    #[error("the payload of tensor {tensor:?} was given {found} bytes, expected {expected}")]
    PayloadSize {
        /// The tensor.
        tensor: String,
        /// The size that its type and dimensions ask for.
        expected: u64,
        /// The number of bytes given.
        found: u64,
    },
    /// A file was finished before all its payloads were written.
    #[error("the file lacks {count} payloads, beginning with that of tensor {first:?}")]
    MissingPayloads {
        /// How many are missing.
        count: usize,
        /// The first of them.
        first: String,
    },
}

impl GgufError {
    /// The error itself, without the path that [`Gguf::open`](crate::Gguf::open) puts around it.
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
