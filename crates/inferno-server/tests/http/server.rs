//! Servers for tests, each on a port of its own.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use inferno_chat::ChatTemplate;
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_engine::{
    CoreOptions, Engine, EngineOptions, Fingerprint, GenerationCore, ModelRunner, Pooling, Runner,
    RunnerOptions, SamplingParams,
};
use inferno_gguf::{Gguf, Metadata};
use inferno_model::{BatchLimits, Model};
use inferno_server::{
    ModelCatalog, ModelFile, ModelInfo, OnDemandOptions, ServedModel, Server, ServerError,
    ServerOptions,
};
use inferno_tokenizer::Tokenizer;
use tokio::sync::Notify;

use crate::client::get;
use crate::fragile_runner::FragileRunner;

/// The embedded model.
pub const EMBER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ember.gguf");

/// A server that runs until it is stopped or dropped.
pub struct TestServer {
    pub address: SocketAddr,
    stop: Arc<Notify>,
    thread: JoinHandle<Result<(), ServerError>>,
}

/// The server shared by most tests.
pub fn shared() -> SocketAddr {
    static SHARED: OnceLock<SocketAddr> = OnceLock::new();
    *SHARED.get_or_init(|| start(ServerOptions::default()).address)
}

/// The server of tests that expect unknown fields to be rejected.
pub fn strict() -> SocketAddr {
    static STRICT: OnceLock<SocketAddr> = OnceLock::new();
    *STRICT.get_or_init(|| {
        start(ServerOptions { strict_fields: true, ..ServerOptions::default() }).address
    })
}

/// Starts a server with these options, on a free port, and waits until it is ready.
pub fn start(options: ServerOptions) -> TestServer {
    let server = start_with(options, EngineOptions::default());
    server.wait_until_ready();
    server
}

/// Starts a server with modified tokenizer metadata, and waits until it is ready.
pub fn start_changed(change: fn(&mut Metadata)) -> TestServer {
    let setup = Setup { change, ..Setup::default() };
    let server = launch(ServerOptions::default(), EngineOptions::default(), setup);
    server.wait_until_ready();
    server
}

/// Starts a server whose model reasons unless a request switches it off, and waits until it is ready.
pub fn start_with_reasoning() -> TestServer {
    let setup = Setup { reasoning: Some(true), ..Setup::default() };
    let server = launch(ServerOptions::default(), EngineOptions::default(), setup);
    server.wait_until_ready();
    server
}

/// Starts a server with its prefix cache in this file, and waits until it is ready.
pub fn start_keeping(prefix_cache_file: PathBuf) -> TestServer {
    let setup = Setup { prefix_cache_file: Some(prefix_cache_file), ..Setup::default() };
    let server = launch(ServerOptions::default(), EngineOptions::default(), setup);
    server.wait_until_ready();
    server
}

/// Starts a server whose engine panics on [`DEADLY`](crate::fragile_runner::DEADLY), and waits until it is ready.
pub fn start_fragile() -> TestServer {
    let setup = Setup { is_fragile: true, ..Setup::default() };
    let server = launch(ServerOptions::default(), EngineOptions::default(), setup);
    server.wait_until_ready();
    server
}

/// Starts a server with the model in this file, and waits until it is ready.
pub fn start_with_model(options: ServerOptions, model: PathBuf) -> TestServer {
    let server = launch(options, EngineOptions::default(), Setup { model, ..Setup::default() });
    server.wait_until_ready();
    server
}

/// Starts a server that loads its model once the sender is dropped, and does not wait.
pub fn start_held() -> (TestServer, Sender<()>) {
    let (hold, held) = channel();
    let setup = Setup { held: Some(held), ..Setup::default() };
    (launch(ServerOptions::default(), EngineOptions::default(), setup), hold)
}

/// Starts a server, and does not wait.
pub fn start_with(options: ServerOptions, engine: EngineOptions) -> TestServer {
    launch(options, engine, Setup::default())
}

/// Starts a server that computes one sequence at a time, and waits until it is ready.
pub fn start_with_one_sequence(engine: EngineOptions) -> TestServer {
    let setup = Setup { max_num_sequences: Some(1), ..Setup::default() };
    let server = launch(ServerOptions::default(), engine, setup);
    server.wait_until_ready();
    server
}

/// Starts a server with a KV cache of the given number of tokens, and does not wait.
pub fn start_with_cache(
    options: ServerOptions,
    engine: EngineOptions,
    cache_tokens: usize,
) -> TestServer {
    launch(options, engine, Setup { cache_tokens, ..Setup::default() })
}

/// Changes to a server's model.
struct Setup {
    names: Vec<String>,
    /// Names that are not listed.
    aliases: Vec<String>,
    model: PathBuf,
    cache_tokens: usize,
    /// Modifies the file's metadata before the tokenizer is built from it.
    change: fn(&mut Metadata),
    prefix_cache_file: Option<PathBuf>,
    reasoning: Option<bool>,
    max_num_sequences: Option<usize>,
    is_fragile: bool,
    /// Loading waits until this channel closes.
    held: Option<Receiver<()>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            names: vec!["ember".to_owned(), "alias".to_owned()],
            aliases: Vec::new(),
            model: PathBuf::from(EMBER),
            cache_tokens: 8192,
            change: |_| (),
            prefix_cache_file: None,
            reasoning: None,
            max_num_sequences: None,
            is_fragile: false,
            held: None,
        }
    }
}

fn launch(options: ServerOptions, engine: EngineOptions, setup: Setup) -> TestServer {
    spawn(options, move |server, stop| server.run_until(move || load(engine, setup), stop))
}

/// Starts a server that loads models on demand.
pub fn start_on_demand(
    options: ServerOptions,
    catalog: Arc<dyn ModelCatalog>,
    on_demand: OnDemandOptions,
) -> TestServer {
    spawn(options, move |server, stop| server.run_on_demand_until(catalog, on_demand, stop))
}

/// Loads the embedded model under other names, of which the first is listed.
pub fn load_named(mut names: Vec<String>) -> Result<ServedModel, Box<dyn Error + Send + Sync>> {
    let aliases = names.split_off(1);
    let setup = Setup { names, aliases, ..Setup::default() };
    load(EngineOptions::default(), setup)
}

type Stopped = Pin<Box<dyn Future<Output = ()>>>;

/// Binds a free port, and runs a server on a thread of its own.
fn spawn(
    options: ServerOptions,
    run: impl FnOnce(Server, Box<dyn Fn() -> Stopped>) -> Result<(), ServerError> + Send + 'static,
) -> TestServer {
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let server = Server::bind(ServerOptions { address, ..options }).expect("a port is free");
    let address = server.address();
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let stop = move || -> Stopped {
            let stop = Arc::clone(&stopped);
            Box::pin(async move { stop.notified().await })
        };
        run(server, Box::new(stop))
    });
    TestServer { address, stop, thread }
}

impl TestServer {
    pub fn wait_until_ready(&self) {
        let started = Instant::now();
        while get(self.address, "/health").status != 200 {
            assert!(started.elapsed() < crate::client::PATIENCE, "the model is not loaded");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a shutdown, as SIGTERM does.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until the server has stopped.
    pub fn join(self) {
        self.thread.join().expect("the server does not panic").expect("it ends in order");
    }
}

fn load(options: EngineOptions, setup: Setup) -> Result<ServedModel, Box<dyn Error + Send + Sync>> {
    if let Some(held) = setup.held {
        held.recv().expect_err("nothing is sent");
    }
    let checkpoint = Gguf::open(&setup.model)?;
    let mut metadata = checkpoint.metadata().clone();
    (setup.change)(&mut metadata);
    let tokenizer = Arc::new(Tokenizer::from_metadata(&metadata)?);
    let template = ChatTemplate::from_metadata(&metadata).expect("the template compiles");
    let sampling = SamplingParams::recommended(&metadata)?;
    let backend = CpuBackend::new(CpuOptions { isa: None, threads: Some(1) })?;
    let model = Model::load(&checkpoint, Arc::new(backend), None, &mut |_| {})?;
    let limits = BatchLimits { max_num_tokens: 128, max_num_logit_rows: 64 };
    let fingerprint = Fingerprint::of_model(&checkpoint, None);
    let runner = ModelRunner::new(
        model,
        fingerprint,
        RunnerOptions {
            limits,
            cache_tokens: Some(setup.cache_tokens),
            ..RunnerOptions::default()
        },
    )?
    .with_watch(checkpoint.watch());
    let runner: Box<dyn Runner> = match setup.is_fragile {
        true => Box::new(FragileRunner(runner)),
        false => Box::new(runner),
    };
    let core_options =
        CoreOptions { max_num_sequences: setup.max_num_sequences, ..CoreOptions::default() };
    let engine = Engine::start(&GenerationCore::new(runner, tokenizer, core_options)?, options)?;
    assert!(template.is_some(), "the model has a template");
    let info = ModelInfo::new(setup.names)
        .with_aliases(setup.aliases)
        .with_chat_template(template)
        .with_sampling(sampling)
        .with_reasoning(setup.reasoning)
        .with_file(ModelFile::of(&checkpoint));
    let served = ServedModel::new(engine, info)
        .with_pooling(Pooling::recommended(&metadata)?.unwrap_or_default());
    Ok(match setup.prefix_cache_file {
        Some(path) => served.with_prefix_cache_file(path)?,
        None => served,
    })
}
