//! What files of published models lack follows from their sizes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use inferno_backend::ReferenceBackend;
use inferno_gguf::{GgmlType, Gguf, Metadata, Payloads};
use inferno_model::{Model, ModelError, ModelSpec, RopeScaling};

use crate::logits::{MAX_RELATIVE_ERROR, deviation};
use crate::support::edited::{edited, invalid, windows};
use crate::support::file::File;
use crate::support::{Feed, ReferenceLogits, fixtures, logits};

/// Payloads that nothing reads.
#[derive(Debug)]
struct Unread;

impl Payloads for Unread {
    fn read(&self, tensor: usize, _: Range<usize>) -> Bytes {
        unreachable!("a description needs no payload, such as that of tensor {tensor}")
    }

    fn preload(&self, _: usize) {}

    fn release(&self, _: usize, _: Range<usize>) {}
}

/// The description of a model from the header of a file with all tensors that it needs.
fn describe(metadata: &Metadata, vocab_size: usize, hidden_size: usize) -> ModelSpec {
    let embeddings = ("token_embd.weight".to_owned(), vec![vocab_size, hidden_size]);
    let mut tensors: Vec<(String, Vec<usize>)> = vec![embeddings];
    loop {
        let dims: Vec<Vec<usize>> =
            tensors.iter().map(|(_, shape)| shape.iter().rev().copied().collect()).collect();
        let listed = tensors
            .iter()
            .zip(&dims)
            .map(|((name, _), dims)| (name.as_str(), &dims[..], GgmlType::F32));
        let header = Gguf::computed(metadata.clone(), listed, Vec::new(), Arc::new(Unread));
        match ModelSpec::from_checkpoint(&header.expect("a valid header")) {
            Ok(spec) => return spec,
            Err(ModelError::MissingTensor { name, expected }) => tensors.push((name, expected)),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Whether the ends of the ramp of gpt-oss are rounded, for heads of this size.
fn rounds_ramp(head_dim: u32, truncates: Option<bool>) -> bool {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "gpt-oss");
    for (key, value) in [
        ("block_count", 2),
        ("context_length", 131_072),
        ("embedding_length", 8),
        ("attention.head_count", 2),
        ("attention.head_count_kv", 1),
        ("attention.key_length", head_dim),
        ("attention.value_length", head_dim),
        ("attention.sliding_window", 128),
        ("expert_count", 2),
        ("expert_used_count", 1),
        ("expert_feed_forward_length", 8),
        ("rope.scaling.original_context_length", 4096),
    ] {
        metadata.insert(format!("gpt-oss.{key}"), value);
    }
    metadata.insert("gpt-oss.attention.layer_norm_rms_epsilon", 1e-5_f32);
    metadata.insert("gpt-oss.rope.scaling.type", "yarn");
    metadata.insert("gpt-oss.rope.scaling.factor", 32.0_f32);
    if let Some(truncates) = truncates {
        metadata.insert("gpt-oss.rope.scaling.yarn_truncate", truncates);
    }
    match describe(&metadata, 20, 8).rotaries[0].scaling {
        RopeScaling::Yarn(yarn) => yarn.rounds_ramp,
        other => panic!("{other:?}"),
    }
}

/// `config.json` of gpt-oss-20b and gpt-oss-120b states `"truncate": false`; llama.cpp's converter has no key for it.
#[test]
fn the_ramp_of_gpt_oss_is_not_rounded_for_heads_of_its_size() {
    assert!(!rounds_ramp(64, None));
    assert!(rounds_ramp(32, None));
    assert!(rounds_ramp(64, Some(true)));
    assert!(!rounds_ramp(32, Some(false)));
}

/// As llama.cpp: EXAONE 4 32B has 64 layers.
#[test]
fn the_window_of_exaone_4_has_a_default_length_in_models_with_64_layers() {
    for (num_layers, len) in [(30, None), (64, Some(4096))] {
        let mut metadata = Metadata::new();
        metadata.insert("general.architecture", "exaone4");
        for (key, value) in [
            ("block_count", num_layers),
            ("context_length", 131_072),
            ("embedding_length", 8),
            ("feed_forward_length", 8),
            ("attention.head_count", 2),
        ] {
            metadata.insert(format!("exaone4.{key}"), value);
        }
        metadata.insert("exaone4.attention.layer_norm_rms_epsilon", 1e-5_f32);
        let windows = windows(&describe(&metadata, 20, 8));
        assert_eq!(windows[..4], [len, len, len, None], "{num_layers}");
    }
}

/// The reference answer is that of llama.cpp for a file that states the factors of older files, except for 0.5 instead of the
/// `32 / 256` that logits of this width are divided by.
#[test]
fn files_of_minicpm_without_factors_have_those_of_the_first_models() {
    let mut file = File::fixture("llama_cpp/minicpm.gguf");
    for key in ["embedding_scale", "residual_scale", "logit_scale"] {
        assert!(file.metadata.remove(&format!("minicpm.{key}")).is_some(), "{key}");
    }
    let mut answer = ReferenceLogits::read(&fixtures().join("llama_cpp/minicpm.json"));
    answer.logits.iter_mut().flatten().for_each(|logit| *logit *= 4.0);
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(&file.write(), backend, None, &mut |_| ()).expect("a valid model");
    let found = logits(&model, &answer.tokens, Feed::Whole);
    assert_eq!(deviation(MAX_RELATIVE_ERROR, &answer, &found), None);
}

#[test]
fn sizes_of_gate_and_up_projection_together_are_even() {
    const KEY: &str = "qwen.feed_forward_length";
    let file = edited("qwen", |metadata| {
        metadata.insert(KEY, 47_u32);
    });
    assert_eq!(invalid(&file), (KEY.to_owned(), "47".to_owned()));
}
