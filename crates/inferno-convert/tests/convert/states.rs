//! Hidden states of converted encoders are those of transformers. `compare/states.py` writes the fixtures.

use std::fs;
use std::sync::Arc;

use inferno_backend::{BatchBuilder, BlockId, KvDType, LogitRows, ReferenceBackend, SequenceChunk};
use inferno_gguf::Gguf;
use inferno_model::{Model, ModelCache};
use serde_json::Value;

use crate::decoders::support::limits;
use crate::decoders::{convert, path};

/// Norm of the difference relative to that of the hidden states.
const MAX_RELATIVE_ERROR: f64 = 1e-4;

/// The numbers of nested lists, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

fn states(gguf: &Gguf, tokens: &[u32]) -> Vec<f32> {
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(gguf, backend, None, &mut |_| ()).expect("a model");
    let layout = model.spec().kv_layout(tokens.len(), KvDType::F32);
    let block_table: Vec<_> = (0..layout.num_blocks as u32).map(BlockId).collect();
    let mut builder = BatchBuilder::new(layout.block_tokens);
    let chunk = SequenceChunk {
        tokens,
        start: 0,
        block_table: &block_table,
        logits: LogitRows::All,
        second_segment: None,
    };
    builder.push(&chunk).expect("the table covers the tokens");
    let mut cache = ModelCache::new(&**model.backend(), &layout, None).expect("a small cache");
    let mut workspace = model.workspace(limits(tokens.len())).expect("a small workspace");
    let states = model.forward_hidden(&builder.build(), &mut cache, &mut workspace);
    states.expect("a valid batch").to_vec()
}

#[track_caller]
fn check(name: &str) {
    let name = format!("../states/{name}");
    let text = fs::read_to_string(path(&name)).expect("the fixture exists");
    let fixture: Value = serde_json::from_str(&text).expect("valid JSON");
    let gguf = convert(&name, str::to_owned).expect("it is converted");
    let tokens: Vec<u32> = numbers(&fixture["tokens"]).into_iter().map(|id| id as u32).collect();
    let (found, expected) = (states(&gguf, &tokens), numbers(&fixture["states"]));
    assert_eq!(found.len(), expected.len(), "{name}");
    let square = |x: f64| x * x;
    let pairs = found.iter().zip(&expected);
    let difference: f64 = pairs.map(|(found, expected)| square(f64::from(*found) - expected)).sum();
    let norm: f64 = expected.iter().copied().map(square).sum();
    let error = (difference / norm).sqrt();
    assert!(error <= MAX_RELATIVE_ERROR, "{name}: relative error {error:.2e}");
}

#[test]
fn layers_of_bert_have_several_names() {
    for name in ["distilbert", "electra", "ernie"] {
        check(name);
    }
}

#[test]
fn distances_of_mpnet_have_biases() {
    check("mpnet");
}

#[test]
fn published_files_of_gte_are_those_of_transformers_with_scaled_positions() {
    check("gte");
    check("gte-published");
}
