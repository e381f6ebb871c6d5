//! Every architecture, with random weights: the CPU against the reference, and against itself in chunks.
//!
//! Whether the reference computes what an architecture defines is tested with models of transformers (`logits.rs`).

use std::sync::Arc;

use crate::support::synthetic::{
    synthetic, synthetic_with, with_fused_delta_nets, with_unsplit_latent_tensors,
};
use crate::support::{Feed, logits};
use inferno_backend::{Backend, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_gguf::Gguf;
use inferno_model::{ARCHITECTURES, Model};

fn load<B: Backend>(bytes: &[u8], backend: B) -> Model<B> {
    let checkpoint = Gguf::from_bytes(bytes.to_vec()).expect("a valid file");
    Model::load(&checkpoint, Arc::new(backend), None, &mut |_| ()).expect("a valid model")
}

#[test]
fn every_architecture_runs_and_agrees_with_the_reference_for_every_chunking() {
    let tokens: Vec<u32> = (0..23).map(|i| i * 7 % 40).collect();
    // Encoders compute no logits; they have tests of their own.
    for architecture in ARCHITECTURES.iter().filter(|architecture| architecture.is_causal) {
        let name = architecture.name;
        let bytes = synthetic(name);
        let expected = logits(&load(&bytes, ReferenceBackend::new()), &tokens, Feed::Whole);
        let cpu = CpuBackend::new(CpuOptions::default()).expect("every machine has one");
        let model = load(&bytes, cpu);
        let whole = logits(&model, &tokens, Feed::Whole);
        for feed in [Feed::Chunks(4), Feed::Chunks(1)] {
            assert_eq!(logits(&model, &tokens, feed), whole, "{name} {feed:?}");
        }
        let square = |x: f32| f64::from(x) * f64::from(x);
        let pairs = expected.iter().flatten().zip(whole.iter().flatten());
        let difference: f64 = pairs.map(|(a, b)| square(a - b)).sum();
        let norm: f64 = expected.iter().flatten().map(|&x| square(x)).sum();
        let error = (difference / norm).sqrt();
        assert!(norm.is_finite() && error < 1e-4, "{name}: {error}");
    }
}

#[test]
fn logits_of_gemma3_are_bounded_if_the_file_sets_a_bound() {
    let tokens: Vec<u32> = (0..9).map(|i| i * 7 % 40).collect();
    let run = |bytes: Vec<u8>| logits(&load(&bytes, ReferenceBackend::new()), &tokens, Feed::Whole);
    let unbounded = run(synthetic("gemma3"));
    let cap = 0.5_f32;
    let bounded = run(synthetic_with("gemma3", |metadata| {
        metadata.insert("gemma3.final_logit_softcapping", cap);
    }));
    for (unbounded, bounded) in unbounded.iter().flatten().zip(bounded.iter().flatten()) {
        let expected = cap * (unbounded / cap).tanh();
        assert!((bounded - expected).abs() < 1e-5, "{bounded} instead of {expected}");
    }
}

#[test]
fn latent_attention_without_experts_and_hybrids_without_attention_run() {
    let dense = synthetic_with("deepseek2", |metadata| {
        metadata.insert("deepseek2.expert_count", 0_u32);
        metadata.insert("deepseek2.leading_dense_block_count", 3_u32);
    });
    let recurrent = synthetic_with("granitehybrid", |metadata| {
        metadata.insert("granitehybrid.attention.head_count_kv", vec![0_u32; 3]);
        metadata.insert("granitehybrid.attention.scale", 0.2_f32);
    });
    for bytes in [dense, recurrent] {
        let rows = logits(&load(&bytes, ReferenceBackend::new()), &[3, 5, 7], Feed::Whole);
        assert!(rows.iter().flatten().all(|logit| logit.is_finite()));
    }
}

#[test]
fn tensors_of_older_files_give_the_same_bits() {
    let tokens: Vec<u32> = (0..23).map(|i| i * 5 % 40).collect();
    let [delta_nets, latent] = ["qwen3next", "deepseek2"].map(synthetic);
    let files = [
        ("qwen3next", with_fused_delta_nets(&delta_nets), delta_nets),
        ("deepseek2", with_unsplit_latent_tensors(&latent), latent),
    ];
    for (name, older, bytes) in files {
        let [expected, found] = [bytes, older]
            .map(|bytes| logits(&load(&bytes, ReferenceBackend::new()), &tokens, Feed::Whole));
        assert_eq!(found, expected, "{name}");
    }
}
