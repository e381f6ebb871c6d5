//! What is wrong with an input of a command.

use indicatif::BinaryBytes;

/// An input that is no text, conversation or list of tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// An input is longer than the program reads.
    #[error("{input} has more than {}; use a shorter input", BinaryBytes(*max_bytes))]
    TooLong {
        /// The name of the input.
        input: String,
        /// The limit, in bytes.
        max_bytes: u64,
    },
    /// An input is not UTF-8.
    #[error("{input} is not valid UTF-8 at byte {offset}; convert it to UTF-8")]
    InvalidUtf8 {
        /// The name of the input.
        input: String,
        /// Offset of the first invalid byte.
        offset: usize,
    },
    /// An input is not a JSON object.
    #[error("{input} is not a valid JSON object such as {{\"messages\": […]}}: {source}")]
    InvalidJson {
        /// The name of the input.
        input: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// A conversation has no messages.
    #[error("messages is empty; it must contain at least one message")]
    NoMessages,
    /// A message has a role that models do not know.
    #[error(
        "messages[{index}].role must be system, developer, user, assistant or tool, but is {role:?}"
    )]
    UnknownRole {
        /// Index of the message.
        index: usize,
        /// The role; empty if it is missing.
        role: String,
    },
    /// The messages of a conversation are not in order.
    #[error(
        "{input}: unexpected role {found} in messages[{index}], expected role {expected}; messages must alternate between user and \
         assistant, after an optional system message"
    )]
    UnexpectedRole {
        /// The name of the input.
        input: String,
        /// Index of the message.
        index: usize,
        /// The expected role.
        expected: &'static str,
        /// The role of the message.
        found: &'static str,
    },
    /// One of several inputs does not fit the context.
    #[error(
        "{input} has {num_tokens} tokens, but the context holds {context_length}; shorten it, or use --truncate{}",
        if *.is_maximum { "" } else { " or a larger --context" }
    )]
    ExceedsContext {
        /// The name of the input, such as the number of its line.
        input: String,
        /// Its tokens, with those that are added to it.
        num_tokens: usize,
        /// Tokens of the context.
        context_length: usize,
        /// Whether the model has no longer context.
        is_maximum: bool,
    },
    /// A query leaves no room for a document.
    #[error(
        "the query has {num_tokens} tokens with an empty document, but the context holds {context_length}; shorten the query{}",
        if *.is_maximum { "" } else { ", or use a larger --context" }
    )]
    QueryExceedsContext {
        /// Tokens of the query, with those that are added to it.
        num_tokens: usize,
        /// Tokens of the context.
        context_length: usize,
        /// Whether the model has no longer context.
        is_maximum: bool,
    },
    /// An input is not a list of token ids.
    #[error("{input} is not a JSON array of token ids such as [1, 2, 3]: {source}")]
    InvalidIds {
        /// The name of the input.
        input: String,
        /// The cause.
        source: serde_json::Error,
    },
}
