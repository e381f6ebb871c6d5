//! A forward pass allocates nothing once a batch as large has been computed, and no more scratch memory than was
//! estimated.
//!
//! The allocator counts for the whole process, so this program has a single test.

#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "model/support/mod.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inferno_backend::{
    Batch, BatchBuilder, BlockId, CandidateShape, KvDType, LogitRows, SequenceChunk,
};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_gguf::Gguf;
use inferno_model::{
    BatchLimits, CacheLayout, Footprint, Model, ModelCache, ModelSpec, Requantize, StageRows,
};
use support::fixtures;

static NUM_ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting calls.
struct CountingAllocator;

// SAFETY: all memory comes from the system's allocator and is returned to it under the same layout;
// `alloc_zeroed` and `realloc` are the trait's own, which call the two functions here. Counting neither unwinds
// nor allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NUM_ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const PROMPT: usize = 100;
const LIMITS: BatchLimits = BatchLimits { max_num_tokens: PROMPT, max_num_logit_rows: 1 };

/// The prompt, and two tokens after it.
fn batches(table: &[BlockId], block_tokens: usize) -> [Batch; 3] {
    [(0, PROMPT), (PROMPT, 1), (PROMPT + 1, 1)].map(|(start, num_tokens)| {
        let tokens = vec![1; num_tokens];
        let mut builder = BatchBuilder::new(block_tokens);
        let logits = LogitRows::Last;
        let chunk = SequenceChunk {
            tokens: &tokens,
            start,
            block_table: table,
            logits,
            second_segment: None,
        };
        builder.push(&chunk).expect("the table covers it");
        builder.build()
    })
}

fn check(name: &str, requantize: Option<Requantize>, kv_dtype: KvDType, threads: usize) {
    let case = format!("{name} {requantize:?} {kv_dtype} {threads} threads");
    let options = CpuOptions { threads: Some(threads), ..CpuOptions::default() };
    let backend = Arc::new(CpuBackend::new(options).expect("every machine has one"));
    let checkpoint = Gguf::open(fixtures().join(name)).expect("a fixture");
    let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a known architecture");
    let layout = spec.kv_layout(PROMPT + 2, kv_dtype);
    let Ok(mut cache) = ModelCache::new(&*backend, &layout, None) else { return };
    let estimate = |limits| {
        let backend = &*backend;
        let cache = CacheLayout { kv: layout.clone(), state: None };
        Footprint::estimate(&checkpoint, &spec, backend, requantize, &cache, limits)
            .expect("a valid checkpoint")
            .workspace_bytes
    };
    let estimated = estimate(LIMITS);
    let model = Model::load(&checkpoint, Arc::clone(&backend), requantize, &mut |_| ());
    let model = model.expect("a valid checkpoint");
    let mut workspace = model.workspace(LIMITS).expect("memory");
    let table: Vec<BlockId> = (0..layout.num_blocks as u32).map(BlockId).collect();
    let batches = batches(&table, layout.block_tokens);
    let shape = CandidateShape { count: 8, vocab_size: spec.vocab_size };
    let mut forward = |batch: &Batch| {
        let rows = StageRows::Candidates(shape);
        model.submit(batch, None, rows, &mut cache, &mut workspace).expect("a valid batch");
        model.forward(batch, &mut cache, &mut workspace).expect("a valid batch");
    };
    batches.iter().for_each(&mut forward);

    let scratch = backend.allocated_scratch_bytes();
    assert!(scratch > 0 && scratch <= estimated, "{case}: {scratch} bytes, {estimated} estimated");
    // A thread of the pool may start only now, which allocates once.
    let counts = [(); 10].map(|()| {
        let before = NUM_ALLOCATIONS.load(Ordering::Relaxed);
        batches.iter().for_each(&mut forward);
        NUM_ALLOCATIONS.load(Ordering::Relaxed) - before
    });
    assert!(counts.contains(&0), "{case}: {counts:?}");
    assert_eq!(backend.allocated_scratch_bytes(), scratch, "{case}");
}

#[test]
fn a_pass_allocates_nothing_after_one_of_its_size() {
    for name in ["qwen3.gguf", "llama.gguf", "mixtral.gguf"] {
        for requantize in [None, Some(Requantize::Q8_0), Some(Requantize::Int8)] {
            for kv_dtype in KvDType::ALL {
                for threads in [1, 2] {
                    check(name, requantize, kv_dtype, threads);
                }
            }
        }
    }
}
