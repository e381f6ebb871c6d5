use inferno_backend::{
    Backend, BatchBuilder, BlockId, DeviceMemory, KvDType, KvLayer, KvLayout, LogitRows, Pass,
    SequenceChunk,
};

use super::inputs::{PANEL, SPAN};
use super::merge::MIXED;
use super::*;
use crate::{CpuBackend, CpuOptions, Isa};

const BLOCK_TOKENS: usize = 64;
const LAYOUT: QkvLayout = QkvLayout::new(4, 4, 8);

fn batch(context: usize, start: usize) -> Batch {
    let blocks = context.div_ceil(BLOCK_TOKENS) as u32;
    let block_table: Vec<_> = (0..blocks).map(BlockId).collect();
    let chunk = SequenceChunk {
        tokens: &vec![0; context - start],
        start,
        block_table: &block_table,
        logits: LogitRows::None,
        second_segment: None,
    };
    let mut builder = BatchBuilder::new(BLOCK_TOKENS);
    builder.push(&chunk).expect("enough blocks");
    builder.build()
}

/// What the last of `context` tokens sees, and the floats that are kept for contexts that are split.
fn attend_last(threads: usize, context: usize) -> (Vec<f32>, usize) {
    let options = CpuOptions { isa: Some(Isa::Scalar), threads: Some(threads) };
    let backend = CpuBackend::new(options).expect("a backend");
    let kv = KvLayout {
        layers: vec![KvLayer::new(LAYOUT.num_kv_heads, LAYOUT.head_dim)],
        window: None,
        block_tokens: BLOCK_TOKENS,
        num_blocks: context.div_ceil(BLOCK_TOKENS),
        dtype: KvDType::F32,
    };
    let mut cache = backend.alloc_kv_cache(&kv).expect("memory");
    let cols = LAYOUT.row_len();
    // Far from even, and different at every position.
    let value = |i: usize| ((i * 7919) % 10007) as f32 / 2500.0 - 2.0;
    let values: Vec<_> = (0..context * cols).map(value).collect();
    let mut all = backend.alloc(context, cols).expect("memory");
    backend.upload(&values, &mut all);
    backend.begin().store_kv(&batch(context, 0), 0, &LAYOUT, &all, &mut cache);

    let mut last = backend.alloc(1, cols).expect("memory");
    backend.upload(&values[(context - 1) * cols..], &mut last);
    let params = AttentionParams::new(0, 1.0);
    let mut out = backend.alloc(1, 32).expect("memory");
    let batch = batch(context, context - 1);
    backend
        .begin()
        .paged_attention(&batch, &params, &LAYOUT, &last, &cache, &mut out)
        .expect("memory");
    let result = backend.download(&out, 0..32, &mut Vec::new()).expect("memory").to_vec();
    let workspace = &backend.workspace().attention;
    let lines = workspace.partials.get().len() + workspace.states.get().len();
    (result, lines * LANES)
}

#[test]
fn a_context_that_is_merged_in_several_windows_gives_the_bits_of_one_that_is_not_split() {
    // One thread has enough tasks without splitting; two take 8 spans at a time, three 12.
    let context = 20 * SPAN + 100;
    let (whole, kept) = attend_last(1, context);
    assert_eq!(kept, 0);
    for threads in [2, 3] {
        let (split, kept) = attend_last(threads, context);
        assert!(kept > 0);
        assert_eq!(split, whole, "{threads} threads");
    }
}

#[test]
fn workspace_grows_with_the_context_up_to_a_bound() {
    // Each of 4 heads has a result a span, of 8 spans at most with two threads, and the merged one.
    let partial_len = MIXED + PANEL;
    for (spans, kept) in [(2, 2), (9, 8), (40, 8)] {
        let (_, found) = attend_last(2, spans * SPAN);
        assert_eq!(found, 4 * (kept + 1) * partial_len, "{spans} spans");
    }
}
