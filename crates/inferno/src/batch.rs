//! Offline inference over files in OpenAI's batch format: each line of the input is a request, and each line of the output
//! is its answer, in the same order.
//!
//! Lines are read, checked (`requests`) and passed to the routes of a server in this process (`run`), which computes many at
//! once; answers wait for those before them (`answers`) and are written. An output that was started earlier is continued
//! (`resume`): the id of an answer is a hash of its request's line and number, so another input is detected.
//!
//! Memory does not depend on the number of lines, except for 16 bytes per request to detect duplicate ids.
//!
//! **Source**: OpenAI's API reference, objects of the batch input and output.

mod answers;
mod failures;
mod lines;
mod requests;
mod resume;
mod run;

use std::path::PathBuf;

use crate::Error;

use failures::RequestFailure;
pub(crate) use failures::{FailureCount, Failures};

pub(crate) use requests::BatchRequests;
pub(crate) use resume::{OtherModel, resume};
pub(crate) use run::{BatchProgress, BatchRun};

/// Requests and how many of them failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BatchCounts {
    pub num_requests: usize,
    pub failures: Failures,
}

impl BatchCounts {
    fn add(&mut self, failure: Option<RequestFailure>) {
        self.num_requests += 1;
        if let Some(failure) = failure {
            self.failures.add(self.num_requests, failure);
        }
    }
}

/// Where requests come from, or where answers go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BatchStream {
    /// Standard input or standard output.
    Standard,
    File(PathBuf),
}

impl BatchStream {
    /// The error for an input that could not be read.
    pub(crate) fn unreadable(&self, error: std::io::Error) -> Error {
        match self {
            Self::Standard => Error::Stdin(error),
            Self::File(path) => Error::io(path, error),
        }
    }

    /// The error for an output that could not be written.
    fn unwritable(&self, error: std::io::Error) -> Error {
        match self {
            Self::Standard => Error::Stdout(error),
            Self::File(path) => Error::io(path, error),
        }
    }
}
