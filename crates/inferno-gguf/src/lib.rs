//! Reading and writing GGUF files: typed metadata, tensor index, memory-mapped payloads.
//!
//! [`Gguf::open`] maps a checkpoint (one file, or all shards of a split one), validates its header
//! against the file's contents, and provides the metadata, the tensor index and zero-copy payloads.
//! [`GgufWriter`] writes files. Decoding and computing with payloads is left to other crates.
//!
//! ```
//! use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};
//!
//! // Write a file with two keys and one tensor, here in memory.
//! let mut metadata = Metadata::new();
//! metadata.insert("general.architecture", "llama");
//! metadata.insert("llama.block_count", 22_u32);
//! let mut writer = GgufWriter::new(&metadata)?;
//! writer.add_tensor("output_norm.weight", &[2], GgmlType::F32)?;
//! let mut payloads = writer.in_memory();
//! payloads.write_tensor("output_norm.weight", &[0; 8])?;
//! let bytes = payloads.finish()?;
//!
//! // Read it back.
//! let gguf = Gguf::from_bytes(bytes)?;
//! let layers: usize = gguf.metadata().required("llama.block_count")?;
//! let epsilon: Option<f32> = gguf.metadata().optional("llama.attention.layer_norm_rms_epsilon")?;
//! assert_eq!((layers, epsilon), (22, None));
//!
//! let info = gguf.tensor("output_norm.weight").expect("it was just written");
//! assert_eq!((info.dims(), info.ggml_type()), (&[2][..], GgmlType::F32));
//! assert_eq!(&gguf.data(info)[..], &[0; 8]);
//! # Ok::<(), inferno_gguf::GgufError>(())
//! ```
//!
//! **Invariants.** Every [`Gguf`] is valid: keys and tensor names are unique and valid UTF-8, tensors
//! are aligned, inside their file and do not overlap, and all sizes fit `usize`. No input makes the
//! reader panic, recurse without limit, or allocate more than a small multiple of the input's size.
//!
//! **Source**: the GGUF specification, <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

#![deny(unsafe_code)]

mod cursor;
mod error;
mod file;
mod file_kind;
mod ggml_type;
mod gguf;
mod header;
mod mapped_file;
mod metadata;
mod mmap;
mod payloads;
mod shards;
mod tensor_index;
mod tensor_info;
mod watch;
mod writer;

pub use error::{GgufError, PayloadError};
pub use file_kind::FileKind;
pub use ggml_type::GgmlType;
pub use gguf::Gguf;
pub use mapped_file::MappedFile;
pub use metadata::{
    FromMetadata, Metadata, MetadataArray, MetadataType, MetadataValue, StringArray,
};
pub use payloads::Payloads;
pub use shards::ShardName;
pub use tensor_info::TensorInfo;
pub use watch::FileWatch;
pub use writer::{Destination, GgufWriter, PayloadWriter, TemporaryFile, temporary_next_to};

/// The result type of this crate.
pub(crate) type Result<T, E = GgufError> = std::result::Result<T, E>;
