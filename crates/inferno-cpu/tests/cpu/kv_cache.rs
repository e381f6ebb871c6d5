//! The KV cache: stored values, and the treatment of NaN and infinity.
//!
//! F32 and F16 preserve NaN and infinities; values too large for F16 become
//! infinite. Q8_0 has neither, so all 32 values that share a scale become NaN if
//! one is NaN or infinite or overflows the scale; the rest of the row is unchanged. An I16 row
//! has one scale, so the whole row becomes NaN if one value is NaN or infinite. Invalid values
//! thus propagate to the result.

use crate::cases::{Random, all, matrix, run, simplest};
use inferno_backend::{
    BackendError, BatchBuilder, BlockId, DeviceMemory, KvBlockPart, KvDType, KvLayout, LogitRows,
    Pass, QkNorm, ReferenceBackend, RopePairing, Rotation, SequenceChunk,
};
use inferno_conformance::attention::separate;
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};
use inferno_conformance::kv_cache::{BAD, BAD_SHAPE, VALUES_IN_KEYS, agree, bad_places, saved};
use inferno_cpu::CpuBackend;

#[test]
fn saved_blocks_match_the_reference_and_round_trip() {
    let separate = |dtype| Shape { dtype, tokens: 20, ..SHAPE };
    let wide = |dtype| Shape { head_dim: 576, values: VALUES_IN_KEYS, ..separate(dtype) };
    let all_dtypes = KvDType::ALL.into_iter().flat_map(|dtype| [separate(dtype), wide(dtype)]);
    // Blocks of several vectors of keys, of which the last is not full; the widest head whose vectors are stored whole.
    let vectors = [(32, 48), (256, 32)].map(|(head_dim, block_tokens)| Shape {
        head_dim,
        block_tokens,
        tokens: 2 * block_tokens - 7,
        ..separate(KvDType::I16)
    });
    for shape in all_dtypes.chain(vectors) {
        let dtype = shape.dtype;
        let qkv = inputs(&shape, 7);
        let expected = saved(&ReferenceBackend::new(), &shape, &qkv);
        assert_eq!(expected.len(), 2 * shape.cache().block_bytes().expect("whole pieces"));
        for backend in all() {
            let bytes = saved(&backend, &shape, &qkv);
            assert!(bytes == expected, "{dtype} {backend:?}");
            let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
            let (first, _) = bytes.split_at(bytes.len() / 2);
            backend
                .write_kv_block(&mut cache, BlockId(2), KvBlockPart::All, first)
                .expect("the right size");
            let mut again = Vec::new();
            backend
                .read_kv_block(&cache, BlockId(2), KvBlockPart::All, &mut again)
                .expect("memory can be read");
            assert!(again == first, "{dtype} {backend:?}");
            let refused =
                backend.write_kv_block(&mut cache, BlockId(2), KvBlockPart::All, &first[1..]);
            assert!(matches!(refused, Err(BackendError::KvBlockSize { .. })));
        }
    }
}

/// All blocks after two sequences of 40 tokens are continued from position 5 on: heads are changed and stored in one step,
/// or in two.
fn stored_after_rope(backend: &CpuBackend, shape: &Shape, in_one_step: bool) -> Vec<u8> {
    const TOKENS: usize = 40;
    let layout = shape.qkv();
    let mut random = Random::new(3);
    let mut rows =
        |count: usize, cols: usize| matrix(backend, count, cols, &random.values(count * cols));
    let (mut qkv, angles) = (rows(2 * TOKENS, layout.row_len()), rows(2 * TOKENS, 16));
    let (q, k) = (rows(1, layout.head_dim), rows(1, layout.head_dim));
    let rotation =
        Rotation { pairing: RopePairing::Halves, angles: Some(&angles), query_factors: None };
    let rope = (Some(QkNorm::per_head(&q, &k, 1e-5)), Some(rotation));
    let mut builder = BatchBuilder::new(shape.block_tokens);
    let blocks = [[4, 1, 0].map(BlockId), [2, 3, 5].map(BlockId)];
    for block_table in &blocks {
        let (tokens, logits) = (&[0; TOKENS], LogitRows::None);
        let chunk = SequenceChunk { tokens, start: 5, block_table, logits, second_segment: None };
        builder.push(&chunk).expect("a chunk");
    }
    let batch = builder.build();
    let mut cache =
        backend.alloc_kv_cache(&KvLayout { num_blocks: 6, ..shape.cache() }).expect("memory");
    run(backend, |pass| {
        if in_one_step {
            pass.rope_and_store_kv(2 * TOKENS, &batch, &layout, rope, &mut qkv, (1, &mut cache));
        } else {
            pass.rope(2 * TOKENS, &layout, rope.0, rope.1, &mut qkv);
            pass.store_kv(&batch, 1, &layout, &qkv, &mut cache);
        }
    });
    let mut bytes = Vec::new();
    for block in blocks.into_iter().flatten() {
        backend.read_kv_block(&cache, block, KvBlockPart::All, &mut bytes).expect("memory");
    }
    bytes
}

#[test]
fn heads_that_are_changed_and_stored_in_one_step_have_the_same_bits() {
    let values = [None, VALUES_IN_KEYS, separate(32)];
    for (dtype, values) in KvDType::ALL.into_iter().flat_map(|dtype| values.map(|v| (dtype, v))) {
        for block_tokens in [16, 20, 32] {
            let shape = Shape { dtype, values, head_dim: 64, block_tokens, ..SHAPE };
            let expected = stored_after_rope(&simplest(), &shape, false);
            for backend in all() {
                let found = stored_after_rope(&backend, &shape, true);
                assert!(found == expected, "{shape:?} {backend:?}");
            }
        }
    }
}

#[test]
fn a_cache_that_cannot_be_allocated_is_rejected() {
    let backend = simplest();
    let huge = KvLayout { num_blocks: 1 << 50, ..SHAPE.cache() };
    assert!(matches!(backend.alloc_kv_cache(&huge), Err(BackendError::OutOfMemory { .. })));
    let odd = Shape { head_dim: 40, dtype: KvDType::Q8_0, ..SHAPE }.cache();
    assert!(matches!(backend.alloc_kv_cache(&odd), Err(BackendError::KvHeadDim { .. })));
    assert!(matches!(backend.alloc(1 << 40, 1 << 20), Err(BackendError::OutOfMemory { .. })));
}

#[test]
fn unrepresentable_values_propagate_without_affecting_neighbors() {
    for dtype in KvDType::ALL {
        let shape = Shape { dtype, ..BAD_SHAPE };
        let row_bytes = dtype.row_bytes(shape.head_dim).expect("whole pieces");
        let decode = |bytes: &[u8], row: usize| {
            let mut values = [0.0; 64];
            let bytes = &bytes[row * row_bytes..][..row_bytes];
            dtype.decode_row(bytes, &mut values).expect("whole pieces");
            values
        };
        for bad in BAD {
            let mut qkv = inputs(&shape, 9);
            let [_, place] = bad_places(&shape);
            let clean = saved(&simplest(), &shape, &qkv);
            qkv[place] = bad;
            for backend in all() {
                let bytes = saved(&backend, &shape, &qkv);
                // Block 1 is second, layer 1 is second in it, and values are second there.
                let rows = bytes.len() / row_bytes;
                let row = rows / 2 + rows / 4 + rows / 8 + 10;
                let (found, clean) = (decode(&bytes, row), decode(&clean, row));
                let what = format!("{bad} {dtype} {backend:?}");
                let (spoils, expected) = match dtype {
                    KvDType::F32 => (3..4, bad),
                    // Next to so large a number, all others round to zero.
                    KvDType::I16 if bad == 1e30 => continue,
                    KvDType::I16 => (0..64, f32::NAN),
                    KvDType::F16 if bad.is_nan() => (3..4, f32::NAN),
                    KvDType::F16 => (3..4, f32::INFINITY.copysign(bad)),
                    KvDType::Q8_0 => (0..32, f32::NAN),
                };
                let as_expected = |x: &f32| *x == expected || x.is_nan() && expected.is_nan();
                assert!(found[spoils.clone()].iter().all(as_expected), "{what}");
                assert_eq!(found[..spoils.start], clean[..spoils.start], "{what}");
                assert_eq!(found[spoils.end..], clean[spoils.end..], "{what}");
            }
        }
    }
}

#[test]
fn attention_over_unrepresentable_values_matches_the_reference() {
    for (dtype, values) in
        KvDType::ALL.into_iter().flat_map(|dtype| [(dtype, None), (dtype, VALUES_IN_KEYS)])
    {
        let shape = Shape { dtype, values, ..BAD_SHAPE };
        let value_dim = shape.qkv().value_dim();
        let blocks = shape.blocks();
        for (bad, place) in
            BAD.into_iter().flat_map(|bad| bad_places(&shape).map(|place| (bad, place)))
        {
            let mut qkv = inputs(&shape, 10);
            qkv[place] = bad;
            let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &blocks, &[20]);
            for backend in all() {
                let found = attend(&backend, &shape, &qkv, &blocks, &[20]);
                for (i, (&found, &number)) in found.iter().zip(&expected).enumerate() {
                    let (row, column) = (i / shape.out_len(), i % shape.out_len());
                    let error = match dtype {
                        // Queries and weights are rounded to 2^-16 of their maximum; scores are around
                        // 10 to 100 here, so the relative error of a weight is about 1e-4.
                        KvDType::I16 => {
                            let head = i / value_dim * value_dim;
                            let head = &expected[head..head + value_dim];
                            1e-3 * head.iter().fold(1.0, |most, x| f32::max(most, x.abs()))
                        }
                        _ => 1e-5 * number.abs().max(1.0),
                    };
                    let expected = number;
                    assert!(
                        agree(found, expected, error),
                        "{bad} at {place}, {dtype} {backend:?}, row {row}, column {column}: \
                         {found} instead of {expected}"
                    );
                }
            }
        }
    }
}
