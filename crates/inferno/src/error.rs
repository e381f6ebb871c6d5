//! Everything that can go wrong above the engine, as data.

use std::io;
use std::path::PathBuf;

use indicatif::BinaryBytes;
use inferno_backend::BackendError;
use inferno_engine::EngineError;
use inferno_model::ModelError;
use inferno_server::ServerError;
use inferno_tensor::{DType, TensorError};
use inferno_tokenizer::{ChatTemplateError, TokenizerError};

use crate::{BackendChoice, HubReference, Recipe};

/// Why a model could not be found, loaded, run or converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file in question.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Standard input could not be read.
    #[error("cannot read standard input: {0}")]
    Stdin(#[source] io::Error),
    /// Results could not be written.
    #[error("cannot write to standard output: {0}")]
    Stdout(#[source] io::Error),

    /// A server that was to be measured cannot be.
    #[error("cannot measure the server at {url}: {cause}")]
    ServerNotMeasured {
        /// Where the server is.
        url: String,
        /// What went wrong.
        cause: String,
    },

    /// A text is not UTF-8.
    #[error(
        "{input} is not valid UTF-8 at byte {offset}; models read UTF-8 text, so convert it first"
    )]
    InvalidUtf8 {
        /// Where the text came from.
        input: String,
        /// Where the first invalid byte stands.
        offset: usize,
    },
    /// A request is no JSON object.
    #[error("{input} is not a JSON object such as {{\"messages\": […]}}: {source}")]
    InvalidJson {
        /// Where the text came from.
        input: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A model cannot be talked to without a template.
    #[error(
        "the model has no chat template (tokenizer.chat_template in its file); pass one with --chat-template FILE, \
         or let inferno generate go on with a plain text, without --chat"
    )]
    NoChatTemplate,
    /// A conversation does not take turns.
    #[error(
        "messages[{index}] of {input} is {}, expected one of the {expected}; a conversation is one message of the \
         system at most, then the user's and the assistant's in turn",
        found.map_or("missing".to_owned(), |role| format!("of the {role}"))
    )]
    MessageOutOfTurn {
        /// Where the conversation came from.
        input: String,
        /// The message's place in the list.
        index: usize,
        /// Whose message would have its turn.
        expected: &'static str,
        /// Whose message stands there, if any does.
        found: Option<&'static str>,
    },
    /// A conversation would be written over something else.
    #[error(
        "{} exists and is no conversation that inferno chat saved; choose another name",
        path.display()
    )]
    ConversationNotReplaced {
        /// The output.
        path: PathBuf,
    },
    /// A list of token ids is not one.
    #[error("{input} is not a JSON array of token ids such as [1, 2, 3]: {source}")]
    InvalidIds {
        /// Where the text came from.
        input: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },

    /// A file has no such metadata key.
    #[error(
        "the file has no metadata key {key:?}; {}",
        if similar.is_empty() { "inferno inspect lists all keys".to_owned() } else { format!("similar keys:{}", list(similar)) }
    )]
    NoSuchKey {
        /// The key that was asked for.
        key: String,
        /// Keys that contain it.
        similar: Vec<String>,
    },

    /// No model was named, and none is built in.
    #[error("no model was given; pass -m FILE or -m hf:owner/repo")]
    NoModel,
    /// No backend has this name.
    #[error("unknown backend {found:?}; expected one of {}", BackendChoice::ALL.map(BackendChoice::name).join(", "))]
    UnknownBackend {
        /// The name.
        found: String,
    },
    /// The backend is not part of this build.
    #[error(
        "this build has no {backend} backend; use --backend parallel, which runs on the processor"
    )]
    BackendNotBuilt {
        /// The name that was given.
        backend: &'static str,
    },
    /// A choice does not go with the backend.
    #[error(
        "{option} does not apply to the {backend} backend; leave it out, or use --backend parallel"
    )]
    BackendOption {
        /// The flag.
        option: &'static str,
        /// The backend's name.
        backend: &'static str,
    },
    /// A text does not name a model on the hub.
    #[error(
        "{found:?} does not name a model on the hub; expected hf:owner/repo or hf:owner/repo:quantization"
    )]
    HubReference {
        /// The text.
        found: String,
    },
    /// No home directory is known, and no variable says where the cache is.
    #[error("there is no home directory to keep downloads in; set HF_HOME to a folder")]
    NoHome,
    /// The model is not in the cache, and the hub must not be asked.
    #[error(
        "{reference} is not in the cache, and HF_HUB_OFFLINE forbids asking the hub; unset it, or pass -m FILE"
    )]
    HubOffline {
        /// What was asked for.
        reference: HubReference,
    },
    /// The hub could not be reached, or broke off.
    #[error("the download from {endpoint} failed; run the command again to go on where it stopped")]
    Hub {
        /// The hub's address.
        endpoint: String,
        /// What the client said.
        source: Box<hf_hub::api::sync::ApiError>,
    },
    /// The hub answered, but does not give the model.
    #[error(
        "{endpoint} answered {status} for {reference}: the repository does not exist, or needs a token that may read it; \
         check the name, or set HF_TOKEN"
    )]
    HubRefused {
        /// What was asked for.
        reference: HubReference,
        /// The hub's address.
        endpoint: String,
        /// The HTTP status.
        status: u16,
    },
    /// The hub answered something that cannot be trusted.
    #[error("the hub gave {found:?} as the {what} of a file, expected letters and digits")]
    HubAnswer {
        /// What the value stands for.
        what: &'static str,
        /// The value.
        found: String,
    },
    /// A repository holds no model in this format.
    #[error(
        "{reference} holds no GGUF file of a language model; look for a repository whose name ends in GGUF"
    )]
    NoGguf {
        /// What was asked for.
        reference: HubReference,
    },
    /// A repository does not hold the quantization.
    #[error("{reference} is not there; this repository holds:{}", list(available))]
    NoSuchQuant {
        /// What was asked for.
        reference: HubReference,
        /// The models that are there.
        available: Vec<String>,
    },
    /// A repository holds several models that could be meant.
    #[error(
        "{reference} could be any of:{}\nname one, as in hf:owner/repo:Q8_0 or hf:owner/repo:FILE",
        list(matching)
    )]
    AmbiguousQuant {
        /// What was asked for.
        reference: HubReference,
        /// The models that could be meant.
        matching: Vec<String>,
    },
    /// A shard of a model is not where the others are: in the repository, or in the cache where the hub is not asked.
    #[error("{reference} cannot be taken: its shard {missing} is missing")]
    IncompleteShards {
        /// What was asked for.
        reference: HubReference,
        /// The first shard that is missing.
        missing: String,
    },
    /// A download has the wrong size.
    #[error(
        "{file} has {found} bytes, but the hub said {expected}; it was deleted, run the command again"
    )]
    DownloadSize {
        /// The file's path in the repository.
        file: String,
        /// The size that the hub stated.
        expected: u64,
        /// The size on the disk.
        found: u64,
    },
    /// A download is damaged.
    #[error(
        "{file} is damaged: its SHA-256 is {found}, expected {expected}; it was deleted, run the command again"
    )]
    Checksum {
        /// The file's path in the repository.
        file: String,
        /// The checksum that the hub stated.
        expected: String,
        /// The checksum of what came.
        found: String,
    },

    /// The output of a conversion is there already.
    #[error("{} exists; choose another name, or pass --force to replace it", path.display())]
    OutputExists {
        /// The output.
        path: PathBuf,
    },
    /// The output is a folder, a pipe or a device.
    #[error("{} is not a regular file; choose another name for the output", path.display())]
    OutputNotFile {
        /// The output.
        path: PathBuf,
    },
    /// A command would write onto the model that it reads.
    #[error("{} is the input itself; choose another name for the output", path.display())]
    OutputIsInput {
        /// The output.
        path: PathBuf,
    },
    /// A conversion would start from weights that have lost precision already.
    #[error(
        "tensor {tensor:?} is stored as {found} already, and quantizing it again loses more; start from an F32, F16 or \
         BF16 file, or pass --allow-requantize"
    )]
    AlreadyQuantized {
        /// The first such tensor.
        tensor: String,
        /// Its format.
        found: DType,
    },
    /// No recipe has this name.
    #[error("unknown format {found:?}; expected one of {}", Recipe::names().collect::<Vec<_>>().join(", "))]
    UnknownRecipe {
        /// The name.
        found: String,
    },
    /// The operating system refused a thread.
    #[error("cannot start threads: {source}; pass a smaller --threads")]
    Threads {
        /// What it said.
        source: io::Error,
    },
    /// The caller broke a long operation off.
    #[error("cancelled")]
    Cancelled,
    /// A tensor could not be converted.
    #[error("tensor {tensor:?}, row {row}: {source}")]
    QuantizeRow {
        /// The tensor.
        tensor: String,
        /// The row that failed.
        row: usize,
        /// Why.
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

    /// There is nothing to measure.
    #[error(
        "there is nothing to measure: expected a prompt (-p) or tokens to write (-n), and -n for --batch"
    )]
    EmptyWorkload,
    /// What is to be measured does not fit the model's context.
    #[error(
        "a prompt of {prompt_tokens} tokens (-p), or {decode_tokens} tokens (-n) at depth {depth} (-d), does not fit the \
         model's context of {limit}; choose smaller numbers"
    )]
    WorkloadTooLong {
        /// Tokens of the prompt.
        prompt_tokens: usize,
        /// Tokens to write.
        decode_tokens: usize,
        /// Positions before them.
        depth: usize,
        /// Positions that the model takes.
        limit: usize,
    },
    /// What is to be measured does not fit the memory.
    #[error(
        "the weights, the KV cache and the activations would take {}, but {} are free; choose smaller -p, -n, -d or \
         --batch, --kv-dtype q8_0, or a smaller model",
        BinaryBytes(*needed_bytes),
        BinaryBytes(*free_bytes)
    )]
    WorkloadTooLarge {
        /// Bytes that it would take.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },

    /// A file is at fault.
    #[error(transparent)]
    Gguf(#[from] inferno_gguf::GgufError),
    /// A tokenizer is at fault.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A chat template is malformed, or fails on a conversation.
    #[error(transparent)]
    ChatTemplate(Box<ChatTemplateError>),
    /// A model could not be loaded or run.
    #[error(transparent)]
    Model(Box<ModelError>),
    /// Generation was refused, or failed.
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

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("\n  {name}")).collect()
}
