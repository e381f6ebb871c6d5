//! The KV cache: stored values, and the treatment of NaN and infinity.
//!
//! F32 and F16 preserve NaN and infinities; values too large for F16 become
//! infinite. Q8_0 has neither, so all 32 values that share a scale become NaN if
//! one is NaN or infinite or overflows the scale; the rest of the row is unchanged. An I16 row
//! has one scale, so the whole row becomes NaN if one value is NaN or infinite. Invalid values
//! thus propagate to the result.

use crate::cases::{all, matrix, run, simplest};
use inferno_backend::{
    Backend, BackendError, BatchBuilder, BlockId, DeviceMemory, KvBlockPart, KvDType, KvLayout,
    KvValues, LogitRows, Pass, ReferenceBackend, SequenceChunk,
};
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};

/// Blocks 0 and 1 of a cache after 20 tokens, in the canonical order.
fn saved<B: Backend>(backend: &B, shape: &Shape, qkv: &[f32]) -> Vec<u8> {
    let layout = shape.qkv();
    let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
    let mut batch = backend.alloc_batch();
    let mut builder = BatchBuilder::new(shape.block_tokens);
    let block_table = &[BlockId(1), BlockId(0)];
    let chunk = SequenceChunk { tokens: &[0; 20], start: 0, block_table, logits: LogitRows::None };
    builder.push(&chunk).expect("a chunk");
    backend.upload_batch(&builder.build(), &mut batch);
    let rows = matrix(backend, 20, layout.row_len(), qkv);
    run(backend, |pass| pass.store_kv(&batch, 1, &layout, &rows, &mut cache));
    let mut bytes = Vec::new();
    for block in [0, 1] {
        backend
            .read_kv_block(&cache, BlockId(block), KvBlockPart::All, &mut bytes)
            .expect("memory can be read");
    }
    bytes
}

#[test]
fn saved_blocks_match_the_reference_and_round_trip() {
    let separate = |dtype| Shape { dtype, tokens: 20, ..SHAPE };
    let wide = |dtype| Shape { head_dim: 576, values: VALUES_IN_KEYS, ..separate(dtype) };
    for shape in KvDType::ALL.into_iter().flat_map(|dtype| [separate(dtype), wide(dtype)]) {
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

#[test]
fn a_cache_that_cannot_be_allocated_is_rejected() {
    let backend = simplest();
    let huge = KvLayout { num_blocks: 1 << 50, ..SHAPE.cache() };
    assert!(matches!(backend.alloc_kv_cache(&huge), Err(BackendError::OutOfMemory { .. })));
    let odd = Shape { head_dim: 40, dtype: KvDType::Q8_0, ..SHAPE }.cache();
    assert!(matches!(backend.alloc_kv_cache(&odd), Err(BackendError::KvHeadDim { .. })));
    assert!(matches!(backend.alloc(1 << 40, 1 << 20), Err(BackendError::OutOfMemory { .. })));
}

/// Numbers that some format cannot represent.
const BAD: [f32; 4] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30];

const BAD_SHAPE: Shape = Shape { head_dim: 64, tokens: 20, ..SHAPE };

/// The last 32 components of a head of [`BAD_SHAPE`].
const VALUES_IN_KEYS: Option<KvValues> = Some(KvValues::InKeys { start: 32 });

/// The index of component 3 of the first head's key or value in row 10.
fn bad_places(shape: &Shape) -> [usize; 2] {
    let layout = shape.qkv();
    let row = 10 * layout.row_len();
    let head = |head: usize| row + head * layout.head_dim + 3;
    let key = head(layout.num_heads);
    match layout.values {
        KvValues::Separate { .. } => [key, head(layout.num_heads + layout.num_kv_heads)],
        KvValues::InKeys { start } => [key, key + start],
    }
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

/// Whether both are NaN, the same infinity, or equal within `error`.
fn agree(found: f32, expected: f32, error: f32) -> bool {
    let near = (found - expected).abs() <= error;
    found.is_nan() && expected.is_nan() || found == expected || near
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
