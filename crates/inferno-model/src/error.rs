//! Why a checkpoint could not be loaded, or a batch not run.

use inferno_backend::BackendError;
use inferno_gguf::GgufError;
use inferno_tensor::TensorError;

/// Errors of loading and running a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file's `general.architecture` is none that this engine implements.
    #[error("unknown architecture {found:?}; this engine knows {}", known.join(", "))]
    UnknownArchitecture {
        /// What the file says.
        found: String,
        /// Every architecture in the registry.
        known: Vec<&'static str>,
    },
    /// The file has no tensors.
    #[error("this file holds no weights, perhaps only a vocabulary; take one that holds a model")]
    NoWeights,
    /// A tensor that the architecture needs is not in the file.
    #[error("tensor {name:?} is missing; expected shape {expected:?}")]
    MissingTensor {
        /// The tensor's name.
        name: String,
        /// Its expected dimensions, slowest first.
        expected: Vec<usize>,
    },
    /// A tensor's dimensions are not what the metadata calls for.
    #[error("tensor {name:?} has shape {found:?}, but the file's metadata calls for {expected:?}")]
    TensorShape {
        /// The tensor's name.
        name: String,
        /// Expected dimensions, slowest first.
        expected: Vec<usize>,
        /// Dimensions in the file, slowest first.
        found: Vec<usize>,
    },
    /// A tensor is stored in a format that no kernel computes.
    #[error(
        "tensor {name:?} is stored as {found}, which cannot be computed; formats that can: {}; requantize the file",
        known.join(", ")
    )]
    UncomputableFormat {
        /// The tensor's name.
        name: String,
        /// The format's name.
        found: String,
        /// Formats that can be computed.
        known: Vec<&'static str>,
    },
    /// The file holds tensors that this architecture has no use for. Without them the model would
    /// run and be wrong.
    #[error("{} tensors have no place in this architecture, among them {}", names.len(), examples(names))]
    UnusedTensors {
        /// Their names.
        names: Vec<String>,
    },
    /// No tensor of that name is in the file.
    #[error("there is no tensor {name:?} in this file")]
    NoSuchTensor {
        /// The name that was asked for.
        name: String,
    },
    /// A metadata value is of the right type but makes no sense.
    #[error("metadata key {key:?}: found {found}, expected {expected}")]
    InvalidConfig {
        /// The key.
        key: String,
        /// What would be valid.
        expected: String,
        /// What the file says.
        found: String,
    },
    /// There is no format of that name to requantize to.
    #[error("cannot requantize to {found:?}; choose {}", known.join(", "))]
    UnknownRequantize {
        /// What was asked for.
        found: String,
        /// Every choice.
        known: [&'static str; 4],
    },
    /// A batch is larger than the workspace it is to run in.
    #[error("the batch holds {found} {what}, but the workspace was made for {max}")]
    BatchTooLarge {
        /// `tokens` or `logit rows`.
        what: &'static str,
        /// What the workspace allows.
        max: usize,
        /// What the batch holds.
        found: usize,
    },
    /// A token id is not in the vocabulary.
    #[error("token id {token} is outside of the vocabulary of {vocab_size}")]
    TokenOutOfRange {
        /// The offending id.
        token: u32,
        /// Rows of the embedding table.
        vocab_size: usize,
    },
    /// The file itself is at fault.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The device refused.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A tensor could not be decoded or encoded.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// A few of many names.
fn examples(names: &[String]) -> String {
    let names: Vec<String> = names.iter().take(3).map(|name| format!("{name:?}")).collect();
    names.join(", ")
}
