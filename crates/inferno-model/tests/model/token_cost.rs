//! Token costs of the fixtures, computed by hand from the shapes in `make_fixtures.py`.

use crate::support::fixtures;
use crate::support::synthetic::{synthetic, synthetic_with};
use inferno_backend::{KvDType, ReferenceBackend};
use inferno_gguf::{Gguf, TensorInfo};
use inferno_model::{ARCHITECTURES, ExpertCost, ModelSpec, ProductCost, Requantize, TokenCost};

fn cost(name: &str, requantize: Option<Requantize>, kv_dtype: KvDType) -> TokenCost {
    let checkpoint = Gguf::open(fixtures().join(name)).expect("a sound file");
    cost_of(&checkpoint, requantize, kv_dtype)
}

fn cost_of(checkpoint: &Gguf, requantize: Option<Requantize>, kv_dtype: KvDType) -> TokenCost {
    let spec = ModelSpec::from_checkpoint(checkpoint).expect("a sound model");
    let backend = ReferenceBackend::new();
    TokenCost::estimate(&spec, &backend, requantize, kv_dtype).expect("a cost")
}

fn windows(cost: &TokenCost) -> Vec<Option<usize>> {
    cost.attention.iter().map(|attention| attention.window).collect()
}

/// Two layers: q, k and v, o, and the three matrices of the feed-forward block.
const LLAMA_WEIGHTS: u64 = 2 * (32 * 32 + 2 * 16 * 32 + 32 * 32 + 3 * 48 * 32);

#[test]
fn a_dense_model_reads_and_multiplies_all_weights() {
    let cost = cost("llama.gguf", None, KvDType::F16);
    let layers = ProductCost {
        // The reference backend stores 4 bytes per weight; the 5 norms of 32 values are vectors.
        weight_bytes: 4 * (LLAMA_WEIGHTS as usize + 5 * 32),
        f16_ops: 2 * LLAMA_WEIGHTS,
        ..ProductCost::default()
    };
    let head =
        ProductCost { weight_bytes: 4 * 64 * 32, f16_ops: 2 * 64 * 32, ..ProductCost::default() };
    assert_eq!((cost.layers, cost.head), (layers, head));
    // 2 layers, keys and values, 2 heads of 8 values; 4 query heads of 8, a product for the key and one for the value.
    assert_eq!(cost.kv_bytes(0), 2 * 2 * 2 * 8 * 2);
    assert_eq!(cost.attention_ops(0), 2 * 4 * 8 * 2 * 2);
    assert_eq!(windows(&cost), [None; 2]);
}

#[test]
fn quantized_weights_count_as_integer_operations() {
    let cost = cost("llama.gguf", Some(Requantize::Q8_0), KvDType::F32);
    assert_eq!((cost.layers.int8_ops, cost.layers.f32_ops), (2 * LLAMA_WEIGHTS, 0));
    assert_eq!((cost.head.int8_ops, cost.head.f32_ops), (2 * 64 * 32, 0));
    assert_eq!(cost.kv_bytes(0), 2 * 2 * 2 * 8 * 4);
}

#[test]
fn a_mixture_counts_only_the_experts_that_a_token_uses() {
    let cost = cost("qwen3moe.gguf", None, KvDType::F16);
    let attention = 64 * 32 + 2 * 32 * 32 + 32 * 64;
    let experts = 6 * 32 + 2 * 3 * 24 * 32;
    assert_eq!(cost.layers.f16_ops, 2 * 2 * (attention + experts));
}

#[test]
fn a_step_of_many_sequences_reads_every_expert_once() {
    let cost = cost("qwen3moe.gguf", None, KvDType::F16);
    // In two layers, with 4 bytes per weight.
    let expert_bytes = 2 * 3 * 24 * 32 * 4;
    let experts = ExpertCost { num_experts: 6, num_experts_used: 2, expert_bytes };
    assert_eq!(cost.experts, [experts]);
    assert!((experts.expected_num_used(1) - 2.0).abs() < 1e-9);
    assert!((experts.expected_num_used(2) - (2.0 + 4.0 * 2.0 / 6.0)).abs() < 1e-9);
    let of_one = (cost.layers.weight_bytes + cost.head.weight_bytes) as u64;
    assert_eq!(cost.step_weight_bytes(1), of_one);
    assert_eq!(cost.step_weight_bytes(1000), of_one + 4 * expert_bytes as u64);
}

#[test]
fn tied_embeddings_count_as_the_head_and_the_window_is_reported() {
    let tied = cost("llama-tied.gguf", None, KvDType::F16);
    assert_eq!(tied.head, cost("llama.gguf", None, KvDType::F16).head);
    let windowed = cost("mistral-window.gguf", None, KvDType::F16);
    assert_eq!(windows(&windowed), [Some(7); 2]);
    let attended = |position| windowed.kv_bytes(position) / windowed.kv_bytes(0);
    assert_eq!([3, 6, 100].map(attended), [4, 7, 7]);
}

#[test]
fn recurrent_layers_read_and_write_their_state() {
    // Two of three layers have a convolution of 4 taps over 2 heads of queries and keys of 10 values and 6 heads of
    // values of 6, and a matrix of 10 x 6 for each of those.
    let state = 2 * (3 * (2 * 2 * 10 + 36) + 6 * 10 * 6);
    for (name, ops_per_value) in [("qwen3next", 7), ("granitehybrid", 5)] {
        let checkpoint = Gguf::from_bytes(synthetic(name)).expect("a valid file");
        let cost = cost_of(&checkpoint, None, KvDType::F16);
        assert_eq!(cost.state_bytes, 2 * 4 * state, "{name}");
        assert_eq!(cost.state_ops, 2 * 6 * 10 * 6 * ops_per_value, "{name}");
        // The other layer has 2 heads of 16.
        assert_eq!(cost.kv_bytes(3), 4 * 2 * 2 * 16 * 2, "{name}");
    }
}

#[test]
fn a_token_reads_every_tensor_once_but_of_experts_only_those_that_it_uses() {
    for architecture in ARCHITECTURES.iter().filter(|architecture| architecture.is_causal) {
        let name = architecture.name;
        let checkpoint = Gguf::from_bytes(synthetic(name)).expect("a valid file");
        let is_tied = checkpoint.tensor("output.weight").is_none();
        let values = |info: &TensorInfo| match info.name() {
            "token_embd.weight" if is_tied => info.num_elements(),
            "token_embd.weight" | "position_embd.weight" | "per_layer_token_embd.weight" => 0,
            // 2 of 6 experts.
            name if name.contains("_exps.") && !name.contains("norm") => info.num_elements() / 3,
            _ => info.num_elements(),
        };
        let num_values: usize = checkpoint.tensors().iter().map(values).sum();
        let num_values = num_values
            + match name {
                // Two blocks read the norm of each layer.
                "gemma3n" | "phi2" | "command-r" | "cohere2" | "cohere2moe" | "falcon" | "gptj"
                | "stablelm" => 3 * 32,
                // Keys are values of a layer with 2 heads of 8 and one with 2 heads of 16, and each of 32 rows of 2
                // experts has a scale, of which the file has 6.
                "gemma4" => (16 + 32) * 32 + (2 * 32 - 6 / 3),
                _ => 0,
            };
        let cost = cost_of(&checkpoint, None, KvDType::F16);
        let found = cost.layers.weight_bytes + cost.head.weight_bytes;
        assert_eq!(found, 4 * num_values, "{name}");
    }
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
        assert_eq!(windows(&cost.expect("a supported format")), [expected; 3]);
    }
}
