//! Reading the description of a model allocates no more than its header justifies.

#[path = "../../inferno-gguf/tests/gguf/counting_allocator/mod.rs"]
mod counting_allocator;
#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "model/support/mod.rs"]
mod support;

use counting_allocator::{CountingAllocator, peak_bytes};
use inferno_gguf::{Gguf, GgufWriter};
use inferno_model::{ModelError, ModelSpec};
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

#[test]
fn rows_are_listed_only_if_the_tensor_has_them() {
    let few_heads = synthetic_with("qwen35", |metadata| {
        metadata.insert("qwen35.full_attention_interval", 1_u32);
    });
    let few_heads = Gguf::from_bytes(few_heads).expect("a valid file");
    let mut metadata = few_heads.metadata().clone();
    metadata.insert("qwen35.attention.head_count", MANY);
    let mut writer = GgufWriter::new(&metadata).expect("valid metadata");
    for info in few_heads.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).expect("a valid tensor");
    }
    let mut payloads = writer.in_memory();
    for info in few_heads.tensors() {
        payloads.write_tensor(info.name(), &few_heads.data(info)).expect("the same payload");
    }
    let bytes = payloads.finish().expect("all payloads");
    let many_heads = Gguf::from_bytes(bytes).expect("a valid file");
    let (spec, peak) = peak_bytes(|| ModelSpec::from_checkpoint(&many_heads));
    match spec {
        Err(ModelError::TensorShape { name, .. }) => assert_eq!(name, "blk.0.attn_q.weight"),
        other => panic!("{other:?}"),
    }
    assert!(peak < MAX_BYTES, "{peak} bytes");
}
