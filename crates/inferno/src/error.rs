//! The error type of this crate.

mod input;

use std::io;
use std::path::{Path, PathBuf};

use indicatif::BinaryBytes;
use inferno_backend::BackendError;
use inferno_chat::{AnswerSetupError, ChatTemplateError, ToolsError};
use inferno_convert::ConvertError;
use inferno_engine::{EngineError, StageError};
use inferno_model::ModelError;
use inferno_server::ServerError;
use inferno_tokenizer::{TokenizerError, VocabularyDifference};

use crate::bench::BenchError;
use crate::evaluation::EvaluationError;
use crate::{BackendChoice, HubError, ImatrixError, OutputError, QuantizeError};

pub use input::InputError;

/// An error from finding, loading, running or converting a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Standard input could not be read.
    #[error("failed to read standard input: {0}")]
    Stdin(#[source] io::Error),
    /// Standard output could not be written.
    #[error("failed to write to standard output: {0}")]
    Stdout(#[source] io::Error),
    /// The model has no chat template, and none was specified.
    #[error(
        "the model has no chat template (metadata key tokenizer.chat_template), and none was specified"
    )]
    NoChatTemplate,
    /// There is neither a file nor a built-in chat template with this name.
    #[error(
        "there is no chat template {name:?}: expected a file, or the built-in template chatml; without this option, the \
         template in the model file is used"
    )]
    UnknownTemplate {
        /// The name.
        name: String,
    },
    /// A prompt does not fit the longest context of the model.
    #[error(
        "the prompt has {prompt_tokens} tokens, but this model supports a context of {context_length} tokens at most; \
         shorten the prompt, or use a model with a longer context"
    )]
    PromptExceedsModel {
        /// Tokens of the prompt and of what precedes it.
        prompt_tokens: usize,
        /// The maximum of the model, in tokens.
        context_length: usize,
    },

    /// The file has no such metadata key.
    #[error(
        "the file has no metadata key {key:?}; {}",
        if similar.is_empty() { "run inferno inspect to list all keys".to_owned() } else { format!("similar keys:{}", list(similar)) }
    )]
    NoSuchKey {
        /// The requested key.
        key: String,
        /// Keys that contain it.
        similar: Vec<String>,
    },

    /// No model was specified, and this build has no built-in model.
    #[error("no model specified")]
    NoModel,
    /// There is no backend with this name.
    #[error(
        "unknown backend {found:?}; expected one of {}. NVIDIA, AMD and Intel GPUs are used through Vulkan or DX12: use gpu",
        BackendChoice::ALL.map(BackendChoice::name).join(", ")
    )]
    UnknownBackend {
        /// The name.
        found: String,
    },
    /// There is no GPU to prefer.
    #[error(
        "no discrete or Apple GPU was found; select another GPU by its index or name (`inferno devices` lists them), or run on the \
         processor"
    )]
    NoGpu,
    /// The layers that were chosen for a GPU do not fit in its memory.
    #[error(
        "the layers on the GPU need {}, but its memory has {}; run fewer layers on the GPU, reduce the context, or run the experts \
         of a mixture of experts on the processor",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*memory_bytes)
    )]
    GpuTooSmall {
        /// Required memory, in bytes.
        needed_bytes: u64,
        /// Memory of the GPU, in bytes.
        memory_bytes: u64,
    },
    /// The model would run on another device than planned.
    #[error("{reason}")]
    OtherDevice {
        /// Why.
        reason: String,
    },
    /// The model does not fit in the free memory of the machine.
    #[error(
        "the model needs {} of memory, but only {} is free; use a smaller model or quantization, or reduce the context or the KV cache",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*free_bytes)
    )]
    MemoryTooSmall {
        /// Required memory, in bytes.
        needed_bytes: u64,
        /// Free memory, in bytes.
        free_bytes: u64,
    },
    /// This build does not include the backend.
    #[error("this build has no {backend} backend; run on the processor")]
    BackendNotBuilt {
        /// The name of the backend.
        backend: &'static str,
    },
    /// The vocabulary of a draft model is not that of the model that it drafts for.
    #[error(
        "the draft model has another vocabulary: {difference} in the draft model; use a smaller model of the same family"
    )]
    DraftVocabulary {
        /// The first difference between the vocabulary of the model and that of the draft model.
        difference: VocabularyDifference,
    },
    /// The model file has no prediction head.
    #[error(
        "the model file has no prediction head (nextn_predict_layers is missing or 0); use a draft model, or draft from earlier text"
    )]
    NoPredictionHead,
    /// A draft model was set for a model whose stages run in other processes.
    #[error("a draft model cannot be used with a model whose stages run in other processes")]
    DraftForStages,
    /// The backend does not support an option.
    #[error(
        "the {backend} backend does not support {option}; remove it, or use another backend or device"
    )]
    BackendOption {
        /// The option.
        option: &'static str,
        /// The name of the backend.
        backend: &'static str,
    },
    /// A model on the Hugging Face Hub could not be found or downloaded.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// An importance matrix cannot be read, written or collected.
    #[error("{}{problem}", location(path))]
    Imatrix {
        /// The file; empty if it is not that of a file.
        path: PathBuf,
        /// What is wrong.
        problem: ImatrixError,
    },
    /// Threads could not be started.
    #[error("failed to start threads: {source}; use fewer threads")]
    Threads {
        /// The cause.
        source: io::Error,
    },
    /// The caller cancelled the operation.
    #[error("cancelled")]
    Cancelled,

    /// A GGUF file could not be read or written.
    #[error(transparent)]
    Gguf(#[from] inferno_gguf::GgufError),
    /// A checkpoint in another format could not be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The tensors of a converted checkpoint are not those of its architecture.
    #[error(
        "{}: the tensors do not fit config.json: {source}; download the folder's files again, from one repository",
        path.display()
    )]
    InconsistentCheckpoint {
        /// The folder.
        path: PathBuf,
        /// What does not fit, by the names of the result.
        source: Box<ModelError>,
    },
    /// A tokenizer is missing or invalid, or failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The output format or the tools cannot be enforced.
    #[error(transparent)]
    AnswerSetup(#[from] Box<AnswerSetupError>),
    /// The tools of a conversation are invalid.
    #[error(transparent)]
    Tools(#[from] ToolsError),
    /// A thread could not be started.
    #[error("failed to start a thread: {0}")]
    Thread(io::Error),
    /// A chat template is invalid, or failed on a conversation.
    #[error(transparent)]
    ChatTemplate(Box<ChatTemplateError>),
    /// A model could not be loaded or run.
    #[error(transparent)]
    Model(Box<ModelError>),
    /// A request is invalid, or generation failed.
    #[error(transparent)]
    Engine(Box<EngineError>),
    /// The server could not be started.
    #[error(transparent)]
    Server(Box<ServerError>),
    /// The backend could not be set up.
    #[error(transparent)]
    Backend(#[from] BackendError),

    /// An output that a command does not write.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// An input that is no text, conversation or list of tokens.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An error from quantizing a model.
    #[error(transparent)]
    Quantize(#[from] QuantizeError),
    /// An error from evaluating a model, or from comparing two.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// An error from measuring a model or a server.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

impl Error {
    /// Returns the same error, or [`Self::PromptExceedsModel`] if a prompt does not fit and the context cannot be longer
    /// than `max_context_length`.
    pub(crate) fn at_maximum(self, max_context_length: usize) -> Self {
        let Self::Engine(error) = &self else {
            return self;
        };
        match **error {
            EngineError::PromptTooLong {
                prompt_tokens, session_tokens, context_length, ..
            } if context_length >= max_context_length => {
                let prompt_tokens = prompt_tokens + session_tokens;
                Self::PromptExceedsModel { prompt_tokens, context_length }
            }
            _ => self,
        }
    }

    /// The error of the backend that is the cause, if one is.
    pub(crate) fn backend_cause(&self) -> Option<&BackendError> {
        match self {
            Self::Backend(cause) => Some(cause),
            Self::Model(error) => match &**error {
                ModelError::Backend(cause) => Some(cause),
                _ => None,
            },
            Self::Engine(error) => match &**error {
                EngineError::Backend(cause) | EngineError::Model(ModelError::Backend(cause)) => {
                    Some(cause)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the model could be loaded, or on the planned device, if there were more free memory.
    pub(crate) fn is_lack_of_memory(&self) -> bool {
        let is_lack = |cause: &BackendError| matches!(cause, BackendError::OutOfMemory { .. });
        matches!(self, Self::MemoryTooSmall { .. } | Self::OtherDevice { .. })
            || self.backend_cause().is_some_and(is_lack)
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        Self::Server(Box::new(error))
    }
}

impl From<ChatTemplateError> for Error {
    fn from(error: ChatTemplateError) -> Self {
        Self::ChatTemplate(Box::new(error))
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Self::Model(Box::new(error))
    }
}

/// Formats each name on a separate line.
pub(crate) fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("\n  {name}")).collect()
}

impl From<StageError> for Error {
    fn from(error: StageError) -> Self {
        EngineError::from(error).into()
    }
}

/// The beginning of a message about a file.
pub(crate) fn location(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => String::new(),
        false => format!("{}: ", path.display()),
    }
}
