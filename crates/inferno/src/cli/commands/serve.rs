//! `inferno serve`: the model over HTTP.

mod server_args;

use std::sync::Arc;

use clap::ValueEnum;
use inferno_engine::{Engine, EngineOptions, Pooling};
use inferno_gguf::Gguf;
use inferno_server::{LogFormat, ServedModel, Server, ServerError, init_logs, print_line};

use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::{number_in, positive};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::template_of;
use crate::cli::terminal::note::print_note;
use crate::{BatchLimits, Error, LoadOptions, Model, SamplingParams};
use server_args::ServerArgs;

/// Serve a model over HTTP.
///
/// Speaks OpenAI's API (/v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings) and Anthropic's
/// (/v1/messages), to many clients at once. Ends on SIGTERM or Ctrl-C when what runs has been answered.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno serve
  inferno serve -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 --context 8192 --port 8000
  inferno serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt --tls-cert cert.pem --tls-key key.pem
  inferno serve -m model.gguf --prefix-cache-file model.prefixes --speculate 8
  curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
       -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    server: ServerArgs,
    /// What requests call the model; may be repeated [default: the file's name].
    #[arg(long, value_name = "NAME")]
    served_model_name: Vec<String>,
    /// Take the chat template from this file instead of the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<std::path::PathBuf>,
    #[command(flatten)]
    compute: ComputeArgs,
    /// Tokens that a prompt and its answer may have together [default: the model's own limit, at most 4096].
    #[arg(long, value_name = "N", value_parser = positive)]
    context: Option<usize>,
    /// Tokens that the KV cache holds, of all sequences and of what is kept for later ones [default: four times the context].
    #[arg(long, value_name = "N", value_parser = positive)]
    kv_cache_tokens: Option<usize>,
    /// Sequences that are computed together.
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_SEQUENCES), default_value_t = EngineOptions::default().max_num_sequences)]
    max_num_seqs: usize,
    /// Tokens that one forward pass computes, of all sequences together.
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = 256)]
    max_num_batched_tokens: usize,
    /// Requests that may wait; further ones are answered 429.
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = EngineOptions::default().max_num_waiting)]
    max_num_waiting: usize,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Compute every prompt whole, even where an earlier one began alike.
    #[arg(long)]
    no_prefix_cache: bool,
    /// Keep the prefix cache in this file: written when the server stops, taken in when it starts. It is no larger than the KV
    /// cache, and readable by its owner alone.
    #[arg(long, value_name = "FILE", conflicts_with = "no_prefix_cache")]
    prefix_cache_file: Option<std::path::PathBuf>,
    /// How the hidden states of a text become its vector on /v1/embeddings [default: what the file asks for, else last].
    #[arg(long, value_name = "WHICH")]
    pooling: Option<PoolingArg>,
    /// How the log looks, which is on standard error; RUST_LOG chooses what is in it.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormatArg,
}

/// The most sequences at once: each takes a row of logits.
const MAX_SEQUENCES: usize = 1 << 16;

/// Contexts that the KV cache holds where nothing else is asked for.
const DEFAULT_CONTEXTS: usize = 4;

#[derive(Clone, Copy, ValueEnum)]
enum PoolingArg {
    /// The last token's stands for all.
    Last,
    /// Their mean.
    Mean,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormatArg {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl ServeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let options = self.server.options()?;
        // A sequence needs a row of logits at each step, and so does a draft; a prompt needs at least one token beside them
        // all.
        let limits = BatchLimits {
            max_num_tokens: self.max_num_batched_tokens.max(self.max_num_seqs + 1),
            max_num_logit_rows: self.max_num_seqs.max(1 + self.speculate.speculate),
        };
        let checkpoint = self.source.open()?;
        let load = self.compute.options(self.context, limits);
        let model = Model::from(checkpoint).with_options(load);
        let one = model.context_length()?;
        if let Some(tokens) = self.kv_cache_tokens.filter(|&tokens| tokens < one) {
            print_note(&format!(
                "note: a KV cache of {tokens} tokens holds less than the context of {one}; a prompt and its answer have \
                 {tokens} tokens at most"
            ));
        }
        let cache_tokens = Some(self.kv_cache_tokens.unwrap_or(DEFAULT_CONTEXTS * one));
        let model = model.with_options(LoadOptions { cache_tokens, ..load });
        if self.compute.dry_run {
            return Ok(dry_run::report(&model)?);
        }
        let logs = init_logs(match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        });
        logs.map_err(|error| Error::from(ServerError::Runtime(error)))?;
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let server = Server::bind(options).map_err(Error::from)?;
        print_line(&format!("listening on {scheme}://{}", server.address()));
        server.run(move || self.load(&model)).map_err(|error| match error {
            // What loading said is said as any command says it.
            ServerError::Load(cause) => match cause.downcast::<Error>() {
                Ok(error) => Failure::from(*error),
                Err(cause) => Failure::from(Error::from(ServerError::Load(cause))),
            },
            error => Failure::from(Error::from(error)),
        })
    }

    /// Loads the model and starts its engine.
    fn load(&self, model: &Model) -> Result<ServedModel, Error> {
        let checkpoint = model.checkpoint();
        let template = template_of(self.chat_template.as_deref(), checkpoint.metadata())?;
        let sampling = SamplingParams::recommended(checkpoint.metadata())?;
        let pooling = match self.pooling {
            Some(PoolingArg::Last) => Pooling::Last,
            Some(PoolingArg::Mean) => Pooling::Mean,
            None => Pooling::recommended(checkpoint.metadata())?.unwrap_or_default(),
        };
        let tokenizer = Arc::new(model.tokenizer()?);
        let runner = with_loading_bar(|on_progress| model.runner(on_progress))?;
        let engine = Engine::start(
            runner,
            tokenizer,
            EngineOptions {
                max_num_sequences: self.max_num_seqs,
                max_num_waiting: self.max_num_waiting,
                prefix_cache: !self.no_prefix_cache,
                num_speculative_tokens: self.speculate.speculate,
            },
        )?;
        let served = ServedModel::new(engine, self.names(checkpoint))
            .with_sampling(sampling)
            .with_pooling(pooling);
        let served = match template {
            Some(template) => served.with_chat_template(template),
            None => served,
        };
        Ok(match &self.prefix_cache_file {
            Some(path) => served.with_prefix_cache_file(path.clone()).map_err(|error| *error)?,
            None => served,
        })
    }

    /// What requests may call the model.
    fn names(&self, checkpoint: &Gguf) -> Vec<String> {
        if !self.served_model_name.is_empty() {
            return self.served_model_name.clone();
        }
        vec![self.source.name().unwrap_or_else(|| {
            let name = checkpoint.metadata().optional::<String>("general.name").ok().flatten();
            name.unwrap_or_else(|| "model".to_owned())
        })]
    }
}
