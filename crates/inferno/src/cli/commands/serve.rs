//! `inferno serve`: serves a model over HTTP.

mod access;
mod server_args;

use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;
use inferno_chat::ChatTemplate;
use inferno_engine::{EngineHandle, EngineOptions, Pooling};
use inferno_gguf::Gguf;
use inferno_server::{
    LogFormat, ModelFile, ServedModel, Server, ServerError, init_logs, print_line,
};

use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::limits::ContextArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::sampling::SamplingArgs;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::{OrDefault, number_in, or_default, positive, whole};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::template_of;
use crate::cli::terminal::note::print_note;
use crate::output_file::ensure_creatable;
use crate::{BatchLimits, Error, LoadOptions, Model};
use server_args::ServerArgs;

/// Serve a model over HTTP
///
/// Implements the APIs of OpenAI (/v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings), Anthropic
/// (/v1/messages), Ollama (/api/chat) and llama-server (/completion) with continuous batching, and serves a chat page at
/// /. On SIGTERM or Ctrl-C, running requests are completed before the server exits.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno serve
  inferno serve -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 --context 8192 --port 8000
  inferno serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt
  inferno serve -m model.gguf --prefix-cache-file prefixes.bin --speculate 8

Send a request:
  curl http://127.0.0.1:8080/v1/chat/completions \\
    -H 'Content-Type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Name of the model in API requests; can be repeated, and * accepts any further name [default: the file name, and *]
    #[arg(long, value_name = "NAME")]
    served_model_name: Vec<String>,
    /// Use the chat template in this file instead of the one in the model file; chatml is built in
    #[arg(long, value_name = "FILE")]
    chat_template: Option<std::path::PathBuf>,
    /// Parse special tokens in messages, such as <|im_end|>, which are encoded as text otherwise
    #[arg(long)]
    parse_special: bool,
    #[command(flatten)]
    context: ContextArgs,
    /// Size of the KV cache in tokens, shared by running sequences and cached prefixes [default: 4 times the context]
    #[arg(long, value_name = "N", value_parser = positive)]
    kv_cache_tokens: Option<usize>,
    /// Maximum number of sequences in a batch
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_SEQUENCES), default_value_t = DEFAULT_SEQUENCES)]
    max_num_seqs: usize,
    /// Maximum number of tokens per forward pass, over all sequences
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = 256)]
    max_num_batched_tokens: usize,
    /// Maximum number of waiting requests; further requests are rejected with status 429
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = EngineOptions::default().max_num_waiting)]
    max_num_waiting: usize,
    /// Target for the time between two tokens of running streams while prompts are processed, in milliseconds: prompts
    /// are split into smaller chunks to meet it; 0 always uses chunks of --max-num-batched-tokens
    #[arg(long, value_name = "MS", value_parser = number_in(0..=MAX_TARGET_ITL), default_value_t = 100)]
    target_itl: usize,
    /// Whether the model reasons before it answers, if the chat template has a switch (enable_thinking) and the request does
    /// not set it
    #[arg(long, value_name = "MODE", default_value = "auto")]
    reasoning: ReasoningArg,
    /// Maximum number of reasoning tokens of an answer, for models with reasoning tags; requests may set a lower limit
    /// [default: -1, no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = or_default(whole::<usize>))]
    reasoning_budget: Option<OrDefault<usize>>,
    /// Schedule requests by their priority field, which is ignored otherwise; lower values are scheduled first
    #[arg(long)]
    allow_priority: bool,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Disable reuse of cached prompt prefixes
    #[arg(long)]
    no_prefix_cache: bool,
    /// Save the prefix cache to this file on shutdown, and load it on startup. At most as large as the KV cache; readable
    /// only by its owner
    #[arg(long, value_name = "FILE", conflicts_with = "no_prefix_cache")]
    prefix_cache_file: Option<std::path::PathBuf>,
    /// Pooling of hidden states for /v1/embeddings [default: from the model file, else last]
    #[arg(long, value_name = "POOLING")]
    pooling: Option<PoolingArg>,
    /// Format of the log on standard error; set RUST_LOG to filter it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormatArg,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// Checks that the part of a model for the GPU fits in its memory, as far as that is known.
///
/// **Errors**: those of [`Model::estimate`], [`Error::GpuTooSmall`].
fn check_gpu_memory(model: &Model) -> Result<(), Error> {
    let Some(gpu) = model.estimate()?.gpu else { return Ok(()) };
    let needed_bytes = gpu.footprint.device_bytes() as u64;
    match gpu.memory_bytes {
        Some(memory_bytes) if !gpu.fits() => Err(Error::GpuTooSmall { needed_bytes, memory_bytes }),
        _ => Ok(()),
    }
}

/// The largest batch. Each sequence needs a row of logits.
const MAX_SEQUENCES: usize = 1 << 16;

/// The longest target for the time between two tokens, in milliseconds.
const MAX_TARGET_ITL: usize = 60_000;

/// Default maximum number of sequences in a batch.
const DEFAULT_SEQUENCES: usize = 64;

/// The value of `--served-model-name` that accepts any name.
const ANY_NAME: &str = "*";

/// Default size of the KV cache, in multiples of the context length.
const DEFAULT_CONTEXTS: usize = 4;

#[derive(Clone, Copy, ValueEnum)]
enum PoolingArg {
    /// Hidden state of the last token
    Last,
    /// Mean of the hidden states of all tokens
    Mean,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReasoningArg {
    /// Reason before every answer
    On,
    /// Answer directly
    Off,
    /// The chat template decides
    Auto,
}

impl ReasoningArg {
    fn switch(self) -> Option<bool> {
        match self {
            Self::On => Some(true),
            Self::Off => Some(false),
            Self::Auto => None,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormatArg {
    /// One line of text per event
    Text,
    /// One JSON object per event
    Json,
}

impl ServeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.sampling.check()?;
        let options = self.server.options()?;
        let model = self.model()?;
        if self.compute.dry_run {
            return dry_run::report(&model, "reduce --kv-cache-tokens or --context");
        }
        // What cannot fit is reported before the address is.
        check_gpu_memory(&model)?;
        let template = self.checked_files(&model)?;
        let logs = init_logs(match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        });
        logs.map_err(|error| Error::from(ServerError::Runtime(error)))?;
        let has_keys = !options.api_keys.is_empty();
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let server = Server::bind(options).map_err(Error::from)?;
        self.print_address(scheme, server.address(), has_keys);
        server.run(move || self.load(&model, template)).map_err(|error| match error {
            // Loading errors are reported as in every other command.
            ServerError::Load(cause) => match cause.downcast::<Error>() {
                Ok(error) => Failure::from(*error),
                Err(cause) => Failure::from(Error::from(ServerError::Load(cause))),
            },
            error => Failure::from(Error::from(error)),
        })
    }

    /// Returns the chat template, and checks that the prefix cache can be saved, before the server listens.
    fn checked_files(&self, model: &Model) -> Result<Option<ChatTemplate>, Error> {
        if let Some(path) = &self.prefix_cache_file {
            ensure_creatable(path)?;
            EngineHandle::check_save_prefixes(path)?;
        }
        template_of(self.chat_template.as_deref(), model.checkpoint().metadata())
    }

    /// Opens the model, with options for many sequences.
    fn model(&self) -> Result<Model, Failure> {
        // Every sequence and every draft token needs a row of logits. One more token keeps a prompt progressing.
        let limits = BatchLimits {
            max_num_tokens: self.max_num_batched_tokens.max(self.max_num_seqs + 1),
            max_num_logit_rows: self.max_num_seqs.max(self.speculate.num_rows()),
        };
        let checkpoint = self.source.open()?;
        let context = self.context.length(&checkpoint)?;
        let load = self.compute.options(&checkpoint, context, limits);
        let model = Model::from(checkpoint).with_options(load);
        let one = model.context_length()?;
        if let Some(tokens) = self.kv_cache_tokens.filter(|&tokens| tokens < one) {
            print_note(&format!(
                "note: the KV cache of {tokens} tokens is smaller than the context of {one} tokens; requests are limited to \
                 {tokens} tokens"
            ));
        }
        let cache_tokens = Some(self.kv_cache_tokens.unwrap_or(DEFAULT_CONTEXTS * one));
        Ok(model.with_options(LoadOptions {
            cache_tokens,
            max_num_sequences: Some(self.max_num_seqs),
            prefix_cache: !self.no_prefix_cache,
            speculation: self.speculate.is_enabled(),
            warm_up: true,
            target_itl: (self.target_itl > 0)
                .then(|| Duration::from_millis(self.target_itl as u64)),
            ..load
        }))
    }

    /// Prints the address of the server and, for people, how to use it.
    fn print_address(&self, scheme: &str, address: SocketAddr, has_keys: bool) {
        print_line(&format!("listening on {scheme}://{address}"));
        if let LogFormatArg::Json = self.log_format {
            return;
        }
        let host = match address.ip().is_unspecified() {
            true => format!("localhost:{}", address.port()),
            false => address.to_string(),
        };
        print_line(&format!("open {scheme}://{host} in a browser to chat"));
        if !has_keys && !address.ip().is_loopback() {
            print_line(
                "warning: other machines can use this server without a key; set --api-key or --api-key-file",
            );
        }
    }

    /// Loads the model and starts its engine.
    fn load(&self, model: &Model, template: Option<ChatTemplate>) -> Result<ServedModel, Error> {
        let checkpoint = model.checkpoint();
        let sampling = self.sampling.params(checkpoint.metadata())?;
        let pooling = match self.pooling {
            Some(PoolingArg::Last) => Pooling::Last,
            Some(PoolingArg::Mean) => Pooling::Mean,
            None => Pooling::recommended(checkpoint.metadata())?.unwrap_or_default(),
        };
        let engine = with_loading_bar(model, |on_progress| model.load_with(on_progress))?.engine(
            EngineOptions {
                max_num_waiting: self.max_num_waiting,
                num_speculative_tokens: self.speculate.num_drafts(),
                honor_priority: self.allow_priority,
            },
        )?;
        let served = ServedModel::new(engine, self.names(checkpoint))
            .with_sampling(sampling)
            .with_pooling(pooling)
            .with_reasoning(self.reasoning.switch())
            .with_reasoning_budget(OrDefault::value_of(self.reasoning_budget))
            .with_file(ModelFile::of(checkpoint))
            .with_gpu_bytes(model.gpu_bytes() as u64);
        let served = match template {
            Some(template) => {
                served.with_chat_template(template.with_parsed_contents(self.parse_special))
            }
            None => served,
        };
        let served = match self.accepts_any_name() {
            true => served.with_any_name(),
            false => served,
        };
        Ok(match &self.prefix_cache_file {
            Some(path) => served.with_prefix_cache_file(path.clone()).map_err(|error| *error)?,
            None => served,
        })
    }

    /// Returns whether requests may use any model name: clients often have one built in.
    fn accepts_any_name(&self) -> bool {
        self.served_model_name.is_empty() || self.served_model_name.iter().any(|it| it == ANY_NAME)
    }

    /// Returns the names of the model; responses contain the first.
    fn names(&self, checkpoint: &Gguf) -> Vec<String> {
        let names: Vec<_> =
            self.served_model_name.iter().filter(|it| *it != ANY_NAME).cloned().collect();
        if !names.is_empty() {
            return names;
        }
        vec![self.source.name().unwrap_or_else(|| {
            let name = checkpoint.metadata().optional::<String>("general.name").ok().flatten();
            name.unwrap_or_else(|| "model".to_owned())
        })]
    }
}
