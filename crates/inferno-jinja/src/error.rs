//! Errors of parsing and rendering, each with its line.

use thiserror::Error;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The longest message that an error carries, in bytes; longer ones are cut.
const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Why a template cannot be parsed or rendered.
///
/// Messages use the wording of Python and Jinja2. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The source is not a valid template.
    #[error("line {line}: {message}")]
    Syntax {
        /// The problem.
        message: String,
        /// The line of the offending token.
        line: usize,
    },
    /// The template called `raise_exception`.
    #[error("line {line}: {message}")]
    Raised {
        /// The argument of `raise_exception`.
        message: String,
        /// The line of the call.
        line: usize,
    },
    /// An operation failed while rendering.
    #[error("line {line}: {message}")]
    Failed {
        /// What failed.
        message: String,
        /// The line of the statement that failed.
        line: usize,
    },
    /// Rendering exceeded [`Limits::steps`](crate::Limits::steps).
    #[error("rendering took more than {limit} steps")]
    TooManySteps {
        /// The limit.
        limit: u64,
    },
    /// Rendering exceeded [`Limits::bytes`](crate::Limits::bytes).
    #[error("rendering needed more than {limit} bytes")]
    TooManyBytes {
        /// The limit.
        limit: usize,
    },
}

impl Error {
    pub(crate) fn syntax(message: impl Into<String>, line: usize) -> Self {
        Self::Syntax { message: message.into(), line }
    }

    /// An error of an operation; [`Self::at`] adds the line.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: shortened(message.into()), line: 0 }
    }

    pub(crate) fn raised(message: String) -> Self {
        Self::Raised { message: shortened(message), line: 0 }
    }

    /// Sets the line unless an inner statement has set it already.
    pub(crate) fn at(mut self, statement_line: usize) -> Self {
        if let Self::Raised { line, .. } | Self::Failed { line, .. } = &mut self
            && *line == 0
        {
            *line = statement_line;
        }
        self
    }
}

fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or(0));
        message.push('…');
    }
    message
}
