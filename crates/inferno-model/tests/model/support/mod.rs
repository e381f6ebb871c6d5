//! Models, reference answers and prompt chunking shared by the integration tests.

pub mod edited;
pub mod file;
pub mod synthetic;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inferno_backend::{
    Backend, Batch, BatchBuilder, BlockId, KvDType, KvLayout, LogitRows, SequenceChunk, StateSlot,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model, ModelCache, ModelError, ModelSpec};

/// Logits by transformers for one model.
pub struct ReferenceLogits {
    pub tokens: Vec<u32>,
    pub logits: Vec<Vec<f32>>,
}

impl ReferenceLogits {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let json: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
        let floats = |row: &serde_json::Value| {
            let row = row.as_array().expect("a row");
            row.iter().map(|x| x.as_f64().expect("a number") as f32).collect()
        };
        let tokens = json["tokens"].as_array().expect("token ids");
        Self {
            tokens: tokens.iter().map(|id| id.as_u64().expect("an id") as u32).collect(),
            logits: json["logits"].as_array().expect("rows").iter().map(floats).collect(),
        }
    }
}

/// How a prompt is split into batches.
#[derive(Debug, Clone, Copy)]
pub enum Feed {
    Whole,
    Chunks(usize),
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The folder of reference answers, if `INFERNO_ORACLE` is set.
pub fn oracle() -> Option<PathBuf> {
    let folder = std::env::var_os("INFERNO_ORACLE").map(PathBuf::from);
    match &folder {
        Some(folder) => {
            assert!(folder.is_dir(), "INFERNO_ORACLE names {folder:?}, which is missing")
        }
        None => drop(writeln!(std::io::stderr(), "skipped: INFERNO_ORACLE is not set")),
    }
    folder
}

/// Every model in `folder` that has a reference answer.
pub fn models_under(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
    let mut models: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gguf"))
        .filter(|path| path.with_extension("json").exists())
        .collect();
    models.sort();
    models
}

/// Whether inferno supports the model's architecture and options, and the model computes logits. Prints the reason if it is
/// not supported.
pub fn is_supported(path: &Path) -> bool {
    let checkpoint = Gguf::open(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    match ModelSpec::from_checkpoint(&checkpoint) {
        Ok(spec) => spec.has_logits(),
        Err(
            error @ (ModelError::UnknownArchitecture { .. } | ModelError::InvalidConfig { .. }),
        ) => {
            println!("skipped {}: {error}", path.display());
            false
        }
        Err(error) => panic!("{path:?}: {error}"),
    }
}

/// Whether some weights of the file are quantized.
pub fn is_quantized(path: &Path) -> bool {
    let checkpoint = Gguf::open(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    checkpoint.tensors().iter().any(|tensor| !["F32", "F16"].contains(&tensor.ggml_type().name()))
}

pub fn load<B: Backend>(path: &Path, backend: Arc<B>) -> Model<B> {
    let checkpoint = Gguf::open(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    Model::load(&checkpoint, backend, None, &mut |_| ()).unwrap_or_else(|e| panic!("{path:?}: {e}"))
}

/// Logits of `tokens` at every position. Blocks are assigned in reverse, so that confusing
/// positions with slots changes the result.
pub fn logits<B: Backend>(model: &Model<B>, tokens: &[u32], feed: Feed) -> Vec<Vec<f32>> {
    let chunk = match feed {
        Feed::Whole => tokens.len(),
        Feed::Chunks(chunk) => chunk,
    };
    let layout = model.spec().kv_layout(tokens.len(), KvDType::F32);
    let table: Vec<BlockId> = (0..layout.num_blocks as u32).rev().map(BlockId).collect();
    let mut cache = cache(model, &layout);
    let workspace = model.workspace(limits(tokens.len())).expect("a small workspace");
    let mut workspace = workspace.with_context_length(tokens.len());
    let mut rows = Vec::new();
    for (i, tokens) in tokens.chunks(chunk).enumerate() {
        let mut builder = BatchBuilder::new(layout.block_tokens);
        let start = i * chunk;
        builder
            .push_with_state(
                &SequenceChunk {
                    tokens,
                    start,
                    block_table: &table,
                    logits: LogitRows::All,
                    second_segment: None,
                },
                Some(StateSlot(1).into()),
            )
            .expect("the table covers the prompt");
        rows.extend(run(model, &builder.build(), &mut cache, &mut workspace));
    }
    rows
}

/// A cache with two slots for recurrent state.
fn cache<B: Backend>(model: &Model<B>, layout: &KvLayout) -> ModelCache<B> {
    let state = model.spec().state_layout(2);
    ModelCache::new(&**model.backend(), layout, state.as_ref()).expect("a small cache")
}

/// Logits of `second`, computed in one batch after `first`.
pub fn logits_of_two<B: Backend>(model: &Model<B>, first: &[u32], second: &[u32]) -> Vec<Vec<f32>> {
    let num_tokens = first.len() + second.len();
    let layout = model.spec().kv_layout(num_tokens + 32, KvDType::F32);
    let (evens, odds): (Vec<BlockId>, Vec<BlockId>) =
        (0..layout.num_blocks as u32).map(BlockId).partition(|block| block.0 % 2 == 0);
    let mut cache = cache(model, &layout);
    let mut workspace = model.workspace(limits(num_tokens)).expect("a small workspace");
    let mut builder = BatchBuilder::new(layout.block_tokens);
    for (slot, tokens, block_table, logits) in
        [(0, first, &evens, LogitRows::None), (1, second, &odds, LogitRows::All)]
    {
        let chunk = SequenceChunk { tokens, start: 0, block_table, logits, second_segment: None };
        builder
            .push_with_state(&chunk, Some(StateSlot(slot).into()))
            .expect("the tables cover the prompts");
    }
    run(model, &builder.build(), &mut cache, &mut workspace)
}

fn run<B: Backend>(
    model: &Model<B>,
    batch: &Batch,
    cache: &mut ModelCache<B>,
    workspace: &mut inferno_model::Workspace<B>,
) -> Vec<Vec<f32>> {
    let logits = model.forward(batch, cache, workspace).expect("a valid batch");
    logits.chunks(model.spec().vocab_size).map(<[f32]>::to_vec).collect()
}

/// Limits for batches of `num_tokens` tokens with logits for all of them.
pub fn limits(num_tokens: usize) -> BatchLimits {
    BatchLimits { max_num_tokens: num_tokens, max_num_logit_rows: num_tokens }
}
