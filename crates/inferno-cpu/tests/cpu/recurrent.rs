//! Convolutions, linear attention and gated norms of recurrent layers.

use crate::cases::{Random, all, bits, relative_error, simplest};
use inferno_backend::{DeviceMemory, Function, ReferenceBackend};
use inferno_conformance::recurrent::{
    Part, batch, checkpointed, gated_norm, layers, resumed, saved_halfway, values_of,
};

#[test]
fn recurrent_layers_agree_for_every_chunking() {
    for (number, layer) in layers(40).iter().enumerate() {
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
fn sequences_of_a_batch_and_checkpoints_have_the_bits_of_solo_runs() {
    for (number, layer) in layers(40).iter().enumerate() {
        let alone = layer.chunks(&simplest(), 20, 20);
        let first_alone = {
            let (backend, rows): (_, Vec<usize>) = (simplest(), (20..29).collect());
            let mut state = backend.alloc_state(&layer.layout()).expect("memory");
            layer.run(&backend, &mut state, &batch(&[Part::new(0, 9, 0)]), &rows)
        };
        let channels = layer.conv.channels;
        let out_cols = layer.attention.num_heads * layer.attention.value_dim;
        let rows = |values: &[f32], num_rows: usize, range: std::ops::Range<usize>| {
            let (convolved, out) = values.split_at(num_rows * channels);
            let convolved = &convolved[range.start * channels..range.end * channels];
            let out = &out[range.start * out_cols..range.end * out_cols];
            bits(&[convolved, out].concat())
        };
        for backend in all() {
            let [whole, resumed] = checkpointed(layer, &backend);
            assert_eq!(rows(&whole, 29, 0..9), bits(&first_alone), "{number} {backend:?}");
            assert_eq!(rows(&whole, 29, 9..29), rows(&alone, 20, 0..20), "{number} {backend:?}");
            assert_eq!(rows(&resumed, 9, 0..9), rows(&alone, 20, 11..20), "{number} {backend:?}");
        }
        let [whole, resumed] = checkpointed(layer, &ReferenceBackend::new());
        assert_eq!(rows(&whole, 29, 20..29), rows(&resumed, 9, 0..9), "{number}");
    }
}

#[test]
fn states_saved_by_one_backend_resume_in_another() {
    for (number, layer) in layers(40).iter().enumerate() {
        let reference = saved_halfway(&ReferenceBackend::new(), layer);
        for backend in all() {
            let own = saved_halfway(&backend, layer);
            let error = relative_error(&values_of(&own), &values_of(&reference));
            assert!(error < 2e-6, "{number} {backend:?}: {error}");
            let expected = resumed(&ReferenceBackend::new(), layer, &reference);
            let error = relative_error(&resumed(&backend, layer, &reference), &expected);
            assert!(error < 2e-6, "{number} {backend:?}: {error}");
        }
    }
}

#[test]
fn gated_norms_agree() {
    let mut random = Random::new(9);
    for (cols, extent, num_weights) in [(96, 24, 24), (96, 48, 96), (33, 33, 33), (50, 50, 0)] {
        let (x, weight) = (random.values(5 * cols), random.values(num_weights));
        let weight = (num_weights > 0).then_some(&weight[..]);
        let orders = [false, true].into_iter().flat_map(|is_gate_first| {
            [Function::Silu, Function::Sigmoid].map(|function| (function, is_gate_first))
        });
        for (function, is_gate_first) in orders {
            let expected = gated_norm(&simplest(), &x, weight, extent, function, is_gate_first);
            let reference =
                gated_norm(&ReferenceBackend::new(), &x, weight, extent, function, is_gate_first);
            let error = relative_error(&expected, &reference);
            assert!(error < 1e-6, "{cols} {extent}: {error}");
            for backend in all() {
                let found = gated_norm(&backend, &x, weight, extent, function, is_gate_first);
                assert_eq!(bits(&found), bits(&expected), "{cols} {extent} {backend:?}");
            }
        }
    }
}
