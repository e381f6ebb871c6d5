//! Attention over the KV cache.

use inferno_backend::{AttentionMask, AttentionWindow, KvDType, ReferenceBackend};
use inferno_conformance::attention::{
    attend_in_window, bidirectional, bidirectional_shapes, in_keys, mostly_single, rope_and_store,
    rope_cases, shapes, two_sequences,
};
use inferno_conformance::cases::{bits, relative_error};
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};

use crate::device::adapter;

/// Shapes for what differs on a GPU: heads that share keys are divided between workgroups, rows are wide, and there are
/// more parts than a workgroup computes.
fn gpu_shapes() -> Vec<Shape> {
    let mut shapes = shapes();
    for dtype in KvDType::ALL {
        shapes.extend([
            Shape { dtype, num_heads: 11, num_kv_heads: 1, tokens: 150, ..SHAPE },
            Shape { dtype, num_heads: 12, num_kv_heads: 1, tokens: 21, head_dim: 256, ..SHAPE },
            Shape { dtype, num_heads: 3, num_kv_heads: 3, tokens: 400, head_dim: 96, ..SHAPE },
        ]);
        if dtype != KvDType::I16 {
            let wide = Shape { dtype, num_heads: 2, num_kv_heads: 1, tokens: 20, ..SHAPE };
            shapes.push(Shape { head_dim: 1088, ..wide });
            shapes.push(Shape { head_dim: 1088, values: in_keys(64), tokens: 130, ..wide });
        }
    }
    shapes
}

#[test]
fn attention_agrees_with_the_reference() {
    let Some(backend) = adapter() else { return };
    for shape in gpu_shapes().into_iter().chain(bidirectional_shapes()) {
        let qkv = inputs(&shape, 1);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &blocks, &whole);
        let found = attend(backend, &shape, &qkv, &blocks, &whole);
        let error = relative_error(&found, &expected);
        assert!(error < 5e-6, "{shape:?}: {error}");
    }
}

#[test]
fn attention_is_bit_identical_for_every_chunking() {
    let Some(backend) = adapter() else { return };
    // Kernels of a format differ in the conversion of values alone: every shape is computed in one format or two.
    for shape in gpu_shapes().into_iter().step_by(3) {
        let qkv = inputs(&shape, 3);
        let blocks = shape.blocks();
        let whole = bits(&attend(backend, &shape, &qkv, &blocks, &[shape.tokens]));
        for chunks in
            [vec![shape.tokens / 3, shape.tokens - shape.tokens / 3], mostly_single(shape.tokens)]
        {
            let found = attend(backend, &shape, &qkv, &blocks, &chunks);
            assert_eq!(bits(&found), whole, "{shape:?} {chunks:?}");
        }
    }
}

#[test]
fn attention_does_not_depend_on_the_block_table() {
    let Some(backend) = adapter() else { return };
    for (dtype, head_dim, values) in
        KvDType::ALL.into_iter().flat_map(|dtype| [(dtype, 32, None), (dtype, 128, in_keys(64))])
    {
        let shape = Shape { dtype, head_dim, values, tokens: 300, ..SHAPE };
        let qkv = inputs(&shape, 4);
        let whole = [shape.tokens];
        let expected = bits(&attend(backend, &shape, &qkv, &shape.blocks(), &whole));
        for block_tokens in [1, 7, 16, 64, 1000] {
            let shape = Shape { block_tokens, ..shape };
            let mut blocks = shape.blocks();
            let count = blocks.len();
            blocks.rotate_left(1 % count);
            let found = bits(&attend(backend, &shape, &qkv, &blocks, &whole));
            assert_eq!(found, expected, "{dtype} blocks of {block_tokens}");
        }
    }
}

#[test]
fn sequences_of_one_batch_are_independent() {
    let Some(backend) = adapter() else { return };
    for mask in [AttentionMask::Causal(None), bidirectional(None), bidirectional(Some(9))] {
        let shape = Shape { tokens: 40, mask, ..SHAPE };
        let (found, expected) = two_sequences(backend, &shape, 25, 5);
        assert_eq!(bits(&found), bits(&expected), "{mask:?}");
    }
}

#[test]
fn masked_positions_do_not_affect_a_row() {
    // Keys and values of later tokens of the same chunk are NaN.
    let Some(backend) = adapter() else { return };
    for dtype in KvDType::ALL {
        let shape = Shape { dtype, tokens: 24, ..SHAPE };
        let mut qkv = inputs(&shape, 8);
        let clean = attend(backend, &shape, &qkv, &shape.blocks(), &[24]);
        let row_len = shape.qkv().row_len();
        qkv[13 * row_len..].fill(f32::NAN);
        let found = attend(backend, &shape, &qkv, &shape.blocks(), &[24]);
        let seen = 13 * shape.out_len();
        assert_eq!(bits(&found[..seen]), bits(&clean[..seen]), "{dtype}");
        assert!(found[seen..].iter().all(|x| x.is_nan()), "{dtype}");
    }
}

#[test]
fn rotated_heads_are_stored() {
    let Some(backend) = adapter() else { return };
    for case in rope_cases() {
        let found = rope_and_store(backend, &case, 9);
        let expected = rope_and_store(&ReferenceBackend::new(), &case, 9);
        let error = relative_error(&found, &expected);
        assert!(error < 2e-6, "{case:?}: {error}");
    }
}

#[test]
fn layers_with_memory_for_their_window_alone_compute_the_same_bits() {
    let Some(backend) = adapter() else { return };
    for window in [AttentionWindow::Sliding(37), AttentionWindow::Chunked(50)] {
        let shape = Shape { tokens: 300, mask: AttentionMask::Causal(Some(window)), ..SHAPE };
        let qkv = inputs(&shape, 13);
        let expected = attend(backend, &shape, &qkv, &shape.blocks(), &[shape.tokens]);
        for chunk in [1, 7, 64] {
            let found = attend_in_window(backend, &shape, &qkv, chunk);
            assert_eq!(bits(&found), bits(&expected), "{window:?} {chunk}");
        }
    }
}
