//! Errors as Python exceptions, with the fields of the Rust error.

use inferno::{EngineError, Error, HubError, SubmitError};
use inferno_gguf::GgufError;
use inferno_model::ModelError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

use crate::arguments::to_python;

/// The module that defines the exceptions.
const MODULE: &str = "inferno.errors";

/// What an exception reports.
struct Report {
    class: &'static str,
    message: String,
    /// The variant of the Rust error, and its fields.
    kind: String,
    fields: Map<String, Value>,
}

/// Lists the fields of variants that callers can act on; empty for all others. A path that is not UTF-8 has no value in JSON and
/// is quoted.
macro_rules! fields {
    ($error:expr, $type:ident { $($variant:ident { $($field:ident),* })* }) => {
        match $error {
            $($type::$variant { $($field,)* .. } => {
                [$((
                    stringify!($field).to_owned(),
                    serde_json::to_value($field).unwrap_or_else(|_| json!(format!("{:?}", $field))),
                )),*]
                .into_iter()
                .collect::<Map<String, Value>>()
            })*
            _ => Map::new(),
        }
    };
}

pub(crate) fn exception(error: &Error) -> PyErr {
    match error {
        Error::Engine(error) => engine_exception(error),
        Error::BackendOption { option, .. } => raise(Report {
            class: class_of(error),
            message: with_argument(error, option),
            kind: variant(error),
            fields: Map::new(),
        }),
        Error::Hub(error) => raise(Report {
            class: "HubError",
            message: error.to_string(),
            kind: variant(error),
            fields: hub_fields(error),
        }),
        Error::Gguf(error) => raise(Report {
            class: "ModelFileError",
            message: error.to_string(),
            kind: variant(error),
            fields: fields!(error, GgufError {
                Io { path }
                FileChanged { path }
                NotAFile { path }
                InFile { path }
            }),
        }),
        error => raise(Report {
            class: class_of(error),
            message: error.to_string(),
            kind: variant(error),
            fields: Map::new(),
        }),
    }
}

/// The message of an error about an option of the command, with the name of the argument that corresponds to the option.
fn with_argument(error: &impl std::fmt::Display, option: &str) -> String {
    let argument = option.trim_start_matches('-').replace('-', "_");
    error.to_string().replace(option, &argument)
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Model(error) => model_class(error),
        Error::Io { .. }
        | Error::Convert(_)
        | Error::InconsistentCheckpoint { .. }
        | Error::Tokenizer(_)
        | Error::ChatTemplate(_)
        | Error::NoModel => "ModelFileError",
        Error::Backend(_)
        | Error::NoGpu
        | Error::GpuTooSmall { .. }
        | Error::BackendNotBuilt { .. }
        | Error::BackendOption { .. }
        | Error::UnknownBackend { .. } => "DeviceError",
        Error::AnswerSetup(_) | Error::Tools(_) => "InvalidRequestError",
        _ => "InfernoError",
    }
}

fn model_class(error: &ModelError) -> &'static str {
    match error {
        ModelError::Backend(_) => "DeviceError",
        _ => "ModelFileError",
    }
}

fn hub_fields(error: &HubError) -> Map<String, Value> {
    let mut fields = fields!(error, HubError {
        InvalidReference { found }
        NotOnHub { path }
        UnknownShortName { name, similar }
        Request { endpoint }
        Access { endpoint, status }
        NoSuchQuant { available }
        AmbiguousQuant { matching }
    });
    if let HubError::Offline { reference } | HubError::Access { reference, .. } = error {
        fields.insert("reference".to_owned(), json!(reference.to_string()));
    }
    fields
}

/// Names every variant: `test_errors.py` compares them with the enumeration, which other crates cannot match exhaustively.
fn engine_class(error: &EngineError) -> &'static str {
    match error {
        EngineError::Shared(error) => engine_class(error),
        EngineError::Model(error) => model_class(error),
        EngineError::Backend(_) => "DeviceError",
        EngineError::PromptTooLong { .. } | EngineError::ContextTooLong { .. } => {
            "ContextLengthError"
        }
        EngineError::EngineStopped => "EngineStoppedError",
        EngineError::Metadata(_)
        | EngineError::ModelFileChanged(_)
        | EngineError::Tokenizer(_)
        | EngineError::RecommendationOutOfRange { .. }
        | EngineError::Pooling { .. } => "ModelFileError",
        EngineError::StateIo { .. }
        | EngineError::StateUnknown { .. }
        | EngineError::StateNotReplaced { .. }
        | EngineError::StateVersion { .. }
        | EngineError::StateTruncated { .. }
        | EngineError::StateDamaged { .. }
        | EngineError::StateOfAnotherModel { .. }
        | EngineError::StateOfAnotherFormat { .. }
        | EngineError::StateTooLong { .. } => "SavedStateError",
        EngineError::ParamOutOfRange { .. }
        | EngineError::TokenOutOfRange { .. }
        | EngineError::NoLogits { .. }
        | EngineError::NoClassifier
        | EngineError::SeveralOutputs { .. }
        | EngineError::Dimensions { .. }
        | EngineError::NoCandidates
        | EngineError::MaxTokensZero
        | EngineError::MinTokensAboveMax { .. }
        | EngineError::EmptyStopString { .. }
        | EngineError::ListTooLong { .. }
        | EngineError::SpeculationWithoutCache
        | EngineError::TooManyDrafts { .. }
        | EngineError::EmptyPrompt
        | EngineError::CacheTooSmall { .. }
        | EngineError::BatchLimits { .. }
        | EngineError::NoQueue
        | EngineError::NumChoices { .. }
        | EngineError::Constraint(_)
        | EngineError::Window { .. }
        | EngineError::TextTooShort { .. }
        | EngineError::VocabularySize { .. } => "InvalidRequestError",
        EngineError::NonFiniteLogit { .. }
        | EngineError::NonFiniteState { .. }
        | EngineError::GenerationFailed
        | EngineError::LogitsLength { .. }
        | EngineError::NoHiddenRows
        | EngineError::OutOfBlocks { .. }
        | EngineError::StoredLogits(_)
        | EngineError::Stage(_)
        | EngineError::Thread(_) => "InfernoError",
        _ => "InfernoError",
    }
}

pub(crate) fn engine_exception(error: &EngineError) -> PyErr {
    if let EngineError::Shared(error) = error {
        return engine_exception(error);
    }
    let fields = fields!(error, EngineError {
        ParamOutOfRange { field, range, value }
        TokenOutOfRange { field, token, vocab_size }
        NonFiniteLogit { token, value }
        MinTokensAboveMax { min_tokens, max_tokens }
        EmptyStopString { index }
        ListTooLong { field, unit, given, limit }
        PromptTooLong { prompt_tokens, session_tokens, room, context_length }
        ContextTooLong { asked_for, limit }
        CacheTooSmall { cache_tokens, context_length }
        BatchLimits { asked_for, limit }
        NumChoices { asked_for, limit }
        StateIo { path, action }
        StateUnknown { path, kind }
        StateNotReplaced { path, kind }
        StateVersion { path, found, known }
        StateTruncated { path, expected, found }
        StateDamaged { path, what }
        StateOfAnotherModel { path, expected, found }
        StateOfAnotherFormat { path }
        StateTooLong { path, num_tokens, context_length }
    });
    let message = match error {
        EngineError::StateOfAnotherFormat { .. } => with_argument(error, "--kv-dtype"),
        error => error.to_string(),
    };
    raise(Report { class: engine_class(error), message, kind: variant(error), fields })
}

pub(crate) fn submit_exception(error: &SubmitError) -> PyErr {
    let (class, fields) = match error {
        SubmitError::Refused(error) => return engine_exception(error),
        SubmitError::QueueFull { .. } => {
            ("QueueFullError", fields!(error, SubmitError { QueueFull { limit } }))
        }
        _ => ("EngineStoppedError", Map::new()),
    };
    raise(Report { class, message: error.to_string(), kind: variant(error), fields })
}

/// An invalid argument that the engine does not see.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    raise(Report {
        class: "InvalidRequestError",
        message: message.into(),
        kind: "Argument".to_owned(),
        fields: Map::new(),
    })
}

/// A call that the state of an object does not allow.
pub(crate) fn busy(message: &str) -> PyErr {
    PyRuntimeError::new_err(message.to_owned())
}

/// Returns the name of an error's variant, with which its derived `Debug` output begins.
fn variant(error: &impl std::fmt::Debug) -> String {
    format!("{error:?}").chars().take_while(|c| c.is_ascii_alphanumeric()).collect()
}

fn raise(report: Report) -> PyErr {
    Python::attach(|py| {
        let create = || -> PyResult<PyErr> {
            let class = py.import(MODULE)?.getattr(report.class)?;
            let arguments = PyDict::new(py);
            arguments.set_item("kind", &report.kind)?;
            arguments.set_item("fields", to_python(py, &Value::Object(report.fields))?)?;
            Ok(PyErr::from_value(class.call((&report.message,), Some(&arguments))?))
        };
        create().unwrap_or_else(|error| error)
    })
}
