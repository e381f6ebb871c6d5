//! Accuracy of encoding, and its errors.

use inferno_tensor::quant::{self, EncodeBlock};
use inferno_tensor::{DType, TensorError};
use proptest::prelude::*;

const LEN: usize = 256 * 256;

/// Encodes a row, with an importance that is the same for all columns if the format needs one.
fn encode(dtype: DType, row: &[f32]) -> Result<Vec<u8>, TensorError> {
    let mut stored = vec![0; dtype.row_bytes(row.len())?];
    match dtype.needs_importance() {
        true => quant::encode_row_weighted(dtype, row, &vec![1.0; row.len()], &mut stored)?,
        false => quant::encode_row(dtype, row, &mut stored)?,
    }
    Ok(stored)
}

fn decode(dtype: DType, stored: &[u8], cols: usize) -> Vec<f32> {
    let mut values = vec![f32::NAN; cols];
    quant::decode_row(dtype, stored, &mut values).unwrap();
    values
}

fn round_trip(dtype: DType, row: &[f32]) -> Vec<f32> {
    decode(dtype, &encode(dtype, row).unwrap(), row.len())
}

/// Normally distributed values with the standard deviation of a typical weight matrix.
fn gaussian(len: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    };
    std::iter::repeat_with(|| {
        let radius = (-2.0 * uniform().ln()).sqrt();
        (0.02 * radius * (std::f64::consts::TAU * uniform()).cos()) as f32
    })
    .take(len)
    .collect()
}

/// The norm of the difference over the norm of the expected values.
fn relative_error(expected: &[f32], found: &[f32]) -> f64 {
    let square = |value: f32| f64::from(value) * f64::from(value);
    let difference: f64 = expected.iter().zip(found).map(|(a, b)| square(a - b)).sum();
    let norm: f64 = expected.iter().copied().map(square).sum();
    (difference / norm).sqrt()
}

/// The errors of ggml's reference quantizers on 262144 normally distributed values without an
/// importance matrix (with one of ones for IQ1 and IQ2), with a margin of half a percent for another sample; for the floats, half a
/// unit in the last place.
fn reference_error(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 0.0,
        DType::F16 => 0.0005,
        DType::BF16 => 0.004,
        DType::Q8_0 => 0.00538,
        DType::Q4_0 => 0.0865,
        DType::Q4_1 => 0.0787,
        DType::Q5_0 => 0.0430,
        DType::Q5_1 => 0.0381,
        DType::Mxfp4 => 0.1146,
        DType::Nvfp4 => 0.1038,
        DType::Q1_0 => 0.6042,
        DType::Tq1_0 | DType::Tq2_0 => 0.8145,
        DType::Q8K => 0.0071,
        DType::Iq1S => 0.4870,
        DType::Iq1M => 0.4523,
        DType::Iq2Xxs => 0.3452,
        DType::Iq2Xs => 0.3009,
        DType::Iq2S => 0.2498,
        DType::Iq3Xxs => 0.2140,
        DType::Iq3S => 0.1669,
        DType::Q2K => 0.2988,
        DType::Q3K => 0.1519,
        DType::Q4K => 0.0717,
        DType::Q5K => 0.0364,
        DType::Q6K => 0.0179,
        DType::Iq4Nl => 0.0765,
        DType::Iq4Xs => 0.0771,
        // Uniform within steps of a 127th of the largest value, which is at most 4.5 standard
        // deviations: 4.5 / 127 / sqrt(12).
        DType::Int8 => 0.01023,
        _ => panic!("state the error of {dtype}"),
    }
}

/// Whether a format has so few levels that it only suits models that were trained for it.
fn needs_training(dtype: DType) -> bool {
    matches!(dtype, DType::Q1_0 | DType::Tq1_0 | DType::Tq2_0)
}

/// Whether a format has vectors of a codebook.
fn is_codebook(dtype: DType) -> bool {
    matches!(dtype, DType::Iq3Xxs | DType::Iq3S) || dtype.needs_importance()
}

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

#[test]
fn no_format_has_a_larger_error_than_its_reference_quantizer() {
    let values = gaussian(LEN);
    for dtype in DType::ALL {
        let error = relative_error(&values, &round_trip(dtype, &values));
        assert!(error <= reference_error(dtype), "{dtype}: {error}");
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

#[test]
fn fast_encoding_has_nearly_the_error_of_the_reference_quantizer() {
    let values = gaussian(LEN);
    for dtype in DType::ALL {
        let mut stored = vec![0; dtype.row_bytes(LEN).unwrap()];
        if dtype.needs_importance() {
            continue;
        }
        quant::encode_row_fast(dtype, &values, &mut stored).unwrap();
        let error = relative_error(&values, &decode(dtype, &stored, LEN));
        assert!(error <= 1.03 * reference_error(dtype), "{dtype}: {error}");
        if dtype != DType::Q4K {
            assert_eq!(stored, encode(dtype, &values).unwrap(), "{dtype}");
        }
    }
}

#[test]
fn encoding_decoded_values_again_changes_almost_nothing() {
    let values = gaussian(LEN);
    for dtype in DType::ALL {
        let once = round_trip(dtype, &values);
        let twice = round_trip(dtype, &once);
        if matches!(dtype.block_len(), 1 | 32) {
            assert_eq!(once, twice, "{dtype}");
        } else {
            let moved = relative_error(&once, &twice);
            let factor = if is_codebook(dtype) { 0.15 } else { 0.1 };
            assert!(moved <= factor * reference_error(dtype), "{dtype}: {moved}");
        }
    }
}

#[test]
fn an_int8_row_is_its_scale_and_one_byte_per_value() {
    let row = [1.0, -127.0, 63.5, -0.5, 0.25, 0.0];
    let stored = encode(DType::Int8, &row).unwrap();
    assert_eq!(stored[..4], 1.0f32.to_le_bytes());
    assert_eq!(
        stored[4..].iter().map(|&byte| byte as i8).collect::<Vec<_>>(),
        [1, -127, 64, -1, 0, 0]
    );
    assert_eq!(decode(DType::Int8, &stored, 6), [1.0, -127.0, 64.0, -1.0, 0.0, 0.0]);
    assert_eq!(decode(DType::Int8, &[0; 4], 0), []);

    let overflow = TensorError::ScaleOverflow { dtype: DType::Int8, index: 0 };
    assert_eq!(encode(DType::Int8, &[0.0, f32::MAX]), Err(overflow));
}

#[test]
fn constant_zero_and_single_values_are_accurate_in_every_format() {
    let mut lone = vec![0.0; 256];
    lone[77] = -3.0;
    for dtype in DType::ALL {
        assert!(round_trip(dtype, &[0.0; 256]).iter().all(|&value| value == 0.0), "{dtype}");
        for row in [vec![0.75; 256], vec![-0.75; 256], lone.clone()] {
            // Each weight of a block has the mean magnitude.
            if dtype == DType::Q1_0 && row == lone {
                continue;
            }
            let error = relative_error(&row, &round_trip(dtype, &row));
            // No element of a codebook is zero, and not all combinations of elements exist. With the scale of a lone
            // value, the zeros that share it become the smallest element: 8 where the largest is 43.
            let bound = match dtype {
                DType::Iq1S | DType::Iq1M => 0.65,
                DType::Iq2Xxs => 1.05,
                DType::Iq2Xs | DType::Iq2S => 0.75,
                dtype if is_codebook(dtype) => 0.45,
                _ => 0.05,
            };
            assert!(error <= bound, "{dtype} of {:?}: {error}", row[77]);
        }
    }
}

#[test]
fn quantized_formats_reject_nan_and_infinity_and_floats_store_them() {
    for dtype in DType::ALL {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut row = vec![1.0; 512];
            row[300] = value;
            if dtype.is_float() {
                let found = round_trip(dtype, &row)[300];
                assert!(found == value || found.is_nan() && value.is_nan(), "{dtype}: {found}");
            } else {
                let error = encode(dtype, &row).unwrap_err();
                assert!(
                    matches!(error, TensorError::NonFinite { index: 300, .. }),
                    "{dtype}: {error}"
                );
            }
        }
    }
}

#[test]
fn values_too_large_for_a_half_precision_scale_are_rejected() {
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_float() && *dtype != DType::Int8) {
        let large = if dtype == DType::Nvfp4 { 6.01 * 448.0 } else { 1e10 };
        for magnitude in [large, 1e20, f32::MAX] {
            let mut row = vec![1.0; 1024];
            row[900] = magnitude;
            let index = 900 / dtype.block_len() * dtype.block_len();
            assert_eq!(encode(dtype, &row), Err(TensorError::ScaleOverflow { dtype, index }));
        }
        let subnormal = vec![1e-40; 256];
        assert!(round_trip(dtype, &subnormal).iter().all(|&value| value == 0.0), "{dtype}");
    }
}

#[test]
fn partial_blocks_of_bytes_are_rejected() {
    for found in [1, 135, 137] {
        let error = TensorError::PartialBlockBytes { dtype: DType::Iq4Xs, block_bytes: 136, found };
        assert_eq!(quant::blocks::<quant::Iq4XsBlock>(&vec![0; found]), Err(error));
    }
    assert_eq!(quant::blocks::<quant::Iq4XsBlock>(&[0; 272]).unwrap().len(), 2);
}

#[test]
fn rows_that_do_not_match_their_format_or_buffer_are_rejected() {
    for dtype in DType::ALL {
        let cols = dtype.block_len();
        let expected = dtype.row_bytes(cols).unwrap();
        let mismatch = |found| TensorError::BytesMismatch { dtype, cols, expected, found };
        let mut row = vec![1.0; cols];
        for found in [0, expected - 1, expected + 1] {
            let mut bytes = vec![0; found];
            assert_eq!(quant::decode_row(dtype, &bytes, &mut row), Err(mismatch(found)));
            assert_eq!(quant::encode_row(dtype, &row, &mut bytes), Err(mismatch(found)));
        }
        if cols > 1 {
            let partial = TensorError::PartialBlock { dtype, cols: cols + 1, block_len: cols };
            assert_eq!(dtype.row_bytes(cols + 1), Err(partial));
        }
    }
    let cols = usize::MAX;
    assert_eq!(
        DType::F32.row_bytes(cols),
        Err(TensorError::RowTooLarge { dtype: DType::F32, cols })
    );
    assert_eq!(
        DType::Int8.row_bytes(cols),
        Err(TensorError::RowTooLarge { dtype: DType::Int8, cols })
    );
}

/// Blocks encoded without the checks of `encode_row` must not panic, whatever the values.
fn encode_blocks_unchecked(values: &[f32]) {
    fn one<B: EncodeBlock>(values: &[f32]) {
        let values = &values[..B::LEN];
        let magnitudes: Vec<f32> = values.iter().map(|value| value.abs()).collect();
        for block in [B::encode(values, None), B::encode(values, Some(&magnitudes))] {
            block.decode(&mut vec![0.0; B::LEN]);
        }
    }
    one::<quant::Q8_0Block>(values);
    one::<quant::Q4_0Block>(values);
    one::<quant::Q4_1Block>(values);
    one::<quant::Q5_0Block>(values);
    one::<quant::Q5_1Block>(values);
    one::<quant::Mxfp4Block>(values);
    one::<quant::Nvfp4Block>(values);
    one::<quant::Q1_0Block>(values);
    one::<quant::Tq1_0Block>(values);
    one::<quant::Tq2_0Block>(values);
    one::<quant::Q8KBlock>(values);
    one::<quant::Iq1SBlock>(values);
    one::<quant::Iq1MBlock>(values);
    one::<quant::Iq2XxsBlock>(values);
    one::<quant::Iq2XsBlock>(values);
    one::<quant::Iq2SBlock>(values);
    one::<quant::Iq3XxsBlock>(values);
    one::<quant::Iq3SBlock>(values);
    one::<quant::Q2KBlock>(values);
    one::<quant::Q3KBlock>(values);
    one::<quant::Q4KBlock>(values);
    one::<quant::Q5KBlock>(values);
    one::<quant::Q6KBlock>(values);
    one::<quant::Iq4NlBlock>(values);
    one::<quant::Iq4XsBlock>(values);
}

proptest! {
    #[test]
    fn encoding_arbitrary_bits_never_panics(bits in prop::collection::vec(any::<u32>(), 256)) {
        encode_blocks_unchecked(&bits.into_iter().map(f32::from_bits).collect::<Vec<_>>());
    }

    #[test]
    fn decoding_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 1024 + 4)) {
        for dtype in DType::ALL {
            let num_blocks = 1024 / dtype.block_bytes();
            let cols = num_blocks * dtype.block_len();
            decode(dtype, &bytes[..dtype.row_bytes(cols).unwrap()], cols);
        }
    }

    #[test]
    fn encoding_is_always_better_than_storing_zeros(
        values in prop::collection::vec(-1.0f32..1.0, 256),
        shift in -2.0f32..2.0,
        exponent in -10..10,
    ) {
        let factor = 2.0f32.powi(exponent);
        let row: Vec<f32> = values.iter().map(|value| (value + shift) * factor).collect();
        for dtype in DType::ALL.into_iter().filter(|&dtype| !needs_training(dtype)) {
            // Scales of NVFP4 are at least 2^-9, those of tensors being stored elsewhere.
            if dtype == DType::Nvfp4 && exponent < 0 {
                continue;
            }
            let error = relative_error(&row, &round_trip(dtype, &row));
            prop_assert!(error <= 0.5, "{dtype}: {error}");
        }
    }
}
