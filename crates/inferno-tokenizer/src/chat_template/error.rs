//! What can be wrong with a chat template, or with a conversation given to it.

use std::error::Error as StdError;
use std::fmt;

use minijinja::ErrorKind;
use thiserror::Error;

use crate::TokenizerError;

/// Why a template could not be compiled, or a conversation not be rendered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatTemplateError {
    /// The template is no Jinja template.
    #[error("the chat template is malformed: line {line}: {message}")]
    Syntax {
        /// What Jinja says.
        message: String,
        /// The line, from 1.
        line: usize,
    },
    /// The template itself refuses the conversation.
    #[error("the chat template refuses the conversation: line {line}: {message}")]
    Raised {
        /// The template's own words.
        message: String,
        /// The line, from 1.
        line: usize,
    },
    /// The template fails on the conversation.
    #[error("the chat template failed: line {line}: {message}")]
    Failed {
        /// What Jinja says.
        message: String,
        /// The line, from 1.
        line: usize,
    },
    /// A field of a request is missing, or is not what it must be.
    #[error("{field} must be {expected}, found {found}")]
    Request {
        /// The field, such as `messages[0]`.
        field: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The file's metadata is at fault.
    #[error(transparent)]
    Metadata(Box<TokenizerError>),
    /// The template runs for too long.
    #[error("the chat template took more than {limit} steps, the most that are allowed")]
    TooManySteps {
        /// The limit.
        limit: u64,
    },
    /// The template writes too much.
    #[error("the chat template wrote more than {limit} bytes, the most that are allowed")]
    TooLong {
        /// The limit.
        limit: usize,
    },
}

/// The template's own message, beneath an error of the engine.
#[derive(Debug)]
pub(super) struct RaisedByTemplate(pub String);

impl fmt::Display for RaisedByTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for RaisedByTemplate {}

impl From<TokenizerError> for ChatTemplateError {
    fn from(error: TokenizerError) -> Self {
        Self::Metadata(Box::new(error))
    }
}

impl ChatTemplateError {
    /// Reads an error of the engine.
    pub(super) fn from_jinja(error: minijinja::Error) -> Self {
        let line = error.line().unwrap_or(1);
        if let Some(raised) = cause::<RaisedByTemplate>(&error) {
            return Self::Raised { message: raised.0.clone(), line };
        }
        let message = || match error.detail() {
            Some(detail) => detail.to_owned(),
            None => error.kind().to_string(),
        };
        match error.kind() {
            ErrorKind::OutOfFuel => Self::TooManySteps { limit: super::MAX_STEPS },
            ErrorKind::WriteFailure => Self::TooLong { limit: super::MAX_OUTPUT_BYTES },
            ErrorKind::SyntaxError => Self::Syntax { message: message(), line },
            _ => Self::Failed { message: message(), line },
        }
    }
}

/// The error of this kind among those beneath `error`.
fn cause<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
