//! Why a model cannot be evaluated.

use indicatif::BinaryBytes;

/// An error from evaluating a model, or from comparing two.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// A line of a file with samples is invalid.
    #[error("line {line} of {input} is not a valid sample: {reason}")]
    InvalidSample {
        /// The name of the input.
        input: String,
        /// Number of the line, from 1 on.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A file has too few examples for a sample.
    #[error(
        "{few_shot} has only {found} of {num_examples} examples for line {line} of {input}{}; add examples or reduce \
         --few-shot",
        if *.is_by_subject { ", which must be of its subject" } else { "" }
    )]
    TooFewExamples {
        /// The name of the examples.
        few_shot: String,
        /// Number of examples for the sample.
        found: usize,
        /// Number of examples that it requires.
        num_examples: usize,
        /// The name of the input with the sample.
        input: String,
        /// Number of the sample's line, from 1 on.
        line: usize,
        /// Whether the examples must have the subject of the sample.
        is_by_subject: bool,
    },
    /// A file has no samples.
    #[error("{input} has no samples; expected one JSON object per line")]
    NoSamples {
        /// The name of the input.
        input: String,
    },
    /// A sample cannot be scored.
    #[error("sample {sample} of {task} cannot be scored: {reason}")]
    SampleNotScored {
        /// The task.
        task: String,
        /// Number of the sample, from 1 on.
        sample: usize,
        /// The cause.
        reason: String,
    },
    /// The vocabulary has no token to begin a text with.
    #[error(
        "the vocabulary has neither a BOS nor an EOS token to begin a text with; it cannot be evaluated"
    )]
    NoPrefixToken,
    /// Two models do not fit in memory together.
    #[error(
        "the model and its base need {} together, but only {} is free; write the log-probabilities of the base to a file first \
         (-m BASE --kl-divergence-base FILE), then compare with it (--kl-divergence FILE)",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*free_bytes)
    )]
    TwoModelsTooLarge {
        /// Required memory, in bytes.
        needed_bytes: u64,
        /// Free memory, in bytes.
        free_bytes: u64,
    },
    /// Two models split a text into different tokens.
    #[error(
        "the model and its base split the text into different tokens; only models with the same vocabulary can be compared"
    )]
    OtherVocabulary,
}
