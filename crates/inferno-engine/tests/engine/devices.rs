//! Saved states, prefix hits, preemption, speculation and recurrent states on real models: on every device, requests
//! generate the bits of a session of their own.

use std::path::Path;
use std::sync::Arc;

use inferno_backend::{Backend, KvDType, ReferenceBackend};
use inferno_conformance::gpu::adapter;
use inferno_engine::{
    Completion, Engine, EngineOptions, Fingerprint, GenerationCore, GenerationParams, ModelRunner,
    RunnerOptions, Session, SessionOptions, warm_up,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model};

use crate::cores::core;
use crate::models::small_models;
use crate::serving::{only, submit};
use crate::session::greedy;

/// Dense, a sliding window, a recurrent state, and a recurrent state with attention and experts.
const MODELS: [&str; 4] = ["qwen3", "mistral-window", "falcon-mamba", "nemotron-h-latent"];

const CONTEXT_LENGTH: usize = 96;

/// A model on a device.
struct Device<B: Backend> {
    checkpoint: Gguf,
    backend: Arc<B>,
}

impl<B: Backend> Device<B> {
    fn open(name: &str, backend: &Arc<B>) -> Self {
        let path = small_models().join(name).with_extension("gguf");
        let checkpoint = Gguf::open(path).expect("a sound file");
        Self { checkpoint, backend: Arc::clone(backend) }
    }

    /// A runner with a cache of one context and another `extra_tokens`.
    fn runner(&self, extra_tokens: usize) -> ModelRunner {
        let options = RunnerOptions {
            context_length: Some(CONTEXT_LENGTH),
            cache_tokens: Some(CONTEXT_LENGTH + extra_tokens),
            kv_dtype: Some(KvDType::F16),
            limits: BatchLimits { max_num_tokens: 20, max_num_logit_rows: 12 },
            max_num_sequences: Some(4),
            speculation: true,
            ..RunnerOptions::default()
        };
        let backend = Arc::clone(&self.backend);
        let model = Model::load(&self.checkpoint, backend, None, &mut |_| ()).expect("room for it");
        let fingerprint = Fingerprint::of_model(&self.checkpoint, None);
        ModelRunner::new(model, fingerprint, options).expect("room for it")
    }

    fn core(&self, extra_tokens: usize) -> GenerationCore {
        core(self.runner(extra_tokens))
    }

    fn session(&self) -> Session {
        Session::new(self.core(0), SessionOptions::default()).expect("room for a context")
    }

    /// What a session of its own generates.
    fn alone(&self, prompt: &[u32], max_tokens: usize) -> Completion {
        complete(&mut self.session(), prompt, max_tokens)
    }
}

fn params(max_tokens: usize) -> GenerationParams {
    let mut params = greedy(max_tokens);
    params.sampling.logprobs = Some(2);
    params
}

fn complete(session: &mut Session, prompt: &[u32], max_tokens: usize) -> Completion {
    let generation = session.generate(prompt, &params(max_tokens)).expect("a sound request");
    generation.complete().expect("a device that works")
}

fn engine(core: &GenerationCore) -> Engine {
    let options = EngineOptions { num_speculative_tokens: 3, ..EngineOptions::default() };
    Engine::start(core, options).expect("a sound core")
}

/// A prompt that repeats itself, so that drafts follow from it.
fn prompt(seed: u32) -> Vec<u32> {
    (0..36).map(|at| 2 + (at % 9 * 5 + seed * 3) % 29).collect()
}

/// Requests that compete for a cache too small for all of them, with drafts.
fn check_competing_requests<B: Backend>(device: &Device<B>) {
    let core = device.core(16);
    let engine = engine(&core);
    // Each needs two blocks at first, and five at the end.
    let prompts: Vec<_> = (0..4).map(|seed| prompt(seed)[..20].to_vec()).collect();
    let streams: Vec<_> =
        prompts.iter().map(|prompt| submit(&engine, prompt, &params(60))).collect();
    for (prompt, stream) in prompts.iter().zip(streams) {
        assert_eq!(only(stream).0, device.alone(prompt, 60), "{prompt:?}");
    }
    let counts = core.snapshot().scheduler;
    assert!(counts.preemptions > 0 && counts.drafted_tokens > 0, "{counts:?}");
    engine.shut_down();
}

/// A conversation whose turns begin with those before, also after the cache was saved and loaded.
fn check_prefix_hits<B: Backend>(device: &Device<B>, file: &Path) {
    let mut core = device.core(CONTEXT_LENGTH);
    let mut conversation = Vec::new();
    for turn in 0..3 {
        let started = engine(&core);
        conversation.extend_from_slice(&prompt(turn)[..20]);
        let (completion, finished) = only(submit(&started, &conversation, &params(8)));
        assert_eq!(completion, device.alone(&conversation, 8), "turn {turn}");
        assert_eq!(finished.cached_tokens > 0, turn > 0, "turn {turn}");
        conversation.extend(completion.tokens);
        started.shut_down();
        core.save_prefixes(file).expect("it can be written");
        core = device.core(CONTEXT_LENGTH);
        assert!(core.load_prefixes(file).expect("it can be read") > 0, "turn {turn}");
    }
}

/// A session that another one continues from a file.
fn check_saved_session<B: Backend>(device: &Device<B>, file: &Path) {
    let expected = device.alone(&prompt(5), 12);
    let mut first = device.session();
    let mut found = complete(&mut first, &prompt(5), 5);
    first.save(file).expect("it can be written");
    let mut second = device.session();
    second.load(file).expect("it can be read");
    let rest = complete(&mut second, &[], 7);
    found.tokens.extend(rest.tokens);
    found.logprobs.extend(rest.logprobs);
    assert_eq!((found.tokens, found.logprobs), (expected.tokens, expected.logprobs));
}

fn check<B: Backend>(backend: &Arc<B>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in MODELS {
        let device = Device::open(name, backend);
        check_competing_requests(&device);
        check_prefix_hits(&device, &folder.path().join(format!("{name}-prefixes")));
        check_saved_session(&device, &folder.path().join(format!("{name}-session")));
    }
}

#[test]
fn a_warm_up_leaves_nothing_behind() {
    let backend = Arc::new(ReferenceBackend::new());
    for name in MODELS {
        let device = Device::open(name, &backend);
        let mut runner = device.runner(0);
        warm_up(&mut runner).expect("room for every pass");
        let mut session = Session::new(core(runner), SessionOptions::default()).expect("a cache");
        assert_eq!(complete(&mut session, &prompt(1), 12), device.alone(&prompt(1), 12), "{name}");
    }
}

#[test]
fn results_are_the_same_bits_on_the_reference_backend() {
    check(&Arc::new(ReferenceBackend::new()));
}

#[test]
fn results_are_the_same_bits_on_a_gpu() {
    if let Some(gpu) = adapter() {
        check(gpu);
    }
}
