//! Errors of loading a checkpoint and of running batches.

use inferno_backend::BackendError;
use inferno_gguf::GgufError;
use inferno_tensor::TensorError;

/// An error of loading or running a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file's `general.architecture` is not implemented.
    #[error(
        "unsupported architecture {found:?}{}; supported: {}",
        nearest.map(|name| format!(" (of this family, {name:?} is supported)")).unwrap_or_default(),
        known.join(", ")
    )]
    UnknownArchitecture {
        /// The architecture in the file.
        found: String,
        /// The supported architecture of the same family with the most similar name.
        nearest: Option<&'static str>,
        /// Every supported architecture.
        known: Vec<&'static str>,
    },
    /// A GGUF file that contains no language model.
    #[error("the file is {kind}, not a language model; use the language model's file")]
    NotAModel {
        /// What the file contains.
        kind: &'static str,
    },
    /// A prediction head of a kind that is not implemented.
    #[error(
        "prediction heads of {architecture:?} models are not supported; load the model without its head"
    )]
    UnsupportedPredictionHead {
        /// The architecture.
        architecture: &'static str,
    },
    /// Logits of a model that computes none.
    #[error(
        "the model computes embeddings or scores, not text; use a generative model, or the model's embeddings (`inferno \
         embed`)"
    )]
    NoLogits,
    /// A part of a sequence of a model that attends in both directions.
    #[error("the model attends in both directions, so a sequence must be computed in one pass")]
    NotInOnePass,
    /// A token type outside the table.
    #[error(
        "token type {found} is outside the {num_token_types} types of the model; it does not support pairs of segments"
    )]
    TokenTypeOutOfRange {
        /// The token type.
        found: u32,
        /// Number of rows of the table.
        num_token_types: usize,
    },
    /// The model cannot be divided before one of its layers.
    #[error(
        "the model cannot be divided between devices before layer {layer}: {reason}; run all of its layers on one device, or \
         divide it elsewhere"
    )]
    Indivisible {
        /// The first layer after the cut.
        layer: usize,
        /// What the layers share besides the residual stream.
        reason: &'static str,
    },
    /// A backend cannot compute a part of the model.
    #[error("{what} is not supported by {backend}: {reason}; run it on the CPU")]
    Unsupported {
        /// The tensor or the layer.
        what: String,
        /// A description of the backend.
        backend: String,
        /// What the backend does not support.
        reason: String,
    },
    /// The file has no tensors.
    #[error(
        "the file has no weights (it may be vocabulary-only); use a file that contains a model"
    )]
    NoWeights,
    /// A tensor that the architecture requires is missing.
    #[error("tensor {name:?} is missing; expected shape {expected:?}")]
    MissingTensor {
        /// The tensor's name.
        name: String,
        /// Its expected dimensions, slowest first.
        expected: Vec<usize>,
    },
    /// A tensor's dimensions do not match the metadata.
    #[error("tensor {name:?} has shape {found:?}; the file's metadata requires {expected:?}")]
    TensorShape {
        /// The tensor's name.
        name: String,
        /// Expected dimensions, slowest first.
        expected: Vec<usize>,
        /// Dimensions in the file, slowest first.
        found: Vec<usize>,
    },
    /// A tensor is stored in a format that no kernel supports.
    #[error(
        "tensor {name:?} has unsupported format {found}; requantize the file to one of: {}",
        known.join(", ")
    )]
    UnsupportedFormat {
        /// The tensor's name.
        name: String,
        /// The format's name.
        found: String,
        /// Every supported format.
        known: Vec<&'static str>,
    },
    /// A tensor of type I8 has no scales.
    #[error(
        "tensor {matrix:?} of type I8 requires a scale for each row: a tensor {name:?} of shape {expected:?}, which is missing"
    )]
    MissingScales {
        /// The tensor's name.
        matrix: String,
        /// The name of its scales.
        name: String,
        /// The shape of its scales, slowest dimension first.
        expected: Vec<usize>,
    },
    /// A scale is not a usable number.
    #[error(
        "tensor {name:?}: value {index} is {found}; scales must be finite{}",
        if *is_unsigned { " and not negative" } else { "" }
    )]
    InvalidScale {
        /// The name of the scales.
        name: String,
        /// The index of the value.
        index: usize,
        /// The value.
        found: f32,
        /// Whether negative scales are invalid.
        is_unsigned: bool,
    },
    /// The file has tensors that the architecture does not use. Without them, the model would run
    /// but compute something else.
    #[error(
        "the file has {} tensors that this architecture does not use, such as {}",
        names.len(), examples(names)
    )]
    UnusedTensors {
        /// Their names.
        names: Vec<String>,
    },
    /// No tensor of that name is in the file.
    #[error("the file has no tensor {name:?}")]
    NoSuchTensor {
        /// The requested name.
        name: String,
    },
    /// A metadata value is out of range, unsupported or inconsistent with another one.
    #[error("metadata key {key:?}: expected {expected}, found {found}")]
    InvalidConfig {
        /// The key.
        key: String,
        /// Description of the valid values.
        expected: String,
        /// The value in the file.
        found: String,
    },
    /// No format of that name is available for requantization.
    #[error("cannot requantize to {found:?}; choose one of: {}", known.join(", "))]
    UnknownRequantize {
        /// The requested name.
        found: String,
        /// Every choice.
        known: [&'static str; 4],
    },
    /// A batch exceeds the limits of its workspace.
    #[error("the batch has {found} {what}; the workspace is limited to {max}")]
    BatchTooLarge {
        /// `tokens` or `logit rows`.
        what: &'static str,
        /// The workspace's limit.
        max: usize,
        /// The number in the batch.
        found: usize,
    },
    /// A batch does not assign a slot for the state of recurrent layers to each of its sequences.
    #[error("a sequence of the batch has no slot for the state of recurrent layers")]
    MissingState,
    /// The model has no embedding of a position.
    #[error(
        "position {position} is out of range for a model with embeddings of {num_positions} positions"
    )]
    PositionOutOfRange {
        /// The position.
        position: u32,
        /// Number of rows of the table.
        num_positions: usize,
    },
    /// A token id is not in the vocabulary.
    #[error("token id {token} is out of range for a vocabulary of {vocab_size} tokens")]
    TokenOutOfRange {
        /// The token id.
        token: u32,
        /// Number of rows of the embedding table.
        vocab_size: usize,
    },
    /// The file is invalid.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The device failed, or rejected a weight or a cache.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A tensor could not be decoded or encoded.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl ModelError {
    /// The error for the value `found` of the metadata key `key`, with its prefix.
    pub(crate) fn invalid_config(
        key: impl Into<String>,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        Self::InvalidConfig { key: key.into(), expected: expected.into(), found: found.to_string() }
    }
}

/// The first few of `names`, quoted.
fn examples(names: &[String]) -> String {
    let names: Vec<String> = names.iter().take(3).map(|name| format!("{name:?}")).collect();
    names.join(", ")
}
