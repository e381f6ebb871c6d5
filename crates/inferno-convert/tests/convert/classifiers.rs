//! Scores of converted decoders with a classifier of the last token are those of transformers.
//!
//! `compare/decoders.py` writes the fixtures.

use std::fs;
use std::sync::Arc;

use inferno_backend::{BatchBuilder, BlockId, KvDType, LogitRows, ReferenceBackend, SequenceChunk};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, ClassifierPooling, Model, ModelCache, PooledHead};
use serde_json::Value;

use crate::decoders::{convert, path};

/// The hidden states of a sequence.
fn hidden_states(model: &Model<ReferenceBackend>, tokens: &[u32]) -> Vec<Vec<f64>> {
    let layout = model.spec().kv_layout(tokens.len(), KvDType::F32);
    let blocks: Vec<_> = (0..layout.num_blocks as u32).map(BlockId).collect();
    let mut builder = BatchBuilder::new(layout.block_tokens);
    builder
        .push(&SequenceChunk {
            tokens,
            start: 0,
            block_table: &blocks,
            logits: LogitRows::All,
            second_segment: None,
        })
        .expect("a valid sequence");
    let mut cache = ModelCache::new(&**model.backend(), &layout, None).expect("memory");
    let limits = BatchLimits { max_num_tokens: tokens.len(), max_num_logit_rows: 1 };
    let mut workspace = model.workspace(limits).expect("memory");
    let states = model.forward_hidden(&builder.build(), &mut cache, &mut workspace);
    let rows = states.expect("a pass").chunks(model.spec().hidden_size);
    rows.map(|row| row.iter().copied().map(f64::from).collect()).collect()
}

fn check(name: &str) -> Gguf {
    let gguf = convert(name, str::to_owned).expect("it is converted");
    let model = Model::load(&gguf, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
    let model = model.expect("a model");
    let head = PooledHead::load(&gguf, model.spec()).expect("a head");
    let classifier = head.classifier().expect("a classifier");
    assert_eq!(classifier.pooling(), ClassifierPooling::One, "{name}");
    let fixture = fs::read_to_string(path(name)).expect("the fixture exists");
    let fixture: Value = serde_json::from_str(&fixture).expect("valid JSON");
    let tokens: Vec<u32> = serde_json::from_value(fixture["tokens"].clone()).expect("numbers");
    let expected: Vec<[f64; 1]> =
        serde_json::from_value(fixture["logits"].clone()).expect("a score per position");
    let found: Vec<_> = hidden_states(&model, &tokens)
        .into_iter()
        .map(|state| classifier.classify(state)[0])
        .collect();
    assert_eq!(found.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(0.0_f64, |largest, [score]| largest.max(score.abs()));
    for (position, (found, [expected])) in found.iter().zip(&expected).enumerate() {
        let error = (found - expected).abs() / largest;
        assert!(error < 1e-4, "{name} at {position}: {found} instead of {expected}");
    }
    gguf
}

#[test]
fn decoders_with_a_score_have_the_scores_of_transformers() {
    for name in ["llama-score", "mistral-score", "qwen2-score", "gemma2-score", "qwen2moe-score"] {
        let gguf = check(name);
        let metadata = gguf.metadata();
        let architecture: &str = metadata.required("general.architecture").expect("a name");
        let pooling = metadata.optional::<u32>(&format!("{architecture}.pooling_type"));
        assert_eq!(pooling.expect("a number"), Some(4), "{name}");
    }
}
