//! What can be wrong with a chat template, or with a conversation given to it.

use std::error::Error as StdError;
use std::fmt;

use minijinja::ErrorKind;
use thiserror::Error;

use super::syntax::MalformedTemplate;
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
    /// The template writes too much, or builds too long texts and lists.
    #[error("the chat template built more than {limit} bytes, the most that are allowed")]
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

/// That a rendering may build no more, beneath an error of the engine.
#[derive(Debug, Error)]
#[error("the template builds too much")]
pub(super) struct BuiltTooMuch;

impl From<MalformedTemplate> for ChatTemplateError {
    fn from(MalformedTemplate { message, line }: MalformedTemplate) -> Self {
        Self::Syntax { message, line }
    }
}

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
        if cause::<BuiltTooMuch>(&error).is_some() {
            return Self::TooLong { limit: super::budget::MAX_BUILT_BYTES };
        }
        let message = || in_jinja2_words(&error);
        match error.kind() {
            ErrorKind::OutOfFuel => Self::TooManySteps { limit: super::MAX_STEPS },
            ErrorKind::SyntaxError => Self::Syntax { message: message(), line },
            _ => Self::Failed { message: message(), line },
        }
    }
}

/// What Jinja2 says of an error.
fn in_jinja2_words(error: &minijinja::Error) -> String {
    let Some(detail) = error.detail() else {
        return error.kind().to_string();
    };
    let name_of = |words: &str| detail.strip_prefix(words)?.strip_suffix(" is unknown");
    let renamed = match error.kind() {
        ErrorKind::UnknownFilter => {
            name_of("filter ").map(|name| format!("No filter named '{name}'."))
        }
        ErrorKind::UnknownTest => name_of("test ").map(|name| format!("No test named '{name}'.")),
        ErrorKind::UnknownFunction => name_of("").map(|name| format!("'{name}' is undefined")),
        _ => undefined_in_jinja2_words(detail),
    };
    renamed.unwrap_or_else(|| detail.to_owned())
}

/// "`a.b` is undefined" as Jinja2 says it, which knows the last step alone.
fn undefined_in_jinja2_words(detail: &str) -> Option<String> {
    let (expression, _) = detail.strip_prefix('`')?.split_once("` is undefined")?;
    if let Some((_, subscript)) =
        expression.strip_suffix(']').and_then(|rest| rest.rsplit_once('['))
    {
        let is_number = subscript.parse::<i64>().is_ok();
        return Some(match is_number {
            true => format!("list object has no element {subscript}"),
            false => format!("'dict object' has no attribute {subscript}"),
        });
    }
    Some(match expression.rsplit_once('.') {
        Some((_, name)) => format!("'dict object' has no attribute '{name}'"),
        None => format!("'{expression}' is undefined"),
    })
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
