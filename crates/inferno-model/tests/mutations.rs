//! Damaged checkpoints: an error or a model that runs, never a panic.

mod support;

use std::sync::Arc;

use inferno_backend::ReferenceBackend;
use inferno_gguf::Gguf;
use inferno_model::Model;
use proptest::prelude::*;
use support::{Feed, fixtures, logits};

/// Where tensor payloads begin in the small fixtures, roughly: mutations before it change metadata
/// and the tensor index, which is where damage is interesting.
const HEADER_BYTES: usize = 1800;

fn run(bytes: Vec<u8>) {
    let Ok(checkpoint) = Gguf::from_bytes(bytes) else {
        return;
    };
    let backend = Arc::new(ReferenceBackend::new());
    if let Ok(model) = Model::load(&checkpoint, backend, None, &mut |_| ()) {
        logits(&model, &[1, 2, 3], Feed::Whole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_damaged_header_never_panics(
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
    fn extreme_numbers_in_the_metadata_never_panic(
        at in 24..700usize,
        number in prop::sample::select(vec![0u32, 1, 3, 0x7f80_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX]),
    ) {
        let mut bytes = std::fs::read(fixtures().join("qwen3moe.gguf")).expect("the fixture");
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        run(bytes);
    }
}
