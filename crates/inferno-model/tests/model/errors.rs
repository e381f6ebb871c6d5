//! Files that are well-formed GGUF but not valid or supported models.

use std::sync::Arc;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_conformance::gpu::adapter;
use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};
use inferno_model::{CacheUse, Model, ModelCache, ModelError, ModelSpec, RopeScaling, TensorCache};

use crate::support::synthetic::synthetic_with;
use crate::support::{fixtures, load};

/// Rewrites the llama fixture: `edit` changes the metadata, `keep` renames, reshapes or drops tensors.
fn rewritten(
    edit: impl FnOnce(&mut Metadata),
    keep: impl Fn(&str) -> Option<(String, Option<Vec<usize>>)>,
) -> Gguf {
    let source = Gguf::open(fixtures().join("llama.gguf")).expect("the fixture");
    let mut metadata = source.metadata().clone();
    edit(&mut metadata);
    let mut writer = GgufWriter::new(&metadata).expect("valid metadata");
    let mut kept = Vec::new();
    for info in source.tensors() {
        let Some((name, dims)) = keep(info.name()) else {
            continue;
        };
        let dims = dims.unwrap_or_else(|| info.dims().to_vec());
        writer.add_tensor(&name, &dims, info.ggml_type()).expect("a valid tensor");
        kept.push((name, source.data(info)));
    }
    let mut payloads = writer.in_memory();
    for (name, data) in kept {
        payloads.write_tensor(&name, &data).expect("the same payload");
    }
    Gguf::from_bytes(payloads.finish().expect("all payloads")).expect("a valid file")
}

fn unchanged(name: &str) -> Option<(String, Option<Vec<usize>>)> {
    Some((name.to_owned(), None))
}

fn load_error(checkpoint: &Gguf) -> ModelError {
    match Model::load(checkpoint, Arc::new(ReferenceBackend::new()), None, &mut |_| ()) {
        Ok(_) => panic!("the model loaded"),
        Err(error) => error,
    }
}

#[test]
fn an_unknown_architecture_error_lists_the_supported_ones() {
    let checkpoint = rewritten(
        |metadata| {
            metadata.insert("general.architecture", "perceptron");
        },
        unchanged,
    );
    let message = load_error(&checkpoint).to_string();
    assert!(message.contains("\"perceptron\""), "{message}");
    for known in ["llama", "qwen2", "qwen3", "qwen3moe"] {
        assert!(message.contains(known), "{message}");
    }
}

#[test]
fn an_unknown_architecture_error_names_the_nearest_supported_one() {
    for (name, nearest) in [
        ("qwen36", Some("qwen3")),
        ("gemma5", Some("gemma")),
        ("xl", None),
        ("rwkv7", None),
        // GPT-NeoX is another family.
        ("gpta", None),
        ("", None),
    ] {
        let checkpoint = rewritten(
            |metadata| {
                metadata.insert("general.architecture", name);
            },
            unchanged,
        );
        match load_error(&checkpoint) {
            ModelError::UnknownArchitecture { nearest: found, .. } => assert_eq!(found, nearest),
            other => panic!("{name}: {other}"),
        }
    }
}

/// The llama fixture under the name of another architecture, with more metadata.
fn renamed(architecture: &'static str, add: impl FnOnce(&mut Metadata)) -> Gguf {
    rewritten(
        |metadata| {
            for (key, value) in metadata.clone().iter() {
                if let Some(key) = key.strip_prefix("llama.") {
                    metadata.insert(format!("{architecture}.{key}"), value.clone());
                }
            }
            metadata.insert("general.architecture", architecture);
            add(metadata);
        },
        unchanged,
    )
}

#[test]
fn a_window_pattern_must_cover_every_layer() {
    let windows = |pattern: Option<Vec<bool>>| {
        renamed("exaone-moe", |metadata| {
            metadata.insert("exaone-moe.attention.sliding_window", 8_u32);
            if let Some(pattern) = pattern {
                metadata.insert("exaone-moe.attention.sliding_window_pattern", pattern);
            }
        })
    };
    match load_error(&windows(Some(vec![true]))) {
        ModelError::InvalidConfig { key, .. } => {
            assert_eq!(key, "exaone-moe.attention.sliding_window_pattern");
        }
        other => panic!("{other}"),
    }
    // Without a pattern, that of the architecture holds; the fixture has no norms of heads.
    for pattern in [None, Some(vec![true, false])] {
        match load_error(&windows(pattern)) {
            ModelError::MissingTensor { name, .. } => {
                assert_eq!(name, "blk.0.attn_q_norm.weight");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn heads_of_windowed_layers_differ_only_with_a_rotary_embedding_of_their_own() {
    let file = renamed("llama", |metadata| {
        metadata.insert("llama.attention.sliding_window", 8_u32);
        metadata.insert("llama.attention.key_length_swa", 2_u32);
    });
    match load_error(&file) {
        ModelError::InvalidConfig { key, .. } => {
            assert_eq!(key, "llama.attention.key_length_swa");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_explicit_cache_format_must_fit_the_heads_and_the_default_does() {
    let spec = |rank: u32| {
        let bytes = synthetic_with("deepseek2", |metadata| {
            metadata.insert("deepseek2.attention.kv_lora_rank", rank);
        });
        let checkpoint = Gguf::from_bytes(bytes).expect("a valid file");
        ModelSpec::from_checkpoint(&checkpoint).expect("a supported model")
    };
    let (narrow, wide) = (spec(24), spec(1024));
    assert_eq!(narrow.default_kv_dtype(), KvDType::I16);
    assert_eq!(wide.default_kv_dtype(), KvDType::F16);
    let usage = CacheUse {
        num_tokens: 16,
        dtype: None,
        max_num_batched_tokens: 1,
        max_num_sequences: 1,
        max_num_drafting: 0,
        prefix_cache: false,
    };
    assert_eq!(wide.cache_layout(usage).kv.dtype, KvDType::F16);
    let explicit = CacheUse { dtype: Some(KvDType::I16), ..usage };
    let error = wide.cache_layout(explicit).kv.block_bytes().expect_err("heads of 1032 values");
    assert!(error.to_string().ends_with("at most 1024, found 1032; use f16 or f32"), "{error}");
}

#[test]
#[should_panic(expected = "latent attention has no window")]
fn a_window_of_latent_attention_is_rejected() {
    synthetic_with("deepseek2", |metadata| {
        metadata.insert("deepseek2.attention.sliding_window", 5_u32);
    });
}

#[test]
fn tensors_of_predicting_layers_are_ignored_under_their_names_only() {
    for (name, is_unused) in [
        ("blk.2.nextn.eh_proj.weight", true),
        ("blk.3.attn_q.weight", false),
        ("blk.02.attn_q.weight", false),
        ("blk.+2.attn_q.weight", false),
    ] {
        // Two layers, and one that predicts a further token.
        let checkpoint = rewritten(
            |metadata| {
                metadata.insert("llama.block_count", 3_u32);
                metadata.insert("llama.nextn_predict_layers", 1_u32);
            },
            |own| match own {
                // Without an output head, the embeddings are it.
                "output.weight" => Some((name.to_owned(), None)),
                own => unchanged(own),
            },
        );
        let model = Model::load(&checkpoint, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
        match model {
            Ok(_) => assert!(is_unused, "{name}"),
            Err(ModelError::UnusedTensors { names }) => {
                assert!(!is_unused && names == [name], "{names:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
#[should_panic(
    expected = "2, as in layer 0, whose keys and values layer 2 reads, found 1 in layer 2"
)]
fn layers_that_share_keys_and_values_have_equally_many_heads() {
    synthetic_with("gemma4", |metadata| {
        metadata.insert("gemma4.attention.head_count_kv", vec![2_u32, 2, 1]);
    });
}

#[test]
fn groups_of_experts_must_be_equal_and_hold_the_chosen_ones() {
    for (groups, used, key) in [
        (3_u32, 1_u32, "expert_group_count"),
        (4, 0, "expert_group_used_count"),
        (4, 1, "expert_group_used_count"),
        (4, 5, "expert_group_used_count"),
    ] {
        let checkpoint = renamed("dots1", |metadata| {
            for (key, value) in [
                ("expert_count", 8),
                ("expert_used_count", 3),
                ("expert_group_count", groups),
                ("expert_group_used_count", used),
            ] {
                metadata.insert(format!("dots1.{key}"), value);
            }
        });
        let error = load_error(&checkpoint);
        assert!(
            matches!(&error, ModelError::InvalidConfig { key: found, .. } if found.ends_with(key)),
            "{groups} {used}: {error}"
        );
    }
}

#[test]
fn a_missing_tensor_error_has_the_name_and_expected_shape() {
    let missing = "blk.1.ffn_up.weight";
    let checkpoint = rewritten(|_| (), |name| unchanged(name).filter(|_| name != missing));
    match load_error(&checkpoint) {
        ModelError::MissingTensor { name, expected } => {
            assert_eq!((name.as_str(), expected.as_slice()), (missing, &[48, 32][..]));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_vocabulary_only_file_and_a_missing_embedding_table_are_different_errors() {
    let empty = rewritten(|_| (), |_| None);
    assert!(matches!(load_error(&empty), ModelError::NoWeights));
    let headless =
        rewritten(|_| (), |name| unchanged(name).filter(|_| name != "token_embd.weight"));
    assert!(matches!(load_error(&headless), ModelError::MissingTensor { .. }));
}

#[test]
fn an_unused_tensor_is_an_error() {
    let (stray, taken) = ("blk.0.attn_sinks.weight", "blk.0.attn_norm.weight");
    let source = rewritten(|_| (), unchanged);
    let mut writer = GgufWriter::new(source.metadata()).expect("valid metadata");
    for info in source.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).expect("as it was");
    }
    writer.add_tensor(stray, &[32], GgmlType::F32).expect("a new name");
    let mut payloads = writer.in_memory();
    for info in source.tensors() {
        payloads.write_tensor(info.name(), &source.data(info)).expect("as it was");
    }
    let data = source.data(source.tensor(taken).expect("a vector of 32"));
    payloads.write_tensor(stray, &data).expect("32 floats");
    let checkpoint = Gguf::from_bytes(payloads.finish().expect("all of them")).expect("valid");
    match load_error(&checkpoint) {
        ModelError::UnusedTensors { names } => assert_eq!(names, [stray]),
        other => panic!("{other}"),
    }
}

#[test]
fn unsupported_metadata_values_are_rejected_and_neutral_ones_accepted() {
    for (key, value) in [
        ("llama.attn_logit_softcapping", 40.0_f32),
        ("llama.attention.temperature_scale", 0.1),
        ("llama.rope.scaling.yarn_log_multiplier", 1.0),
        ("llama.logit_scale", 16.0),
        ("llama.expert_gating_func", 2.0),
        ("llama.attention.layer_norm_rms_epsilon", f32::NAN),
        ("llama.rope.freq_base", -1.0),
    ] {
        let edited = |value: f32| {
            rewritten(
                |metadata| {
                    metadata.insert(key, value);
                },
                unchanged,
            )
        };
        match load_error(&edited(value)) {
            ModelError::InvalidConfig { key: named, .. } => assert_eq!(named, key),
            other => panic!("{key} = {value}: {other}"),
        }
    }
    let neutral = rewritten(
        |metadata| {
            metadata.insert("llama.logit_scale", 1.0_f32);
            metadata.insert("llama.expert_gating_func", 1_u32);
        },
        unchanged,
    );
    Model::load(&neutral, Arc::new(ReferenceBackend::new()), None, &mut |_| ()).expect("loads");
}

#[test]
fn a_rope_scaling_without_a_factor_is_rejected() {
    for kind in ["linear", "yarn"] {
        let checkpoint = rewritten(
            |metadata| {
                metadata.insert("llama.rope.scaling.type", kind);
            },
            unchanged,
        );
        let message = load_error(&checkpoint).to_string();
        assert!(message.contains("llama.rope.scaling.factor"), "{kind}: {message}");
    }
}

/// Matches llama.cpp.
#[test]
fn a_scaling_factor_without_a_type_is_linear_under_both_key_names() {
    for (kind, key) in [
        (None, "llama.rope.scaling.factor"),
        (None, "llama.rope.scale_linear"),
        (Some("linear"), "llama.rope.scale_linear"),
    ] {
        let checkpoint = rewritten(
            |metadata| {
                metadata.insert(key, 4.0_f32);
                if let Some(kind) = kind {
                    metadata.insert("llama.rope.scaling.type", kind);
                }
            },
            unchanged,
        );
        let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a valid file");
        assert_eq!(spec.rotaries[0].scaling, RopeScaling::Linear { factor: 4.0 }, "{kind:?} {key}");
    }
}

#[test]
fn progress_ends_at_the_total_size_with_and_without_tied_embeddings() {
    for name in ["llama.gguf", "llama-tied.gguf", "llama3.gguf", "qwen3moe.gguf"] {
        let checkpoint = Gguf::open(fixtures().join(name)).expect("the fixture");
        let mut seen = Vec::new();
        let mut record = |progress| seen.push(progress);
        let backend = Arc::new(ReferenceBackend::new());
        Model::load(&checkpoint, backend, None, &mut record).expect("loads");
        assert!(seen.is_sorted_by_key(|progress| progress.loaded_bytes), "{name}");
        let last = seen.last().expect("there are tensors");
        assert_eq!(last.loaded_bytes, last.total_bytes, "{name}");
    }
}

#[test]
fn a_tensor_shape_error_has_both_shapes() {
    let bent = "blk.0.attn_output.weight";
    let checkpoint =
        rewritten(|_| (), |name| Some((name.to_owned(), (name == bent).then(|| vec![16, 64]))));
    match load_error(&checkpoint) {
        ModelError::TensorShape { name, expected, found } => {
            assert_eq!(name, bent);
            assert_eq!((expected, found), (vec![32, 32], vec![64, 16]));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_qwen2_file_without_biases_is_rejected() {
    let checkpoint = renamed("qwen2", |_| ());
    let error = load_error(&checkpoint);
    assert!(
        matches!(&error, ModelError::MissingTensor { name, .. } if name == "blk.0.attn_q.bias"),
        "{error}"
    );
}

#[test]
fn inconsistent_metadata_is_rejected_with_its_key() {
    for (key, value) in [
        ("llama.attention.head_count_kv", 3_u32),
        ("llama.attention.head_count", 0),
        ("llama.block_count", 0),
        ("llama.block_count", u32::MAX),
        ("llama.embedding_length", u32::MAX),
        ("llama.attention.value_length", 4),
        ("llama.rope.dimension_count", 7),
        ("llama.rope.dimension_count", 64),
        ("llama.context_length", 0),
        ("llama.expert_count", u32::MAX),
    ] {
        let checkpoint = rewritten(
            |metadata| {
                metadata.insert(key, value);
            },
            unchanged,
        );
        match load_error(&checkpoint) {
            ModelError::InvalidConfig { key: named, found, .. } => {
                assert_eq!((named.as_str(), found), (key, value.to_string()));
            }
            other => panic!("{key} = {value}: {other}"),
        }
    }
}

#[test]
fn a_layer_count_beyond_the_file_reports_the_first_missing_tensor() {
    let checkpoint = rewritten(
        |metadata| {
            metadata.insert("llama.block_count", 1_000_000_u32);
        },
        unchanged,
    );
    let error = load_error(&checkpoint);
    assert!(
        matches!(&error, ModelError::MissingTensor { name, .. } if name == "blk.2.attn_norm.weight"),
        "{error}"
    );
}

#[test]
fn an_unsupported_format_error_lists_the_supported_ones() {
    let mut metadata = Metadata::new();
    for (key, value) in [
        ("llama.context_length", 64_u32),
        ("llama.embedding_length", 256),
        ("llama.block_count", 1),
        ("llama.feed_forward_length", 256),
        ("llama.attention.head_count", 4),
    ] {
        metadata.insert(key, value);
    }
    metadata.insert("llama.attention.layer_norm_rms_epsilon", 1e-5_f32);
    metadata.insert("general.architecture", "llama");
    let mut writer = GgufWriter::new(&metadata).expect("valid metadata");
    writer.add_tensor("token_embd.weight", &[256, 8], GgmlType::Q8_1).expect("a valid tensor");
    let mut payloads = writer.in_memory();
    payloads.write_tensor("token_embd.weight", &vec![0; 8 * 8 * 36]).expect("36 bytes a block");
    let checkpoint = Gguf::from_bytes(payloads.finish().expect("done")).expect("a valid file");
    let message = load_error(&checkpoint).to_string();
    assert!(message.contains("Q8_1") && message.contains("Q4_K"), "{message}");
}

#[test]
fn a_batch_that_exceeds_the_workspace_or_the_vocabulary_is_rejected() {
    use inferno_backend::{BatchBuilder, BlockId, KvDType, LogitRows, SequenceChunk};
    use inferno_model::BatchLimits;

    let path = fixtures().join("llama.gguf");
    let model = load(&path, Arc::new(ReferenceBackend::new()));
    let layout = model.spec().kv_layout(64, KvDType::F16);
    let mut cache = ModelCache::new(&**model.backend(), &layout, None).expect("a small cache");
    let limits = BatchLimits { max_num_tokens: 4, max_num_logit_rows: 1 };
    let mut workspace = model.workspace(limits).expect("a small workspace");
    let mut forward = |tokens: &[u32], logits| {
        let mut builder = BatchBuilder::new(layout.block_tokens);
        let block_table = &[BlockId(0)];
        builder
            .push(&SequenceChunk { tokens, start: 0, block_table, logits, second_segment: None })
            .expect("a valid chunk");
        model.forward(&builder.build(), &mut cache, &mut workspace).map(<[f32]>::len)
    };
    assert!(matches!(
        forward(&[1; 5], LogitRows::Last),
        Err(ModelError::BatchTooLarge { what: "tokens", max: 4, found: 5 })
    ));
    assert!(matches!(
        forward(&[1; 3], LogitRows::All),
        Err(ModelError::BatchTooLarge { what: "logit rows", max: 1, found: 3 })
    ));
    assert!(matches!(
        forward(&[1, 64], LogitRows::Last),
        Err(ModelError::TokenOutOfRange { token: 64, vocab_size: 64 })
    ));
    assert_eq!(forward(&[1, 63], LogitRows::Last).expect("within every limit"), 64);
}

#[test]
fn the_tensor_cache_evicts_the_least_recently_used_tensors() {
    let checkpoint = Gguf::open(fixtures().join("llama.gguf")).expect("the fixture");
    let square = 32 * 32 * size_of::<f32>();
    let mut cache = TensorCache::new(&checkpoint, 2 * square);
    let names = ["blk.0.attn_q.weight", "blk.1.attn_q.weight", "blk.0.attn_output.weight"];
    cache.preload(names).expect("all are there");
    for name in [names[0], names[1], names[0], names[2]] {
        let tensor = cache.get(name).expect("a computable tensor");
        assert_eq!(tensor.shape().dims(), [32, 32]);
    }
    assert_eq!(names.map(|name| cache.contains(name)), [true, false, true]);
    assert_eq!(cache.used_bytes(), 2 * square);
    // Larger than the whole budget: decoded but not cached, and nothing is evicted for it.
    assert_eq!(cache.get("token_embd.weight").expect("there").shape().dims(), [64, 32]);
    assert_eq!(cache.used_bytes(), 2 * square);
    assert!(matches!(cache.get("nonsense"), Err(ModelError::NoSuchTensor { .. })));
}

#[test]
fn heads_that_a_gpu_cannot_compute_are_an_error_that_names_the_layer() {
    let Some(gpu) = adapter() else { return };
    let bytes = synthetic_with("llama", |metadata| {
        for (key, value) in [
            ("head_count", 1_u32),
            ("head_count_kv", 1),
            ("key_length", 1 << 14),
            ("value_length", 1 << 14),
        ] {
            metadata.insert(format!("llama.attention.{key}"), value);
        }
    });
    let checkpoint = Gguf::from_bytes(bytes).expect("a valid file");
    let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a valid model");
    let check = |stage: &ModelSpec| stage.check_support(&**gpu, None, KvDType::F16);
    let message = check(&spec).expect_err("it is not supported").to_string();
    assert!(message.starts_with("layer 0 is not supported by gpu ("), "{message}");
    assert!(message.contains("keys of 16384 and values of 16384 components"), "{message}");
    let last = spec.stage(2..3).expect("a divisible model");
    let message = check(&last).expect_err("it is not supported").to_string();
    assert!(message.starts_with("layer 2 "), "{message}");
    spec.check_support(&ReferenceBackend::new(), None, KvDType::F16).expect("no limit");
}

#[test]
fn a_stage_rejects_unknown_tensors_of_its_own_layers() {
    let source = Gguf::open(fixtures().join("llama.gguf")).expect("the fixture");
    let mut writer = GgufWriter::new(source.metadata()).expect("valid metadata");
    for info in source.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).expect("a valid tensor");
    }
    let surplus = "blk.0.attn_q.surplus";
    writer.add_tensor(surplus, &[2], GgmlType::F32).expect("a valid tensor");
    let mut payloads = writer.in_memory();
    for info in source.tensors() {
        payloads.write_tensor(info.name(), &source.data(info)).expect("the same payload");
    }
    payloads.write_tensor(surplus, &[0; 8]).expect("its size");
    let checkpoint = Gguf::from_bytes(payloads.finish().expect("all payloads")).expect("a file");
    let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model");
    let stage = spec.stage(0..1).expect("layers that can be divided");
    let backend = Arc::new(ReferenceBackend::new());
    let error = Model::load_stage(stage, None, &checkpoint, backend, None, &mut |_| ()).err();
    let Some(ModelError::UnusedTensors { names }) = error else { panic!("{error:?}") };
    assert_eq!(names, [surplus]);
}
