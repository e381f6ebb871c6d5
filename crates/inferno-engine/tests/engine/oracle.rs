//! Real models on the reference backend, where `INFERNO_ORACLE` names the folder of their answers.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_engine::{
    Fingerprint, GenerationParams, ModelRunner, PerplexityOptions, RunnerOptions, SamplingParams,
    Session, SessionOptions, StopParams, perplexity,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model};
use inferno_tokenizer::Tokenizer;
use serde::Deserialize;

/// The folder, if it is named.
fn oracle() -> Option<PathBuf> {
    let folder = std::env::var_os("INFERNO_ORACLE").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("INFERNO_ORACLE is not set: nothing is tested here");
    }
    folder
}

fn runner(checkpoint: &Gguf, max_num_tokens: usize) -> ModelRunner<ReferenceBackend> {
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(checkpoint, backend, None, &mut |_| ()).expect("a sound model");
    let options = RunnerOptions {
        context_length: None,
        kv_dtype: KvDType::F32,
        limits: BatchLimits {
            max_num_tokens,
            max_num_logit_rows: 16,
        },
    };
    let fingerprint = Fingerprint::of_model(checkpoint, None);
    ModelRunner::new(model, fingerprint, options).expect("room for it")
}

fn stories(kv_cache: bool) -> Option<Session> {
    let path = oracle()?.join("models/stories260K.gguf");
    let checkpoint = Gguf::open(path).expect("the folder holds it");
    let tokenizer = Tokenizer::from_metadata(checkpoint.metadata()).expect("a sound tokenizer");
    let runner = Box::new(runner(&checkpoint, 32));
    let options = SessionOptions {
        kv_cache,
        ..Default::default()
    };
    Some(Session::new(runner, Arc::new(tokenizer), options).expect("a sound runner"))
}

fn greedy(max_tokens: usize) -> GenerationParams {
    GenerationParams {
        sampling: SamplingParams::greedy(),
        stop: StopParams {
            max_tokens: Some(max_tokens),
            ..Default::default()
        },
        ..Default::default()
    }
}

#[test]
fn the_story_is_told_letter_for_letter() {
    let Some(mut session) = stories(true) else {
        return;
    };
    let path = oracle()
        .expect("it was just there")
        .join("models/stories260K.greedy-200.txt");
    let expected = fs::read_to_string(path).expect("the folder holds it");
    let generation = session.generate("", &greedy(200)).expect("it fits");
    let completion = generation.complete().expect("a sound model");
    assert_eq!(completion.text.trim(), expected.trim());
}

#[test]
fn a_story_goes_on_the_same_from_a_file_and_without_a_kv_cache() {
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
fn perplexity_is_that_of_the_logits_of_transformers() {
    #[derive(Deserialize)]
    struct Answer {
        tokens: Vec<u32>,
        logits: Vec<Vec<f64>>,
    }
    let Some(folder) = oracle() else { return };
    let folder = folder.join("logits");
    let mut num_models = 0;
    for entry in fs::read_dir(&folder).expect("the folder holds it") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_none_or(|extension| extension != "gguf") {
            continue;
        }
        num_models += 1;
        let checkpoint = Gguf::open(&path).expect("a sound file");
        let answer = fs::read(path.with_extension("json")).expect("an answer beside each model");
        let answer: Answer = serde_json::from_slice(&answer).expect("tokens and logits");

        let window = answer.tokens.len();
        let scored = window / 2..window - 1;
        let losses = scored.clone().map(|at| {
            let logits = &answer.logits[at];
            let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
            sum.ln() - logits[answer.tokens[at + 1] as usize]
        });
        let expected = (losses.sum::<f64>() / scored.len() as f64).exp();

        let mut runner = runner(&checkpoint, 16);
        let options = PerplexityOptions {
            window,
            stride: None,
        };
        let found = perplexity(&mut runner, &answer.tokens, options, &mut |_| ());
        let found = found.expect("a sound model").value();
        assert!(
            (found / expected - 1.0).abs() < 1e-5,
            "{}: {found} {expected}",
            path.display()
        );
    }
    assert!(num_models > 0, "{} holds no models", folder.display());
}
