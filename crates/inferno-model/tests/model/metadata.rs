//! What metadata request: computations, defaults, and errors.

use std::sync::Arc;

use crate::support::file::{File, Tensor};
use crate::support::synthetic::{synthetic, synthetic_head, synthetic_with};
use crate::support::{Feed, logits};
use inferno_backend::{KvDType, ReferenceBackend, RopePairing};
use inferno_gguf::{Gguf, Metadata};
use inferno_model::{ARCHITECTURES, Model, ModelError, ModelSpec, RopeScaling, TokenCost};

/// A file with every tensor of the architecture, and other metadata afterwards.
fn edited(architecture: &str, edit: impl FnOnce(&mut Metadata)) -> Gguf {
    let mut file = File::of_bytes(synthetic(architecture));
    edit(&mut file.metadata);
    file.write()
}

/// The key and the found value of an invalid configuration.
fn invalid(file: &Gguf) -> (String, String) {
    match ModelSpec::from_checkpoint(file) {
        Err(ModelError::InvalidConfig { key, found, .. }) => (key, found),
        other => panic!("{other:?}"),
    }
}

fn spec(file: &Gguf) -> ModelSpec {
    ModelSpec::from_checkpoint(file).expect("a valid model")
}

fn windows(file: &Gguf) -> Vec<Option<usize>> {
    let cost = TokenCost::estimate(&spec(file), &ReferenceBackend::new(), None, KvDType::F32);
    cost.expect("a cost").attention.iter().map(|attention| attention.window).collect()
}

fn compute(file: &Gguf) -> Vec<Vec<f32>> {
    let tokens: Vec<u32> = (0..13).map(|i| i * 7 % 40).collect();
    let model = Model::load(file, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
    logits(&model.expect("a valid model"), &tokens, Feed::Whole)
}

/// Files with sections of positions (M-RoPE) have permuted rows, as llama.cpp's converter writes them
/// (`Glm4Model.normal_to_neox`): even components of the rotated ones, then odd ones.
#[test]
fn glm4_pairs_halves_of_heads_if_the_file_has_sections_of_positions() {
    const HEAD: usize = 16;
    const ROTATED: usize = 8;
    let plain = synthetic_with("glm4", |metadata| {
        metadata.insert("glm4.rope.dimension_count", ROTATED as u32);
    });
    let mut file = File::of_bytes(plain.clone());
    for tensor in &mut file.tensors {
        if !tensor.name.ends_with("attn_q.weight") && !tensor.name.ends_with("attn_k.weight") {
            continue;
        }
        let (values, cols) = (tensor.values(), tensor.dims[0]);
        let order = (0..ROTATED).step_by(2).chain((1..ROTATED).step_by(2)).chain(ROTATED..HEAD);
        let order: Vec<usize> = order.collect();
        let heads = values.chunks_exact(HEAD * cols);
        let permuted: Vec<f32> = heads
            .flat_map(|head| order.iter().flat_map(|row| &head[row * cols..][..cols]))
            .copied()
            .collect();
        *tensor = Tensor::floats(tensor.name.clone(), &tensor.dims, &permuted);
    }
    let without = file.write();
    file.metadata.insert("glm4.rope.dimension_sections", vec![2_i32, 1, 1, 0]);
    let with = file.write();
    file.metadata.insert("glm4.rope.dimension_sections", vec![4_i32, 0, 0, 0]);
    assert_eq!(spec(&file.write()).rotaries[0].pairing, RopePairing::Interleaved);
    assert_eq!(spec(&with).rotaries[0].pairing, RopePairing::Halves);
    let expected = compute(&Gguf::from_bytes(plain).expect("a valid file")).concat();
    let difference = |file: &Gguf| {
        let found = compute(file).concat();
        found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    assert!(difference(&with) < 1e-5, "{}", difference(&with));
    assert!(difference(&without) > 1e-3, "{}", difference(&without));
}

#[test]
fn windows_have_a_default_length_or_none_or_their_length_is_required() {
    const KEY: &str = "attention.sliding_window";
    for architecture in ARCHITECTURES {
        let name = architecture.name;
        let without = edited(name, |metadata| {
            metadata.remove(&format!("{name}.{KEY}"));
        });
        // As llama.cpp.
        match name {
            "cohere2" | "exaone-moe" | "gemma-embedding" | "gemma3n" | "gemma4" | "gpt-oss" => {
                let error = ModelSpec::from_checkpoint(&without).expect_err("a length is missing");
                assert!(error.to_string().contains(KEY), "{name}: {error}");
                let none = edited(name, |metadata| {
                    metadata.insert(format!("{name}.{KEY}"), 0_u32);
                });
                assert_eq!(invalid(&none), (format!("{name}.{KEY}"), "0".to_owned()));
            }
            "gemma2" => assert_eq!(windows(&without), [Some(4096), None, Some(4096)]),
            "llama4" => assert_eq!(windows(&without), [Some(8192), Some(8192), Some(8192), None]),
            _ => assert!(windows(&without).iter().all(Option::is_none), "{name}"),
        }
    }
}

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
        ("router_logit_softcapping", 0.0, 30.0),
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
fn layers_with_a_window_have_the_rotary_base_that_the_file_sets() {
    const BASE: f32 = 500.0;
    for architecture in ARCHITECTURES {
        let name = architecture.name;
        let with_base = |len: u32| {
            edited(name, |metadata| {
                metadata.insert(format!("{name}.rope.freq_base_swa"), BASE);
                // Latent attention has no window.
                if !["deepseek2", "mistral4"].contains(&name) {
                    metadata.insert(format!("{name}.attention.sliding_window"), len);
                }
            })
        };
        let bases = |file: &Gguf| -> Vec<f32> {
            spec(file).rotaries.iter().map(|rotary| rotary.freq_base).collect()
        };
        let file = with_base(5);
        // Attention in both directions has a window as well, which has no cost of its own.
        let has_windows = architecture.is_causal && windows(&file).iter().any(Option::is_some);
        if has_windows {
            assert_eq!(bases(&file), [10_000.0, BASE], "{name}");
        }
    }
    let others = edited("gemma3", |metadata| {
        metadata.remove("gemma3.attention.sliding_window");
        metadata.insert("gemma3.rope.freq_base_swa", BASE);
    });
    assert_eq!(spec(&others).rotaries.len(), 1);
    let scaled = edited("cohere2", |metadata| {
        metadata.insert("cohere2.rope.freq_base_swa", BASE);
        metadata.insert("cohere2.rope.scaling.factor", 4.0_f32);
    });
    for rotary in &spec(&scaled).rotaries {
        assert_eq!(rotary.scaling, RopeScaling::Linear { factor: 4.0 });
    }
    let narrow = edited("gpt-oss", |metadata| {
        metadata.insert("gpt-oss.rope.dimension_count_swa", 8_u32);
    });
    assert_eq!(invalid(&narrow).0, "gpt-oss.rope.dimension_count_swa");
    let narrow = edited("gemma3", |metadata| {
        metadata.insert("gemma3.rope.dimension_count_swa", 8_u32);
    });
    assert_eq!(spec(&narrow).rotaries[1].rotary_dim, 8);
}

/// As llama.cpp: Granite uses the key as a switch.
#[test]
fn granite_has_no_rotary_embedding_if_the_file_says_so() {
    let dense = |architecture: &str, is_rotated: bool| {
        let bytes = synthetic_with(architecture, |metadata| {
            metadata.insert(format!("{architecture}.attention.head_count_kv"), 2_u32);
            metadata.insert(format!("{architecture}.attention.sliding_window"), 0_u32);
            metadata.insert(format!("{architecture}.rope.scaling.finetuned"), is_rotated);
        });
        compute(&Gguf::from_bytes(bytes).expect("a valid file"))
    };
    for is_rotated in [true, false] {
        assert_eq!(dense("granite", is_rotated), dense("granitehybrid", is_rotated));
    }
    assert_ne!(dense("granite", true), dense("granite", false));
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
        ("vocab", "a vocabulary"),
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
}

#[test]
fn longrope_requires_its_factors() {
    let mut file = File::fixture("llama.gguf");
    file.metadata.insert("llama.rope.scaling.type", "longrope");
    let error = ModelSpec::from_checkpoint(&file.write()).expect_err("no factors").to_string();
    assert!(error.contains("llama.rope.scaling.type"), "{error}");
    assert!(error.contains("rope_factors_long.weight"), "{error}");
    file.metadata.insert("llama.rope.scaling.original_context_length", 8_u32);
    for name in ["rope_factors_short.weight", "rope_factors_long.weight"] {
        file.tensors.push(Tensor::floats(name, &[4], &[1.0, 1.5, 2.0, 4.0]));
    }
    let typed = file.write();
    assert_eq!(spec(&typed).rotaries[0].scaling, RopeScaling::None);
    file.metadata.remove("llama.rope.scaling.type");
    assert_eq!(compute(&typed), compute(&file.write()));
}

#[test]
fn files_from_before_the_tensors_of_latent_attention_are_named() {
    let mut file = File::of_bytes(synthetic("deepseek2"));
    file.metadata.remove("deepseek2.attention.key_length_mla");
    file.metadata.remove("deepseek2.attention.value_length_mla");
    file.tensors.retain(|tensor| !tensor.name.contains("attn_v_b"));
    for tensor in &mut file.tensors {
        tensor.name = tensor.name.replace("attn_k_b", "attn_kv_b");
    }
    match ModelSpec::from_checkpoint(&file.write()) {
        Err(ModelError::UnsplitLatentTensors { name }) => {
            assert_eq!(name, "blk.0.attn_kv_b.weight");
        }
        other => panic!("{other:?}"),
    }
}

/// Two layers and a prediction head.
fn with_head(metadata: &mut Metadata) {
    metadata.insert("qwen3.nextn_predict_layers", 1_u32);
}

#[test]
fn every_tensor_of_a_prediction_head_must_be_used() {
    let mut file = File::of_bytes(synthetic_head("qwen3", with_head));
    let load = |file: &File| {
        let checkpoint = file.write();
        let model = Model::load(&checkpoint, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
        let head =
            model.expect("a valid model").load_prediction_head(&checkpoint, None, &mut |_| ());
        head.map(|head| assert!(head.is_some()))
    };
    load(&file).expect("a valid head");
    let stray = "blk.2.ffn_gate_inp.weight";
    file.tensors.push(Tensor::floats(stray, &[32], &[1.0; 32]));
    match load(&file) {
        Err(ModelError::UnusedTensors { names }) => assert_eq!(names, [stray]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn heads_of_models_with_single_blocks_are_not_supported() {
    let file = edited("nemotron_h_moe", |metadata| {
        metadata.insert("nemotron_h_moe.nextn_predict_layers", 1_u32);
    });
    // The model itself is.
    spec(&file);
    let error = ModelSpec::prediction_head(&file).expect_err("an unsupported head");
    assert!(matches!(error, ModelError::UnsupportedPredictionHead { .. }), "{error}");
    assert!(error.to_string().contains("nemotron_h_moe"), "{error}");
}
