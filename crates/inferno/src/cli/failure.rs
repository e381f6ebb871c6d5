//! Errors of commands, and their exit codes.

use std::error::Error as StdError;
use std::io;
use std::path::Path;

use inferno_backend::BackendError;
use inferno_engine::EngineError;
use inferno_gguf::GgufError;
use inferno_model::ModelError;

use crate::bench::BenchError;
use crate::cli::arguments::model::reference_of;
use crate::cli::commands::chat::CommandError;
use crate::cli::configuration::ConfigError;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable_lines;
use crate::{Error, HubError, OutputError, QuantizeError};

pub(super) const EXIT_SUCCESS: u8 = 0;
pub(super) const EXIT_FAILURE: u8 = 1;
const EXIT_USAGE: u8 = 2;
/// 128 plus the number of SIGINT, by shell convention.
pub(super) const EXIT_INTERRUPTED: u8 = 130;

/// The reason why a command failed.
pub(super) enum Failure {
    /// The command line is invalid, or help was requested.
    CommandLine(clap::Error),
    /// Options are missing or conflict.
    Usage(String),
    /// The configuration file is invalid.
    Config(ConfigError),
    /// A chat command is invalid.
    Command(CommandError),
    /// Ctrl-C.
    Interrupted,
    /// An error that was reported earlier.
    Reported,
    /// Any other error.
    Error(Box<Error>),
}

impl Failure {
    /// Prints the error to standard error, and returns the exit code.
    pub(super) fn report(self) -> u8 {
        match self {
            Self::CommandLine(error) => {
                // There is nowhere left to report a failed write.
                let _ = error.print();
                u8::try_from(error.exit_code()).unwrap_or(EXIT_FAILURE)
            }
            Self::Usage(message) => {
                print_note(&format!("error: {message}\n\nFor more information, try '--help'."));
                EXIT_USAGE
            }
            Self::Config(error) => {
                print_note(&printable_lines(&format!("error: {error}")));
                EXIT_USAGE
            }
            Self::Command(error) => {
                print_note(&printable_lines(&format!("error: {error}")));
                EXIT_FAILURE
            }
            Self::Interrupted => EXIT_INTERRUPTED,
            Self::Reported => EXIT_FAILURE,
            Self::Error(error) if matches!(*error, Error::Cancelled) => EXIT_INTERRUPTED,
            // The reader closed the pipe.
            Self::Error(error) if is_broken_pipe(&error) => EXIT_SUCCESS,
            Self::Error(error) => {
                // Messages may quote names from files.
                print_note(&printable_lines(&with_causes(&*error)));
                let hint = match &*error {
                    Error::Gguf(GgufError::Io { path, error })
                        if error.kind() == io::ErrorKind::NotFound =>
                    {
                        missing_model_hint(path)
                    }
                    error => hint(error).map(str::to_owned),
                };
                if let Some(hint) = hint {
                    print_note(&printable_lines(&format!("hint: {hint}")));
                }
                if is_usage(&error) { EXIT_USAGE } else { EXIT_FAILURE }
            }
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(Box::new(error.into()))
    }
}

/// Whether the reader of standard output closed it.
pub(super) fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns whether an error is a mistake in the command line.
fn is_usage(error: &Error) -> bool {
    match error {
        Error::NoModel
        | Error::UnknownBackend { .. }
        | Error::Quantize(QuantizeError::UnknownRecipe { .. })
        | Error::Quantize(QuantizeError::NeedsImportanceMatrix { .. })
        | Error::NoGpu
        | Error::BackendNotBuilt { .. }
        | Error::BackendOption { .. }
        | Error::Bench(BenchError::DividedProfile)
        | Error::Hub(
            HubError::InvalidReference { .. }
            | HubError::UnknownShortName { .. }
            | HubError::NotOnHub { .. },
        )
        | Error::Output(OutputError::IsInput { .. })
        | Error::Output(OutputError::IsOtherInput { .. })
        | Error::Output(OutputError::NotNamed)
        | Error::Output(OutputError::NotFile { .. })
        | Error::Bench(BenchError::EmptyWorkload)
        | Error::Bench(BenchError::WorkloadTooLong { .. })
        | Error::Backend(BackendError::Unavailable { .. } | BackendError::InvalidSetting { .. }) => {
            true
        }
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

/// Returns a hint for a model file that does not exist.
fn missing_model_hint(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    if text.starts_with("https://") || text.starts_with("http://") {
        return Some(
            "models are downloaded from the Hugging Face Hub only; download the file first"
                .to_owned(),
        );
    }
    let reference = reference_of(path)?;
    Some(format!(
        "to download a model from the Hugging Face Hub, use hf:OWNER/REPO[:QUANTIZATION], here {reference}"
    ))
}

/// Returns a hint with the option that helps. Errors of the library and of lower crates cannot name options.
fn hint(error: &Error) -> Option<&'static str> {
    let backend = match error {
        Error::NoModel => return Some("pass -m FILE or -m hf:OWNER/REPO"),
        Error::NoChatTemplate => {
            return Some("pass one with --chat-template FILE or --chat-template chatml");
        }
        Error::NoGpu => {
            return Some(
                "--device INDEX or --device NAME selects another GPU, and --device cpu the processor",
            );
        }
        Error::BackendNotBuilt { .. } => return Some("--backend parallel selects the processor"),
        Error::GpuTooSmall { .. } => {
            return Some(
                "--gpu-layers N runs fewer layers on the GPU, --context N sets the context, and --cpu-experts runs the experts on \
                 the processor",
            );
        }
        Error::NoPredictionHead => {
            return Some(
                "pass a draft model with --draft-model, or draft from earlier text with --speculate N",
            );
        }
        Error::Threads { .. } => return Some("--threads N sets the number of threads"),
        Error::Backend(error) => error,
        Error::Model(error) => match &**error {
            ModelError::Backend(error) => error,
            ModelError::UnsupportedPredictionHead { .. } => return Some("remove --draft-head"),
            _ => return None,
        },
        Error::Engine(error) => match &**error {
            EngineError::PromptTooLong { .. } | EngineError::StateTooLong { .. } => {
                return Some("increase --context, up to the maximum of the model");
            }
            EngineError::RecommendationOutOfRange { .. } => {
                return Some("--greedy ignores the recommendations of the model file");
            }
            EngineError::Backend(error) | EngineError::Model(ModelError::Backend(error)) => error,
            _ => return None,
        },
        Error::Quantize(QuantizeError::NeedsImportanceMatrix { has_matrix: false, .. }) => {
            return Some(
                "create one with inferno imatrix and pass it with --imatrix, or use iq3_xxs or q2_k",
            );
        }
        Error::Quantize(QuantizeError::NeedsImportanceMatrix { has_matrix: true, .. }) => {
            return Some("create one of this model with inferno imatrix");
        }
        _ => return None,
    };
    match backend {
        BackendError::KvHeadDim { .. } | BackendError::KvHeadTooWide { .. } => {
            Some("choose another KV cache format with --kv-dtype")
        }
        BackendError::OutOfMemory { .. } => Some(
            "reduce --context (or --kv-cache-tokens, if it is set) or use --kv-dtype q8_0 for a smaller KV cache; --dry-run prints \
             the memory needed",
        ),
        _ => None,
    }
}

/// Returns the message of an error and of its causes, each once.
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
