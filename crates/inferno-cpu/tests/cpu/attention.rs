//! Attention over the KV cache.

use crate::cases::{all, bits, in_turn, relative_error, simplest};
use inferno_backend::{AttentionMask, AttentionWindow, KvDType, LARGEST_I16, ReferenceBackend};
use inferno_conformance::attention::{
    bidirectional, bidirectional_shapes, in_keys, mostly_single, rope_and_store, rope_cases,
    shapes, two_sequences,
};
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};

#[test]
fn attention_agrees_with_the_reference() {
    for shape in shapes().into_iter().chain(bidirectional_shapes()) {
        let qkv = inputs(&shape, 1);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &blocks, &whole);
        let found = attend(&simplest(), &shape, &qkv, &blocks, &whole);
        let error = relative_error(&found, &expected);
        // I16 rounds queries and weights as well: to 2^-16 of the largest.
        let bound = if shape.dtype == KvDType::I16 { 1e-4 } else { 2e-6 };
        assert!(error < bound, "{shape:?}: {error}");
    }
}

#[test]
fn rotated_heads_are_stored() {
    for case in rope_cases() {
        let found = rope_and_store(&simplest(), &case, 9);
        let expected = rope_and_store(&ReferenceBackend::new(), &case, 9);
        let error = relative_error(&found, &expected);
        assert!(error < 2e-6, "{case:?}: {error}");
        for backend in all() {
            let again = rope_and_store(&backend, &case, 9);
            assert_eq!(bits(&again), bits(&found), "{case:?} {backend:?}");
        }
    }
}

#[test]
fn sums_of_the_largest_integers_fit() {
    // Each key and each value is the largest number or its negation. All but one of a query's low halves are the largest
    // magnitude, -128.
    let low_halves = (126 * 256 + 128) as f32 / LARGEST_I16;
    for (head_dim, values, query) in [
        (512, None, 1.0),
        (512, None, low_halves),
        (576, in_keys(64), low_halves),
        (1024, None, low_halves),
    ] {
        let shape = Shape { dtype: KvDType::I16, head_dim, values, tokens: 40, ..SHAPE };
        let [q_len, k_len, v_len] = shape.qkv().part_lens();
        let mut qkv = Vec::new();
        for token in 0..shape.tokens {
            let sign = if token % 3 == 0 { 1.0 } else { -1.0 };
            qkv.extend((0..q_len).map(|i| if i % head_dim == 0 { 1.0 } else { query }));
            qkv.extend(std::iter::repeat_n(sign, k_len + v_len));
        }
        for backend in all() {
            let found = attend(&backend, &shape, &qkv, &shape.blocks(), &[shape.tokens]);
            assert!(found.iter().all(|x| (x - 1.0).abs() < 1e-3), "{shape:?} {backend:?}");
        }
    }
}

#[test]
fn an_outlier_component_preserves_the_precision_of_others() {
    // Key biases of some models cause such outliers. The other components then have only low halves.
    let shape = Shape { dtype: KvDType::I16, head_dim: 64, ..SHAPE };
    let mut qkv = inputs(&shape, 12);
    for row in qkv.chunks_exact_mut(shape.qkv().row_len()) {
        let heads = row.chunks_exact_mut(shape.head_dim);
        for head in heads.take(shape.num_heads + shape.num_kv_heads) {
            head[5] = 100.0;
        }
    }
    let whole = [shape.tokens];
    let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &shape.blocks(), &whole);
    for backend in all() {
        let found = attend(&backend, &shape, &qkv, &shape.blocks(), &whole);
        let error = relative_error(&found, &expected);
        assert!(error < 5e-3, "{backend:?}: {error}");
    }
}

#[test]
fn sixteen_bit_integers_are_more_accurate_than_half_precision() {
    for shape in shapes().into_iter().filter(|shape| shape.dtype == KvDType::F32) {
        let qkv = inputs(&shape, 11);
        let attended =
            |backend: &dyn Fn(&Shape) -> Vec<f32>, dtype| backend(&Shape { dtype, ..shape });
        let whole = [shape.tokens];
        let exactly =
            |shape: &Shape| attend(&ReferenceBackend::new(), shape, &qkv, &shape.blocks(), &whole);
        let here = |shape: &Shape| attend(&simplest(), shape, &qkv, &shape.blocks(), &whole);
        let expected = attended(&exactly, KvDType::F32);
        let [i16, f16] = [KvDType::I16, KvDType::F16]
            .map(|dtype| relative_error(&attended(&here, dtype), &expected));
        assert!(i16 < f16, "{shape:?}: {i16} and {f16}");
    }
}

#[test]
fn attention_is_bit_identical_on_every_instruction_set_and_thread_count() {
    for (number, shape) in shapes().into_iter().chain(bidirectional_shapes()).enumerate() {
        let qkv = inputs(&shape, 2);
        let blocks = shape.blocks();
        let whole = [shape.tokens];
        let expected = bits(&attend(&simplest(), &shape, &qkv, &blocks, &whole));
        for backend in in_turn(number) {
            let found = bits(&attend(&backend, &shape, &qkv, &blocks, &whole));
            assert_eq!(found, expected, "{shape:?} {backend:?}");
        }
    }
}

#[test]
fn attention_is_bit_identical_for_every_chunking() {
    for (number, shape) in shapes().into_iter().enumerate() {
        let qkv = inputs(&shape, 3);
        let blocks = shape.blocks();
        let whole = bits(&attend(&simplest(), &shape, &qkv, &blocks, &[shape.tokens]));
        for backend in in_turn(number) {
            for chunks in [
                vec![shape.tokens / 3, shape.tokens - shape.tokens / 3],
                mostly_single(shape.tokens),
            ] {
                let found = attend(&backend, &shape, &qkv, &blocks, &chunks);
                assert_eq!(bits(&found), whole, "{shape:?} {chunks:?} {backend:?}");
            }
        }
    }
}

#[test]
fn attention_does_not_depend_on_the_block_table() {
    for (dtype, head_dim, values) in
        KvDType::ALL.into_iter().flat_map(|dtype| [(dtype, 32, None), (dtype, 128, in_keys(64))])
    {
        let shape = Shape { dtype, head_dim, values, tokens: 300, ..SHAPE };
        let qkv = inputs(&shape, 4);
        for backend in all() {
            let whole = [shape.tokens];
            let expected = bits(&attend(&backend, &shape, &qkv, &shape.blocks(), &whole));
            for block_tokens in [1, 7, 16, 64, 1000] {
                let shape = Shape { block_tokens, ..shape };
                let mut blocks = shape.blocks();
                let count = blocks.len();
                blocks.rotate_left(1 % count);
                let found = bits(&attend(&backend, &shape, &qkv, &blocks, &whole));
                assert_eq!(found, expected, "{dtype} blocks of {block_tokens}, {backend:?}");
            }
        }
    }
}

#[test]
fn sequences_of_one_batch_are_independent() {
    for backend in all() {
        for mask in [AttentionMask::Causal(None), bidirectional(None), bidirectional(Some(9))] {
            let shape = Shape { tokens: 40, mask, ..SHAPE };
            let (found, expected) = two_sequences(&backend, &shape, 25, 5);
            assert_eq!(bits(&found), bits(&expected), "{mask:?} {backend:?}");
        }
        // Sequences whose cache is read in place and from panels, after one another.
        for first_tokens in [1, 25] {
            let shape = Shape { dtype: KvDType::I16, head_dim: 64, tokens: 300, ..SHAPE };
            let (found, expected) = two_sequences(&backend, &shape, first_tokens, 6);
            assert_eq!(bits(&found), bits(&expected), "{first_tokens} {backend:?}");
        }
    }
}

#[test]
fn masked_positions_do_not_affect_rows_that_are_computed_together() {
    for num_heads in [1, 2, 3] {
        let dtype = KvDType::I16;
        let causal = Shape { dtype, num_heads, num_kv_heads: 1, head_dim: 64, tokens: 24, ..SHAPE };
        let row_len = causal.qkv().row_len();
        // After the rows, and before a window.
        let window = AttentionMask::Causal(Some(AttentionWindow::Sliding(5)));
        for (shape, masked, clean) in
            [(causal, 13..24, 0..13), (Shape { mask: window, ..causal }, 3..4, 8..24)]
        {
            let mut qkv = inputs(&shape, 9);
            let expected = attend(&simplest(), &shape, &qkv, &shape.blocks(), &[24]);
            qkv[masked.start * row_len..masked.end * row_len].fill(f32::NAN);
            let out_len = shape.out_len();
            let clean = clean.start * out_len..clean.end * out_len;
            let masked = masked.start * out_len..masked.end * out_len;
            for backend in all() {
                let found = attend(&backend, &shape, &qkv, &shape.blocks(), &[24]);
                assert_eq!(
                    bits(&found[clean.clone()]),
                    bits(&expected[clean.clone()]),
                    "{backend:?}"
                );
                assert!(found[masked.clone()].iter().all(|x| x.is_nan()), "{backend:?}");
            }
        }
    }
}

#[test]
fn masked_positions_do_not_affect_a_row() {
    // Keys and values of later tokens of the same chunk are NaN.
    for dtype in KvDType::ALL {
        let shape = Shape { dtype, tokens: 24, ..SHAPE };
        let mut qkv = inputs(&shape, 8);
        let clean = attend(&simplest(), &shape, &qkv, &shape.blocks(), &[24]);
        let row_len = shape.qkv().row_len();
        qkv[13 * row_len..].fill(f32::NAN);
        for backend in all() {
            let found = attend(&backend, &shape, &qkv, &shape.blocks(), &[24]);
            let seen = 13 * shape.out_len();
            assert_eq!(bits(&found[..seen]), bits(&clean[..seen]), "{dtype} {backend:?}");
            assert!(found[seen..].iter().all(|x| x.is_nan()), "{dtype} {backend:?}");
        }
    }
}
