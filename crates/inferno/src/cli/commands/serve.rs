//! `inferno serve`: serves a model over HTTP.

mod access;
mod engine_watch;
mod on_demand;
mod server_args;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use inferno_engine::{EngineHandle, EngineOptions};
use inferno_server::{
    LogFormat, ModelCatalog, ServedModel, Server, ServerError, ServerOptions, init_logs, print_line,
};

use crate::Error;
use crate::cli::arguments::served_model::{PreparedModel, ServedModelArgs};
use crate::cli::arguments::values::{number_in, positive};
use crate::cli::failure::Failure;
use crate::output_file::ensure_creatable;
use crate::plural::count;
use on_demand::OnDemandArgs;
use server_args::ServerArgs;

/// Serve a model over HTTP
///
/// Implements the APIs of OpenAI (/v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings), Anthropic
/// (/v1/messages), Ollama (/api/chat) and llama-server (/completion) with continuous batching, and serves a chat page at
/// /. On SIGTERM or Ctrl-C, running requests are completed before the server exits. If its engine fails or the model file
/// is overwritten, it reports that for 10 seconds and exits with status 1.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno serve
  inferno serve -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 --context 8192 --port 8000
  inferno serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt
  inferno serve -m model.gguf --prefix-cache-file prefixes.bin --speculate 8
  inferno serve --on-demand

Send a request:
  curl http://127.0.0.1:8080/v1/chat/completions \\
    -H 'Content-Type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    model: ServedModelArgs,
    /// Maximum number of waiting requests; further requests are rejected with status 429
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = EngineOptions::default().max_num_waiting)]
    max_num_waiting: usize,
    /// Target for the time between two tokens of running streams while prompts are processed, in milliseconds: prompts
    /// are split into smaller chunks to meet it; 0 always uses chunks of --max-num-batched-tokens
    #[arg(long, value_name = "MS", value_parser = number_in(0..=MAX_TARGET_ITL), default_value_t = 100)]
    target_itl: usize,
    /// Schedule requests by their priority field, which is ignored otherwise; lower values are scheduled first
    #[arg(long)]
    allow_priority: bool,
    /// Save the prefix cache to this file on shutdown, and load it on startup. At most as large as the KV cache; readable
    /// only by its owner
    #[arg(long, value_name = "FILE", conflicts_with = "no_prefix_cache")]
    prefix_cache_file: Option<PathBuf>,
    /// Format of the log on standard error; set RUST_LOG to filter it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormatArg,
    #[command(flatten)]
    on_demand: OnDemandArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The longest target for the time between two tokens, in milliseconds.
const MAX_TARGET_ITL: usize = 60_000;

#[derive(Clone, Copy, ValueEnum)]
enum LogFormatArg {
    /// One line of text per event
    Text,
    /// One JSON object per event
    Json,
}

/// How clients reach the server.
#[derive(Clone, Copy)]
struct Access {
    scheme: &'static str,
    has_keys: bool,
}

impl Access {
    fn of(options: &ServerOptions) -> Self {
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        Self { scheme, has_keys: !options.api_keys.is_empty() }
    }
}

impl ServeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let options = self.server.options()?;
        self.model.check()?;
        if self.on_demand.is_enabled(&self.model)? {
            return self.serve_on_demand(options);
        }
        let model = self.model.open(self.target_itl())?;
        if self.model.is_dry_run() {
            return self.model.report_memory(&model);
        }
        if let Some(path) = &self.prefix_cache_file {
            ensure_creatable(path)?;
            EngineHandle::check_save_prefixes(path).map_err(Error::from)?;
        }
        // What cannot be served is reported before the address is.
        let model = self.model.prepare(model)?;
        self.init_logs()?;
        let access = Access::of(&options);
        let server = Server::bind(options).map_err(Error::from)?;
        let can_chat = model.generates_text() && model.has_chat_template();
        if model.generates_text() && !can_chat {
            print_line(
                "warning: the model has no chat template: it continues text, but cannot chat; set one with --chat-template",
            );
        }
        self.print_address(access, server.address(), can_chat);
        server.run(move || self.load(model)).map_err(|error| match error {
            // Loading errors are reported as in every other command.
            ServerError::Load(cause) => match cause.downcast::<Error>() {
                Ok(error) => Failure::from(*error),
                Err(cause) => Failure::from(Error::from(ServerError::Load(cause))),
            },
            error => Failure::from(Error::from(error)),
        })
    }

    fn serve_on_demand(self, options: ServerOptions) -> Result<(), Failure> {
        self.init_logs()?;
        let access = Access::of(&options);
        let (target_itl, engine) = (self.target_itl(), self.engine_options());
        let server = Server::bind(options).map_err(Error::from)?;
        let address = server.address();
        let catalog = self.on_demand.catalog(&self.model, target_itl, engine)?;
        let models = catalog.models().map_err(ServerError::Load).map_err(Error::from)?;
        match models.len() {
            0 => print_line(
                "warning: no models found; download one with inferno pull, or copy GGUF files into --models-dir",
            ),
            number => print_line(&format!("{} can be loaded on demand", count(number, "model"))),
        }
        self.print_address(access, address, true);
        let loading = self.on_demand.options();
        Ok(server.run_on_demand(Arc::new(catalog), loading).map_err(Error::from)?)
    }

    fn init_logs(&self) -> Result<(), Failure> {
        let logs = init_logs(match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        });
        Ok(logs.map_err(|error| Error::from(ServerError::Runtime(error)))?)
    }

    fn target_itl(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.target_itl as u64)).filter(|target| !target.is_zero())
    }

    fn engine_options(&self) -> EngineOptions {
        EngineOptions {
            max_num_waiting: self.max_num_waiting,
            honor_priority: self.allow_priority,
            ..EngineOptions::default()
        }
    }

    /// Prints the address of the server and, for people, how to use it, with a model that `can_chat` or not.
    fn print_address(&self, access: Access, address: SocketAddr, can_chat: bool) {
        let Access { scheme, has_keys } = access;
        print_line(&format!("listening on {scheme}://{address}"));
        if let LogFormatArg::Json = self.log_format {
            return;
        }
        let host = match address.ip().is_unspecified() {
            true => format!("localhost:{}", address.port()),
            false => address.to_string(),
        };
        if can_chat {
            print_line(&format!("open {scheme}://{host} in a browser to chat"));
        }
        if !has_keys && !address.ip().is_loopback() {
            print_line(
                "warning: other machines can use this server without a key; set --api-key or --api-key-file",
            );
        }
    }

    /// Loads the model, and the prefix cache from its file, and watches the engine.
    fn load(&self, model: PreparedModel) -> Result<ServedModel, Error> {
        let served = self.model.load(model, self.engine_options())?;
        let served = match &self.prefix_cache_file {
            Some(path) => served.with_prefix_cache_file(path.clone()).map_err(|error| *error)?,
            None => served,
        };
        let watching = engine_watch::start(served.watch());
        watching.map_err(|error| Error::from(ServerError::Runtime(error)))?;
        Ok(served)
    }
}
