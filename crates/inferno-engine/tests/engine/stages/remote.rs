//! Stages behind connections: the bits of one process, also when stages are lost and replaced.

use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_engine::{
    Completion, Engine, EngineError, EngineOptions, EventStream, Fingerprint, GenerationCore,
    GenerationParams, ModelRunner, RunnerOptions, Session, SessionOptions, StageAddresses,
    StageError, StageKey, StageModel, StageServer,
};
use inferno_gguf::{FileWatch, Gguf};
use inferno_model::{BatchLimits, Model, ModelSpec};

use crate::cores::core;
use crate::models::{oracle, small_models};
use crate::serving::{failure, only, submit};
use crate::session::greedy;

const CONTEXT_LENGTH: usize = 96;
const NUM_SEQUENCES: usize = 16;

fn key() -> StageKey {
    StageKey::new("a secret of the tests")
}

/// A model in a file, and how it is computed.
pub struct Source {
    checkpoint: Gguf,
    spec: ModelSpec,
}

impl Source {
    pub fn open(path: &Path) -> Self {
        let checkpoint = Gguf::open(path).expect("a sound file");
        let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model");
        Self { checkpoint, spec }
    }

    pub fn small(name: &str) -> Self {
        Self::open(&small_models().join(name).with_extension("gguf"))
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_model(&self.checkpoint, None)
    }

    fn load(&self, spec: ModelSpec) -> Model<ReferenceBackend> {
        let backend = Arc::new(ReferenceBackend::new());
        Model::load_stage(spec, None, &self.checkpoint, backend, None, &mut |_| ())
            .expect("a sound model")
    }

    /// Serves a range of layers at a free port.
    pub fn serve(&self, layers: Range<usize>) -> StageServer {
        self.serve_watched(layers, FileWatch::default())
    }

    /// As [`serve`](Self::serve), until a watched file changes.
    pub fn serve_watched(&self, layers: Range<usize>, watch: FileWatch) -> StageServer {
        let model = self.load(self.spec.stage(layers.clone()).expect("divisible layers"));
        let spec = self.spec.clone();
        let stage = StageModel::new(model, spec, layers, self.fingerprint(), watch);
        StageServer::start(stage, "127.0.0.1:0", key()).expect("a free port")
    }

    /// The layers of `num_stages` stages, or as many as there are layers.
    pub fn division(&self, num_stages: usize) -> Vec<Range<usize>> {
        let num_layers = self.spec.num_layers();
        let num_stages = num_stages.min(num_layers);
        let cut = |index: usize| index * num_layers / num_stages;
        (0..num_stages).map(|index| cut(index)..cut(index + 1)).collect()
    }

    /// Divides the model between servers of this process.
    pub fn serve_all(&self, num_stages: usize) -> Vec<StageServer> {
        let stages = self.division(num_stages).into_iter();
        stages.map(|layers| self.serve(layers)).collect()
    }

    pub fn runner(&self, addresses: &StageAddresses) -> Result<ModelRunner, Box<EngineError>> {
        let runner = ModelRunner::remote(&self.spec, self.fingerprint(), options(), addresses);
        runner.map_err(Box::new)
    }

    /// A session on the whole model in this process.
    fn session(&self) -> Session {
        let model = self.load(self.spec.clone());
        let runner = ModelRunner::new(model, self.fingerprint(), options()).expect("room for it");
        Session::new(core(runner), SessionOptions::default()).expect("room for a context")
    }

    /// What one process generates for a prompt alone.
    pub fn alone(&self, prompt: &[u32]) -> Completion {
        let mut session = self.session();
        let generation = session.generate(prompt, &params(prompt)).expect("a sound request");
        generation.complete().expect("a device that works")
    }
}

fn options() -> RunnerOptions {
    RunnerOptions {
        context_length: Some(CONTEXT_LENGTH),
        cache_tokens: Some(6 * CONTEXT_LENGTH),
        kv_dtype: Some(KvDType::F16),
        limits: BatchLimits { max_num_tokens: 32, max_num_logit_rows: 24 },
        max_num_sequences: Some(NUM_SEQUENCES),
        speculation: true,
        ..RunnerOptions::default()
    }
}

/// Sampling that reads whole rows for some prompts, and candidates for others.
fn params(prompt: &[u32]) -> GenerationParams {
    let mut params = greedy(24);
    params.sampling.temperature = 0.5;
    params.sampling.seed = Some(9);
    params.sampling.logprobs = Some(2);
    if prompt.len() == 22 {
        params.sampling.top_p = 0.9;
    }
    params
}

pub fn addresses_of(addresses: impl Iterator<Item = String>) -> StageAddresses {
    StageAddresses::new(addresses.collect(), key())
}

pub fn addresses(servers: &[StageServer]) -> StageAddresses {
    addresses_of(servers.iter().map(|server| server.address().to_string()))
}

/// Prompts with common beginnings that repeat themselves, so that blocks are shared and drafts follow from them.
pub fn prompts() -> Vec<Vec<u32>> {
    let prompt = |seed: u32| (0..20 + seed % 5).map(move |at| 2 + (at % 9 * 5 + seed / 4 * 3) % 29);
    (0..NUM_SEQUENCES as u32).map(|seed| prompt(seed).collect()).collect()
}

pub fn start(cores: &[GenerationCore]) -> Engine {
    let options = EngineOptions { num_speculative_tokens: 3, ..EngineOptions::default() };
    Engine::start_lanes(cores, options).expect("sound cores")
}

pub fn submit_all(engine: &Engine) -> Vec<EventStream> {
    prompts().iter().map(|prompt| submit(engine, prompt, &params(prompt))).collect()
}

pub fn check(source: &Source, streams: Vec<EventStream>) {
    for (prompt, stream) in prompts().iter().zip(streams) {
        assert_eq!(only(stream).0, source.alone(prompt), "{prompt:?}");
    }
}

/// Sixteen sequences on two lanes of `num_stages` stages, twice, so that the second time finds cached prefixes.
fn check_stages(source: &Source, num_stages: usize) {
    let servers = source.serve_all(num_stages);
    let addresses = addresses(&servers);
    let cores = [0, 1].map(|_| core(source.runner(&addresses).expect("stages that work")));
    let engine = start(&cores);
    for _ in 0..2 {
        check(source, submit_all(&engine));
    }
    let snapshots = cores.each_ref().map(GenerationCore::snapshot);
    assert!(snapshots.iter().all(|snapshot| snapshot.generation_tokens > 0), "{snapshots:?}");
    let counts = engine.handle().snapshot().scheduler;
    assert!(counts.drafted_tokens > 0 && counts.prefix_hits > 0, "{counts:?}");
    engine.shut_down();
}

#[test]
fn stages_generate_the_bits_of_one_process() {
    // Dense, a sliding window, a recurrent state, and a recurrent state with attention and experts.
    for name in ["qwen3", "mistral-window", "falcon-mamba", "nemotron-h-latent"] {
        check_stages(&Source::small(name), 2);
    }
}

#[test]
fn four_stages_generate_the_bits_of_one_process() {
    let Some(folder) = oracle() else { return };
    for name in ["qwen3next", "gemma3", "gpt-oss", "lfm2"] {
        let source = Source::open(&folder.join(format!("logits/{name}.gguf")));
        assert!(source.spec.num_layers() >= 3, "{name}");
        check_stages(&source, 4);
    }
}

#[test]
fn states_pass_between_stages_and_one_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    for name in ["qwen3", "mistral-window", "nemotron-h-latent"] {
        let source = Source::small(name);
        let servers = source.serve_all(2);
        let remote = || {
            let runner = source.runner(&addresses(&servers)).expect("stages that work");
            Session::new(core(runner), SessionOptions::default()).expect("room for a context")
        };
        let generate = |session: &mut Session, prompt: &[u32], max_tokens| {
            let generation = session.generate(prompt, &greedy(max_tokens)).expect("it fits");
            generation.complete().expect("a device that works").tokens
        };
        let prompt = &prompts()[5];
        let expected = generate(&mut source.session(), prompt, 12);
        let mut first = remote();
        let mut found = generate(&mut first, prompt, 4);
        first.save(&path).expect("it can be written");
        let mut second = source.session();
        second.load(&path).expect("it can be read");
        found.extend(generate(&mut second, &[], 4));
        second.save(&path).expect("it can be written");
        let mut third = remote();
        third.load(&path).expect("it can be read");
        found.extend(generate(&mut third, &[], 4));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn requests_of_a_lost_stage_are_computed_again() {
    for name in ["qwen3", "mistral-window", "falcon-mamba", "nemotron-h-latent"] {
        let source = Source::small(name);
        for lost in 0..2 {
            let mut servers = source.serve_all(2);
            let addresses = addresses(&servers);
            let cores = [0, 1].map(|_| core(source.runner(&addresses).expect("stages that work")));
            let engine = start(&cores);
            let streams = submit_all(&engine);
            let has_progressed = || engine.handle().snapshot().generation_tokens > 40;
            while !has_progressed() {
                std::thread::yield_now();
            }
            let layers = servers[lost].layers();
            drop(servers.remove(lost));
            // The requests wait for the stage, which returns at another address.
            while !engine.handle().snapshot().is_stage_lost
                && engine.handle().snapshot().num_running > 0
            {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(100));
            let replacement = source.serve(layers);
            addresses.set(lost, replacement.address().to_string());
            check(&source, streams);
            // On a busy machine, the first requests may have ended before the loss.
            check(&source, submit_all(&engine));
            let snapshot = engine.handle().snapshot();
            assert!(snapshot.failed_steps > 0 && !snapshot.is_stage_lost, "{name}");
            engine.shut_down();
        }
    }
}

#[test]
fn requests_fail_if_a_stage_does_not_return() {
    let source = Source::small("qwen3");
    let mut servers = source.serve_all(2);
    let addresses = addresses(&servers).with_recovery_timeout(Duration::from_millis(200));
    let runner = source.runner(&addresses).expect("stages that work");
    let engine = start(&[core(runner)]);
    servers.pop();
    let message = failure(submit(&engine, &prompts()[0], &greedy(24)));
    assert!(message.contains("did not return within"), "{message}");
    while engine.handle().is_alive() {
        std::thread::yield_now();
    }
}

#[test]
fn requests_fail_when_the_addresses_are_closed() {
    let source = Source::small("qwen3");
    for is_lost in [true, false] {
        let mut servers = source.serve_all(2);
        let addresses = addresses(&servers);
        assert!(!addresses.is_shared());
        let cores = [0, 1].map(|_| core(source.runner(&addresses).expect("stages that work")));
        let engine = start(&cores);
        drop(cores);
        let mut streams = Vec::new();
        if is_lost {
            servers.pop();
            streams = submit_all(&engine);
        }
        addresses.close();
        if !is_lost {
            streams.push(submit(&engine, &prompts()[0], &greedy(24)));
        }
        for stream in streams {
            assert_eq!(failure(stream), EngineError::EngineStopped.to_string());
        }
        assert!(addresses.is_shared());
        engine.shut_down();
        assert!(!addresses.is_shared());
    }
}

#[test]
fn cancelled_requests_and_deadlines_end_while_a_stage_is_lost() {
    let source = Source::small("qwen3");
    let mut servers = source.serve_all(2);
    let runner = source.runner(&addresses(&servers)).expect("stages that work");
    let engine = start(&[core(runner)]);
    servers.pop();
    drop(submit(&engine, &prompts()[0], &greedy(24)));
    let mut request = inferno_engine::Request::new(prompts()[1].clone(), greedy(24));
    request.deadline = Some(std::time::Instant::now() + Duration::from_millis(100));
    let stream = engine.handle().submit(request).expect("a sound request");
    assert_eq!(only(stream).1.reason, inferno_engine::FinishReason::DeadlineExceeded);
    while !engine.handle().is_idle() {
        std::thread::yield_now();
    }
}

#[test]
fn stages_are_checked() {
    let source = Source::small("qwen3");
    let servers = source.serve_all(2);
    let error = |addresses: StageAddresses| match source.runner(&addresses) {
        Err(error) => match *error {
            EngineError::Stage(error) => error,
            error => panic!("{error}"),
        },
        Ok(_) => panic!("stages that do not fit together"),
    };
    let of = |servers: &[&StageServer]| {
        addresses_of(servers.iter().map(|server| server.address().to_string()))
    };
    let [first, second] = &servers[..] else { panic!("two stages") };
    let found = error(of(&[first]));
    assert!(matches!(found, StageError::MissingLayers { expected: 2, found: 1 }), "{found}");
    let found = error(of(&[second, first]));
    assert!(matches!(found, StageError::OtherLayers { expected: 0, .. }), "{found}");
    let found = error(of(&[]));
    assert!(matches!(found, StageError::MissingLayers { found: 0, .. }), "{found}");
    let listed = vec![first.address().to_string()];
    let found = error(StageAddresses::new(listed, StageKey::new("another secret")));
    assert!(matches!(found, StageError::Lost { .. }), "{found}");

    let other = Source::small("mistral-window");
    let servers = other.serve_all(2);
    let found = error(addresses(&servers));
    assert!(matches!(found, StageError::Failed { .. }), "{found}");
    assert!(found.to_string().contains("another model"), "{found}");
}

/// Whether the server closes a connection that sends `bytes`.
fn closes(address: SocketAddr, bytes: &[u8]) -> bool {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    // The server may close it while it is written.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    match stream.read_to_end(&mut Vec::new()) {
        Ok(len) => len <= 72,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn strangers_are_disconnected() {
    let source = Source::small("qwen3");
    let server = source.serve(0..1);
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0xff; 4096], b"INFSTG02 and nothing else"]
    {
        assert!(closes(server.address(), bytes), "{bytes:?}");
    }
}
