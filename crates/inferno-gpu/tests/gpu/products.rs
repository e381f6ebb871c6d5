//! Products with packed weights, every format.

use inferno_backend::{DeviceMemory, Pass, ReferenceBackend, WeightPart};
use inferno_conformance::cases::{Random, bits, matrix, read, relative_error, run};
use inferno_conformance::products::{linear, linear_gated, normed, widths};
use inferno_gpu::GpuBackend;
use inferno_tensor::DType;

use crate::device::adapter;

/// Bound of the relative error of a product of `rows` rows with `out_cols` outputs, with weights of `dtypes`. The sum of a
/// single one can be small by chance. Rows are multiplied as integers of 16 bits with weights that are integers, and by
/// cooperative matrices as f16.
fn bound(backend: &GpuBackend, rows: usize, out_cols: usize, dtypes: &[DType]) -> f64 {
    let are_floats =
        dtypes.iter().all(|dtype| matches!(dtype, DType::F32 | DType::F16 | DType::BF16));
    match (out_cols < 4, backend.has_matrices() && rows > 16, are_floats) {
        (true, true, _) => 0.1,
        (true, false, _) => 1e-2,
        (false, true, _) => 6e-4,
        (false, false, false) => 5e-5,
        (false, false, true) => 2e-6,
    }
}

#[test]
fn every_format_is_decoded_exactly() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(1);
    for dtype in DType::ALL {
        let cols = 2 * widths(dtype).last().expect("some width");
        let part = random.weight(dtype, 1, 3, cols);
        // Each product has a single term.
        let mut identity = vec![0.0; cols * cols];
        identity.iter_mut().step_by(cols + 1).for_each(|x| *x = 1.0);
        let found = linear(backend, cols, &identity, std::slice::from_ref(&part), None);
        for row in 0..3 {
            let mut expected = vec![0.0; cols];
            part.decode_row(0, row, &mut expected).expect("a row");
            let largest = expected.iter().fold(0.0, |largest: f32, x| largest.max(x.abs()));
            for (col, expected) in expected.into_iter().enumerate() {
                let found = found[3 * col + row];
                // All columns are multiplied together: by matrices as f16, otherwise with a scale per unit.
                let tolerance = match backend.has_matrices() {
                    true => expected.abs() / 1024.0 + 1e-6,
                    false => largest * 4e-7,
                };
                assert!(
                    (found - expected).abs() <= tolerance,
                    "{dtype}: row {row}, column {col}: {found}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn every_format_agrees_with_the_reference() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(2);
    for dtype in DType::ALL {
        for &cols in widths(dtype) {
            for (rows, out_cols) in [(1, 1), (1, 40), (9, 33)] {
                let parts = [random.weight(dtype, 1, out_cols, cols)];
                let x = random.values(rows * cols);
                let bias = random.values(out_cols);
                let bias = (out_cols != 40).then_some(&bias[..]);
                let expected = linear(&ReferenceBackend::new(), rows, &x, &parts, bias);
                let found = linear(backend, rows, &x, &parts, bias);
                let error = relative_error(&found, &expected);
                assert!(
                    error < bound(backend, rows, out_cols, &[dtype]),
                    "{dtype} {rows}x{cols}x{out_cols}: {error}"
                );
            }
        }
    }
}

#[test]
fn a_row_alone_is_bit_identical_to_one_in_a_batch() {
    let Some(backend) = adapter() else { return };
    if backend.has_matrices() {
        println!("skipped: many rows are multiplied by cooperative matrices, few are not");
        return;
    }
    let mut random = Random::new(3);
    for dtype in DType::ALL {
        let out_cols = 21;
        let cols = 2 * widths(dtype).last().expect("some width");
        let parts = [random.weight(dtype, 1, out_cols, cols)];
        let x = random.values(70 * cols);
        let together = linear(backend, 70, &x, &parts, None);
        // Every number of rows has the same decoding.
        let is_simple = matches!(dtype, DType::F16 | DType::Q8_0 | DType::Q4K | DType::Q6K);
        let cases: &[_] = match is_simple {
            true => &[(0, 1), (33, 1), (69, 1), (7, 2), (20, 3), (12, 4), (50, 13)],
            false => &[(0, 1), (33, 1), (50, 13)],
        };
        for &(first, rows) in cases {
            let alone = &x[first * cols..(first + rows) * cols];
            let alone = linear(backend, rows, alone, &parts, None);
            let expected = &together[first * out_cols..(first + rows) * out_cols];
            assert_eq!(bits(&alone), bits(expected), "{dtype} {rows} rows from {first}");
        }
    }
}

#[test]
fn parts_of_different_formats_with_scales_can_be_stacked() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(4);
    let cols = 256;
    let parts = [
        random.weight(DType::Q4K, 1, 19, cols).with_scales(random.values(19)),
        random.weight(DType::Q4K, 1, 5, cols),
        random.weight(DType::F16, 1, 3, cols),
        random.weight(DType::Q6K, 1, 32, cols).with_scales(random.values(32)),
        random.weight(DType::Iq3S, 1, 1, cols),
    ];
    let bias = random.values(60);
    for count in 1..=parts.len() {
        let parts = &parts[..count];
        let width: usize = parts.iter().map(WeightPart::rows).sum();
        for rows in [0, 1, 6] {
            let x = random.values(rows * cols);
            let bias = Some(&bias[..width]);
            let expected = linear(&ReferenceBackend::new(), rows, &x, parts, bias);
            let found = linear(backend, rows, &x, parts, bias);
            let error = relative_error(&found, &expected);
            let dtypes: Vec<_> = parts.iter().map(WeightPart::dtype).collect();
            let bound = bound(backend, rows, width, &dtypes);
            assert!(error < bound, "{count} parts, {rows} rows: {error}");
        }
    }
}

#[test]
fn linear_add_accumulates_and_leaves_further_rows_unchanged() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(5);
    let (rows, cols, out_cols) = (5, 96, 23);
    for dtype in [DType::F32, DType::Q8_0, DType::Q5_1] {
        let part = random.weight(dtype, 1, out_cols, cols);
        let (x, old) = (random.values(rows * cols), random.values((rows + 1) * out_cols));
        let product = linear(backend, rows, &x, std::slice::from_ref(&part), None);
        let weight = backend.load_weight(&[part]).expect("a weight");
        let input = matrix(backend, rows, cols, &x);
        let mut out = matrix(backend, rows + 1, out_cols, &old);
        run(backend, |pass| pass.linear_add(rows, &input, &weight, None, &mut out))
            .expect("memory");
        let found = read(backend, &out, old.len());
        let sum = |(i, old): (usize, &f32)| old + product.get(i).copied().unwrap_or_default();
        let expected: Vec<f32> = old.iter().enumerate().map(sum).collect();
        assert_eq!(bits(&found), bits(&expected), "{dtype}");
    }
}

#[test]
fn gated_products_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(6);
    for [gate, up] in [
        [DType::F32, DType::F32],
        [DType::Q8_0, DType::Q8_0],
        [DType::Q4K, DType::Q6K],
        [DType::F16, DType::Q4_0],
    ] {
        for (rows, out_cols) in [(0, 16), (1, 1), (2, 37), (9, 16), (37, 100)] {
            for scale in [0.1, 30.0] {
                let parts = [gate, up].map(|dtype| {
                    let part = random.weight(dtype, 1, out_cols, 256);
                    part.with_scales(random.values(out_cols))
                });
                let x: Vec<_> = random.values(rows * 256).iter().map(|x| x * scale).collect();
                let bias = random.values(2 * out_cols);
                let bias = (rows % 2 == 1).then_some(&bias[..]);
                let expected = linear_gated(&ReferenceBackend::new(), rows, &x, &parts, bias);
                let found = linear_gated(backend, rows, &x, &parts, bias);
                let error = relative_error(&found, &expected);
                assert!(
                    error < 2.0 * bound(backend, rows, out_cols, &[gate, up]),
                    "{gate} {up} {rows} rows, {out_cols} columns: {error}"
                );
            }
        }
    }
}

#[test]
fn fused_normalization_is_bit_identical() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(7);
    for (dtypes, cols) in [
        ([DType::F32; 2], 200),
        ([DType::BF16, DType::Q8_0], 256),
        ([DType::Q4K, DType::Q6K], 512),
        // More columns than the threads of a workgroup load at a time.
        ([DType::Q8_0; 2], 5120),
        ([DType::F32; 2], 5001),
    ] {
        for rows in [0, 1, 3, 4, 5] {
            let parts = dtypes.map(|dtype| random.weight(dtype, 1, 37, cols));
            let (x, norm) = (random.values(rows * cols), random.values(cols));
            let [found, expected] =
                [true, false].map(|at_once| normed(backend, [&x, &norm], &parts, at_once));
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(bits(found), bits(expected), "{rows} rows of {dtypes:?}");
            }
        }
    }
}

#[test]
fn a_nan_activation_affects_only_its_own_row() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(8);
    for dtype in [DType::F32, DType::Q8_0, DType::Q4_1] {
        // Rows that end within a unit of columns: the next row must not be read.
        let cols = if dtype == DType::F32 { 37 } else { 96 };
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let parts = [random.weight(dtype, 1, 18, cols)];
            let mut x = random.values(12 * cols);
            x[5 * cols] = bad;
            let found = linear(backend, 12, &x, &parts, None);
            for (row, out) in found.chunks_exact(18).enumerate() {
                assert!(out.iter().all(|x| x.is_finite() == (row != 5)), "{dtype} {bad} {row}");
            }
        }
    }
}

#[test]
fn empty_products_give_empty_or_zero_results() {
    let Some(backend) = adapter() else { return };
    let part = WeightPart::matrix("w", DType::F32, 0, 4, Vec::new().into()).expect("size");
    assert!(linear(backend, 3, &[0.0; 12], &[part], None).is_empty());
    let part = WeightPart::matrix("w", DType::F32, 5, 0, Vec::new().into()).expect("size");
    assert_eq!(linear(backend, 2, &[], &[part], None), [0.0; 10]);
    let part = Random::new(9).weight(DType::Q8_0, 1, 8, 32);
    assert!(linear(backend, 0, &[], &[part], None).is_empty());
}

#[test]
fn a_product_counts_the_bytes_of_its_weight() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(10);
    let part = random.weight(DType::Q8_0, 1, 64, 1024);
    let before = backend.counters();
    linear(backend, 2, &random.values(2048), &[part], None);
    let after = backend.counters();
    let bytes = backend.weight_bytes(DType::Q8_0, 1, 64, 1024) as u64;
    assert_eq!(bytes, 64 * 1024 / 32 * 34);
    // Other tests multiply at the same time.
    assert!(after.weight_bytes - before.weight_bytes >= bytes);
}
