//! Products with packed weights, every format.

use crate::cases::{
    Random, all, all_with_common_sums, backend, bits, matrix, read, relative_error, run, simplest,
    sums_are_common,
};
use inferno_backend::{BackendError, DeviceMemory, Pass, ReferenceBackend, WeightPart};
use inferno_conformance::products::{linear, widths};
use inferno_cpu::Isa;
use inferno_tensor::DType;

#[test]
fn every_format_is_bit_identical_on_every_instruction_set_and_thread_count() {
    let mut random = Random::new(1);
    for dtype in DType::ALL {
        for &cols in widths(dtype) {
            for out_cols in [1, 16, 37] {
                let part = random.weight(dtype, 1, out_cols, cols);
                for rows in [1, 2, 3, 4, 7, 8, 9, 16, 37] {
                    let x = random.values(rows * cols);
                    let parts = std::slice::from_ref(&part);
                    let expected = bits(&linear(&simplest(), rows, &x, parts, None));
                    for backend in all_with_common_sums(&[dtype]) {
                        let found = bits(&linear(&backend, rows, &x, parts, None));
                        assert_eq!(found, expected, "{dtype} {rows}x{cols}x{out_cols} {backend:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn products_larger_than_one_tile_are_bit_identical() {
    let mut random = Random::new(10);
    for dtype in DType::ALL {
        for (rows, cols, out_cols) in [(18, 1280, 17), (275, 256, 16)] {
            let parts = [random.weight(dtype, 1, out_cols, cols)];
            let x = random.values(rows * cols);
            let expected = bits(&linear(&simplest(), rows, &x, &parts, None));
            let sets = Isa::available().into_iter().filter(|&isa| sums_are_common(isa, dtype));
            for backend in sets.map(|isa| backend(isa, 2)) {
                let found = bits(&linear(&backend, rows, &x, &parts, None));
                assert_eq!(found, expected, "{dtype} {rows}x{cols}x{out_cols} {backend:?}");
            }
        }
    }
}

#[test]
fn more_threads_than_processors_compute_the_same_bits() {
    let mut random = Random::new(11);
    let fastest = *Isa::available().last().expect("the scalar level");
    let (one, many) = (backend(fastest, 1), backend(fastest, 64));
    for dtype in [DType::F16, DType::Q8_0, DType::Q4K] {
        for (rows, cols, out_cols) in [(1, 1024, 3000), (21, 512, 700)] {
            let parts = [random.weight(dtype, 1, out_cols, cols)];
            let x = random.values(rows * cols);
            let expected = bits(&linear(&one, rows, &x, &parts, None));
            for _ in 0..5 {
                let found = bits(&linear(&many, rows, &x, &parts, None));
                assert_eq!(found, expected, "{dtype} {rows}x{cols}x{out_cols}");
            }
        }
    }
}

#[test]
fn a_row_alone_is_bit_identical_to_one_in_a_batch() {
    let mut random = Random::new(2);
    for dtype in DType::ALL {
        let (rows, out_cols) = (70, 21);
        let cols = *widths(dtype).last().expect("some width");
        let parts = [random.weight(dtype, 1, out_cols, cols)];
        let x = random.values(rows * cols);
        for backend in all() {
            let together = linear(&backend, rows, &x, &parts, None);
            for row in [0, 1, 63, 64, 69] {
                let alone = linear(&backend, 1, &x[row * cols..(row + 1) * cols], &parts, None);
                let expected = &together[row * out_cols..(row + 1) * out_cols];
                assert_eq!(bits(&alone), bits(expected), "{dtype} row {row} {backend:?}");
            }
        }
    }
}

#[test]
fn every_format_agrees_with_the_reference_within_its_bound() {
    let mut random = Random::new(3);
    for dtype in DType::ALL {
        let (rows, out_cols) = (9, 40);
        let cols = 768;
        let parts = [random.weight(dtype, 1, out_cols, cols)];
        let x = random.values(rows * cols);
        let bias = random.values(out_cols);
        let expected = linear(&ReferenceBackend::new(), rows, &x, &parts, Some(&bias));
        let found = linear(&simplest(), rows, &x, &parts, Some(&bias));
        // Rounding activations to 1/127 of their block's maximum costs about 0.4%.
        let bound = if dtype.is_float() { 1e-6 } else { 0.01 };
        let error = relative_error(&found, &expected);
        assert!(error < bound, "{dtype}: {error}");
    }
}

#[test]
fn integer_activations_and_weights_are_multiplied_exactly() {
    // Quants of -128 occur in files, though encoders do not write them.
    let (rows, cols, out_cols) = (5, 64, 16);
    let mut bytes = Vec::new();
    for row in 0..out_cols {
        for block in 0..cols / 32 {
            bytes.extend_from_slice(&half::f16::ONE.to_le_bytes());
            bytes.extend((0..32).map(|i| (row * 31 + block * 17 + i * 3) as u8 | 0x80));
        }
    }
    let weights: Vec<Vec<i64>> = bytes
        .chunks_exact(34 * cols / 32)
        .map(|row| {
            let blocks = row.chunks_exact(34);
            blocks.flat_map(|b| b[2..].iter().map(|&q| i64::from(q as i8))).collect()
        })
        .collect();
    let x: Vec<f32> = (0..rows * cols)
        .map(|i| if i % 32 == 0 { 127.0 } else { (i as f32 * 7.0) % 255.0 - 127.0 })
        .collect();
    let part = WeightPart::matrix("w", DType::Q8_0, out_cols, cols, bytes.into()).expect("size");
    for backend in all() {
        let found = linear(&backend, rows, &x, std::slice::from_ref(&part), None);
        for (row, x) in x.chunks_exact(cols).enumerate() {
            for (column, weights) in weights.iter().enumerate() {
                let sum: i64 = x.iter().zip(weights).map(|(&x, &w)| x as i64 * w).sum();
                assert_eq!(found[row * out_cols + column], sum as f32, "{backend:?}");
            }
        }
    }
}

#[test]
fn parts_of_different_formats_and_odd_heights_can_be_stacked() {
    let mut random = Random::new(4);
    let (rows, cols) = (6, 256);
    let parts = [
        random.weight(DType::Q4K, 1, 19, cols),
        random.weight(DType::F16, 1, 3, cols),
        random.weight(DType::Q6K, 1, 32, cols),
        random.weight(DType::Q8_0, 1, 1, cols),
    ];
    let x = random.values(rows * cols);
    let width: usize = parts.iter().map(WeightPart::rows).sum();
    for backend in all() {
        let stacked = linear(&backend, rows, &x, &parts, None);
        let mut column = 0;
        for part in &parts {
            let alone = linear(&backend, rows, &x, std::slice::from_ref(part), None);
            for row in 0..rows {
                let found = &stacked[row * width + column..][..part.rows()];
                let expected = &alone[row * part.rows()..][..part.rows()];
                assert_eq!(bits(found), bits(expected), "{} {backend:?}", part.name());
            }
            column += part.rows();
        }
    }
}

#[test]
fn scales_of_rows_multiply_the_sums_before_the_bias_is_added() {
    let mut random = Random::new(12);
    let cols = 768;
    for dtype in DType::ALL {
        // The second part has no scales.
        let parts = [random.weight(dtype, 1, 21, cols), random.weight(DType::Q8_0, 1, 18, cols)];
        let mut scales = random.values(21);
        scales[3] = 0.0;
        let scaled = [parts[0].clone().with_scales(scales.clone()), parts[1].clone()];
        scales.resize(39, 1.0);
        let bias = random.values(39);
        for rows in [1, 2, 5, 9, 40] {
            let x = random.values(rows * cols);
            for backend in all() {
                let sums = linear(&backend, rows, &x, &parts, None);
                let expected = sums.iter().enumerate();
                let expected: Vec<f32> =
                    expected.map(|(i, sum)| sum * scales[i % 39] + bias[i % 39]).collect();
                let found = linear(&backend, rows, &x, &scaled, Some(&bias));
                assert_eq!(bits(&found), bits(&expected), "{dtype} {rows} rows {backend:?}");
            }
        }
        let x = random.values(3 * cols);
        let reference = linear(&ReferenceBackend::new(), 3, &x, &scaled, Some(&bias));
        let found = linear(&simplest(), 3, &x, &scaled, Some(&bias));
        let error = relative_error(&found, &reference);
        assert!(error < 0.02, "{dtype}: {error}");
    }
}

#[test]
fn linear_add_accumulates_and_leaves_further_rows_unchanged() {
    let mut random = Random::new(5);
    let (rows, cols, out_cols) = (5, 96, 23);
    for dtype in [DType::F32, DType::Q8_0, DType::Q5_1] {
        let part = random.weight(dtype, 1, out_cols, cols);
        let (x, old) = (random.values(rows * cols), random.values((rows + 1) * out_cols));
        let bias = random.values(out_cols);
        let product = linear(&simplest(), rows, &x, std::slice::from_ref(&part), Some(&bias));
        for backend in all() {
            let weight = backend.load_weight(std::slice::from_ref(&part)).expect("a weight");
            let input = matrix(&backend, rows, cols, &x);
            let bias = matrix(&backend, 1, out_cols, &bias);
            let mut out = matrix(&backend, rows + 1, out_cols, &old);
            run(&backend, |pass| pass.linear_add(rows, &input, &weight, Some(&bias), &mut out))
                .expect("memory");
            let found = read(&backend, &out, old.len());
            let expected: Vec<f32> = old
                .iter()
                .enumerate()
                .map(|(i, old)| old + product.get(i).copied().unwrap_or_default())
                .collect();
            assert_eq!(bits(&found), bits(&expected), "{dtype} {backend:?}");
        }
    }
}

/// Outlier columns: per row, their positions and factors.
type Outliers = fn(&mut Random, usize) -> Vec<(usize, f32)>;

#[test]
fn outlier_columns_preserve_the_precision_of_others() {
    let mut random = Random::new(11);
    let (cols, out_cols) = (512, 20);
    let kinds: [(&str, f64, Outliers); 4] = [
        ("the same column", 0.01, |_, _| vec![(70, 9.0)]),
        ("columns of their own", 0.01, |random, row| {
            let column = random.bits() as usize % 512;
            vec![(column, 4.0 + row as f32 / 8.0)]
        }),
        ("two of one lane", 0.01, |_, row| vec![(3 + 16 * (row % 4), -7.5), (131, 6.0)]),
        ("more than there is room for", 0.02, |random, row| {
            let column = |random: &mut Random| 16 * (random.bits() as usize % 16) + row % 16;
            (0..12).map(|_| (column(random), 7.0)).collect()
        }),
    ];
    let dtypes = [
        DType::Q4_0,
        DType::Q5_1,
        DType::Q2K,
        DType::Q4K,
        DType::Q6K,
        DType::Q8_0,
        DType::Int8,
        DType::Iq4Nl,
    ];
    for dtype in dtypes {
        let parts = [random.weight(dtype, 1, out_cols, cols)];
        for (kind, bound, outliers) in kinds {
            for rows in [1, 2, 4, 7, 16, 37, 70] {
                let mut x = random.values(rows * cols);
                for (row, x) in x.chunks_exact_mut(cols).enumerate() {
                    for (column, times) in outliers(&mut random, row) {
                        x[column] = times;
                    }
                }
                let expected = linear(&simplest(), rows, &x, &parts, None);
                let reference = linear(&ReferenceBackend::new(), rows, &x, &parts, None);
                let error = relative_error(&expected, &reference);
                assert!(error < bound, "{dtype} {kind} {rows}: {error}");
                for backend in Isa::available().into_iter().map(|isa| backend(isa, 2)) {
                    let found = linear(&backend, rows, &x, &parts, None);
                    assert_eq!(bits(&found), bits(&expected), "{dtype} {kind} {rows} {backend:?}");
                }
            }
        }
    }
}

#[test]
fn scales_of_bytes_may_differ_be_negative_or_zero() {
    let mut random = Random::new(13);
    let (cols, out_cols) = (608, 21);
    let factors = [1.0, 0.4, -0.7, 0.0, 0.05, 0.9, 1.0, 0.6];
    let mut bytes = Vec::new();
    for block in 0..out_cols * cols / 32 {
        let scale = 0.01 * factors[block * 5 % factors.len()];
        bytes.extend_from_slice(&half::f16::from_f32(scale).to_le_bytes());
        bytes.extend((0..32).map(|_| (random.bits() % 255) as i8 as u8));
    }
    let part = WeightPart::matrix("w", DType::Q8_0, out_cols, cols, bytes.into()).expect("size");
    let parts = std::slice::from_ref(&part);
    for rows in [1, 2, 4, 7, 16, 37, 70] {
        let x = random.values(rows * cols);
        let expected = linear(&simplest(), rows, &x, parts, None);
        let reference = linear(&ReferenceBackend::new(), rows, &x, parts, None);
        let error = relative_error(&expected, &reference);
        assert!(error < 0.01, "{rows}: {error}");
        for backend in all() {
            let found = linear(&backend, rows, &x, parts, None);
            assert_eq!(bits(&found), bits(&expected), "{rows} {backend:?}");
        }
    }
}

#[test]
fn a_nan_activation_affects_only_its_own_row() {
    let mut random = Random::new(6);
    let (rows, cols, out_cols) = (3, 64, 18);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for dtype in [DType::F32, DType::Q8_0, DType::Q4_1] {
            let parts = [random.weight(dtype, 1, out_cols, cols)];
            let mut x = random.values(rows * cols);
            x[cols + 40] = bad;
            let expected = linear(&simplest(), rows, &x, &parts, None);
            for (row, out) in expected.chunks_exact(out_cols).enumerate() {
                assert!(out.iter().all(|x| x.is_finite() == (row != 1)), "{dtype} {bad} {row}");
            }
            for backend in all() {
                let found = linear(&backend, rows, &x, &parts, None);
                assert_eq!(bits(&found), bits(&expected), "{dtype} {bad} {backend:?}");
            }
        }
    }
}

#[test]
fn activations_of_any_size_are_quantized() {
    let mut random = Random::new(7);
    let cols = 64;
    let parts = [random.weight(DType::Q8_0, 1, 16, cols)];
    for scale in [0.0, 1e-44, 1e-38, 1e-31, 1e-20, 1.0, 1e30, 3e38] {
        let x: Vec<f32> = random.values(cols).iter().map(|x| x * scale).collect();
        let expected = linear(&simplest(), 1, &x, &parts, None);
        if (1e-20..=1e30).contains(&scale) {
            let reference = linear(&ReferenceBackend::new(), 1, &x, &parts, None);
            assert!(relative_error(&expected, &reference) < 0.01, "{scale}");
        }
        for backend in all() {
            let found = linear(&backend, 1, &x, &parts, None);
            assert_eq!(bits(&found), bits(&expected), "{scale} {backend:?}");
        }
    }
}

#[test]
fn empty_products_give_empty_or_zero_results() {
    for backend in all() {
        let part = WeightPart::matrix("w", DType::F32, 0, 4, Vec::new().into()).expect("size");
        assert!(linear(&backend, 3, &[0.0; 12], &[part], None).is_empty());
        let part = WeightPart::matrix("w", DType::F32, 5, 0, Vec::new().into()).expect("size");
        assert_eq!(linear(&backend, 2, &[], &[part], None), [0.0; 10]);
        let part = Random::new(8).weight(DType::Q8_0, 1, 8, 32);
        assert!(linear(&backend, 0, &[], &[part], None).is_empty());
    }
}

#[test]
fn packed_weights_have_the_estimated_size_close_to_the_file() {
    let backend = simplest();
    // Rows and columns that fill panels and super-blocks.
    let (experts, rows, cols) = (2, 64, 1024);
    for dtype in DType::ALL {
        let file = experts * rows * dtype.row_bytes(cols).expect("whole blocks");
        let packed = backend.weight_bytes(dtype, experts, rows, cols);
        let bound = match dtype {
            // Unpacked to 2 bits.
            DType::Tq1_0 => 126,
            // Separate scales, padded; complete sign bits.
            DType::Iq1S => 112,
            DType::Iq1M | DType::Iq2Xxs | DType::Iq2Xs | DType::Iq3Xxs => 110,
            _ => 106,
        };
        assert!(packed * 100 <= file * bound, "{dtype}: {packed} for {file}");
        // Sums are not stored.
        let file = if dtype == DType::Q8K { file / 292 * 260 } else { file };
        // Scales are bytes.
        let file = if dtype == DType::Q8_0 { file / 68 * 67 } else { file };
        assert!(packed >= file || packed * 100 >= file * 99, "{dtype}: {packed} for {file}");
    }
    assert_eq!(backend.weight_bytes(DType::Q8_0, 1, 4096, 4096), 4096 * 4096 / 64 * 67);
}

#[test]
fn parts_that_do_not_stack_are_rejected() {
    let mut random = Random::new(9);
    let parts = [random.weight(DType::F32, 1, 2, 8), random.weight(DType::F32, 1, 2, 9)];
    let refused = simplest().load_weight(&parts).expect_err("different widths");
    assert!(matches!(refused, BackendError::MismatchedParts { second_cols: 9, .. }), "{refused}");
    assert!(matches!(simplest().load_weight(&[]), Err(BackendError::NoParts)));
}
