//! What can be wrong with a checkpoint.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use inferno_gguf::GgufError;
use inferno_tensor::TensorError;

/// An error of a conversion. Every message names the file, key or tensor at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// A file of weights cannot be mapped, or the result is not a valid GGUF file.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// A file that every checkpoint has is missing.
    #[error("{}: {expected} not found; download the whole repository, for example with: hf download OWNER/REPO --local-dir DIR", folder.display())]
    MissingFile {
        /// The folder of the checkpoint.
        folder: PathBuf,
        /// The file.
        expected: &'static str,
    },
    /// A folder without `config.json` is not a checkpoint.
    #[error("{}: config.json not found; {}", folder.display(), not_a_checkpoint(gguf_files))]
    NotCheckpoint {
        /// The folder.
        folder: PathBuf,
        /// Names of the GGUF files in it, sorted.
        gguf_files: Vec<String>,
    },
    /// What should be the folder of a checkpoint is none.
    #[error("{}: {}", path.display(), not_a_folder(path))]
    NotFolder {
        /// The path.
        path: PathBuf,
    },
    /// The folder has an adapter for a model, which is not itself one.
    #[error(
        "{}: this is a LoRA adapter (adapter_config.json) and not a model; merge it into its base model first, for example in \
         Python with AutoPeftModelForCausalLM.from_pretrained(DIR).merge_and_unload().save_pretrained(NEW)",
        folder.display()
    )]
    Adapter {
        /// The folder.
        folder: PathBuf,
    },
    /// The weights are Python pickles.
    #[error(
        "{}: the weights are Python pickles ({found}), which can run code when they are read; convert them to \
         safetensors first, for example in Python with AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW)",
        folder.display()
    )]
    Pickle {
        /// The folder of the checkpoint.
        folder: PathBuf,
        /// The first of the files.
        found: String,
    },
    /// A file is not valid JSON, or has another structure.
    #[error("{}: {reason}", path.display())]
    InvalidFile {
        /// The file.
        path: PathBuf,
        /// What was expected and found.
        reason: String,
    },
    /// The index of the shards names a file that does not exist.
    #[error("{}: missing; the index lists it for {num_tensors} tensors; download it from the repository", path.display())]
    MissingListedShard {
        /// The file.
        path: PathBuf,
        /// Number of tensors in it.
        num_tensors: usize,
    },
    /// One of several files of weights does not exist.
    #[error("{}: missing; expected all {num_shards} files of weights; download it from the repository", path.display())]
    MissingShard {
        /// The file.
        path: PathBuf,
        /// Number of files.
        num_shards: usize,
    },
    /// The index and the shards disagree.
    #[error("{}: {reason}", path.display())]
    IndexMismatch {
        /// The index.
        path: PathBuf,
        /// The first difference.
        reason: String,
    },
    /// An architecture without a conversion.
    #[error(
        "architecture {found} is not supported for conversion; `inferno convert --list` prints those that are"
    )]
    UnknownArchitecture {
        /// The name in `config.json`.
        found: String,
    },
    /// There are tensors of more layers than the configuration states.
    #[error(
        "tensor {tensor} is of layer {layer}, counted from 0, but config.json has {num_layers} layers; the files are not of one \
         model: download them again, from one repository"
    )]
    FurtherLayer {
        /// The tensor, by its name in the result.
        tensor: String,
        /// Its layer.
        layer: usize,
        /// Number of layers, with those that predict further tokens.
        num_layers: usize,
    },
    /// A key of `config.json` is missing.
    #[error("config.json: key \"{key}\" is missing; expected {expected}")]
    MissingKey {
        /// The key, or several with the same meaning.
        key: String,
        /// Description of the value.
        expected: &'static str,
    },
    /// A key of `config.json` has another type or an unsupported value.
    #[error("config.json: key \"{key}\": expected {expected}, found {found}")]
    InvalidKey {
        /// The key.
        key: String,
        /// Description of the value.
        expected: String,
        /// The value.
        found: String,
    },
    /// The weights are quantized in a way that cannot be converted.
    #[error("the weights are quantized with {method}, which cannot be converted; {advice}")]
    Quantized {
        /// The method in `quantization_config`.
        method: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// Tensors without a role in the architecture.
    #[error("{} has no role in architecture {architecture}{}", .names[0], and_more(.names))]
    UnknownTensors {
        /// The names, at least one.
        names: Vec<String>,
        /// The architecture of the result.
        architecture: &'static str,
    },
    /// Experts of a layer are missing.
    #[error("{tensor}: expected {expected} experts, found {found}")]
    MissingExperts {
        /// The tensor of the result.
        tensor: String,
        /// Number of experts.
        expected: usize,
        /// Number of experts in the files.
        found: usize,
    },
    /// A tensor that is required is missing.
    #[error("tensor {name} is missing")]
    MissingTensor {
        /// The name.
        name: String,
    },
    /// Two tensors are converted to the same one.
    #[error("{name} exists twice, under two names")]
    DuplicateTensor {
        /// The name in the result.
        name: String,
    },
    /// A tensor has an unexpected shape.
    #[error("{name}: shape {shape:?} does not fit config.json: {reason}")]
    Shape {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The error of the view.
        reason: Box<TensorError>,
    },
    /// A tensor whose elements are not numbers that weights consist of.
    #[error("{name}: elements of type {found} cannot be converted")]
    ElementType {
        /// The tensor.
        name: String,
        /// The type.
        found: String,
    },
    /// A tensor must be zero, because the architecture has no place for it.
    #[error("{name}: only zeros can be converted, but the tensor has other values")]
    NotZero {
        /// The tensor.
        name: String,
    },
    /// The tokenizer cannot be converted.
    #[error("tokenizer: {reason}")]
    Tokenizer {
        /// What was found, and what to do.
        reason: String,
    },
}

/// The number of further names.
fn and_more(names: &[String]) -> String {
    match names.len() {
        0 | 1 => String::new(),
        len => format!(" (and {} more tensors)", len - 1),
    }
}

/// Number of files that a message names.
const MAX_LISTED: usize = 8;

/// What to do with a path that is not a folder.
fn not_a_folder(path: &Path) -> &'static str {
    if path.as_os_str().to_string_lossy().starts_with("hf:") {
        return "expected the folder of a checkpoint; download it first: hf download OWNER/REPO --local-dir DIR";
    }
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "there is no such folder; expected a Hugging Face checkpoint, for example from: hf download OWNER/REPO --local-dir DIR"
        }
        Ok(file) if is_gguf(&file) => {
            "this is a GGUF file, which needs no conversion; inferno quantize changes its format"
        }
        _ => "this is not a folder; expected the folder with config.json",
    }
}

/// Whether a file begins as GGUF files do.
fn is_gguf(mut file: &File) -> bool {
    let mut magic = [0; 4];
    file.read_exact(&mut magic).is_ok() && &magic == b"GGUF"
}

/// What to pass instead of a folder that is not a checkpoint.
fn not_a_checkpoint(gguf_files: &[String]) -> String {
    match gguf_files {
        [] => "expected a GGUF file, or a folder with a Hugging Face checkpoint: config.json, weights in safetensors \
               files and a tokenizer, for example from: hf download OWNER/REPO --local-dir DIR"
            .to_owned(),
        [file] => format!("pass the GGUF file in the folder instead: {file}"),
        files => {
            let more = match files.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let listed = files[..files.len().min(MAX_LISTED)].join(", ");
            format!("pass one of the GGUF files in the folder instead: {listed}{more}")
        }
    }
}

impl ConvertError {
    /// A file whose contents are invalid.
    pub(crate) fn invalid(path: impl Into<PathBuf>, reason: impl fmt::Display) -> Self {
        Self::InvalidFile { path: path.into(), reason: reason.to_string() }
    }

    /// An unsupported tokenizer.
    pub(crate) fn tokenizer(reason: impl Into<String>) -> Self {
        Self::Tokenizer { reason: reason.into() }
    }
}
