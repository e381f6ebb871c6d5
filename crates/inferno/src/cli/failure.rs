//! How a command ends other than well.

use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use inferno_backend::BackendError;
use inferno_engine::EngineError;
use inferno_gguf::GgufError;
use inferno_model::ModelError;

use crate::cli::commands::chat::CommandError;
use crate::cli::configuration::ConfigError;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable_lines;
use crate::{Error, HubReference};

const EXIT_FAILURE: u8 = 1;
const EXIT_USAGE: u8 = 2;
/// 128 and the number of SIGINT, as shells have it.
pub(super) const EXIT_INTERRUPTED: u8 = 130;

/// Why a command did not succeed.
pub(super) enum Failure {
    /// The command line is wrong, or help was asked for.
    CommandLine(clap::Error),
    /// Flags do not go together.
    Usage(String),
    /// The configuration file is wrong.
    Config(ConfigError),
    /// A command within a chat is wrong.
    Command(CommandError),
    /// Ctrl-C.
    Interrupted,
    /// Something went wrong earlier, and was reported then.
    Reported,
    /// Anything else.
    Error(Box<Error>),
}

impl Failure {
    /// Says what happened, on standard error, and gives the exit code.
    pub(super) fn report(self) -> ExitCode {
        let code = match self {
            Self::CommandLine(error) => {
                // Where even this cannot be written, nobody listens.
                let _ = error.print();
                u8::try_from(error.exit_code()).unwrap_or(EXIT_FAILURE)
            }
            Self::Usage(message) => {
                print_note(&format!("error: {message}\n\nFor more information, try '--help'."));
                EXIT_USAGE
            }
            Self::Config(error) => {
                print_note(&format!("error: {error}"));
                EXIT_USAGE
            }
            Self::Command(error) => {
                print_note(&printable_lines(&format!("error: {error}")));
                EXIT_FAILURE
            }
            Self::Interrupted => EXIT_INTERRUPTED,
            Self::Reported => EXIT_FAILURE,
            Self::Error(error) if matches!(*error, Error::Cancelled) => EXIT_INTERRUPTED,
            // The reader of a pipe has seen enough.
            Self::Error(error) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
            Self::Error(error) => {
                // Messages quote names from files.
                print_note(&printable_lines(&with_causes(&*error)));
                if let Some(hint) = hint(&error) {
                    print_note(&format!("hint: {hint}"));
                }
                if is_usage(&error) { EXIT_USAGE } else { EXIT_FAILURE }
            }
        };
        ExitCode::from(code)
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error.into()))
    }
}

fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether an error speaks of what was asked for, rather than of what happened.
fn is_usage(error: &Error) -> bool {
    match error {
        Error::NoModel
        | Error::UnknownBackend { .. }
        | Error::UnknownRecipe { .. }
        | Error::BackendNotBuilt { .. }
        | Error::BackendOption { .. }
        | Error::HubReference { .. }
        | Error::OutputIsInput { .. }
        | Error::OutputNotFile { .. }
        | Error::EmptyWorkload
        | Error::WorkloadTooLong { .. }
        | Error::Backend(BackendError::Unavailable { .. }) => true,
        Error::Engine(error) => matches!(
            **error,
            EngineError::ParamOutOfRange { .. }
                | EngineError::ContextTooLong { .. }
                | EngineError::TokenOutOfRange { .. }
                | EngineError::MaxTokensZero
                | EngineError::MinTokensAboveMax { .. }
                | EngineError::EmptyStopString { .. }
                | EngineError::ListTooLong { .. }
        ),
        _ => false,
    }
}

/// Whether a path only lacks the prefix of a name on the hub, where files have no names of their own.
fn may_be_on_hub(path: &Path) -> bool {
    let is_file = path.extension().is_some_and(|ending| ending == "gguf");
    let name = format!("{}{}", HubReference::PREFIX, path.display());
    !is_file && name.parse::<HubReference>().is_ok()
}

/// The flag that helps, where the floors below cannot know of flags.
fn hint(error: &Error) -> Option<&'static str> {
    let backend = match error {
        Error::Gguf(GgufError::Io { path, error })
            if error.kind() == io::ErrorKind::NotFound && may_be_on_hub(path) =>
        {
            return Some(
                "a model on the Hugging Face hub is named hf:owner/repo[:type], and downloaded",
            );
        }
        Error::Backend(error) => error,
        Error::Model(error) => match &**error {
            ModelError::Backend(error) => error,
            _ => return None,
        },
        Error::Engine(error) => match &**error {
            EngineError::PromptTooLong { .. } | EngineError::StateTooLong { .. } => {
                return Some(
                    "--context N sets how many tokens the context holds, up to those that the model was made for",
                );
            }
            EngineError::RecommendationOutOfRange { .. } => {
                return Some(
                    "--greedy takes no advice from the file; another file may give better",
                );
            }
            EngineError::Backend(error) | EngineError::Model(ModelError::Backend(error)) => error,
            _ => return None,
        },
        _ => return None,
    };
    match backend {
        BackendError::KvHeadDim { .. } | BackendError::KvHeadTooWide { .. } => {
            Some("--kv-dtype chooses the format")
        }
        BackendError::OutOfMemory { .. } => Some(
            "--context N and --kv-dtype q8_0 make the KV cache smaller; --dry-run adds it all up",
        ),
        _ => None,
    }
}

/// The message of an error and of those beneath it, each once.
fn with_causes(error: &dyn StdError) -> String {
    let mut text = format!("error: {error}");
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.contains(&message) {
            text.push_str(&format!("\n  cause: {message}"));
        }
        next = cause.source();
    }
    text
}
