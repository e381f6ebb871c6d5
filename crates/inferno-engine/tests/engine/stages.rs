//! Models that are divided between devices: the same tokens and the same saved states as on one.

mod processes;
mod rejections;
mod remote;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_engine::{Fingerprint, ModelRunner, RunnerOptions, Session, SessionOptions};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model, ModelError, ModelSpec};

use crate::cores::core;
use crate::models::{checkpoints, oracle, small_models};
use crate::session::{greedy, tokens_of};

/// A session on the layers before `cut` and those from it on, each on a backend of its own.
fn divided(checkpoint: &Gguf, cut: usize) -> Result<Session, ModelError> {
    let spec = ModelSpec::from_checkpoint(checkpoint)?;
    let options = RunnerOptions {
        kv_dtype: Some(KvDType::F32),
        limits: BatchLimits { max_num_tokens: 7, max_num_logit_rows: 4 },
        max_num_sequences: Some(1),
        ..Default::default()
    };
    let fingerprint = Fingerprint::of_model(checkpoint, None);
    let mut runner = ModelRunner::divided(&spec, fingerprint, options).expect("room for it");
    for layers in [0..cut, cut..spec.num_layers()].into_iter().filter(|layers| !layers.is_empty()) {
        let stage = spec.stage(layers)?;
        let backend = Arc::new(ReferenceBackend::new());
        let model = Model::load_stage(stage, None, checkpoint, backend, None, &mut |_| ())?;
        runner = runner.with_stage(model).expect("room for it");
    }
    Ok(Session::new(core(runner), SessionOptions::default()).expect("a cache"))
}

/// Compares every division of the model with the whole; returns their number.
fn check_every_cut(path: &Path) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saved = folder.path().join("state");
    let prompt: Vec<u32> = (2..33).collect();
    let checkpoint = Gguf::open(path).expect("a sound file");
    let num_layers = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model").num_layers();
    let mut whole = divided(&checkpoint, num_layers).expect("a sound model");
    let expected = tokens_of(&mut whole, &prompt, &greedy(8));
    let mut num_cuts = 0;
    for cut in 1..num_layers {
        let [mut first, mut second] = match [0, 1].map(|_| divided(&checkpoint, cut)) {
            [Ok(first), Ok(second)] => [first, second],
            [Err(ModelError::Indivisible { .. }), _] => continue,
            [first, _] => panic!("{path:?}: {:?}", first.err()),
        };
        num_cuts += 1;
        let mut tokens = tokens_of(&mut first, &prompt, &greedy(3));
        // States pass from the divided model to another and back to the whole one.
        first.save(&saved).expect("it can be written");
        second.load(&saved).expect("it can be read");
        tokens.extend(tokens_of(&mut second, &[], &greedy(2)));
        second.save(&saved).expect("it can be written");
        let mut whole = divided(&checkpoint, num_layers).expect("a sound model");
        whole.load(&saved).expect("it can be read");
        tokens.extend(tokens_of(&mut whole, &[], &greedy(3)));
        assert_eq!(tokens, expected, "{path:?} divided before layer {cut}");
    }
    num_cuts
}

#[test]
fn a_divided_model_generates_the_same_tokens() {
    let mut num_cuts = 0;
    for path in checkpoints(&small_models()) {
        num_cuts += check_every_cut(&path);
    }
    assert!(num_cuts >= 5, "{num_cuts}");
}

#[test]
fn hybrids_and_windows_can_be_divided() {
    let Some(folder) = oracle() else {
        return;
    };
    let path = |name: &str| -> PathBuf { folder.join(format!("logits/{name}.gguf")) };
    for name in ["qwen3next", "falcon-h1", "gemma3", "gpt-oss", "deepseek2", "lfm2"] {
        assert!(check_every_cut(&path(name)) > 0, "{name}");
    }
    // Their layers share more than the residual stream.
    assert_eq!(check_every_cut(&path("gemma3n")), 0);
}
