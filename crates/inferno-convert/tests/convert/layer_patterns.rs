//! Layers with a window or rotary embedding: other ones than runtimes assume of an architecture are stated, or an error.

use inferno_convert::{ConvertError, WeightType};
use inferno_gguf::Metadata;
use serde_json::{Value, json};

use crate::checkpoint::{self, llama_as};

const NUM_LAYERS: usize = 8;
const WINDOWS: &str = "attention.sliding_window_pattern";

/// Converts the Llama model of the tests as one of another class with eight layers.
fn convert(class: &str, keys: Value) -> Result<Metadata, ConvertError> {
    let (mut config, tensors) = llama_as(class, &keys);
    config["num_hidden_layers"] = json!(NUM_LAYERS);
    let gguf = checkpoint::convert(&(config, tensors), WeightType::Auto)?;
    Ok(gguf.metadata().clone())
}

fn key<T: for<'m> inferno_gguf::FromMetadata<'m>>(metadata: &Metadata, key: &str) -> Option<T> {
    let architecture: &str = metadata.required("general.architecture").expect("a name");
    metadata.optional(&format!("{architecture}.{key}")).expect("a value of this type")
}

/// The layers with a window that the result states.
fn windows(metadata: &Metadata) -> Option<Vec<bool>> {
    key(metadata, WINDOWS)
}

fn all_but_every(period: usize) -> Vec<bool> {
    (1..=NUM_LAYERS).map(|layer| layer % period != 0).collect()
}

fn kinds(windows: &[bool], name: &str) -> Value {
    let kind = |&is_windowed| if is_windowed { name } else { "full_attention" };
    json!(windows.iter().map(kind).collect::<Vec<_>>())
}

#[test]
fn other_windows_than_the_usual_ones_are_stated() {
    let afmoe = || json!({"mup_enabled": true, "num_shared_experts": 1});
    let cohere2 = || json!({"logit_scale": 0.5});
    type Configuration = fn() -> Value;
    let families: [(&str, Configuration, &str, usize); 3] = [
        ("GptOssForCausalLM", || json!({}), "", 2),
        ("Cohere2ForCausalLM", cohere2, "sliding_window_pattern", 4),
        ("AfmoeForCausalLM", afmoe, "global_attn_every_n_layers", 4),
    ];
    for (class, keys, period_key, period) in families {
        let open = |key: &str, value: Value| {
            let mut keys = keys();
            keys["sliding_window"] = json!(16);
            keys[key] = value;
            convert(class, keys).unwrap_or_else(|error| panic!("{class}: {error}"))
        };
        assert_eq!(windows(&open("other", Value::Null)), None, "{class}");
        let usual = kinds(&all_but_every(period), "sliding_attention");
        assert_eq!(windows(&open("layer_types", usual)), None, "{class}");
        let other = vec![true, true, false, true, true, false, true, false];
        let listed = kinds(&other, "sliding_attention");
        assert_eq!(windows(&open("layer_types", listed)), Some(other), "{class}");
        if !period_key.is_empty() {
            let found = windows(&open(period_key, json!(3)));
            assert_eq!(found, Some(all_but_every(3)), "{class}");
        }
    }
}

/// **Source**: `AfmoeConfig` of transformers, by which the key is false unless it is set.
#[test]
fn afmoe_without_scaled_embeddings_is_an_error() {
    for enabled in [Value::Null, json!(false)] {
        let keys = json!({"mup_enabled": enabled, "num_shared_experts": 1});
        let message = convert("AfmoeForCausalLM", keys).expect_err("unsupported").to_string();
        assert!(message.contains("\"mup_enabled\": expected true, found false"), "{message}");
    }
}

/// **Source**: `Olmo3Config` and `Exaone4Config` of transformers.
#[test]
fn windows_of_olmo_and_exaone_are_stated_with_their_length() {
    let listed = kinds(&all_but_every(3), "sliding_attention");
    for (class, keys, expected) in [
        ("Olmo3ForCausalLM", json!({}), Some(all_but_every(4))),
        ("Olmo3ForCausalLM", json!({"layer_types": listed}), Some(all_but_every(3))),
        ("Exaone4ForCausalLM", json!({}), None),
        ("Exaone4ForCausalLM", json!({"layer_types": listed}), Some(all_but_every(3))),
        ("Exaone4ForCausalLM", json!({"sliding_window_pattern": 2}), Some(all_but_every(2))),
        ("Exaone4ForCausalLM", json!({"sliding_window_pattern": "LLLG"}), Some(all_but_every(4))),
    ] {
        let mut keys = keys;
        let without = convert(class, keys.clone()).expect("it is converted");
        assert_eq!(windows(&without), None, "{class}");
        keys["sliding_window"] = json!(16);
        let metadata = convert(class, keys).expect("it is converted");
        assert_eq!(windows(&metadata), expected, "{class}");
        assert_eq!(key(&metadata, "attention.sliding_window"), Some(16_u32), "{class}");
    }
}

#[test]
fn other_layers_of_smollm3_without_rotary_embedding_are_an_error() {
    let convert = |keys: Value| convert("SmolLM3ForCausalLM", keys);
    for keys in [
        json!({}),
        json!({"no_rope_layer_interval": 4}),
        json!({"no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0]}),
        json!({"no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0], "sliding_window": 16}),
    ] {
        convert(keys).expect("it is converted");
    }
    for (keys, part) in [
        (json!({"no_rope_layers": [1, 1, 0, 1, 1, 0, 1, 1]}), "expected 1 for layer 2"),
        (json!({"no_rope_layer_interval": 2}), "expected 1 for layer 1"),
        (json!({"no_rope_layers": [1, 1, 1]}), "a number for each of 8 layers, found 3"),
        (json!({"sliding_window": 16, "use_sliding_window": true}), "use_sliding_window"),
    ] {
        let message = convert(keys).expect_err("another pattern").to_string();
        assert!(message.contains(part), "{message}");
    }
}

/// **Source**: `Llama4TextConfig` of transformers, and the configuration of MobileLLM, all of whose layers have full attention.
#[test]
fn chunks_of_llama_4_are_those_of_layers_with_rotary_embedding() {
    let convert = |keys: Value| {
        let mut keys = keys;
        (keys["interleave_moe_layer_step"], keys["intermediate_size_mlp"]) = (json!(1), json!(8));
        convert("Llama4ForCausalLM", keys)
    };
    let open = |keys: Value| convert(keys).expect("it is converted");
    let len = |metadata: &Metadata| key::<u32>(metadata, "attention.sliding_window");
    let usual = [1, 1, 1, 0, 1, 1, 1, 0];
    for keys in [
        json!({}),
        json!({"attention_chunk_size": 8192, "no_rope_layers": usual}),
        json!({"layer_types": kinds(&all_but_every(4), "chunked_attention")}),
    ] {
        let found = open(keys);
        assert_eq!((windows(&found), len(&found)), (None, None));
    }
    let found = open(json!({"attention_chunk_size": 512, "no_rope_layer_interval": 2}));
    assert_eq!((windows(&found), len(&found)), (Some(all_but_every(2)), Some(512)));
    for keys in [
        json!({"layer_types": vec!["full_attention"; 8], "no_rope_layers": vec![1; 8]}),
        json!({"attention_chunk_size": null, "no_rope_layers": vec![1; 8]}),
    ] {
        assert_eq!(len(&open(keys)), Some(0));
    }
    for keys in [
        // Layers with neither chunks nor rotary embedding, or with both.
        json!({"layer_types": vec!["full_attention"; 8]}),
        json!({"layer_types": kinds(&all_but_every(2), "chunked_attention")}),
        // Chunks without a length.
        json!({"attention_chunk_size": null}),
        json!({"attention_chunk_size": null, "layer_types": kinds(&all_but_every(4), "chunked_attention")}),
    ] {
        let message = convert(keys).expect_err("another pattern").to_string();
        assert!(message.contains("no_rope_layers"), "{message}");
    }
}

/// **Source**: `GraniteMoeHybridModel` of transformers, which rotates if the key is `rope` alone.
#[test]
fn hybrids_of_granite_are_rotated_if_their_file_says_so() {
    let convert = |kind: Value, layers: Value| {
        convert(
            "GraniteMoeHybridForCausalLM",
            json!({
                "layer_types": layers,
                "mamba_d_conv": 4,
                "mamba_d_state": 4,
                "mamba_expand": 2,
                "mamba_n_groups": 1,
                "mamba_n_heads": 2,
                "position_embedding_type": kind,
                "shared_intermediate_size": 24,
            }),
        )
    };
    let hybrid = || json!((0..8).map(|it| ["mamba", "attention"][it % 2]).collect::<Vec<_>>());
    let full = || json!(vec!["attention"; 8]);
    for (kind, is_rotated) in [(json!("rope"), true), (json!("nope"), false), (Value::Null, false)]
    {
        for layers in [hybrid(), full()] {
            let found = convert(kind.clone(), layers).expect("it is converted");
            assert_eq!(key(&found, "rope.scaling.finetuned"), Some(is_rotated), "{kind}");
            let length = if is_rotated { 64_u32 } else { 1 << 20 };
            assert_eq!(key(&found, "context_length"), Some(length), "{kind}");
            // Without experts, the shared one is the feed-forward block.
            assert_eq!(key(&found, "feed_forward_length"), Some(24_u32), "{kind}");
        }
    }
    let message = convert(json!("alibi"), hybrid()).expect_err("unsupported").to_string();
    assert!(message.contains("\"position_embedding_type\": expected rope or nope"), "{message}");
}
