//! Attention with little memory, and in parts.

use inferno_backend::{AttentionMask, AttentionWindow, KvValues};
use inferno_conformance::cases::bits;
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};

use super::tile::PART;
use super::*;
use crate::adapter;

/// Chunks of `size` tokens, of which the last may have fewer.
fn chunks(tokens: usize, size: usize) -> Vec<usize> {
    (0..tokens).step_by(size).map(|at| size.min(tokens - at)).collect()
}

#[test]
fn divided_caches_and_rounds_of_parts_compute_the_same_bits() {
    let Some(adapter) = adapter::for_tests() else { return };
    let open = || GpuBackend::new(adapter).expect("a device that can be opened");
    let (backend, mut limited) = (open(), open());
    // A layer of the cache is then in two to four buffers.
    limited.limits.max_storage_buffer_binding_size = 64 << 10;
    for dtype in KvDType::ALL {
        let tokens = if dtype == KvDType::F32 { 400 } else { 600 };
        let shape = Shape { dtype, tokens, ..SHAPE };
        let (qkv, blocks) = (inputs(&shape, 14), shape.blocks());
        // In one pass, each workgroup computes all parts; in small ones, a part per round.
        let whole = bits(&attend(&backend, &shape, &qkv, &blocks, &[tokens]));
        for backend in [&backend, &limited] {
            let found = attend(backend, &shape, &qkv, &blocks, &chunks(tokens, 8));
            assert_eq!(bits(&found), whole, "{dtype}");
        }
    }
}

#[test]
fn the_largest_supported_heads_are_computed() {
    let Some(adapter) = adapter::for_tests() else { return };
    let mut backend = GpuBackend::new(adapter).expect("a device that can be opened");
    // What every device has.
    backend.limits.max_compute_workgroup_storage_size = 16 << 10;
    let shape = |head_dim| Shape { head_dim, tokens: 20, ..SHAPE };
    let is_supported =
        |&dim: &usize| unsupported(&backend, &shape(dim).qkv(), SHAPE.dtype).is_none();
    let largest = (64..8192).step_by(32).take_while(is_supported).last().expect("small heads");
    assert!((3000..4000).contains(&largest), "{largest}");
    let shape = shape(largest);
    let qkv = inputs(&shape, 15);
    let attend = |chunks: &[usize]| bits(&attend(&backend, &shape, &qkv, &shape.blocks(), chunks));
    assert_eq!(attend(&[20]), attend(&[1; 20]));
    backend.check().expect("the device works");
}

#[test]
fn rows_of_a_tile_whose_windows_begin_in_different_parts_are_computed() {
    let Some(adapter) = adapter::for_tests() else { return };
    let backend = GpuBackend::new(adapter).expect("a device that can be opened");
    // Each row attends to two parts; the tile of positions 255 to 258 to three.
    let mask = AttentionMask::Causal(Some(AttentionWindow::Sliding(PART + 1)));
    let shape = Shape { mask, tokens: 300, ..SHAPE };
    let qkv = inputs(&shape, 16);
    let attend = |chunks: &[usize]| bits(&attend(&backend, &shape, &qkv, &shape.blocks(), chunks));
    let chunks: Vec<_> = [3].into_iter().chain([9; 33]).collect();
    assert_eq!(attend(&[3, 297]), attend(&chunks));
}

#[test]
fn long_windows_of_few_rows_are_computed_like_those_of_many() {
    let Some(adapter) = adapter::for_tests() else { return };
    let backend = GpuBackend::new(adapter).expect("a device that can be opened");
    let windows = [
        AttentionWindow::Sliding(4 * PART),
        AttentionWindow::Sliding(5 * PART + 3),
        AttentionWindow::Chunked(4 * PART + 10),
    ];
    for window in windows {
        // Two heads, so that tiles of several rows are less than what keeps a device busy.
        let mask = AttentionMask::Causal(Some(window));
        let shape = Shape { mask, num_heads: 2, num_kv_heads: 1, tokens: 6 * PART, ..SHAPE };
        let (qkv, blocks) = (inputs(&shape, 18), shape.blocks());
        let whole = bits(&attend(&backend, &shape, &qkv, &blocks, &[shape.tokens]));
        for size in [1, 7, 12] {
            let chunks = chunks(shape.tokens, size);
            let found = bits(&attend(&backend, &shape, &qkv, &blocks, &chunks));
            assert!(found == whole, "{window:?} in chunks of {size}");
        }
    }
}

#[test]
fn workgroups_of_every_size_compute_the_same_bits() {
    let Some(adapter) = adapter::for_tests() else { return };
    let open = |memory: u32| {
        let mut backend = GpuBackend::new(adapter).expect("a device that can be opened");
        let limits = &mut backend.limits;
        limits.max_compute_workgroup_storage_size =
            memory.min(limits.max_compute_workgroup_storage_size);
        backend
    };
    let backends = [16 << 10, 24 << 10, 48 << 10].map(open);
    let wide = Shape { head_dim: 576, values: Some(KvValues::InKeys { start: 64 }), ..SHAPE };
    for shape in [
        Shape { head_dim: 128, num_heads: 8, num_kv_heads: 1, tokens: 420, ..SHAPE },
        Shape { head_dim: 256, num_heads: 4, num_kv_heads: 4, tokens: 140, ..SHAPE },
        Shape { num_heads: 20, num_kv_heads: 1, tokens: 140, ..wide },
    ] {
        let (qkv, blocks) = (inputs(&shape, 17), shape.blocks());
        let whole = bits(&attend(&backends[0], &shape, &qkv, &blocks, &[shape.tokens]));
        for (backend, size) in backends.iter().zip([20, 1, 90]) {
            for chunks in [vec![shape.tokens], chunks(shape.tokens, size)] {
                let found = attend(backend, &shape, &qkv, &blocks, &chunks);
                assert_eq!(bits(&found), whole, "{shape:?} {size}");
            }
        }
    }
}

#[test]
fn tiles_fit_what_they_are_for() {
    let heads = |num_heads, num_kv_heads, key_dim, values| {
        let layer = KernelLayer {
            dtype: KvDType::F16,
            block_tokens: 16,
            num_kv_heads,
            key_dim,
            values,
            has_windows: false,
            is_in_parts: false,
        };
        Heads::new(layer, num_heads)
    };
    let usual = heads(32, 8, 128, KvValues::Separate { dim: 128 });
    let size = |tile: Tile| {
        let queries = tile.blocking.map(|blocking| blocking.queries);
        (tile.rows, tile.heads, queries)
    };
    assert_eq!(size(usual.tile(512, 512, 48 << 10)), (8, 4, Some(32)));
    assert_eq!(size(usual.tile(512, 512, 16 << 10)), (4, 4, Some(16)));
    // A row alone, some, and many.
    assert_eq!(size(usual.tile(1, 1, 48 << 10)), (1, 2, None));
    assert_eq!(size(usual.tile(1, 1 << 10, 48 << 10)), (1, 4, None));
    assert_eq!(size(usual.tile(4, 8, 48 << 10)), (4, 4, Some(16)));
    let latent = heads(128, 1, 576, KvValues::InKeys { start: 64 });
    assert_eq!(size(latent.tile(1, 64, 48 << 10)), (1, 16, Some(16)));
    assert_eq!(size(latent.tile(1, 64, 16 << 10)), (1, 4, None));
}
