//! Token costs of the fixtures, computed by hand from the shapes in `make_fixtures.py`.

use crate::support::fixtures;
use crate::support::synthetic::synthetic_with;
use inferno_backend::{KvDType, ReferenceBackend};
use inferno_gguf::Gguf;
use inferno_model::{ModelSpec, ProductCost, Requantize, TokenCost};

fn cost(name: &str, requantize: Option<Requantize>, kv_dtype: KvDType) -> TokenCost {
    let checkpoint = Gguf::open(fixtures().join(name)).expect("a sound file");
    let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model");
    let backend = ReferenceBackend::new();
    TokenCost::estimate(&spec, &backend, requantize, kv_dtype).expect("a cost")
}

/// Two layers: q, k and v, o, and the three matrices of the feed-forward block.
const LLAMA_WEIGHTS: u64 = 2 * (32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 48 * 32);

#[test]
fn a_dense_model_reads_and_multiplies_all_weights() {
    let cost = cost("llama.gguf", None, KvDType::F16);
    let layers = ProductCost {
        // The reference backend stores 4 bytes per weight; the 5 norms of 32 values are vectors.
        weight_bytes: 4 * (LLAMA_WEIGHTS as usize + 5 * 32),
        int8_ops: 0,
        f32_ops: 2 * LLAMA_WEIGHTS,
    };
    let head = ProductCost { weight_bytes: 4 * 64 * 32, int8_ops: 0, f32_ops: 2 * 64 * 32 };
    assert_eq!((cost.layers, cost.head), (layers, head));
    // 2 layers, keys and values, 2 heads of 8 values; 4 query heads of 8, a product for the key and one for the value.
    assert_eq!(cost.position_bytes, 2 * 2 * 2 * 8 * 2);
    assert_eq!(cost.position_ops, 2 * 4 * 8 * 2 * 2);
    assert_eq!(cost.windows, [None; 2]);
}

#[test]
fn quantized_weights_count_as_integer_operations() {
    let cost = cost("llama.gguf", Some(Requantize::Q8_0), KvDType::F32);
    assert_eq!((cost.layers.int8_ops, cost.layers.f32_ops), (2 * LLAMA_WEIGHTS, 0));
    assert_eq!((cost.head.int8_ops, cost.head.f32_ops), (2 * 64 * 32, 0));
    assert_eq!(cost.position_bytes, 2 * 2 * 2 * 8 * 4);
}

#[test]
fn a_mixture_counts_only_the_experts_that_a_token_uses() {
    let cost = cost("qwen3moe.gguf", None, KvDType::F16);
    let attention = 64 * 32 + 2 * 32 * 32 + 32 * 64;
    let experts = 6 * 32 + 2 * 3 * 24 * 32;
    assert_eq!(cost.layers.f32_ops, 2 * 2 * (attention + experts));
}

#[test]
fn tied_embeddings_count_as_the_head_and_the_window_is_reported() {
    let tied = cost("llama-tied.gguf", None, KvDType::F16);
    assert_eq!(tied.head, cost("llama.gguf", None, KvDType::F16).head);
    let windowed = cost("mistral-window.gguf", None, KvDType::F16);
    assert_eq!(windowed.windows, [Some(7); 2]);
    assert_eq!([3, 6, 100].map(|position| windowed.attended(position)), [4, 7, 7]);
}

#[test]
fn a_window_as_long_as_the_context_is_none() {
    for (len, expected) in [(127_u32, Some(127)), (128, None)] {
        let bytes = synthetic_with("phi3", |metadata| {
            metadata.insert("phi3.attention.sliding_window", len);
        });
        let checkpoint = Gguf::from_bytes(bytes).expect("a valid file");
        let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a valid model");
        let cost = TokenCost::estimate(&spec, &ReferenceBackend::new(), None, KvDType::F16);
        assert_eq!(cost.expect("a supported format").windows, [expected; 3]);
    }
}
