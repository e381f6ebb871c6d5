//! Models on the reference backend: small ones with random weights that lie in this repository, and
//! trained ones where `INFERNO_ORACLE` names the folder that holds them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_engine::{
    CoreOptions, EngineError, Fingerprint, GenerationCore, GenerationParams, ModelRunner,
    PerplexityOptions, Runner, RunnerOptions, SamplingParams, Session, SessionOptions, StopParams,
    perplexity,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model, ModelSpec};
use inferno_tokenizer::Tokenizer;
use serde::Deserialize;

use crate::cores::core;
use crate::session::{greedy as ignoring_the_end, tokens_of};

/// The folder, if it is named.
pub fn oracle() -> Option<PathBuf> {
    let folder = std::env::var_os("INFERNO_ORACLE").map(PathBuf::from);
    if folder.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: INFERNO_ORACLE is not set");
    }
    folder
}

fn runner(
    checkpoint: &Gguf,
    kv_dtype: KvDType,
    max_num_tokens: usize,
    context_length: Option<usize>,
) -> ModelRunner {
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(checkpoint, backend, None, &mut |_| ()).expect("a sound model");
    let options = RunnerOptions {
        context_length,
        kv_dtype: Some(kv_dtype),
        limits: BatchLimits { max_num_tokens, max_num_logit_rows: 16 },
        ..Default::default()
    };
    let fingerprint = Fingerprint::of_model(checkpoint, None);
    ModelRunner::new(model, fingerprint, options).expect("room for it")
}

fn stories(kv_cache: bool) -> Option<Session> {
    let path = oracle()?.join("models/stories260K.gguf");
    let checkpoint = Gguf::open(path).expect("the folder holds it");
    let tokenizer = Tokenizer::from_metadata(checkpoint.metadata()).expect("a sound tokenizer");
    let runner = Box::new(runner(&checkpoint, KvDType::F32, 32, None));
    let options = SessionOptions { kv_cache, ..Default::default() };
    let core = GenerationCore::new(runner, Arc::new(tokenizer), CoreOptions::default());
    Some(Session::new(core.expect("a sound runner"), options).expect("a sound cache"))
}

fn greedy(max_tokens: usize) -> GenerationParams {
    GenerationParams {
        sampling: SamplingParams::greedy(),
        stop: StopParams { max_tokens: Some(max_tokens), ..Default::default() },
        ..Default::default()
    }
}

#[test]
fn the_story_matches_the_transcript() {
    let Some(mut session) = stories(true) else {
        return;
    };
    let path = oracle().expect("it was just there").join("models/stories260K.greedy-200.txt");
    let expected = fs::read_to_string(path).expect("the folder holds it");
    let generation = session.generate("", &greedy(200)).expect("it fits");
    let completion = generation.complete().expect("a sound model");
    assert_eq!(completion.text.trim(), expected.trim());
}

#[test]
fn a_story_continues_identically_from_a_file_and_without_a_kv_cache() {
    let Some(mut session) = stories(true) else {
        return;
    };
    let said = |session: &mut Session, prompt: &str, count| {
        let generation = session.generate(prompt, &greedy(count)).expect("it fits");
        generation.complete().expect("a sound model")
    };
    let first = said(&mut session, "Once upon a time", 20);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    session.save(&path).expect("it can be written");
    let rest = said(&mut session, "", 20);

    let mut loaded = stories(true).expect("it was just there");
    loaded.load(&path).expect("it can be read");
    assert_eq!(said(&mut loaded, "", 20), rest);

    let mut without_cache = stories(false).expect("it was just there");
    let whole = said(&mut without_cache, "Once upon a time", 40);
    assert_eq!(whole.tokens, [first.tokens, rest.tokens].concat());
    assert_eq!(whole.text, [first.text, rest.text].concat());
}

#[test]
fn a_windowed_model_generates_the_same_tokens_in_the_memory_of_its_windows() {
    let path = small_models().join("mistral-window.gguf");
    let checkpoint = Gguf::open(&path).expect("a sound file");
    let run = |max_num_logit_rows, expects_window| {
        let backend = Arc::new(ReferenceBackend::new());
        let model = Model::load(&checkpoint, backend, None, &mut |_| ()).expect("a sound model");
        let options = RunnerOptions {
            cache_tokens: Some(640),
            kv_dtype: Some(KvDType::I16),
            limits: BatchLimits { max_num_tokens: 32, max_num_logit_rows },
            ..Default::default()
        };
        let fingerprint = Fingerprint::of_model(&checkpoint, None);
        let runner = ModelRunner::new(model, fingerprint, options).expect("room for it");
        let layout = runner.kv_layout().clone();
        assert_eq!(layout.window.is_some(), expects_window);
        let core = core(runner);
        let open = || Session::new(core.clone(), SessionOptions::default()).expect("sound");
        // Prompts that share beginnings, in sessions that are parked while others need memory.
        let mut sessions = [open(), open(), open()];
        let mut tokens = Vec::new();
        for turn in 0..3 {
            for (which, session) in sessions.iter_mut().enumerate() {
                let prompt: Vec<u32> = (0..20 + which as u32).map(|i| 3 + i * 5 % 30).collect();
                tokens.push(tokens_of(session, &prompt, &ignoring_the_end(8 + turn)));
            }
        }
        (tokens, layout.total_bytes().expect("sizes that fit"))
    };
    let (expected, all_bytes) = run(32, false);
    let (found, bytes) = run(1, true);
    assert_eq!(found, expected);
    assert!(4 * bytes <= all_bytes, "{bytes} of {all_bytes}");
}

/// The small models of the floor below, with the logits that transformers computes for them.
pub fn small_models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures")
}

/// The checkpoints in `folder`.
pub fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "gguf"))
        .collect();
    assert!(!found.is_empty(), "{} holds no models", folder.display());
    found
}

/// Computes the perplexity of each model in `folder` on its reference tokens and compares it with the reference logits.
fn check_perplexity(folder: &Path) {
    #[derive(Deserialize)]
    struct Answer {
        tokens: Vec<u32>,
        logits: Vec<Vec<f64>>,
    }
    let mut num_checked = 0;
    for path in checkpoints(folder) {
        let checkpoint = Gguf::open(&path).expect("a sound file");
        match ModelSpec::from_checkpoint(&checkpoint) {
            Ok(spec) if spec.has_logits() => {}
            Ok(_) => continue,
            Err(error) => {
                println!("skipped {}: {error}", path.display());
                continue;
            }
        }
        num_checked += 1;
        let answer =
            fs::read(path.with_extension("json")).expect("reference logits for each model");
        let answer: Answer = serde_json::from_slice(&answer).expect("tokens and logits");

        let window = answer.tokens.len();
        let scored = window / 2..window - 1;
        let losses = scored.clone().map(|at| {
            let logits = &answer.logits[at];
            let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
            sum.ln() - logits[answer.tokens[at + 1] as usize]
        });
        let expected = (losses.sum::<f64>() / scored.len() as f64).exp();

        // The frequencies of LongRoPE depend on the context length, in transformers on that of the sequence.
        let mut runner = runner(&checkpoint, KvDType::F32, 7, Some(window));
        let options = PerplexityOptions { window, stride: None, bos: None };
        let found = perplexity(&mut runner, &answer.tokens, options, &mut |_| ());
        let found = found.expect("a sound model").value();
        assert!((found / expected - 1.0).abs() < 1e-4, "{}: {found} {expected}", path.display());
    }
    assert!(num_checked > 0, "no supported models under {}", folder.display());
}

#[test]
fn perplexity_matches_transformers() {
    check_perplexity(&small_models());
    if let Some(folder) = oracle() {
        check_perplexity(&folder.join("logits"));
    }
}

/// Generates the same tokens whole, in chunks, without a cache, and from a saved session.
fn check_every_mode(path: &Path, core: impl Fn(ModelRunner) -> GenerationCore) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saved = folder.path().join("state");
    let prompt: Vec<u32> = (2..25).collect();
    let checkpoint = Gguf::open(path).expect("a sound file");
    for kv_dtype in [KvDType::F32, KvDType::I16, KvDType::F16] {
        let session = |max_num_tokens, kv_cache| {
            let runner = runner(&checkpoint, kv_dtype, max_num_tokens, None);
            let options = SessionOptions { kv_cache, ..Default::default() };
            Session::new(core(runner), options).expect("a sound runner")
        };
        let params = ignoring_the_end(12);
        let mut whole = session(64, true);
        let expected = tokens_of(&mut whole, &prompt, &params);
        assert_eq!(expected.len(), 12);
        assert_eq!(tokens_of(&mut session(5, true), &prompt, &params), expected);
        assert_eq!(tokens_of(&mut session(7, false), &prompt, &params), expected);

        let mut first = session(9, true);
        let mut said = tokens_of(&mut first, &prompt, &ignoring_the_end(5));
        first.save(&saved).expect("it can be written");
        let mut second = session(3, true);
        second.load(&saved).expect("it can be read");
        said.extend(tokens_of(&mut second, &[], &ignoring_the_end(7)));
        assert_eq!(said, expected, "{} with {kv_dtype}", path.display());
    }
}

#[test]
fn every_architecture_generates_the_same_tokens_in_every_mode() {
    for path in checkpoints(&small_models()) {
        check_every_mode(&path, core);
    }
}

#[test]
fn latent_attention_stores_keys_alone_and_generates_the_same_tokens_in_every_mode() {
    let Some(folder) = oracle() else {
        return;
    };
    for name in ["deepseek2", "deepseek2-lite", "glm47-flash", "mistral4"] {
        let path = folder.join(format!("logits/{name}.gguf"));
        let checkpoint = Gguf::open(&path).expect("the folder holds it");
        let number = |key: &str| {
            let architecture: String =
                checkpoint.metadata().required("general.architecture").expect("a name");
            let key = format!("{architecture}.{key}");
            checkpoint.metadata().required::<u32>(&key).expect("a number") as usize
        };
        let layout = runner(&checkpoint, KvDType::F16, 32, None).kv_layout().clone();
        let latent = number("attention.kv_lora_rank") + number("rope.dimension_count");
        let block_bytes = layout.block_tokens * layout.layers.len() * latent * 2;
        assert_eq!(layout.block_bytes().expect("sizes that fit"), block_bytes, "{name}");

        let tokenizer = Tokenizer::from_metadata(checkpoint.metadata()).expect("a sound tokenizer");
        let tokenizer = Arc::new(tokenizer);
        check_every_mode(&path, |runner| {
            GenerationCore::new(Box::new(runner), tokenizer.clone(), CoreOptions::default())
                .expect("a sound runner")
        });
    }
}

#[test]
fn a_state_of_another_model_or_kv_format_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saved = folder.path().join("state");
    let session = |name: &str, kv_dtype| {
        let checkpoint = Gguf::open(small_models().join(name)).expect("a sound file");
        let runner = runner(&checkpoint, kv_dtype, 16, None);
        Session::new(core(runner), SessionOptions::default()).expect("a sound runner")
    };
    let mut original = session("qwen3.gguf", KvDType::F32);
    original.extend(&[3, 4, 5]).expect("it fits");
    original.save(&saved).expect("it can be written");
    let error = session("llama.gguf", KvDType::F32).load(&saved).expect_err("it is another's");
    assert!(matches!(error, EngineError::StateOfAnotherModel { .. }), "{error}");
    let error = session("qwen3.gguf", KvDType::F16).load(&saved).expect_err("it is another's");
    let EngineError::StateOfAnotherFormat { expected: KvDType::F16, found: KvDType::F32, .. } =
        error
    else {
        panic!("{error}");
    };
    assert!(error.to_string().contains("use --kv-dtype f32"), "{error}");
}

#[test]
fn a_context_beyond_the_model_limit_is_rejected() {
    let checkpoint = Gguf::open(small_models().join("qwen3.gguf")).expect("a sound file");
    for asked_for in [0, 257] {
        let model = Model::load(&checkpoint, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
        let options = RunnerOptions { context_length: Some(asked_for), ..Default::default() };
        let fingerprint = Fingerprint::of_model(&checkpoint, None);
        let runner = ModelRunner::new(model.expect("a sound model"), fingerprint, options);
        let Err(error) = runner else { panic!("a context of {asked_for} was accepted") };
        assert!(matches!(error, EngineError::ContextTooLong { limit: 256, .. }), "{error}");
    }
}

#[test]
fn a_cache_can_hold_several_contexts() {
    let checkpoint = Gguf::open(small_models().join("qwen3.gguf")).expect("a sound file");
    let model = Model::load(&checkpoint, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
    let options = RunnerOptions {
        context_length: Some(20),
        cache_tokens: Some(3 * 32),
        ..Default::default()
    };
    let fingerprint = Fingerprint::of_model(&checkpoint, None);
    let runner =
        ModelRunner::new(model.expect("a sound model"), fingerprint, options).expect("room for it");
    assert_eq!(runner.context_length(), 20);
    let layout = runner.kv_layout();
    assert_eq!(layout.num_blocks, 3 * layout.blocks_for(20));
}

#[test]
fn keys_of_long_and_short_contexts_have_different_fingerprints() {
    let Some(folder) = oracle() else { return };
    let checkpoint =
        Gguf::open(folder.join("logits/phi3-longrope.gguf")).expect("the folder holds it");
    let limit = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model").context_length;
    let key = "phi3.rope.scaling.original_context_length";
    let original: u32 = checkpoint.metadata().required(key).expect("it has LongRoPE");
    let fingerprint =
        |context: usize| runner(&checkpoint, KvDType::F32, 16, Some(context)).fingerprint();
    let original = original as usize;
    assert_eq!(fingerprint(original), fingerprint(original - 1));
    assert_eq!(fingerprint(original + 1), fingerprint(limit));
    assert_ne!(fingerprint(original), fingerprint(limit));
}
