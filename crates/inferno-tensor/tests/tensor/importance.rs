//! Encoding for the least error of products, given the importance of each column.

use inferno_tensor::{DType, TensorError, quant};

use crate::support::{LEN, decode, gaussian, relative_error, round_trip};

#[test]
fn formats_that_need_an_importance_matrix_are_not_encoded_without_it() {
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.needs_importance()) {
        let mut stored = vec![0; dtype.block_bytes()];
        let error = Err(TensorError::NeedsImportance { dtype });
        assert_eq!(quant::encode_row(dtype, &[0.5; 256], &mut stored), error);
        assert_eq!(quant::encode_row_fast(dtype, &[0.5; 256], &mut stored), error);
    }
    let message = TensorError::NeedsImportance { dtype: DType::Iq2Xxs }.to_string();
    assert!(message.contains("IQ2_XXS needs an importance matrix"), "{message}");
}

#[test]
fn the_importance_changes_exactly_the_formats_that_use_it() {
    let values = gaussian(LEN);
    let importance: Vec<f32> = gaussian(LEN).iter().map(|x| (100.0 * x).exp()).collect();
    for dtype in DType::ALL {
        let weighted = |importance: &[f32]| {
            let mut stored = vec![0; dtype.row_bytes(LEN).unwrap()];
            quant::encode_row_weighted(dtype, &values, importance, &mut stored).unwrap();
            stored
        };
        let changes = weighted(&importance) != weighted(&vec![1.0; LEN]);
        assert_eq!(changes, dtype.uses_importance(), "{dtype}");
    }
}

/// The errors of ggml's quantizers, weighted by an importance whose logarithm has a standard deviation of 1.5, on 262144
/// normally distributed values.
const WEIGHTED_REFERENCE_ERRORS: [(DType, f64); 18] = [
    (DType::Q4_0, 0.0714),
    (DType::Q4_1, 0.0556),
    (DType::Q5_0, 0.0353),
    (DType::Q5_1, 0.0270),
    (DType::Iq1S, 0.3936),
    (DType::Iq1M, 0.3366),
    (DType::Iq2Xxs, 0.2606),
    (DType::Iq2Xs, 0.2237),
    (DType::Iq2S, 0.2018),
    (DType::Iq3Xxs, 0.1287),
    (DType::Iq3S, 0.1057),
    (DType::Q2K, 0.2022),
    (DType::Q3K, 0.1212),
    (DType::Q4K, 0.0568),
    (DType::Q5K, 0.0295),
    (DType::Q6K, 0.0147),
    (DType::Iq4Nl, 0.0638),
    (DType::Iq4Xs, 0.0647),
];

#[test]
fn weighted_errors_are_not_larger_than_those_of_the_reference_quantizers() {
    let values = gaussian(LEN);
    let importance: Vec<f32> = gaussian(1024).iter().map(|x| (x / 0.02 * 1.5).exp()).collect();
    let importance: Vec<f32> = importance.into_iter().cycle().take(LEN).collect();
    let weigh = |values: &[f32]| -> Vec<f32> {
        values.iter().zip(&importance).map(|(value, x)| value * x.sqrt()).collect()
    };
    for (dtype, expected) in WEIGHTED_REFERENCE_ERRORS {
        let mut stored = vec![0; dtype.row_bytes(LEN).unwrap()];
        quant::encode_row_weighted(dtype, &values, &importance, &mut stored).unwrap();
        let error = relative_error(&weigh(&values), &weigh(&decode(dtype, &stored, LEN)));
        println!("{dtype}: {error:.4} of {expected:.4}");
        // Another sample of columns and values; and larger weights count more than the importance alone says.
        assert!(error <= 1.05 * expected, "{dtype}: {error}");
        if !dtype.needs_importance() {
            let without = relative_error(&weigh(&values), &weigh(&round_trip(dtype, &values)));
            assert!(error < without, "{dtype}: {error}, {without} without an importance");
        }
    }
}

#[test]
fn an_importance_that_is_not_one_number_per_column_is_rejected() {
    let (row, mut stored) = ([0.5; 256], [0; 256]);
    let mut encode = |importance: &[f32]| {
        quant::encode_row_weighted(DType::Q4K, &row, importance, &mut stored[..144])
    };
    assert_eq!(encode(&[1.0; 256]), Ok(()));
    assert_eq!(encode(&[0.0; 256]), Ok(()));
    let error = TensorError::Importance { expected: 256, found: 255, invalid: None };
    assert_eq!(encode(&[1.0; 255]), Err(error));
    for value in [-1.0, f32::INFINITY] {
        let mut importance = [1.0; 256];
        importance[9] = value;
        let error = TensorError::Importance { expected: 256, found: 256, invalid: Some(value) };
        assert_eq!(encode(&importance), Err(error));
    }
}
