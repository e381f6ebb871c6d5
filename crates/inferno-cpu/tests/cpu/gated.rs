//! The gated product: two projections and the activation that combines them.

use crate::cases::{
    Random, SILU, all, all_with_common_sums, bits, matrix, read, relative_error, run, simplest,
};
use inferno_backend::{DeviceMemory, Pass, ReferenceBackend, WeightPart};
use inferno_conformance::products::linear_gated;
use inferno_tensor::DType;

const COLS: usize = 256;

/// The same from two separate [`Backend::linear`] calls.
fn joined(rows: usize, x: &[f32], parts: &[WeightPart], bias: Option<&[f32]>) -> Vec<f32> {
    let backend = simplest();
    let out_cols = parts[0].rows();
    let weight = backend.load_weight(parts).expect("weights that stack");
    let x = matrix(&backend, rows, COLS, x);
    let bias = bias.map(|bias| matrix(&backend, 1, 2 * out_cols, bias));
    let mut out = backend.alloc(rows, 2 * out_cols).expect("memory");
    run(&backend, |pass| pass.linear(rows, &x, &weight, bias.as_ref(), &mut out)).expect("memory");
    let gate_up = read(&backend, &out, rows * 2 * out_cols);
    let rows = gate_up.chunks_exact(2 * out_cols).map(|row| row.split_at(out_cols));
    let join = |(gate, up): (&f32, &f32)| {
        let (gate, up) = (f64::from(*gate), f64::from(*up));
        (gate / (1.0 + (-gate).exp()) * up) as f32
    };
    rows.flat_map(|(gate, up)| gate.iter().zip(up).map(join).collect::<Vec<_>>()).collect()
}

#[test]
fn gated_products_equal_separate_products_in_all_formats() {
    let mut random = Random::new(1);
    for (gate, up) in [
        (DType::F32, DType::F32),
        (DType::Q8_0, DType::Q8_0),
        (DType::Q4K, DType::Q6K),
        (DType::F16, DType::Q4_0),
    ] {
        for (rows, out_cols) in
            [(0, 16), (1, 1), (2, 37), (9, 16), (37, 100), (525, 70), (1100, 20)]
        {
            // Exponentials near one, and beyond the range of floats.
            for scale in [0.1, 30.0] {
                let parts = [gate, up].map(|dtype| random.weight(dtype, 1, out_cols, COLS));
                let x: Vec<_> = random.values(rows * COLS).iter().map(|x| x * scale).collect();
                let bias = random.values(2 * out_cols);
                let bias = (rows % 2 == 1).then_some(&bias[..]);
                let what = format!("{rows} rows of {gate} and {up}, {out_cols} columns");
                let expected = linear_gated(&simplest(), rows, &x, &parts, bias);
                let error = relative_error(&expected, &joined(rows, &x, &parts, bias));
                assert!(error < 1e-6, "{what}: {error}");
                for backend in all_with_common_sums(&[gate, up]) {
                    let found = linear_gated(&backend, rows, &x, &parts, bias);
                    assert_eq!(bits(&found), bits(&expected), "{what} {backend:?}");
                }
            }
        }
    }
}

#[test]
fn scales_of_both_projections_are_applied_before_they_are_combined() {
    let mut random = Random::new(5);
    let (rows, out_cols) = (37, 100);
    let x = random.values(rows * COLS);
    let parts = [DType::Nvfp4, DType::F16].map(|dtype| {
        let part = random.weight(dtype, 1, out_cols, COLS);
        part.with_scales(random.values(out_cols))
    });
    let bias = random.values(2 * out_cols);
    let expected = linear_gated(&simplest(), rows, &x, &parts, Some(&bias));
    let error = relative_error(&expected, &joined(rows, &x, &parts, Some(&bias)));
    assert!(error < 1e-6, "{error}");
    for backend in all_with_common_sums(&[DType::F16]) {
        let found = linear_gated(&backend, rows, &x, &parts, Some(&bias));
        assert_eq!(bits(&found), bits(&expected), "{backend:?}");
    }
}

#[test]
fn a_row_of_nans_does_not_affect_others() {
    let mut random = Random::new(4);
    let parts = [(); 2].map(|()| random.weight(DType::Q8_0, 1, 40, COLS));
    let clean = random.values(20 * COLS);
    for backend in all() {
        let expected = linear_gated(&backend, 20, &clean, &parts, None);
        let mut x = clean.clone();
        (x[3 * COLS], x[7 * COLS]) = (f32::NAN, f32::INFINITY);
        let found = linear_gated(&backend, 20, &x, &parts, None);
        for (row, (found, expected)) in found.chunks(40).zip(expected.chunks(40)).enumerate() {
            if matches!(row, 3 | 7) {
                assert!(found.iter().all(|x| !x.is_finite()), "row {row} {backend:?}");
            } else {
                assert_eq!(bits(found), bits(expected), "row {row} {backend:?}");
            }
        }
        let again = linear_gated(&backend, 20, &clean, &parts, None);
        assert_eq!(bits(&again), bits(&expected), "{backend:?}");
    }
}

#[test]
fn the_reference_agrees_on_gated_products() {
    let mut random = Random::new(2);
    let parts = [(); 2].map(|()| random.weight(DType::F32, 1, 50, COLS));
    let (x, bias) = (random.values(7 * COLS), random.values(100));
    let reference = linear_gated(&ReferenceBackend::new(), 7, &x, &parts, Some(&bias));
    let error = relative_error(&linear_gated(&simplest(), 7, &x, &parts, Some(&bias)), &reference);
    assert!(error < 2e-6, "{error}");
}

#[test]
#[should_panic(expected = "a gate and an up projection")]
fn a_single_part_is_rejected() {
    let part = Random::new(3).weight(DType::F32, 1, 32, COLS);
    let backend = simplest();
    let weight = backend.load_weight(&[part]).expect("a weight");
    let x = matrix(&backend, 1, COLS, &[0.0; COLS]);
    let mut out = backend.alloc(1, 16).expect("memory");
    run(&backend, |pass| pass.linear_gated(1, &x, &weight, None, SILU, &mut out)).expect("memory");
}
