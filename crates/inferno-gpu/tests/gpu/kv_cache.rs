//! The KV cache: stored values, and the treatment of NaN and infinity.

use inferno_backend::{
    BackendError, BlockId, DeviceMemory, KvBlockPart, KvDType, KvLayout, ReferenceBackend,
};
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};
use inferno_conformance::kv_cache::{BAD, BAD_SHAPE, VALUES_IN_KEYS, agree, bad_places, saved};

use crate::device::adapter;

#[test]
fn saved_blocks_match_the_reference_and_round_trip() {
    let Some(backend) = adapter() else { return };
    let separate = |dtype| Shape { dtype, tokens: 20, ..SHAPE };
    let wide = |dtype| Shape { head_dim: 576, values: VALUES_IN_KEYS, ..separate(dtype) };
    let odd = |dtype| Shape { head_dim: 96, ..separate(dtype) };
    let shapes = |dtype| [separate(dtype), wide(dtype), odd(dtype)];
    for shape in KvDType::ALL.into_iter().flat_map(shapes) {
        let dtype = shape.dtype;
        let qkv = inputs(&shape, 7);
        let expected = saved(&ReferenceBackend::new(), &shape, &qkv);
        let bytes = saved(backend, &shape, &qkv);
        assert!(bytes == expected, "{dtype}");
        let mut cache = backend.alloc_kv_cache(&shape.cache()).expect("memory");
        let (first, _) = bytes.split_at(bytes.len() / 2);
        let part = KvBlockPart::All;
        backend.write_kv_block(&mut cache, BlockId(2), part, first).expect("the right size");
        let mut again = Vec::new();
        backend.read_kv_block(&cache, BlockId(2), part, &mut again).expect("a device that works");
        assert!(again == first, "{dtype}");
        let rejected = backend.write_kv_block(&mut cache, BlockId(2), part, &first[1..]);
        assert!(matches!(rejected, Err(BackendError::KvBlockSize { .. })));
    }
}

#[test]
fn a_cache_that_cannot_be_allocated_is_rejected() {
    let Some(backend) = adapter() else { return };
    let huge = KvLayout { num_blocks: 1 << 50, ..SHAPE.cache() };
    assert!(matches!(backend.alloc_kv_cache(&huge), Err(BackendError::OutOfMemory { .. })));
    let odd = Shape { head_dim: 40, dtype: KvDType::Q8_0, ..SHAPE }.cache();
    assert!(matches!(backend.alloc_kv_cache(&odd), Err(BackendError::KvHeadDim { .. })));
}

#[test]
fn attention_over_unrepresentable_values_matches_the_reference() {
    let Some(backend) = adapter() else { return };
    for (dtype, values) in
        KvDType::ALL.into_iter().flat_map(|dtype| [(dtype, None), (dtype, VALUES_IN_KEYS)])
    {
        let shape = Shape { dtype, values, ..BAD_SHAPE };
        let blocks = shape.blocks();
        for (bad, place) in
            BAD.into_iter().flat_map(|bad| bad_places(&shape).map(|place| (bad, place)))
        {
            let mut qkv = inputs(&shape, 10);
            qkv[place] = bad;
            let expected = attend(&ReferenceBackend::new(), &shape, &qkv, &blocks, &[20]);
            let found = attend(backend, &shape, &qkv, &blocks, &[20]);
            for (i, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                let error = 2e-5 * expected.abs().max(1.0);
                assert!(
                    agree(found, expected, error),
                    "{bad} at {place}, {dtype}, value {i}: {found} instead of {expected}"
                );
            }
        }
    }
}
