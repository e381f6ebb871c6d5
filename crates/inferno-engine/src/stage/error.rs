//! Errors of stages in other processes.

use std::io;
use std::ops::Range;

/// Why a stage in another process could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The connection to a stage failed. Its part of the cache is lost.
    #[error("lost the stage at {address}: {source}")]
    Lost {
        /// Its address.
        address: String,
        /// What failed.
        source: io::Error,
    },
    /// A lost stage did not return in time.
    #[error(
        "the stage at {address} did not return within {seconds} s; start it again at this address"
    )]
    NotRecovered {
        /// Its address.
        address: String,
        /// The limit in seconds.
        seconds: u64,
    },
    /// A stage failed to do what was requested.
    #[error("the stage at {address} failed: {message}")]
    Failed {
        /// Its address.
        address: String,
        /// The error of its process.
        message: String,
    },
    /// A stage computes other layers than those that follow the stage before it.
    #[error(
        "the stage at {address} computes layers {found:?}, expected layers from {expected}; list the stages in the order of their layers"
    )]
    OtherLayers {
        /// Its address.
        address: String,
        /// The first layer that no stage before it computes.
        expected: usize,
        /// Its layers.
        found: Range<usize>,
    },
    /// No stage computes the last layers.
    #[error(
        "the stages end with layer {found}, but the model has {expected} layers; add the missing stages"
    )]
    MissingLayers {
        /// Number of layers of the model.
        expected: usize,
        /// Number of layers of all stages.
        found: usize,
    },
    /// The model cannot be divided into as many stages.
    #[error("the model can be divided into 1 to {limit} stages, not {num_stages}")]
    TooManyStages {
        /// The requested number.
        num_stages: usize,
        /// The largest number.
        limit: usize,
    },
    /// The model does not have the layers of a stage.
    #[error("there are no layers {found:?}; the model has layers 0..{num_layers}")]
    NoSuchLayers {
        /// The requested layers.
        found: Range<usize>,
        /// Number of layers of the model.
        num_layers: usize,
    },
    /// The head and a stage loaded different models or formats.
    #[error(
        "the stage loaded another model or another --requantize format (fingerprint {found:016x}, expected {expected:016x})"
    )]
    OtherModel {
        /// Fingerprint of the head's model.
        expected: u64,
        /// Fingerprint of the stage's model.
        found: u64,
    },
    /// A message does not describe what a stage can do.
    #[error("invalid message: {what} is {found}, but must be below {limit}")]
    OutOfRange {
        /// The part of the message.
        what: &'static str,
        /// Its value.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A message contradicts itself or the order of messages.
    #[error("invalid message: {what}")]
    Message {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The address of a stage is already in use or not available.
    #[error("failed to listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
}
