//! Attention with little memory, and in parts.

use inferno_conformance::cases::bits;
use inferno_conformance::heads::{SHAPE, Shape, attend, inputs};

use super::*;
use crate::adapter;

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
            let chunks: Vec<_> = (0..tokens).step_by(8).map(|at| 8.min(tokens - at)).collect();
            let found = attend(backend, &shape, &qkv, &blocks, &chunks);
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
