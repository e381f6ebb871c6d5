//! Products of F16 and BF16 weights by the matrix unit, against the order of the sums that is documented in
//! `ops/product/bf16.rs`, in scalar code.

use crate::cases::{Random, backend, bits, matrix, read, relative_error, run, sets};
use half::{bf16, f16};
use inferno_backend::{DeviceMemory, ExpertParams, Pass, ReferenceBackend, WeightPart};
use inferno_conformance::experts::{HIDDEN, forward};
use inferno_conformance::products::{linear, linear_gated};
use inferno_cpu::Isa;
use inferno_tensor::DType;

const DTYPES: [DType; 2] = [DType::F16, DType::BF16];

/// Whether this processor has the unit.
fn has_unit() -> bool {
    sets().contains(&Isa::Amx)
}

/// A subnormal number becomes zero.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

/// The nearest bfloat16 number, and that to the rest.
fn activation(x: f32) -> [f32; 2] {
    let high = bf16::from_f32(x).to_f32();
    [high, bf16::from_f32(x - high).to_f32()].map(flushed)
}

/// The weights of a row as the sums of two bfloat16 numbers.
fn weights(part: &WeightPart, row: usize) -> Vec<[f32; 2]> {
    let numbers = part.row(0, row).chunks_exact(2).map(|bytes| [bytes[0], bytes[1]]);
    let split = |bytes| match part.dtype() {
        DType::BF16 => [bf16::from_le_bytes(bytes).to_f32(), 0.0],
        _ => {
            let number = f16::from_le_bytes(bytes).to_f32();
            let high = f32::from_bits((number.to_bits() + 0x8000) & 0xffff_0000);
            [high, number - high]
        }
    };
    numbers.map(split).map(|both| both.map(flushed)).collect()
}

/// The sum of products of up to 32 numbers, those of even and of odd ones separately.
fn tile_sum(products: impl Iterator<Item = (f32, f32)>) -> f32 {
    let mut sums = [0.0_f32; 2];
    for (k, (x, w)) in products.enumerate() {
        sums[k % 2] = flushed(x.mul_add(w, sums[k % 2]));
    }
    flushed(sums[0] + sums[1])
}

/// The product of rows with `part`.
fn expected(x: &[f32], part: &WeightPart) -> Vec<f32> {
    let rows: Vec<_> = (0..part.rows()).map(|row| weights(part, row)).collect();
    let mut out = Vec::new();
    // The low weights of BF16 are not multiplied.
    let orders: &[_] = match part.dtype() {
        DType::BF16 => &[(1, 0), (0, 0)],
        _ => &[(1, 0), (0, 0), (0, 1)],
    };
    for x in x.chunks_exact(part.cols()) {
        let x: Vec<_> = x.iter().map(|&x| activation(x)).collect();
        for weights in &rows {
            let mut sum = 0.0;
            for (x, weights) in x.chunks(32).zip(weights.chunks(32)) {
                for &(of_x, of_weight) in orders {
                    let products = x.iter().zip(weights).map(|(x, w)| (x[of_x], w[of_weight]));
                    sum = flushed(sum + tile_sum(products));
                }
            }
            out.push(sum);
        }
    }
    out
}

#[test]
fn sums_have_the_documented_order() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(1);
    for dtype in DTYPES {
        for cols in [1, 2, 31, 33, 100, 256, 288, 1280] {
            for out_cols in [1, 16, 37, 100] {
                let part = random.weight(dtype, 1, out_cols, cols);
                let x = random.values(70 * cols);
                let expected = expected(&x, &part);
                for threads in 1..=3 {
                    let backend = backend(Isa::Amx, threads);
                    // One block of each width, full or not; odd and even numbers of blocks.
                    for rows in [1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 48, 70] {
                        let x = &x[..rows * cols];
                        let found = linear(&backend, rows, x, std::slice::from_ref(&part), None);
                        let expected = &expected[..rows * out_cols];
                        let what = format!("{dtype} {rows}x{cols}x{out_cols}, {threads} threads");
                        assert_eq!(bits(&found), bits(expected), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn several_passes_over_many_rows_have_the_same_sums() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(2);
    for dtype in DTYPES {
        for (rows, cols, out_cols) in [(600, 64, 37), (275, 5120, 5)] {
            let part = random.weight(dtype, 1, out_cols, cols);
            let x = random.values(rows * cols);
            let expected = bits(&expected(&x, &part));
            for threads in [1, 2] {
                let parts = std::slice::from_ref(&part);
                let found = linear(&backend(Isa::Amx, threads), rows, &x, parts, None);
                assert_eq!(bits(&found), expected, "{dtype} {rows}x{cols}x{out_cols}");
            }
        }
    }
}

#[test]
fn sums_agree_with_the_reference() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(3);
    for dtype in DTYPES {
        let (rows, cols, out_cols) = (9, 768, 40);
        let parts = [random.weight(dtype, 1, out_cols, cols)];
        let x = random.values(rows * cols);
        let bias = random.values(out_cols);
        let expected = linear(&ReferenceBackend::new(), rows, &x, &parts, Some(&bias));
        let found = linear(&backend(Isa::Amx, 1), rows, &x, &parts, Some(&bias));
        let error = relative_error(&found, &expected);
        assert!(error < 5e-6, "{dtype}: {error}");
    }
}

#[test]
fn activations_of_any_size_are_multiplied() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(4);
    let (rows, cols) = (2, 70);
    for dtype in DTYPES {
        let part = random.weight(dtype, 1, 16, cols);
        for scale in [0.0, 1e-44, 1e-38, 1e-36, 1e-33, 1e-20, 1.0, 1e30] {
            let x: Vec<f32> = random.values(rows * cols).iter().map(|x| x * scale).collect();
            let found = linear(&backend(Isa::Amx, 1), rows, &x, std::slice::from_ref(&part), None);
            assert_eq!(bits(&found), bits(&expected(&x, &part)), "{dtype} {scale}");
        }
    }
}

#[test]
fn a_row_that_is_not_finite_does_not_affect_others() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(5);
    let (rows, cols, out_cols) = (37, 64, 18);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        for dtype in DTYPES {
            let part = random.weight(dtype, 1, out_cols, cols);
            let mut x = random.values(rows * cols);
            let expected = expected(&x, &part);
            x[5 * cols + 40] = bad;
            let found = linear(&backend(Isa::Amx, 2), rows, &x, std::slice::from_ref(&part), None);
            for (row, (found, expected)) in
                found.chunks_exact(out_cols).zip(expected.chunks_exact(out_cols)).enumerate()
            {
                if row == 5 {
                    assert!(found.iter().all(|x| !x.is_finite()), "{dtype} {bad}");
                } else {
                    assert_eq!(bits(found), bits(expected), "{dtype} {bad} {row}");
                }
            }
        }
    }
}

#[test]
fn gated_products_equal_separate_products() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(6);
    let cols = 256;
    for types in [[DType::F16; 2], [DType::BF16, DType::Q4K], [DType::F32, DType::BF16]] {
        for (rows, out_cols) in [(1, 1), (2, 37), (37, 100), (525, 70)] {
            let parts = types.map(|dtype| random.weight(dtype, 1, out_cols, cols));
            let x = random.values(rows * cols);
            let backend = backend(Isa::Amx, 2);
            let found = linear_gated(&backend, rows, &x, &parts, None);
            let [gates, ups] = parts
                .each_ref()
                .map(|part| linear(&backend, rows, &x, std::slice::from_ref(part), None));
            let join = |(gate, up): (&f32, &f32)| {
                let (gate, up) = (f64::from(*gate), f64::from(*up));
                (gate / (1.0 + (-gate).exp()) * up) as f32
            };
            let expected: Vec<f32> = gates.iter().zip(&ups).map(join).collect();
            let error = relative_error(&found, &expected);
            assert!(error < 1e-6, "{types:?} {rows} rows, {out_cols} columns: {error}");
        }
    }
}

#[test]
fn products_are_added_to_the_output() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(7);
    let (rows, cols, out_cols) = (37, 96, 23);
    for dtype in DTYPES {
        let part = random.weight(dtype, 1, out_cols, cols);
        let (x, old) = (random.values(rows * cols), random.values(rows * out_cols));
        let expected: Vec<f32> =
            expected(&x, &part).iter().zip(&old).map(|(sum, old)| old + sum).collect();
        let backend = backend(Isa::Amx, 2);
        let weight = backend.load_weight(&[part]).expect("a weight");
        let (x, mut out) =
            (matrix(&backend, rows, cols, &x), matrix(&backend, rows, out_cols, &old));
        run(&backend, |pass| pass.linear_add(rows, &x, &weight, None, &mut out)).expect("memory");
        assert_eq!(bits(&read(&backend, &out, old.len())), bits(&expected), "{dtype}");
    }
}

#[test]
fn experts_agree_with_the_reference_for_any_number_of_rows() {
    if !has_unit() {
        return;
    }
    let mut random = Random::new(8);
    let params = ExpertParams::softmax(8, 2, true);
    for dtype in DTYPES {
        for rows in [1, 2, 19, 80] {
            let logits: Vec<_> = random.values(rows * 8).iter().map(|x| 3.0 * x).collect();
            let x = random.values(rows * HIDDEN);
            let reference = forward(&ReferenceBackend::new(), rows, &params, dtype, &logits, &x);
            let [one, two] = [1, 2].map(|threads| {
                forward(&backend(Isa::Amx, threads), rows, &params, dtype, &logits, &x)
            });
            assert_eq!(bits(&one), bits(&two), "{dtype} {rows}");
            let error = relative_error(&one, &reference);
            assert!(error < 2e-5, "{dtype} {rows}: {error}");
        }
    }
}
