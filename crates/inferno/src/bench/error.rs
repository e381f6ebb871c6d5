//! Why a model or a server cannot be measured.

use indicatif::BinaryBytes;

/// An error from measuring a model or a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A server could not be measured.
    #[error("failed to measure the server at {url}: {cause}")]
    ServerNotMeasured {
        /// The base URL of the server.
        url: String,
        /// The cause.
        cause: String,
    },
    /// A profile of a model that is divided between a GPU and the CPU.
    #[error(
        "--profile requires that one device computes the whole model; use --gpu-layers all or --device cpu"
    )]
    DividedProfile,
    /// The workload is empty.
    #[error("nothing to measure; -p or -n must be at least 1, and --batch requires -n")]
    EmptyWorkload,
    /// The workload exceeds the context of the model.
    #[error(
        "the workload exceeds the model's context of {limit} tokens: {prompt_tokens} prompt tokens (-p), {decode_tokens} \
         tokens (-n) at depth {depth} (-d); reduce them"
    )]
    WorkloadTooLong {
        /// Length of the prompt, in tokens.
        prompt_tokens: usize,
        /// Number of tokens to generate.
        decode_tokens: usize,
        /// Number of tokens in the KV cache before them.
        depth: usize,
        /// The context length of the model, in tokens.
        limit: usize,
    },
    /// The workload does not fit in memory.
    #[error(
        "the weights, the KV cache and the activations need {}, but only {} is free; reduce -p, -n, -d or --batch, or \
         use --kv-dtype q8_0 or a smaller model",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*free_bytes)
    )]
    WorkloadTooLarge {
        /// Required memory, in bytes.
        needed_bytes: u64,
        /// Free memory, in bytes.
        free_bytes: u64,
    },
}
