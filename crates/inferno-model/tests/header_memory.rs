//! Reading the description of a model allocates no more than its header justifies.

#[path = "../../inferno-gguf/tests/gguf/counting_allocator/mod.rs"]
mod counting_allocator;
#[allow(dead_code, reason = "shared with the tests of models")]
#[path = "model/support/mod.rs"]
mod support;

use counting_allocator::{CountingAllocator, peak_bytes};
use inferno_gguf::Gguf;
use inferno_model::{ModelError, ModelSpec};
use support::file::File;
use support::synthetic::{synthetic, synthetic_with};

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
    let mut file = File::of_bytes(few_heads);
    file.metadata.insert("qwen35.attention.head_count", MANY);
    let many_heads = file.write();
    let (spec, peak) = peak_bytes(|| ModelSpec::from_checkpoint(&many_heads));
    match spec {
        Err(ModelError::TensorShape { name, .. }) => assert_eq!(name, "blk.0.attn_q.weight"),
        other => panic!("{other:?}"),
    }
    assert!(peak < MAX_BYTES, "{peak} bytes");
}

/// Which layers are recurrent or have a window is not listed before the tensors of the layers are looked up.
#[test]
fn layers_without_tensors_need_no_memory() {
    for (architecture, period) in [
        ("llama", None),
        ("mamba", None),
        ("falcon-h1", None),
        ("jamba", None),
        ("qwen35", None),
        ("qwen35", Some("full_attention_interval")),
        ("gemma2", None),
        ("gemma3", Some("attention.sliding_window_pattern")),
        ("modern-bert", Some("attention.sliding_window_pattern")),
        ("llama4", Some("attention.sliding_window_pattern")),
    ] {
        let mut file = File::of_bytes(synthetic(architecture));
        let mut set = |key: &str, value: u32| {
            file.metadata.insert(format!("{architecture}.{key}"), value);
        };
        set("block_count", MANY);
        if let Some(key) = period {
            set(key, 2);
        }
        match architecture {
            "mamba" => set("feed_forward_length", 0),
            "jamba" => set("attention.head_count_kv", 0),
            _ => {}
        }
        let checkpoint = file.write();
        let (spec, peak) = peak_bytes(|| ModelSpec::from_checkpoint(&checkpoint));
        let error = spec.expect_err("most layers are missing");
        assert!(matches!(error, ModelError::MissingTensor { .. }), "{architecture}: {error}");
        assert!(peak < MAX_BYTES, "{architecture}: {peak} bytes");
    }
}
