//! Errors.

use std::io;
use std::path::PathBuf;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// A file is not the JSON that was expected.
    #[error("{}: {cause}; expected {expected}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
        /// The cause.
        cause: serde_json::Error,
    },
    /// The reports contain no forward passes.
    #[error("the reports contain no forward passes; write them with inferno bench -o json")]
    NoMeasurements,
    /// A sequence would not fit into the KV cache of a replica.
    #[error(
        "--kv-cache-tokens is {kv_cache_tokens}, but --context is {context}; it must be at least as large"
    )]
    CacheTooSmall {
        /// Tokens of the cache.
        kv_cache_tokens: usize,
        /// Tokens of the longest sequence.
        context: usize,
    },
    /// The steps hold fewer tokens than sequences.
    #[error(
        "--max-num-batched-tokens is {tokens}, but --max-num-seqs is {sequences}; it must be at least as large"
    )]
    BatchTooSmall {
        /// Tokens per step.
        tokens: usize,
        /// Sequences per step.
        sequences: usize,
    },
    /// All requests arrive during the warm-up.
    #[error("--warm-up is {warm_up} seconds, but --duration is {duration}; it must be shorter")]
    NothingAfterWarmUp {
        /// Seconds of the warm-up.
        warm_up: f64,
        /// Seconds during which requests arrive.
        duration: f64,
    },
    /// A run has no results.
    #[error(
        "no {source_name} request arrived after the warm-up (replicas: {num_replicas}, rate: {rate}); raise --duration or --rate"
    )]
    NothingMeasured {
        /// Whether requests were simulated or measured.
        source_name: &'static str,
        /// Number of replicas.
        num_replicas: usize,
        /// Conversations per second and replica.
        rate: f64,
    },
    /// A plot cannot be drawn.
    #[error("failed to draw {}: {cause}", path.display())]
    Plot {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// All requests to a server failed.
    #[error("no request succeeded; the last one failed with: {0}")]
    NothingServed(String),
    /// Standard output cannot be written.
    #[error("failed to write the results: {0}")]
    Output(#[from] io::Error),
}
