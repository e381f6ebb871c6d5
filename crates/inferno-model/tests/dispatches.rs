//! The number of kernels that a GPU starts for a token, and of bytes that the host reads.
//!
//! The counters are those of the device, which all tests of a program share, so this program has a single test.

#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "model/support/mod.rs"]
mod support;

use std::sync::Arc;

use inferno_backend::{BatchBuilder, BlockId, CandidateShape, KvDType, LogitRows, SequenceChunk};
use inferno_conformance::gpu::adapter;
use inferno_gpu::{AdapterKind, GpuCounters};
use inferno_model::{ModelCache, StageOutput, StageRows};
use support::{fixtures, limits, load};

/// Lookup of the embedding, selection of rows, final norm and output head; the count of the download.
const OUTSIDE_LAYERS: u64 = 5;

/// Projection of queries, keys and values; rotation and storage; attention; its output; both parts of the feed-forward
/// block.
const PER_LAYER: u64 = 6;

/// Selection of candidates from up to 1024 logits.
const SELECTION: u64 = 1;

/// Dispatches of the first submission, after which a device that is no software computes while the host records the next.
/// Later ones have more.
const FIRST_DISPATCHES: u64 = 16;

/// The submissions between two states of the counters, and the dispatches except for those that count submissions.
fn work(before: &GpuCounters, after: &GpuCounters) -> (u64, u64) {
    let submissions = after.submissions - before.submissions;
    (submissions, after.dispatches - before.dispatches - submissions)
}

#[test]
fn a_dense_layer_is_six_dispatches_in_few_submissions_and_a_greedy_step_downloads_a_candidate() {
    let Some(backend) = adapter() else { return };
    let is_software = backend.adapter().kind() == AdapterKind::Software;
    let max_submissions = |dispatches: u64| match is_software {
        true => 1,
        false => 1 + dispatches / FIRST_DISPATCHES,
    };
    for name in ["llama.gguf", "qwen2.gguf", "qwen3.gguf", "mistral-window.gguf"] {
        let model = load(&fixtures().join(name), Arc::clone(backend));
        let layout = model.spec().kv_layout(8, KvDType::F16);
        let mut cache = ModelCache::new(&**backend, &layout, None).expect("a small cache");
        let mut workspace = model.workspace(limits(4)).expect("a small workspace");
        let table: Vec<BlockId> = (0..layout.num_blocks as u32).map(BlockId).collect();
        for (tokens, start) in [(&[1, 2, 3][..], 0), (&[4], 3)] {
            let mut builder = BatchBuilder::new(layout.block_tokens);
            let logits = LogitRows::Last;
            let chunk =
                SequenceChunk { tokens, start, block_table: &table, logits, second_segment: None };
            builder.push(&chunk).expect("the table covers it");
            let batch = builder.build();
            let before = backend.counters();
            model.forward(&batch, &mut cache, &mut workspace).expect("a valid batch");
            let after = backend.counters();
            let row_bytes = size_of::<f32>() * model.spec().vocab_size;
            assert_eq!(after.downloaded_bytes - before.downloaded_bytes, row_bytes as u64);
            let (submissions, dispatches) = work(&before, &after);
            assert!(submissions <= max_submissions(dispatches), "{name}: {submissions}");
            let num_layers = layout.layers.len() as u64;
            assert!(
                dispatches <= PER_LAYER * num_layers + OUTSIDE_LAYERS,
                "{name}: {dispatches} for {num_layers} layers"
            );
            let shape = CandidateShape { count: 1, vocab_size: model.spec().vocab_size };
            let rows = StageRows::Candidates(shape);
            model.submit(&batch, None, rows, &mut cache, &mut workspace).expect("a valid batch");
            assert!(matches!(model.wait(&mut workspace), Ok(StageOutput::Candidates { .. })));
            let greedy = backend.counters();
            let (submissions, selecting) = work(&after, &greedy);
            assert!(submissions <= max_submissions(selecting), "{name}: {submissions}");
            assert_eq!(selecting, dispatches + SELECTION, "{name}");
            assert_eq!(greedy.downloaded_bytes - after.downloaded_bytes, 16, "{name}");
        }
    }
}
