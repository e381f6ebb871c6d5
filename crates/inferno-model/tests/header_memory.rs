//! Reading the description of a model allocates no more than its header justifies.

#[path = "../../inferno-gguf/tests/gguf/counting_allocator/mod.rs"]
mod counting_allocator;
#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "model/support/mod.rs"]
mod support;

use counting_allocator::{CountingAllocator, peak_bytes};
use inferno_gguf::Gguf;
use inferno_model::ModelSpec;
use support::synthetic::synthetic_with;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MAX_BYTES: usize = 1 << 20;

/// The largest number of layers or heads.
const MANY: u32 = 1 << 24;

#[test]
fn layers_that_predict_further_tokens_need_no_memory() {
    let bytes = synthetic_with("llama", |metadata| {
        metadata.insert("llama.block_count", MANY);
        metadata.insert("llama.nextn_predict_layers", MANY - 2);
    });
    let checkpoint = Gguf::from_bytes(bytes).expect("a valid file");
    let (spec, peak) = peak_bytes(|| ModelSpec::from_checkpoint(&checkpoint));
    spec.expect("a model of two layers");
    assert!(peak < MAX_BYTES, "{peak} bytes");
}
