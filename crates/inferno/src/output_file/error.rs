//! Why a file cannot be written.

use std::path::PathBuf;

/// An output that a command does not write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The file to save a conversation to contains something else.
    #[error(
        "{} exists and is not a conversation saved by inferno chat; choose another name",
        path.display()
    )]
    NotAConversation {
        /// The output.
        path: PathBuf,
    },
    /// The output file exists.
    #[error("{} exists; choose another name, or pass --force to overwrite it", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The directory of the output does not exist.
    #[error("cannot write {}: the directory {} does not exist; create it first", path.display(), folder.display())]
    Folder {
        /// The output.
        path: PathBuf,
        /// The directory.
        folder: PathBuf,
    },
    /// The output is a directory, a pipe or a device.
    #[error("{} is not a regular file; choose another name for the output", path.display())]
    NotFile {
        /// The output.
        path: PathBuf,
    },
    /// The output contains something else than the answers of a batch.
    #[error(
        "line {line} of {} is not the answer to request {line} of the input; choose another name for the output",
        path.display()
    )]
    OtherBatch {
        /// The output.
        path: PathBuf,
        /// Number of the line, from 1 on.
        line: usize,
    },
    /// Another process writes the output.
    #[error("{} is being written by another process; choose another name, or wait until it is complete", path.display())]
    InUse {
        /// The output.
        path: PathBuf,
    },
    /// The output is the model file itself.
    #[error("{} is the model file itself; choose another name for the output", path.display())]
    IsInput {
        /// The output.
        path: PathBuf,
    },
    /// The output is another file that the command reads, such as a text.
    #[error("{} is also an input of this command; choose another name for the output", path.display())]
    IsOtherInput {
        /// The output.
        path: PathBuf,
    },
    /// The output is `-`, but is not text.
    #[error(
        "this output cannot be written to standard output; specify the name of a file instead of -"
    )]
    NotNamed,
}
