//! The error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

use indicatif::BinaryBytes;
use inferno_backend::BackendError;
use inferno_chat::{AnswerSetupError, ChatTemplateError, ToolsError};
use inferno_convert::ConvertError;
use inferno_engine::{EngineError, StageError};
use inferno_model::ModelError;
use inferno_server::ServerError;
use inferno_tensor::{DType, TensorError};
use inferno_tokenizer::{TokenizerError, VocabularyDifference};

use crate::{BackendChoice, HubError, ImatrixError, Recipe};

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

    /// A server could not be measured.
    #[error("failed to measure the server at {url}: {cause}")]
    ServerNotMeasured {
        /// The base URL of the server.
        url: String,
        /// The cause.
        cause: String,
    },

    /// An input is longer than the program reads.
    #[error("{input} has more than {}; use a shorter input", BinaryBytes(*max_bytes))]
    InputTooLong {
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
    /// The model has no chat template, and none was specified.
    #[error(
        "the model has no chat template (metadata key tokenizer.chat_template); pass one with --chat-template FILE \
         or --chat-template chatml"
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
    /// The messages of a conversation are not in order.
    #[error(
        "{input}: {} messages[{index}], expected role {expected}; messages must alternate between user and assistant, \
         after an optional system message",
        found.map_or("missing".to_owned(), |role| format!("unexpected role {role} in"))
    )]
    UnexpectedRole {
        /// The name of the input.
        input: String,
        /// Index of the message.
        index: usize,
        /// The expected role.
        expected: &'static str,
        /// The role of the message; `None` if the list ends before it.
        found: Option<&'static str>,
    },
    /// The file to save a conversation to contains something else.
    #[error(
        "{} exists and is not a conversation saved by inferno chat; choose another name",
        path.display()
    )]
    ConversationNotReplaced {
        /// The output.
        path: PathBuf,
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
    /// One of several inputs does not fit the context.
    #[error(
        "{input} has {num_tokens} tokens, but the context holds {context_length}; shorten it, or use --truncate{}",
        if *.is_maximum { "" } else { " or a larger --context" }
    )]
    InputExceedsContext {
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
    #[error("no model specified; pass -m FILE or -m hf:OWNER/REPO")]
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
        "no discrete or Apple GPU was found; choose another one with --device (see inferno devices), or use --backend parallel to \
         run on the processor"
    )]
    NoGpu,
    /// The layers that were chosen for a GPU do not fit in its memory.
    #[error(
        "the layers on the GPU need {}, but its memory has {}; reduce --gpu-layers or the context, or use --cpu-experts for a \
         mixture of experts",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*memory_bytes)
    )]
    GpuTooSmall {
        /// Required memory, in bytes.
        needed_bytes: u64,
        /// Memory of the GPU, in bytes.
        memory_bytes: u64,
    },
    /// This build does not include the backend.
    #[error("this build has no {backend} backend; use --backend parallel to run on the CPU")]
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
        "the model file has no prediction head (nextn_predict_layers is missing or 0); draft with --draft-model or --speculate"
    )]
    NoPredictionHead,
    /// A draft model was set for a model whose stages run in other processes.
    #[error("a draft model cannot be used with a model whose stages run in other processes")]
    DraftForStages,
    /// The backend does not support an option.
    #[error(
        "the {backend} backend does not support {option}; remove it, or use --backend parallel"
    )]
    BackendOption {
        /// The option.
        option: &'static str,
        /// The name of the backend.
        backend: &'static str,
    },
    /// A profile of a model that is divided between a GPU and the CPU.
    #[error(
        "--profile requires that one device computes the whole model; use --gpu-layers all or --device cpu"
    )]
    DividedProfile,
    /// A model on the Hugging Face Hub could not be found or downloaded.
    #[error(transparent)]
    Hub(#[from] HubError),

    /// The output file exists.
    #[error("{} exists; choose another name, or pass --force to overwrite it", path.display())]
    OutputExists {
        /// The output.
        path: PathBuf,
    },
    /// The directory of the output does not exist.
    #[error("cannot write {}: the directory {} does not exist; create it first", path.display(), folder.display())]
    OutputFolder {
        /// The output.
        path: PathBuf,
        /// The directory.
        folder: PathBuf,
    },
    /// The output is a directory, a pipe or a device.
    #[error("{} is not a regular file; choose another name for the output", path.display())]
    OutputNotFile {
        /// The output.
        path: PathBuf,
    },
    /// The output contains something else than the answers of a batch.
    #[error(
        "line {line} of {} is not the answer to request {line} of the input; choose another name for the output, or delete \
         the file to answer all requests again",
        path.display()
    )]
    BatchOutputDiffers {
        /// The output.
        path: PathBuf,
        /// Number of the line, from 1 on.
        line: usize,
    },
    /// Another process writes the output.
    #[error("{} is being written by another process; choose another name, or wait until it is complete", path.display())]
    OutputInUse {
        /// The output.
        path: PathBuf,
    },
    /// The output is the model file itself.
    #[error("{} is the model file itself; choose another name for the output", path.display())]
    OutputIsInput {
        /// The output.
        path: PathBuf,
    },
    /// The output is another file that the command reads, such as a text.
    #[error("{} is also an input of this command; choose another name for the output", path.display())]
    OutputIsOtherInput {
        /// The output.
        path: PathBuf,
    },
    /// The output is `-`, but is not text.
    #[error(
        "this output cannot be written to standard output; specify the name of a file instead of -"
    )]
    OutputNotNamed,
    /// The file to quantize holds an importance matrix.
    #[error("{} is an importance matrix, not a model; specify it with --imatrix, next to the model to quantize", path.display())]
    InputIsImportanceMatrix {
        /// The file.
        path: PathBuf,
    },
    /// The weights to quantize are already quantized.
    #[error(
        "tensor {tensor:?} is already quantized to {found}, and requantizing loses quality; use an F32, F16 or BF16 \
         file, or pass --allow-requantize"
    )]
    AlreadyQuantized {
        /// The first such tensor.
        tensor: String,
        /// Its format.
        found: DType,
    },
    /// There is no quantization format with this name.
    #[error("unknown format {found:?}; expected one of {}", Recipe::names().collect::<Vec<_>>().join(", "))]
    UnknownRecipe {
        /// The name.
        found: String,
    },
    /// A tensor would get a format that needs an importance matrix.
    #[error(
        "{format} of {tensor} needs an importance matrix{}", if *.has_matrix { ", and the one specified has no entry for it" } else { "" }
    )]
    NeedsImportanceMatrix {
        /// The tensor.
        tensor: String,
        /// Its format.
        format: DType,
        /// Whether a matrix was specified.
        has_matrix: bool,
    },
    /// An importance matrix belongs to another model.
    #[error(
        "the importance matrix has {found} values for {tensor}, which has {expected} columns; it is of another model"
    )]
    ImportanceMismatch {
        /// The tensor.
        tensor: String,
        /// Number of columns, over all matrices of the tensor.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// An importance matrix belongs to another model.
    #[error(
        "{}the importance matrix has no entry for any weight of the model; it is of another model",
        location(path)
    )]
    ForeignImportance {
        /// The file; empty if it is not that of a file.
        path: PathBuf,
    },
    /// An importance matrix cannot be read, written or collected.
    #[error("{}{problem}", location(path))]
    Imatrix {
        /// The file; empty if it is not that of a file.
        path: PathBuf,
        /// What is wrong.
        problem: ImatrixError,
    },
    /// Threads could not be started.
    #[error("failed to start threads: {source}; reduce --threads")]
    Threads {
        /// The cause.
        source: io::Error,
    },
    /// The caller cancelled the operation.
    #[error("cancelled")]
    Cancelled,
    /// A tensor could not be converted.
    #[error("tensor {tensor:?}, row {row}: {source}")]
    QuantizeRow {
        /// The tensor.
        tensor: String,
        /// Index of the row.
        row: usize,
        /// The cause.
        source: Box<TensorError>,
    },
    /// A tensor is stored in a format that cannot be decoded.
    #[error("tensor {tensor:?} is stored as {found}, which cannot be decoded")]
    UndecodableTensor {
        /// The tensor.
        tensor: String,
        /// The format's name.
        found: &'static str,
    },

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
    /// The workload is empty.
    #[error("nothing to measure; -p or -n must be at least 1, and --batch requires -n")]
    EmptyWorkload,
    /// The workload exceeds the context of the model.
    #[error(
        "the workload exceeds the model's context of {limit} tokens: {prompt_tokens} prompt tokens (-p), {decode_tokens} \
         tokens (-n) at depth {depth} (-d); reduce them"
    )]
    WorkloadTooLong {
        /// Length of the prompt, in tokens.
        prompt_tokens: usize,
        /// Number of tokens to generate.
        decode_tokens: usize,
        /// Number of tokens in the KV cache before them.
        depth: usize,
        /// The context length of the model, in tokens.
        limit: usize,
    },
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
    /// The workload does not fit in memory.
    #[error(
        "the weights, the KV cache and the activations need {}, but only {} is free; reduce -p, -n, -d or --batch, or \
         use --kv-dtype q8_0 or a smaller model",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*free_bytes)
    )]
    WorkloadTooLarge {
        /// Required memory, in bytes.
        needed_bytes: u64,
        /// Free memory, in bytes.
        free_bytes: u64,
    },

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
fn location(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => String::new(),
        false => format!("{}: ", path.display()),
    }
}
