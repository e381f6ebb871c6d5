//! What metadata request: keys that are read, ignored or invalid.

use crate::support::edited::{compute, edited, invalid, spec};
use crate::support::file::File;
use crate::support::synthetic::synthetic;
use inferno_model::{ARCHITECTURES, ModelError, ModelSpec};

#[test]
fn an_epsilon_under_one_of_the_keys_is_required() {
    for architecture in ARCHITECTURES {
        let name = architecture.name;
        let rms = format!("{name}.attention.layer_norm_rms_epsilon");
        let without = edited(name, |metadata| {
            metadata.remove(&rms);
        });
        let error = ModelSpec::from_checkpoint(&without).expect_err("no epsilon");
        assert!(error.to_string().contains("epsilon"), "{name}: {error}");
        let other = edited(name, |metadata| {
            metadata.remove(&rms);
            metadata.insert(format!("{name}.attention.layer_norm_epsilon"), 1e-5_f32);
        });
        spec(&other);
    }
}

#[test]
fn keys_that_change_the_computation_are_rejected_unless_they_are_read_or_neutral() {
    for (key, neutral, other) in [
        ("router_logit_softcapping", 0.0, 20.0),
        ("attention.output_scale", 1.0, 0.5),
        ("attention.value_scale", 1.0, 0.5),
        ("attention.clamp_kqv", 0.0, 8.0),
        ("attention.max_alibi_bias", 0.0, 8.0),
        ("expert_group_scale", 1.0, 0.0625),
        ("rope.scaling.alpha", 1.0, 1000.0),
        ("rope.scaling.attn_factor", 1.0, 1.25),
        ("num_loops", 1.0, 2.0),
        ("residual_scale", 1.0, 0.5),
    ] {
        let key = format!("qwen3.{key}");
        let with = |value: f32| {
            edited("qwen3", |metadata| {
                metadata.insert(key.clone(), value);
            })
        };
        spec(&with(neutral));
        assert_eq!(invalid(&with(other)), (key.clone(), other.to_string()));
    }
    for key in ["qwen3.swiglu_clamp_exp", "qwen3.swiglu_clamp_shexp"] {
        let with = |values: Vec<f32>| {
            edited("qwen3", |metadata| {
                metadata.insert(key, values);
            })
        };
        spec(&with(vec![0.0; 3]));
        assert_eq!(invalid(&with(vec![0.0, 7.0, 0.0])), (key.to_owned(), "7".to_owned()));
    }
    let rotated = |pattern: Vec<bool>| {
        edited("qwen3", |metadata| {
            metadata.insert("qwen3.attention.rope_pattern", pattern);
        })
    };
    spec(&rotated(vec![true; 3]));
    let (key, found) = invalid(&rotated(vec![true, false, true]));
    assert_eq!(key, "qwen3.attention.rope_pattern");
    assert_eq!(found, "false for layer 1");
}

/// What llama.cpp saves (`llama-model-saver.cpp`) for models that do not have these keys, and for lists of booleans.
#[test]
fn values_that_llama_cpp_saves_have_no_effect() {
    let name = "qwen3";
    let saved = |rope_pattern: u32| {
        edited(name, |metadata| {
            for (key, value) in [
                ("attn_logit_softcapping", 50.0_f32),
                ("router_logit_softcapping", 30.0),
                ("final_logit_softcapping", 30.0),
                ("expert_group_scale", 0.05),
                ("expert_weights_scale", 0.0),
                ("rope.scaling.factor", 0.0),
                ("rope.scaling.attn_factor", 1.0),
                ("rope.scaling.yarn_ext_factor", -1.0),
            ] {
                metadata.insert(format!("{name}.{key}"), value);
            }
            metadata.insert(format!("{name}.rope.scaling.type"), "linear");
            metadata.insert(format!("{name}.attention.rope_pattern"), rope_pattern);
        })
    };
    assert_eq!(compute(&saved(1)), compute(&edited(name, |_| ())));
    assert_eq!(invalid(&saved(0)).0, "qwen3.attention.rope_pattern");
    for (name, key, list) in [
        ("qwen3", "attention.rope_pattern", [1_u32, 1, 1]),
        ("gemma3n", "attention.sliding_window_pattern", [1, 0, 1]),
        ("qwen3next", "attention.recurrent_layers", [1, 0, 1]),
    ] {
        let key = format!("{name}.{key}");
        let numbers = edited(name, |metadata| {
            metadata.insert(key.clone(), list.to_vec());
        });
        let booleans = edited(name, |metadata| {
            metadata.insert(key.clone(), list.map(|number| number != 0).to_vec());
        });
        assert_eq!(compute(&numbers), compute(&booleans), "{name}");
    }
}

/// llama.cpp saves the number of the architecture, which its converter does not write.
#[test]
fn the_factor_on_distances_that_an_architecture_determines_can_be_stated() {
    let fixture = |name: &str| File::fixture(&format!("llama_cpp/{name}.gguf"));
    for (name, mut file) in [
        ("bloom", fixture("bloom")),
        ("refact", fixture("refact")),
        ("baichuan", fixture("baichuan-13b")),
        ("jina-bert-v2", File::of_bytes(synthetic("jina-bert-v2"))),
    ] {
        let key = format!("{name}.attention.max_alibi_bias");
        let mut stated = |factor: f32| {
            file.metadata.insert(key.clone(), factor);
            file.write()
        };
        spec(&stated(8.0));
        spec(&stated(0.0));
        assert_eq!(invalid(&stated(4.0)), (key.clone(), "4".to_owned()));
    }
}

/// Keys that files of llama.cpp's converter have and that no computation depends on, or not that of text.
#[test]
fn keys_without_an_effect_are_ignored() {
    let file = edited("qwen3", |metadata| {
        for key in [
            "vocab_size",
            "pooling_type",
            "expert_shared_feed_forward_length",
            "n_deepstack_layers",
            "leading_dense_block_count",
            "nextn_predict_layers",
            "rope.scaling.original_context_length",
        ] {
            metadata.insert(format!("qwen3.{key}"), 0_u32);
        }
        metadata.insert("qwen3.tensor_data_layout", "Meta AI original pth");
        metadata.insert("qwen3.rope.scaling.finetuned", false);
        metadata.insert("qwen3.rope.dimension_sections", vec![2_u32, 1, 1, 0]);
        metadata.insert("qwen3.deepstack_mapping", vec![-1_i32, 0, -1]);
        metadata.insert("qwen3.some.future_key", 7_u32);
    });
    assert_eq!(compute(&file), compute(&edited("qwen3", |_| ())));
}

#[test]
fn lists_have_a_value_for_each_layer_and_no_more() {
    for (architecture, key) in [
        ("llama", "attention.head_count"),
        ("llama", "attention.head_count_kv"),
        ("llama", "feed_forward_length"),
    ] {
        let key = format!("{architecture}.{key}");
        for len in [2, 4, 1000] {
            let file = edited(architecture, |metadata| {
                metadata.insert(key.clone(), vec![4_u32; len]);
            });
            assert_eq!(invalid(&file), (key.clone(), format!("{len} values")));
        }
    }
    // The blocks include that of a prediction head.
    for (len, is_valid) in [(1, false), (2, true), (3, true), (4, false)] {
        let file = edited("qwen3", |metadata| {
            metadata.insert("qwen3.nextn_predict_layers", 1_u32);
            metadata.insert("qwen3.attention.head_count", vec![4_u32; len]);
        });
        assert_eq!(ModelSpec::from_checkpoint(&file).is_ok(), is_valid, "{len}");
    }
    for len in [2, 4] {
        let key = "gemma3.attention.sliding_window_pattern";
        let file = edited("gemma3", |metadata| {
            metadata.insert(key, vec![true; len]);
        });
        assert_eq!(invalid(&file), (key.to_owned(), format!("{len} values")));
        let file = edited("apertus", |metadata| {
            metadata.insert("xielu.beta", vec![0.5_f32; len]);
        });
        assert_eq!(invalid(&file), ("xielu.beta".to_owned(), format!("{len} values")));
        let key = "gemma3n.activation_sparsity_scale";
        let file = edited("gemma3n", |metadata| {
            metadata.insert(key, vec![1.0_f32; len]);
        });
        assert_eq!(invalid(&file), (key.to_owned(), format!("{len} values")));
    }
}

#[test]
fn an_invalid_number_of_a_layer_names_the_layer() {
    for (key, numbers, found) in [
        ("attention.head_count", [4_u32, 0, 4], "0 in layer 1"),
        ("attention.head_count_kv", [2, 2, 3], "3 in layer 2"),
        ("attention.head_count_kv", [2, u32::MAX, 2], "4294967295 in layer 1"),
        ("feed_forward_length", [48, 48, 0], "0 in layer 2"),
    ] {
        let key = format!("llama.{key}");
        let file = edited("llama", |metadata| {
            metadata.insert(key.clone(), numbers.to_vec());
        });
        assert_eq!(invalid(&file), (key, found.to_owned()));
    }
}

#[test]
fn files_without_a_language_model_say_what_they_are() {
    for (kind, expected) in [
        ("adapter", "an adapter"),
        ("mmproj", "a multimodal projector"),
        ("imatrix", "an importance matrix"),
    ] {
        let mut file = File::fixture("llama.gguf");
        file.metadata.insert("general.type", kind);
        // Importance matrices have none.
        file.metadata.remove("general.architecture");
        let error = ModelSpec::from_checkpoint(&file.write()).expect_err("not a model");
        assert!(matches!(error, ModelError::NotAModel { .. }), "{kind}: {error}");
        assert!(error.to_string().contains(expected), "{kind}: {error}");
    }
    let mut file = File::fixture("llama.gguf");
    file.metadata.insert("general.architecture", "clip");
    let error = ModelSpec::from_checkpoint(&file.write()).expect_err("not a model");
    assert!(matches!(error, ModelError::NotAModel { .. }), "{error}");
    file.metadata.insert("general.architecture", "llama");
    file.metadata.insert("general.type", "model");
    spec(&file.write());
    // A vocabulary alone, which may lack keys of the model.
    file.tensors.clear();
    file.metadata.remove("llama.embedding_length");
    let error = ModelSpec::from_checkpoint(&file.write()).expect_err("no model");
    assert!(matches!(error, ModelError::NoWeights), "{error}");
}
