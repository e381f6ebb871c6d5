//! Prediction heads: against transformers' `MtpLayer`, for hidden states that are given, and what they require of files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use inferno_backend::{
    Backend, BatchBuilder, BlockId, KvDType, LogitRows, ReferenceBackend, SequenceChunk,
};
use inferno_cpu::Isa;
use inferno_gguf::{Gguf, Metadata};
use inferno_model::{BatchLimits, Model, ModelCache, ModelError, ModelSpec, StageRows};
use serde_json::Value;

use crate::logits::{MAX_RELATIVE_ERROR, cpu};
use crate::support::edited::{edited, spec};
use crate::support::file::{File, Tensor};
use crate::support::synthetic::synthetic_head;
use crate::support::{fixtures, oracle};

struct Answer {
    tokens: Vec<u32>,
    hidden: Vec<Vec<f32>>,
    logits: Vec<Vec<f32>>,
    next_hidden: Vec<Vec<f32>>,
}

impl Answer {
    fn read(name: &str) -> Self {
        let path = fixtures().join(format!("{name}.head.json"));
        let bytes = fs::read(path).expect("a fixture");
        let value: Value = serde_json::from_slice(&bytes).expect("sound JSON");
        let rows = |key: &str| {
            let rows = value[key].as_array().expect("rows").iter();
            let row = |row: &Value| {
                let values = row.as_array().expect("a row").iter();
                values.map(|value| value.as_f64().expect("a number") as f32).collect()
            };
            rows.map(row).collect()
        };
        let tokens = value["tokens"].as_array().expect("tokens").iter();
        Self {
            tokens: tokens.map(|token| token.as_u64().expect("an id") as u32).collect(),
            hidden: rows("hidden"),
            logits: rows("logits"),
            next_hidden: rows("next_hidden"),
        }
    }
}

fn relative_error(expected: &[Vec<f32>], found: &[f32]) -> f64 {
    let expected = expected.concat();
    assert_eq!(expected.len(), found.len());
    let squares = |values: &mut dyn Iterator<Item = f32>| {
        values.map(|value| f64::from(value).powi(2)).sum::<f64>()
    };
    let difference = squares(&mut expected.iter().zip(found).map(|(one, other)| one - other));
    (difference / squares(&mut expected.iter().copied())).sqrt()
}

/// The logits and hidden states of a head that computes `lens` tokens per pass.
fn compute<B: Backend>(
    checkpoint: &Gguf,
    backend: &Arc<B>,
    answer: &Answer,
    lens: &[usize],
) -> (Vec<f32>, Vec<f32>) {
    let model = Model::load(checkpoint, Arc::clone(backend), None, &mut |_| ());
    let model = model.expect("a sound model");
    let head = model.load_prediction_head(checkpoint, None, &mut |_| ()).expect("a sound head");
    let head = head.expect("the file has one");
    let limits = BatchLimits { max_num_tokens: 16, max_num_logit_rows: 16 };
    let workspace = head.workspace(limits).expect("room for it");
    let hidden_size = head.spec().hidden_size;
    let mut workspace = workspace.with_hidden_rows(&**backend, hidden_size).expect("room");
    let layout = head.spec().kv_layout(16, KvDType::F32);
    assert_eq!(layout.layers.len(), 1, "the head has one layer");
    let mut cache = ModelCache::new(&**backend, &layout, None).expect("room for it");
    let (mut logits, mut hidden, mut start) = (Vec::new(), Vec::new(), 0);
    for &len in lens {
        let mut builder = BatchBuilder::new(layout.block_tokens);
        let tokens = &answer.tokens[start..start + len];
        let block_table = &[BlockId(0)];
        let chunk = SequenceChunk {
            tokens,
            start,
            block_table,
            logits: LogitRows::All,
            second_segment: None,
        };
        builder.push(&chunk).expect("a sound chunk");
        let before = answer.hidden[start..start + len].concat();
        let (batch, rows) = (builder.build(), StageRows::Logits);
        head.submit(&batch, Some(&before), rows, &mut cache, &mut workspace).expect("a sound pass");
        logits.extend_from_slice(head.wait(&mut workspace).expect("a pass").into_values());
        hidden.extend_from_slice(head.hidden_rows(len, &mut workspace).expect("captured rows"));
        start += len;
    }
    (logits, hidden)
}

fn check<B: Backend>(checkpoint: &Gguf, backend: &Arc<B>, answer: &Answer, name: &str) {
    let whole = compute(checkpoint, backend, answer, &[12]);
    for (expected, found) in [(&answer.logits, &whole.0), (&answer.next_hidden, &whole.1)] {
        let error = relative_error(expected, found);
        assert!(error <= MAX_RELATIVE_ERROR, "{name}: relative error {error:.2e}");
    }
    let parts = compute(checkpoint, backend, answer, &[5, 1, 6]);
    assert!(parts == whole, "{name}: chunks change the bits");
}

#[test]
fn heads_predict_what_transformers_does() {
    let Some(folder) = oracle() else { return };
    for name in ["qwen35-mtp", "glm4moe"] {
        check_file(&folder.join("logits"), name);
    }
}

/// Compares a head on all backends and instruction sets.
fn check_file(folder: &Path, name: &str) {
    let path = folder.join(format!("{name}.gguf"));
    let checkpoint = Gguf::open(path).expect("the folder holds it");
    let answer = Answer::read(name);
    check(&checkpoint, &Arc::new(ReferenceBackend::new()), &answer, name);
    for isa in Isa::available() {
        check(&checkpoint, &cpu(isa), &answer, name);
    }
}

#[test]
fn heads_with_latent_attention_and_grouped_experts_predict_what_transformers_does() {
    check_file(&fixtures().join("heads"), "deepseek2-mtp");
}

#[test]
fn files_without_a_head_have_none() {
    let checkpoint = Gguf::open(fixtures().join(Path::new("qwen3.gguf"))).expect("a sound file");
    assert!(ModelSpec::prediction_head(&checkpoint).expect("a sound file").is_none());
}

/// Two layers and a prediction head.
fn with_head(metadata: &mut Metadata) {
    metadata.insert("qwen3.nextn_predict_layers", 1_u32);
}

#[test]
fn every_tensor_of_a_prediction_head_must_be_used() {
    let mut file = File::of_bytes(synthetic_head("qwen3", with_head));
    let load = |file: &File| {
        let checkpoint = file.write();
        let model = Model::load(&checkpoint, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
        let head =
            model.expect("a valid model").load_prediction_head(&checkpoint, None, &mut |_| ());
        head.map(|head| assert!(head.is_some()))
    };
    load(&file).expect("a valid head");
    let stray = "blk.2.ffn_gate_inp.weight";
    file.tensors.push(Tensor::floats(stray, &[32], &[1.0; 32]));
    match load(&file) {
        Err(ModelError::UnusedTensors { names }) => assert_eq!(names, [stray]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn heads_of_models_with_single_blocks_are_not_supported() {
    let file = edited("nemotron_h_moe", |metadata| {
        metadata.insert("nemotron_h_moe.nextn_predict_layers", 1_u32);
    });
    // The model itself is.
    spec(&file);
    let error = ModelSpec::prediction_head(&file).expect_err("an unsupported head");
    assert!(matches!(error, ModelError::UnsupportedPredictionHead { .. }), "{error}");
    assert!(error.to_string().contains("nemotron_h_moe"), "{error}");
}
