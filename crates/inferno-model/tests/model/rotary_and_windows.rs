//! Rotary embeddings and sliding windows that metadata request.

use crate::support::edited::{compute, edited, invalid, spec, windows};
use crate::support::file::{File, Tensor};
use crate::support::synthetic::synthetic_with;
use inferno_backend::RopePairing;
use inferno_gguf::Gguf;
use inferno_model::{ARCHITECTURES, ModelSpec, RopeScaling};

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
        // As llama.cpp for models with so few layers.
        match name {
            "cohere2" | "cohere2moe" | "exaone-moe" | "gemma-embedding" | "gemma3n" | "gemma4"
            | "gpt-oss" | "granite_swa" | "mimo2" | "step35" => {
                let error = ModelSpec::from_checkpoint(&without).expect_err("a length is missing");
                assert!(error.to_string().contains(KEY), "{name}: {error}");
                let none = edited(name, |metadata| {
                    metadata.insert(format!("{name}.{KEY}"), 0_u32);
                });
                assert_eq!(invalid(&none), (format!("{name}.{KEY}"), "0".to_owned()));
            }
            "gemma2" | "vaultgemma" => {
                assert_eq!(windows(&spec(&without)), [Some(4096), None, Some(4096)]);
            }
            "llama4" => {
                assert_eq!(windows(&spec(&without)), [Some(8192), Some(8192), Some(8192), None])
            }
            _ => assert!(windows(&spec(&without)).iter().all(Option::is_none), "{name}"),
        }
    }
}

#[test]
fn layers_with_a_window_have_the_rotary_base_that_the_file_sets() {
    const BASE: f32 = 500.0;
    let mut unwindowed = Vec::new();
    // Attention in both directions has a window as well, which has no cost of its own.
    for architecture in ARCHITECTURES.iter().filter(|architecture| architecture.is_causal) {
        let name = architecture.name;
        let with_base = |len: u32| {
            edited(name, |metadata| {
                metadata.insert(format!("{name}.rope.freq_base_swa"), BASE);
                // Latent attention has no window.
                if !["deepseek2", "mistral4", "minicpm3", "kimi-linear"].contains(&name) {
                    metadata.insert(format!("{name}.attention.sliding_window"), len);
                }
            })
        };
        let spec = spec(&with_base(5));
        if windows(&spec).iter().all(Option::is_none) {
            unwindowed.push(name);
            continue;
        }
        let bases: Vec<f32> = spec.rotaries.iter().map(|rotary| rotary.freq_base).collect();
        assert_eq!(bases, [10_000.0, BASE], "{name}");
    }
    assert_eq!(unwindowed, ["deepseek2", "mistral4", "kimi-linear", "mamba", "mamba2", "minicpm3"]);
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

/// As llama.cpp: `mistral3` has no key for the length.
#[test]
fn queries_grow_from_the_length_that_the_file_sets() {
    let grown = |name: &str, context_length: u32, length: Option<u32>| {
        compute(&edited(name, |metadata| {
            metadata.insert(format!("{name}.attention.temperature_scale"), 0.5_f32);
            let key = format!("{name}.rope.scaling.original_context_length");
            metadata.insert(key, context_length);
            if let Some(length) = length {
                metadata.insert(format!("{name}.attention.temperature_length"), length);
            }
        }))
    };
    for name in ["deepseek2", "mistral4", "mistral3"] {
        let short = grown(name, 4, None);
        assert_ne!(grown(name, 64, None), short, "{name}");
        assert_eq!(grown(name, 4, Some(0)), short, "{name}");
        assert_eq!(grown(name, 64, Some(4)) == short, name != "mistral3", "{name}");
    }
}

#[test]
fn layers_of_llama_have_a_window_unless_the_file_lists_them() {
    let listed = edited("llama", |metadata| {
        let layers = vec![true, false, true];
        metadata.insert("llama.attention.sliding_window_pattern", layers);
    });
    assert_eq!(windows(&spec(&listed)), [Some(5), None, Some(5)]);
    assert_eq!(windows(&spec(&edited("llama", |_| ()))), [Some(5); 3]);
}

#[test]
fn factors_that_no_base_can_be_scaled_by_are_rejected() {
    const KEY: &str = "hunyuan_vl.rope.scaling.alpha";
    for alpha in [-3.0_f32, 1e38] {
        let file = edited("hunyuan_vl", |metadata| {
            metadata.insert(KEY, alpha);
        });
        assert_eq!(invalid(&file), (KEY.to_owned(), alpha.to_string()));
    }
}

#[test]
fn one_value_does_not_list_the_layers_with_a_window() {
    for name in ["mimo2", "step35", "granite_swa"] {
        let key = format!("{name}.attention.sliding_window_pattern");
        let file = edited(name, |metadata| {
            metadata.insert(key.clone(), 1_u32);
        });
        assert_eq!(invalid(&file), (key, "one value".to_owned()));
    }
}

/// As llama.cpp (`set_swa_pattern`).
#[test]
fn one_value_is_the_period_of_windows_of_other_architectures() {
    let layers = |name: &str, period: Option<u32>| {
        let file = edited(name, |metadata| {
            let key = format!("{name}.attention.sliding_window_pattern");
            metadata.remove(&key);
            if let Some(period) = period {
                metadata.insert(key, period);
            }
        });
        windows(&spec(&file))
    };
    for name in ["olmo2", "gemma3n"] {
        assert_eq!(layers(name, Some(2)), [Some(5), None, Some(5)], "{name}");
        assert_eq!(layers(name, None), [Some(5); 3], "{name}");
    }
}

#[test]
fn gated_heads_have_one_size() {
    for name in ["step35", "laguna"] {
        let key = format!("{name}.attention.key_length_swa");
        let file = edited(name, |metadata| {
            metadata.insert(key.clone(), 8_u32);
        });
        assert_eq!(invalid(&file), (key, "8".to_owned()));
    }
}

#[test]
fn values_of_layers_with_a_window_are_as_long_as_others_unless_the_file_sets_their_length() {
    let file = edited("mimo2", |metadata| {
        metadata.insert("mimo2.attention.key_length_swa", 16_u32);
    });
    assert_eq!(compute(&file), compute(&edited("mimo2", |_| ())));
}

/// As llama.cpp, which has one pair of keys for latent vectors and another for heads.
#[test]
fn sizes_of_heads_next_to_those_of_latent_vectors_have_keys_of_their_own() {
    let file = edited("minicpm3", |metadata| {
        metadata.insert("minicpm3.attention.key_length_mla", 16_u32);
        metadata.insert("minicpm3.attention.value_length_mla", 16_u32);
        metadata.insert("minicpm3.attention.key_length", 30_u32);
        metadata.insert("minicpm3.attention.value_length", 24_u32);
    });
    assert_eq!(compute(&file), compute(&edited("minicpm3", |_| ())));
}
