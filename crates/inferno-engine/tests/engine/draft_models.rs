//! A draft model changes the number of steps but no answer, whatever it drafts and however it fails.

use std::path::Path;
use std::sync::Arc;

use inferno_backend::{Backend, KvDType, ReferenceBackend};
use inferno_conformance::gpu::adapter;
use inferno_engine::{
    Completion, CoreOptions, DraftModel, DraftOptions, Engine, EngineError, EngineOptions,
    Fingerprint, GenerationCore, GenerationParams, ModelRunner, Request, Runner, RunnerOptions,
    SamplingParams, Session, SessionOptions, StopParams,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model, ModelSpec};
use proptest::prelude::*;

use crate::cores::core;
use crate::fake_runner::{FakeRunner, Outcome};
use crate::models::{checkpoints, oracle, small_models};
use crate::serving::only;
use crate::session::speculation::{CONTEXT_LENGTH, repetitive, sampling, stop};
use crate::session::{greedy, session, tokens_of};
use crate::vocabulary::{VOCAB_SIZE, tokenizer};

/// Drafts in every step, so that the numbers of drafts do not depend on the machine.
const ALWAYS: DraftOptions =
    DraftOptions { max_num_drafts: 4, min_num_drafts: 4, min_probability: 0.0 };

fn drafting(
    runner: impl Runner + 'static,
    draft: impl Runner + 'static,
    options: DraftOptions,
) -> GenerationCore {
    let model = DraftModel { runner: Box::new(draft), options };
    let core = CoreOptions::default();
    let core = GenerationCore::with_draft_model(Box::new(runner), tokenizer(), core, Some(model));
    core.expect("a sound runner")
}

/// A runner whose logits depend on all tokens, so that prompt lookup finds nothing.
fn varied() -> FakeRunner {
    FakeRunner::new(CONTEXT_LENGTH, 16).with_num_logit_rows(16)
}

/// A runner that agrees with [`repetitive`] unless the last token is a multiple of three.
fn often_agreeing() -> FakeRunner {
    FakeRunner::new(CONTEXT_LENGTH, 16).with_num_logit_rows(16).with_logits(|history, token| {
        let last = history.iter().rev().take(2).fold(token, |hash, &it| 37 * hash + it as usize);
        let noise = if history.last().is_some_and(|last| last % 3 == 0) { 5 } else { 0 };
        ((last + noise) * 7919 % 1009) as f32 / 50.0
    })
}

fn alone(runner: FakeRunner, prompt: &[u32], params: &GenerationParams) -> Completion {
    let mut session = session(runner);
    let generation = session.generate(prompt, params).expect("a sound request");
    generation.complete().expect("a runner that does not fail")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn answers_do_not_depend_on_the_draft_model(
        requests in prop::collection::vec(
            (sampling(), stop(), prop::collection::vec(2u32..VOCAB_SIZE as u32, 1..30)), 1..5,
        ),
        (min_num_drafts, max_num_drafts) in (0usize..6, 1usize..12),
        num_speculative_tokens in prop_oneof![Just(0usize), 1usize..6],
        num_blocks in 30usize..70,
        num_draft_blocks in 4usize..70,
        (num_slots, num_draft_slots) in (prop::option::of(1usize..30), prop::option::of(0usize..9)),
    ) {
        let runner = repetitive().with_num_blocks(num_blocks).with_optional_state(num_slots);
        let draft = often_agreeing().with_num_blocks(num_draft_blocks);
        let draft = draft.with_optional_state(num_draft_slots);
        let options = DraftOptions { min_num_drafts, max_num_drafts, min_probability: 0.0 };
        let core = drafting(runner, draft, options);
        let options = EngineOptions { num_speculative_tokens, ..EngineOptions::default() };
        let engine = Engine::start(&core, options).expect("a sound core");
        let streams: Vec<_> = requests.iter().map(|(sampling, stop, prompt)| {
            let (sampling, stop) = (sampling.clone(), stop.clone());
            let params = GenerationParams { sampling, stop, ..GenerationParams::default() };
            let request = Request::new(prompt.clone(), params.clone());
            (prompt, params, engine.handle().submit(request).expect("a sound request"))
        }).collect();
        for (prompt, params, stream) in streams {
            prop_assert_eq!(only(stream).0, alone(repetitive(), prompt, &params));
        }
        engine.shut_down();
        let snapshot = core.snapshot();
        prop_assert_eq!(snapshot.draft_model.failed_passes, 0);
        let blocks = snapshot.blocks;
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
    }
}

#[test]
fn a_model_that_agrees_is_followed_at_any_temperature() {
    for temperature in [0.0, 1.0] {
        for (num_slots, num_draft_slots) in [(None, None), (Some(8), None), (None, Some(2))] {
            let sampling = SamplingParams { temperature, seed: Some(7), ..Default::default() };
            let params = GenerationParams { sampling, ..greedy(60) };
            let expected = alone(varied(), &[2, 3, 4], &params);
            let runner = varied().with_optional_state(num_slots);
            let draft = varied().with_optional_state(num_draft_slots);
            let passes = draft.passes();
            let core = drafting(runner, draft, ALWAYS);
            let mut session = Session::new(core.clone(), SessionOptions::default()).expect("room");
            let generation = session.generate(&[2, 3, 4][..], &params).expect("a sound request");
            assert_eq!(generation.complete().expect("sound runners"), expected);
            let counts = core.snapshot().scheduler;
            assert_eq!(counts.accepted_tokens, counts.drafted_tokens, "{temperature}");
            // States end drafts at the ends of blocks of four tokens.
            let most = if num_slots.is_some() { 60 / 2 } else { 60 / 5 + 3 };
            assert!(core.snapshot().steps <= most, "{} steps", core.snapshot().steps);
            let passes = passes.lock().expect("no pass panicked");
            assert!(passes.iter().skip(1).all(|&num_tokens| num_tokens <= 5), "{passes:?}");
        }
    }
}

#[test]
fn a_draft_model_that_fails_fails_nobody() {
    let expected = tokens_of(&mut session(repetitive()), &[2, 3, 4], &greedy(80));
    for outcome in [Outcome::Fails, Outcome::GivesNan, Outcome::LosesDevice] {
        for is_lasting in [false, true] {
            let hook = move |pass| match pass {
                5 => outcome,
                6.. if is_lasting => outcome,
                _ => Outcome::Runs,
            };
            let core = drafting(repetitive(), often_agreeing().with_hook(hook), ALWAYS);
            let mut session = Session::new(core.clone(), SessionOptions::default()).expect("room");
            assert_eq!(tokens_of(&mut session, &[2, 3, 4], &greedy(80)), expected);
            let counts = core.snapshot().draft_model;
            let is_over = is_lasting || outcome == Outcome::LosesDevice;
            let num_failures = if is_lasting && outcome != Outcome::LosesDevice { 3 } else { 1 };
            assert_eq!(counts.failed_passes, num_failures, "{outcome:?}");
            assert_eq!(counts.passes == 5 + num_failures, is_over, "{outcome:?}: {counts:?}");
        }
    }
}

#[test]
fn the_next_turn_of_a_conversation_is_computed_from_where_the_last_one_ended() {
    for num_draft_slots in [None, Some(4)] {
        let draft = varied().with_optional_state(num_draft_slots);
        let passes = draft.passes();
        let core = drafting(varied(), draft, ALWAYS);
        let mut plain = session(varied());
        let mut session = Session::new(core, SessionOptions::default()).expect("room");
        for turn in 0..3 {
            let prompt: Vec<u32> = (0..20).map(|at| 2 + (turn + at * 3) % 29).collect();
            let expected = tokens_of(&mut plain, &prompt, &greedy(12));
            assert_eq!(tokens_of(&mut session, &prompt, &greedy(12)), expected);
        }
        let num_computed: usize = passes.lock().expect("no pass panicked").iter().sum();
        // 96 tokens, and those that are computed as drafts and again.
        assert!(num_computed < 200, "{num_computed} tokens");
    }
}

#[test]
fn a_session_without_a_cache_has_no_draft_model() {
    let core = drafting(varied(), varied(), ALWAYS);
    let options = SessionOptions { kv_cache: false, ..SessionOptions::default() };
    let mut session = Session::new(core, options).expect("room");
    let error = session.generate(&[2, 3][..], &greedy(3)).err().expect("no drafts without a cache");
    assert!(matches!(error, EngineError::SpeculationWithoutCache), "{error}");
}

/// A runner with the prediction head of the file, if there is one.
fn runner<B: Backend>(checkpoint: &Gguf, backend: &Arc<B>) -> ModelRunner {
    let backend = Arc::clone(backend);
    let model = Model::load(checkpoint, backend, None, &mut |_| ()).expect("a sound model");
    let head = model.load_prediction_head(checkpoint, None, &mut |_| ()).expect("a sound head");
    let options = RunnerOptions {
        captures_hidden: true,
        context_length: Some(model.spec().context_length.min(64)),
        kv_dtype: Some(KvDType::F32),
        limits: BatchLimits { max_num_tokens: 32, max_num_logit_rows: 8 },
        max_num_sequences: Some(2),
        speculation: true,
        ..Default::default()
    };
    let fingerprint = Fingerprint::of_model(checkpoint, None);
    let head = head.map(|head| ModelRunner::new(head, fingerprint, options).expect("room for it"));
    let runner = ModelRunner::new(model, fingerprint, options).expect("room for it");
    runner.with_prediction_head(head)
}

/// Two requests of a model for which `draft` drafts, or its prediction head, have the bits that they have without.
fn check_model(model: &Gguf, draft: Option<&Gguf>, name: &str) -> u64 {
    let reference = Arc::new(ReferenceBackend::new());
    check_model_on(&reference, model, &reference, draft, name)
}

/// As [`check_model`], with the model on one device and what drafts on another one.
fn check_model_on<B: Backend, D: Backend>(
    device: &Arc<B>,
    model: &Gguf,
    draft_device: &Arc<D>,
    draft: Option<&Gguf>,
    name: &str,
) -> u64 {
    let generate = |core: GenerationCore| {
        let engine = Engine::start(&core, EngineOptions::default()).expect("a sound core");
        let answers = [0.0, 0.8].map(|temperature| {
            let sampling = SamplingParams {
                temperature,
                seed: Some(3),
                logprobs: Some(2),
                ..Default::default()
            };
            let params = GenerationParams { sampling, ..greedy(20) };
            let prompt = (0..19).map(|at| 2 + at * 7 % 29).collect();
            engine.handle().submit(Request::new(prompt, params)).expect("a sound request")
        });
        let answers = answers.map(|stream| only(stream).0);
        engine.shut_down();
        (answers, core.snapshot())
    };
    let (expected, _) = generate(core(runner(model, device)));
    let mut target = runner(model, device);
    let head = target.take_prediction_head();
    let is_head = draft.is_none();
    let draft: Box<dyn Runner> = match draft {
        Some(draft) => Box::new(runner(draft, draft_device)),
        None => head.expect("the file has one"),
    };
    let model = DraftModel { runner: draft, options: ALWAYS };
    let options = CoreOptions::default();
    let core =
        GenerationCore::with_draft_model(Box::new(target), tokenizer(), options, Some(model));
    let core = core.expect("a sound runner");
    assert_eq!(core.has_prediction_head(), is_head, "{name}");
    let (found, snapshot) = generate(core);
    assert_eq!(found, expected, "{name}");
    assert_eq!(snapshot.draft_model.failed_passes, 0, "{name}");
    assert!(snapshot.scheduler.drafted_tokens > 0, "{name}");
    snapshot.scheduler.accepted_tokens
}

fn check_models(folder: &Path) {
    let open = |path: &Path| Gguf::open(path).expect("a sound file");
    let other = open(&small_models().join("qwen3.gguf"));
    for path in checkpoints(folder) {
        let (checkpoint, name) = (open(&path), path.display().to_string());
        // Encoders do not generate, and Gemma 3n takes long.
        let spec = ModelSpec::from_checkpoint(&checkpoint);
        if !spec.is_ok_and(|spec| spec.has_logits()) || name.contains("gemma3n") {
            continue;
        }
        let num_accepted = check_model(&checkpoint, Some(&checkpoint), &name);
        assert!(num_accepted > 0, "{name}: a model agrees with itself");
        check_model(&checkpoint, Some(&other), &name);
    }
}

#[test]
fn every_architecture_answers_with_a_draft_model_as_without() {
    check_models(&small_models());
    if let Some(folder) = oracle() {
        check_models(&folder.join("logits"));
    }
}

#[test]
fn a_draft_model_on_a_gpu_changes_no_answer_of_a_model_on_any_device() {
    let Some(gpu) = adapter() else { return };
    let cpu = Arc::new(ReferenceBackend::new());
    let open = |name: &str| Gguf::open(small_models().join(name)).expect("a sound file");
    for name in ["qwen3.gguf", "mistral-window.gguf", "nemotron-h-latent.gguf"] {
        let (model, other) = (open(name), open("qwen3.gguf"));
        let num_accepted = check_model_on(gpu, &model, gpu, Some(&model), name);
        assert!(num_accepted > 0, "{name}: a model agrees with itself");
        check_model_on(gpu, &model, gpu, Some(&other), name);
        check_model_on(&cpu, &model, gpu, Some(&model), name);
        check_model_on(gpu, &model, &cpu, Some(&model), name);
    }
    if let Some(folder) = oracle() {
        let model = Gguf::open(folder.join("logits/qwen35-mtp.gguf")).expect("the folder holds it");
        check_model_on(gpu, &model, gpu, None, "qwen35-mtp");
    }
}

#[test]
fn prediction_heads_change_no_answer() {
    let Some(folder) = oracle() else { return };
    for name in ["qwen35-mtp", "glm4moe"] {
        let path = folder.join(format!("logits/{name}.gguf"));
        let checkpoint = Gguf::open(path).expect("the folder holds it");
        check_model(&checkpoint, None, name);
    }
}

#[test]
fn adaptive_drafts_end_if_none_is_accepted() {
    // The draft model never agrees, and takes as long as the model.
    let draft = varied().with_logits(|_, token| if token == 1 { 9.0 } else { 0.0 });
    let passes = draft.passes();
    let runner = varied().with_logits(|history, token| {
        std::thread::sleep(std::time::Duration::from_micros(10));
        if token == 2 + history.len() % 29 { 9.0 } else { 0.0 }
    });
    let core = drafting(runner, draft, DraftOptions::default());
    let mut session = Session::new(core.clone(), SessionOptions::default()).expect("room");
    let stop = StopParams { max_tokens: Some(100), ..StopParams::default() };
    let params = GenerationParams { stop, ..greedy(100) };
    tokens_of(&mut session, &[2, 3, 4], &params);
    assert_eq!(core.snapshot().scheduler.accepted_tokens, 0);
    let num_passes = passes.lock().expect("no pass panicked").len();
    assert!((1..40).contains(&num_passes), "{num_passes} passes of the draft model");
}
