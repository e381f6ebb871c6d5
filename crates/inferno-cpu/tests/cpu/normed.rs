//! Products of normalized rows equal a norm followed by a product.

use crate::cases::{Random, all, bits, matrix, relative_error, run, simplest};
use inferno_backend::{DeviceMemory, LinearInput, Norm, Pass, ReferenceBackend};
use inferno_conformance::products::{EPS, normed};
use inferno_tensor::DType;

#[test]
fn fused_normalization_is_bit_identical() {
    let mut random = Random::new(1);
    for dtypes in [
        [DType::F32; 2],
        [DType::BF16, DType::Q8_0],
        [DType::Q8_0; 2],
        [DType::Q4K, DType::Q6K],
        [DType::Q4_0, DType::F16],
    ] {
        for rows in [0, 1, 3, 8, 9, 16, 37, 300] {
            let parts = dtypes.map(|dtype| random.weight(dtype, 1, 37, 256));
            let (x, norm) = (random.values(rows * 256), random.values(256));
            for backend in all() {
                let [found, expected] =
                    [true, false].map(|at_once| normed(&backend, [&x, &norm], &parts, at_once));
                let what = format!("{rows} rows of {dtypes:?} {backend:?}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(bits(found), bits(expected), "{what}");
                }
            }
        }
    }
}

#[test]
fn the_reference_agrees_on_fused_normalization() {
    let mut random = Random::new(2);
    let parts = [(); 2].map(|()| random.weight(DType::F32, 1, 50, 200));
    let (x, norm) = (random.values(7 * 200), random.values(200));
    let reference = normed(&ReferenceBackend::new(), [&x, &norm], &parts, true);
    for backend in all() {
        let found = normed(&backend, [&x, &norm], &parts, true);
        for (found, reference) in found.iter().zip(&reference) {
            let error = relative_error(found, reference);
            assert!(error < 2e-6, "{backend:?}: {error}");
        }
    }
}

#[test]
#[should_panic(expected = "the norm's weight is as wide as the input")]
fn a_norm_of_another_width_is_rejected() {
    let backend = simplest();
    let weight = backend.load_weight(&[Random::new(3).weight(DType::F32, 1, 16, 64)]);
    let (x, norm) = (matrix(&backend, 1, 64, &[0.0; 64]), matrix(&backend, 1, 32, &[0.0; 32]));
    let mut out = backend.alloc(1, 16).expect("memory");
    let input = LinearInput::Normed { x: &x, norm: Norm::rms(&norm, EPS) };
    run(&backend, |pass| pass.linear(1, input, &weight.expect("a weight"), None, &mut out))
        .expect("memory");
}
