//! Selective scans of recurrent layers.

use inferno_backend::ReferenceBackend;
use inferno_conformance::selective_scan::{checkpointed, layers, saved};

use crate::cases::{all, bits, relative_error, simplest};

#[test]
fn selective_scans_agree_for_every_chunking() {
    for (number, layer) in layers().iter().enumerate() {
        let expected = layer.chunks(&simplest(), 40, 40);
        let reference = layer.chunks(&ReferenceBackend::new(), 40, 40);
        let error = relative_error(&expected, &reference);
        assert!(error < 2e-6, "{number}: {error}");
        for backend in all() {
            for chunk in [40, 7, 1] {
                let found = layer.chunks(&backend, 40, chunk);
                assert_eq!(bits(&found), bits(&expected), "{number} {backend:?} {chunk}");
            }
        }
        let stepwise = layer.chunks(&ReferenceBackend::new(), 40, 1);
        assert_eq!(bits(&stepwise), bits(&reference), "{number}");
    }
}

#[test]
fn states_of_selective_scans_are_saved_in_one_order() {
    for layer in layers() {
        let reference = saved(&layer, &ReferenceBackend::new());
        for backend in all() {
            let error = relative_error(&saved(&layer, &backend), &reference);
            assert!(error < 2e-6, "{backend:?}: {error}");
        }
    }
}

#[test]
fn a_checkpoint_of_a_selective_scan_continues_with_the_same_bits() {
    for layer in layers() {
        let alone = layer.chunks(&simplest(), 20, 20);
        let expected = [&alone[..], &alone[11 * layer.params.channels..]].concat();
        for backend in all() {
            let found = checkpointed(&layer, &backend);
            assert_eq!(bits(&found), bits(&expected), "{:?} {backend:?}", layer.params);
        }
        let found = checkpointed(&layer, &ReferenceBackend::new());
        let (whole, resumed) = found.split_at(20 * layer.params.channels);
        assert_eq!(bits(&whole[11 * layer.params.channels..]), bits(resumed));
    }
}
