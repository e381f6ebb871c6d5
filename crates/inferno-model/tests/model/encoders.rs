//! Encoders and rerankers: hidden states and scores by transformers, alone and in a batch with others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::{
    Backend, Batch, BatchBuilder, BlockId, KvDType, LogitRows, ReferenceBackend, SequenceChunk,
};
use inferno_conformance::gpu::adapter;
use inferno_cpu::Isa;
use inferno_gguf::Gguf;
use inferno_model::{
    BatchLimits, ClassifierPooling, Model, ModelCache, ModelError, ModelSpec, PooledHead,
    Requantize,
};
use serde_json::Value;

use crate::logits::cpu;
use crate::support::{fixtures, load, models_under, oracle};

/// One input, and what transformers computes for it.
struct Case {
    tokens: Vec<u32>,
    second_segment: Option<usize>,
    states: Option<Vec<Vec<f32>>>,
    scores: Option<Vec<f32>>,
}

fn floats(row: &Value) -> Vec<f32> {
    let row = row.as_array().expect("a row");
    row.iter().map(|x| x.as_f64().expect("a number") as f32).collect()
}

fn cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path.with_extension("json")).expect("an answer");
    let json: Value = serde_json::from_str(&text).expect("valid JSON");
    let case = |json: &Value| Case {
        tokens: floats(&json["tokens"]).into_iter().map(|id| id as u32).collect(),
        second_segment: json["second_segment"].as_u64().map(|at| at as usize),
        states: json["embeddings"].as_array().map(|rows| rows.iter().map(floats).collect()),
        scores: json.get("scores").map(floats),
    };
    match json["cases"].as_array() {
        Some(cases) => cases.iter().map(case).collect(),
        None => vec![case(&json)],
    }
}

fn own_models() -> Vec<PathBuf> {
    models_under(&fixtures().join("encoders"))
}

/// The encoders of the folder of reference answers.
fn oracle_models() -> Vec<PathBuf> {
    let Some(oracle) = oracle() else { return Vec::new() };
    let mut models = models_under(&oracle.join("logits"));
    models.retain(|path| {
        let text = std::fs::read_to_string(path.with_extension("json")).expect("an answer");
        text.contains("\"embeddings\"")
    });
    models
}

/// Hidden states of each sequence, computed in one batch.
fn hidden_states<B: Backend>(
    model: &Model<B>,
    sequences: &[&Case],
    kv_dtype: KvDType,
) -> Result<Vec<Vec<Vec<f32>>>, ModelError> {
    let num_tokens: usize = sequences.iter().map(|case| case.tokens.len()).sum();
    let layout = model.spec().kv_layout(num_tokens + 16 * sequences.len(), kv_dtype);
    let mut free: Vec<_> = (0..layout.num_blocks as u32).map(BlockId).collect();
    let mut builder = BatchBuilder::new(layout.block_tokens);
    for case in sequences {
        let blocks = free.split_off(free.len() - layout.blocks_for(case.tokens.len()));
        builder.push(&SequenceChunk {
            tokens: &case.tokens,
            start: 0,
            block_table: &blocks,
            logits: LogitRows::All,
            second_segment: case.second_segment,
        })?;
    }
    let mut rows = run(model, &builder.build(), &layout)?.into_iter();
    let take = |case: &&Case| rows.by_ref().take(case.tokens.len()).collect();
    Ok(sequences.iter().map(take).collect())
}

fn run<B: Backend>(
    model: &Model<B>,
    batch: &Batch,
    layout: &inferno_backend::KvLayout,
) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut cache = ModelCache::new(&**model.backend(), layout, None)?;
    let limits = BatchLimits { max_num_tokens: batch.num_tokens(), max_num_logit_rows: 1 };
    let mut workspace = model.workspace(limits)?;
    let states = model.forward_hidden(batch, &mut cache, &mut workspace)?;
    Ok(states.chunks(model.spec().hidden_size).map(<[f32]>::to_vec).collect())
}

/// The largest difference relative to the largest expected value.
fn error(found: &[Vec<f32>], expected: &[Vec<f32>]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let (found, expected) = (found.concat(), expected.concat());
    let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    let pairs = found.iter().zip(&expected);
    pairs.fold(0.0_f32, |error, (a, b)| error.max((a - b).abs())) / largest
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

fn scores(path: &Path, spec: &ModelSpec, states: &[Vec<f32>]) -> Vec<f32> {
    let head = PooledHead::load(&Gguf::open(path).expect("a file"), spec).expect("a head");
    let classifier = head.classifier().expect("a reranker");
    let double = |row: &Vec<f32>| row.iter().copied().map(f64::from).collect::<Vec<_>>();
    let pooled = match classifier.pooling() {
        ClassifierPooling::One if spec.is_causal => double(&states[states.len() - 1]),
        ClassifierPooling::One => double(&states[0]),
        ClassifierPooling::Mean => (0..spec.hidden_size)
            .map(|i| states.iter().map(|row| f64::from(row[i])).sum::<f64>() / states.len() as f64)
            .collect(),
    };
    classifier.classify(pooled).into_iter().map(|score| score as f32).collect()
}

fn check<B: Backend>(path: &Path, backend: Arc<B>, kv_dtype: KvDType) {
    let model = load(path, backend);
    for case in cases(path) {
        let name = path.display();
        let [states] = &hidden_states(&model, &[&case], kv_dtype).expect("a pass")[..] else {
            panic!("one sequence")
        };
        if let Some(expected) = case.states {
            let difference = error(states, &expected);
            // Encoders have exact keys and values by default.
            let bound = if kv_dtype == KvDType::F32 { 1e-4 } else { 1e-3 };
            assert!(difference < bound, "{name}: {difference} with {kv_dtype}");
        }
        let scores_are_exact = kv_dtype == KvDType::F32;
        if let Some(expected) = case.scores.filter(|_| scores_are_exact) {
            let found = scores(path, model.spec(), states);
            assert_eq!(found.len(), expected.len(), "{name}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-4, "{name}: {found} instead of {expected}");
            }
        }
    }
}

#[test]
fn encoders_and_rerankers_match_transformers() {
    let own = own_models();
    assert_eq!(own.len(), 23);
    for path in own.iter().chain(&oracle_models()) {
        check(path, Arc::new(ReferenceBackend), KvDType::F32);
        for kv_dtype in [KvDType::F32, KvDType::I16] {
            check(path, cpu(Isa::Scalar), kv_dtype);
        }
    }
}

#[test]
fn weights_of_8_bits_are_close_to_transformers() {
    for path in own_models() {
        let checkpoint = Gguf::open(&path).expect("a sound file");
        let quantize = Some(Requantize::Q8_0);
        for isa in Isa::available() {
            let backend = cpu(isa);
            let model = Model::load(&checkpoint, backend, quantize, &mut |_| ());
            let model = model.expect("a sound model");
            for case in cases(&path) {
                let found = &hidden_states(&model, &[&case], KvDType::F32).expect("a pass")[0];
                if let Some(expected) = &case.states {
                    let cosine = cosine(&found.concat(), &expected.concat());
                    // The weights are random, so that errors grow from layer to layer.
                    assert!(cosine > 0.95, "{}: {cosine} with {isa:?}", path.display());
                }
            }
        }
    }
}

#[test]
fn states_without_a_final_norm_are_captured() {
    check_captured(Arc::new(ReferenceBackend));
    check_captured(cpu(Isa::Scalar));
    if let Some(gpu) = adapter() {
        check_captured(Arc::clone(gpu));
    }
}

fn check_captured<B: Backend>(backend: Arc<B>) {
    let path = fixtures().join("encoders/bert.gguf");
    let model = load(&path, backend);
    let tokens = &cases(&path)[0].tokens;
    let layout = model.spec().kv_layout(tokens.len(), KvDType::F32);
    let blocks: Vec<_> = (0..layout.num_blocks as u32).map(BlockId).collect();
    let mut builder = BatchBuilder::new(layout.block_tokens);
    let block_table = &blocks[..];
    let logits = LogitRows::All;
    let chunk = SequenceChunk { tokens, start: 0, block_table, logits, second_segment: None };
    builder.push(&chunk).expect("enough blocks");
    let mut cache = ModelCache::new(&**model.backend(), &layout, None).expect("memory");
    let limits = BatchLimits { max_num_tokens: tokens.len(), max_num_logit_rows: 1 };
    let workspace = model.workspace(limits).expect("memory");
    let hidden_size = model.spec().hidden_size;
    let workspace = workspace.with_hidden_rows(&**model.backend(), hidden_size);
    let mut workspace = workspace.expect("memory");
    let states = model.forward_hidden(&builder.build(), &mut cache, &mut workspace);
    let states = states.expect("a pass").to_vec();
    assert_eq!(states.len(), tokens.len() * hidden_size);
    let captured = model.hidden_rows(tokens.len(), &mut workspace).expect("they are captured");
    assert_eq!(captured, states);
}

#[test]
fn neighbors_in_a_batch_change_no_bit() {
    for path in own_models() {
        let model = load(&path, cpu(Isa::Scalar));
        let cases = cases(&path);
        let all: Vec<_> = cases.iter().chain(cases.iter().rev()).collect();
        let together = hidden_states(&model, &all, KvDType::F32).expect("a pass");
        for (case, found) in all.iter().zip(together) {
            let alone = hidden_states(&model, &[case], KvDType::F32).expect("a pass");
            assert_eq!(found, alone[0], "{}", path.display());
        }
    }
}

#[test]
fn a_part_of_a_sequence_and_logits_are_refused() {
    let model = load(&fixtures().join("encoders/bert.gguf"), Arc::new(ReferenceBackend));
    let layout = model.spec().kv_layout(32, KvDType::F32);
    let batch = |start, second_segment| {
        let mut builder = BatchBuilder::new(layout.block_tokens);
        let (tokens, block_table) = (&[5, 6], &[BlockId(0)]);
        let logits = LogitRows::All;
        let chunk = SequenceChunk { tokens, start, block_table, logits, second_segment };
        builder.push(&chunk).expect("enough blocks");
        builder.build()
    };
    assert!(matches!(run(&model, &batch(3, None), &layout), Err(ModelError::NotInOnePass)));
    run(&model, &batch(0, Some(1)), &layout).expect("two token types");
    let mut cache = ModelCache::new(&**model.backend(), &layout, None).expect("memory");
    let limits = BatchLimits { max_num_tokens: 2, max_num_logit_rows: 2 };
    let mut workspace = model.workspace(limits).expect("memory");
    let logits = model.forward(&batch(0, None), &mut cache, &mut workspace);
    assert!(matches!(logits, Err(ModelError::NoLogits)));

    let model = load(&fixtures().join("encoders/jina-v3.gguf"), Arc::new(ReferenceBackend));
    let error = run(&model, &batch(0, Some(1)), &layout).expect_err("one token type");
    assert!(matches!(error, ModelError::TokenTypeOutOfRange { found: 1, num_token_types: 1 }));
}
