//! Damaged checkpoints either fail to load or run; they never panic.

use std::sync::Arc;

use crate::support::{Feed, fixtures, logits};
use inferno_backend::{Backend, KvDType, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_gguf::{Gguf, GgufWriter};
use inferno_model::{BatchLimits, CacheLayout, Footprint, Model, ModelSpec, Requantize};
use proptest::prelude::*;

/// Approximate start of the tensor data in the small fixtures: mutations before it change metadata
/// and the tensor index.
const HEADER_BYTES: usize = 1800;

fn run(bytes: Vec<u8>) {
    let Ok(checkpoint) = Gguf::from_bytes(bytes) else {
        return;
    };
    run_on(&checkpoint, Arc::new(ReferenceBackend::new()));
    let options = CpuOptions { threads: Some(1), ..CpuOptions::default() };
    run_on(&checkpoint, Arc::new(CpuBackend::new(options).expect("every machine has one")));
}

fn run_on<B: Backend>(checkpoint: &Gguf, backend: Arc<B>) {
    let limits = BatchLimits { max_num_tokens: 512, max_num_logit_rows: 1 };
    if let Ok(spec) = ModelSpec::from_checkpoint(checkpoint) {
        let layout = spec.kv_layout(spec.context_length, KvDType::F16);
        let cache = CacheLayout { kv: layout, state: spec.state_layout(2) };
        let footprint = Footprint::estimate(checkpoint, &spec, &*backend, None, &cache, limits);
        if let Ok(footprint) = footprint {
            assert!(footprint.total_bytes() >= footprint.kv_cache_bytes);
        }
    }
    for requantize in [None, Some(Requantize::Int8)] {
        let backend = Arc::clone(&backend);
        if let Ok(model) = Model::load(checkpoint, backend, requantize, &mut |_| ()) {
            logits(&model, &[1, 2, 3], Feed::Whole);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_headers_never_panic(
        name in prop::sample::select(vec!["llama-yarn.gguf", "qwen3moe.gguf", "mistral-window.gguf"]),
        damage in prop::collection::vec((0..HEADER_BYTES, any::<u8>()), 1..4),
    ) {
        let mut bytes = std::fs::read(fixtures().join(name)).expect("the fixture");
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        run(bytes);
    }

    #[test]
    fn extreme_counts_never_panic(
        key in prop::sample::select(vec![
            "expert_feed_forward_length", "expert_count", "expert_used_count", "context_length",
            "block_count", "attention.head_count", "attention.key_length", "rope.dimension_count",
        ]),
        shift in 0..64u32,
        offset in 0..2u64,
    ) {
        let bytes = std::fs::read(fixtures().join("qwen3moe.gguf")).expect("the fixture");
        let source = Gguf::from_bytes(bytes).expect("the fixture is valid");
        let mut metadata = source.metadata().clone();
        metadata.insert(format!("qwen3moe.{key}"), (1u64 << shift).wrapping_sub(offset));
        let mut writer = GgufWriter::new(&metadata).expect("valid metadata");
        for info in source.tensors() {
            writer.add_tensor(info.name(), info.dims(), info.ggml_type()).expect("as it was");
        }
        let mut payloads = writer.in_memory();
        for info in source.tensors() {
            payloads.write_tensor(info.name(), &source.data(info)).expect("as it was");
        }
        run(payloads.finish().expect("all payloads"));
    }

    #[test]
    fn extreme_numbers_in_the_metadata_never_panic(
        at in 24..700usize,
        number in prop::sample::select(vec![0u32, 1, 3, 0x7f80_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX]),
    ) {
        let mut bytes = std::fs::read(fixtures().join("qwen3moe.gguf")).expect("the fixture");
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        run(bytes);
    }
}
