//! Errors of chat templates and of the requests they render.

use thiserror::Error;

/// Why a chat template cannot be parsed or rendered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatTemplateError {
    /// The template is not valid Jinja.
    #[error("malformed chat template: line {line}: {message}")]
    Syntax {
        /// The problem.
        message: String,
        /// The line, from 1.
        line: usize,
    },
    /// The template called `raise_exception`.
    #[error("the chat template rejected the conversation: line {line}: {message}")]
    Raised {
        /// The template's own message.
        message: String,
        /// The line, from 1.
        line: usize,
    },
    /// The template failed on this conversation.
    #[error("the chat template failed: line {line}: {message}")]
    Failed {
        /// What failed.
        message: String,
        /// The line, from 1.
        line: usize,
    },
    /// Rendering took too long or built too much.
    #[error("the chat template exceeded a resource limit: {0}")]
    LimitExceeded(inferno_jinja::Error),
    /// The last message cannot be continued.
    #[error("the last message cannot be continued: {reason}")]
    Continuation {
        /// Why not.
        reason: &'static str,
    },
    /// A field of a request is missing or has the wrong type.
    #[error("{field} must be {expected}, found {found}")]
    Request {
        /// The field, such as `messages[0]`.
        field: String,
        /// The expected type.
        expected: &'static str,
        /// The type that was found.
        found: &'static str,
    },
    /// The metadata of the file is invalid.
    #[error(transparent)]
    Metadata(Box<inferno_tokenizer::TokenizerError>),
}

impl From<inferno_jinja::Error> for ChatTemplateError {
    fn from(error: inferno_jinja::Error) -> Self {
        match error {
            inferno_jinja::Error::Syntax { message, line } => Self::Syntax { message, line },
            inferno_jinja::Error::Raised { message, line } => Self::Raised { message, line },
            inferno_jinja::Error::Failed { message, line } => Self::Failed { message, line },
            limit => Self::LimitExceeded(limit),
        }
    }
}

impl From<inferno_tokenizer::TokenizerError> for ChatTemplateError {
    fn from(error: inferno_tokenizer::TokenizerError) -> Self {
        Self::Metadata(Box::new(error))
    }
}
