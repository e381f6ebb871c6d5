//! Convolutions, linear attention, selective scans and gated norms of recurrent layers.

use std::ops::Range;

use inferno_backend::{DeviceMemory, Function, ReferenceBackend};
use inferno_conformance::cases::{Random, bits, relative_error};
use inferno_conformance::recurrent::{Part, batch, checkpointed, gated_norm, layers};
use inferno_conformance::selective_scan;

use crate::device::adapter;

#[test]
fn recurrent_layers_agree_for_every_chunking() {
    let Some(backend) = adapter() else { return };
    for (number, layer) in layers(40).iter().enumerate() {
        let expected = layer.chunks(backend, 40, 40);
        let reference = layer.chunks(&ReferenceBackend::new(), 40, 40);
        let error = relative_error(&expected, &reference);
        assert!(error < 5e-6, "{number}: {error}");
        for chunk in [7, 1] {
            let found = layer.chunks(backend, 40, chunk);
            assert_eq!(bits(&found), bits(&expected), "{number} {chunk}");
        }
    }
}

#[test]
fn sequences_of_a_batch_and_checkpoints_have_the_bits_of_solo_runs() {
    let Some(backend) = adapter() else { return };
    for (number, layer) in layers(40).iter().enumerate() {
        let alone = layer.chunks(backend, 20, 20);
        let rows: Vec<usize> = (20..29).collect();
        let mut state = backend.alloc_state(&layer.layout()).expect("memory");
        let first_alone = layer.run(backend, &mut state, &batch(&[Part::new(0, 9, 0)]), &rows);
        let channels = layer.conv.channels;
        let out_cols = layer.attention.num_heads * layer.attention.value_dim;
        let rows = |values: &[f32], num_rows: usize, range: Range<usize>| {
            let (convolved, out) = values.split_at(num_rows * channels);
            let convolved = &convolved[range.start * channels..range.end * channels];
            let out = &out[range.start * out_cols..range.end * out_cols];
            bits(&[convolved, out].concat())
        };
        let [whole, resumed] = checkpointed(layer, backend);
        assert_eq!(rows(&whole, 29, 0..9), bits(&first_alone), "{number}");
        assert_eq!(rows(&whole, 29, 9..29), rows(&alone, 20, 0..20), "{number}");
        assert_eq!(rows(&resumed, 9, 0..9), rows(&alone, 20, 11..20), "{number}");
    }
}

#[test]
fn gated_norms_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(9);
    for (cols, extent, num_weights) in [(96, 24, 24), (96, 48, 96), (33, 33, 33), (50, 50, 0)] {
        let (x, weight) = (random.values(5 * cols), random.values(num_weights));
        let weight = (num_weights > 0).then_some(&weight[..]);
        let orders = [false, true].into_iter().flat_map(|is_gate_first| {
            [Function::Silu, Function::Sigmoid].map(|function| (function, is_gate_first))
        });
        for (function, is_gate_first) in orders {
            let found = gated_norm(backend, &x, weight, extent, function, is_gate_first);
            let reference =
                gated_norm(&ReferenceBackend::new(), &x, weight, extent, function, is_gate_first);
            let error = relative_error(&found, &reference);
            assert!(error < 2e-6, "{cols} {extent}: {error}");
        }
    }
}

#[test]
fn selective_scans_agree_for_every_chunking() {
    let Some(backend) = adapter() else { return };
    for (number, layer) in selective_scan::layers().iter().enumerate() {
        let expected = layer.chunks(backend, 40, 40);
        let reference = layer.chunks(&ReferenceBackend::new(), 40, 40);
        let error = relative_error(&expected, &reference);
        assert!(error < 5e-6, "{number}: {error}");
        for chunk in [7, 1] {
            let found = layer.chunks(backend, 40, chunk);
            assert_eq!(bits(&found), bits(&expected), "{number} {chunk}");
        }
    }
}

#[test]
fn a_checkpoint_of_a_selective_scan_continues_with_the_same_bits() {
    let Some(backend) = adapter() else { return };
    for layer in selective_scan::layers() {
        let alone = layer.chunks(backend, 20, 20);
        let expected = [&alone[..], &alone[11 * layer.params.channels..]].concat();
        let found = selective_scan::checkpointed(&layer, backend);
        assert_eq!(bits(&found), bits(&expected), "{:?}", layer.params);
    }
}
