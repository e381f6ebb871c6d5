//! Products of many rows against the same rows, a few at a time, which other kernels compute.

use crate::cases::{Random, backend, bits, matrix, read, run, sets, simplest};
use inferno_backend::{DeviceMemory, Pass, WeightPart};
use inferno_conformance::products::linear;
use inferno_tensor::DType;

/// One format of each kernel for many rows.
const FORMATS: [DType; 4] = [DType::Q8_0, DType::Q4_0, DType::Q6K, DType::Iq4Nl];

/// The product of `x` with a weight of `cols` columns, at most eight rows at a time.
fn in_small_parts(x: &[f32], cols: usize, part: &WeightPart) -> Vec<f32> {
    let backend = simplest();
    let parts = std::slice::from_ref(part);
    let products = x.chunks(8 * cols).map(|x| linear(&backend, x.len() / cols, x, parts, None));
    products.flatten().collect()
}

#[test]
fn many_rows_are_computed_as_few_are() {
    let mut random = Random::new(14);
    // Several passes over the rows with several chunks and pairs of panels; an incomplete chunk; one chunk; one block.
    for (rows, cols, out_cols) in [(300, 5120, 49), (120, 352, 53), (600, 256, 37), (16, 640, 37)] {
        for dtype in FORMATS.into_iter().filter(|dtype| dtype.row_bytes(cols).is_ok()) {
            let part = random.weight(dtype, 1, out_cols, cols);
            let x = random.values(rows * cols);
            let expected = bits(&in_small_parts(&x, cols, &part));
            for isa in sets() {
                // One thread computes panels in pairs; of three, the last one is left.
                let found = linear(&backend(isa, 1), rows, &x, std::slice::from_ref(&part), None);
                assert_eq!(bits(&found), expected, "{dtype} {rows}x{cols}x{out_cols} {isa}");
            }
        }
    }
}

#[test]
fn rows_do_not_depend_on_those_of_earlier_passes() {
    let mut random = Random::new(17);
    let (rows, cols, out_cols) = (600, 256, 37);
    for dtype in FORMATS {
        let part = random.weight(dtype, 1, out_cols, cols);
        let mut x = random.values(rows * cols);
        let expected = bits(&in_small_parts(&x, cols, &part));
        x[3 * cols] = f32::INFINITY;
        for isa in sets() {
            let found = linear(&backend(isa, 1), rows, &x, std::slice::from_ref(&part), None);
            assert!(found[3 * out_cols..4 * out_cols].iter().all(|x| !x.is_finite()));
            let others = 4 * out_cols..;
            assert_eq!(bits(&found[others.clone()]), expected[others], "{dtype} {isa}");
        }
    }
}

#[test]
fn outliers_of_many_rows_are_added_for_all_panels() {
    let mut random = Random::new(15);
    let (rows, cols, out_cols) = (70, 512, 53);
    for dtype in FORMATS {
        let part = random.weight(dtype, 1, out_cols, cols);
        for count in [1, 3, 12] {
            let mut x = random.values(rows * cols);
            for x in x.chunks_exact_mut(cols) {
                for _ in 0..count {
                    x[random.bits() as usize % cols] = 9.0;
                }
            }
            let expected = bits(&in_small_parts(&x, cols, &part));
            for isa in sets() {
                let found = linear(&backend(isa, 1), rows, &x, std::slice::from_ref(&part), None);
                assert_eq!(bits(&found), expected, "{dtype} {count} {isa}");
            }
        }
    }
}

#[test]
fn products_of_many_rows_are_added_to_all_panels() {
    let mut random = Random::new(16);
    let (rows, cols, out_cols) = (70, 512, 53);
    for dtype in FORMATS {
        let part = random.weight(dtype, 1, out_cols, cols);
        let (x, old) = (random.values(rows * cols), random.values(rows * out_cols));
        let product = in_small_parts(&x, cols, &part);
        let expected: Vec<f32> = old.iter().zip(product).map(|(old, new)| old + new).collect();
        for isa in sets() {
            let backend = backend(isa, 1);
            let weight = backend.load_weight(std::slice::from_ref(&part)).expect("a weight");
            let input = matrix(&backend, rows, cols, &x);
            let mut out = matrix(&backend, rows, out_cols, &old);
            run(&backend, |pass| pass.linear_add(rows, &input, &weight, None, &mut out))
                .expect("memory");
            let found = read(&backend, &out, old.len());
            assert_eq!(bits(&found), bits(&expected), "{dtype} {isa}");
        }
    }
}
