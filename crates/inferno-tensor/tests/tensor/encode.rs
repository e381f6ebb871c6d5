//! Encoded values, and values and buffers that are rejected.

use inferno_tensor::quant::{self, EncodeBlock};
use inferno_tensor::{DType, TensorError};
use proptest::prelude::*;

use crate::support::{decode, encode, relative_error, round_trip};

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
    let has_larger_scales = |dtype| matches!(dtype, DType::Int8 | DType::Mxfp4 | DType::Q8K);
    for dtype in DType::ALL.into_iter().filter(|&it| !it.is_float() && !has_larger_scales(it)) {
        let large = if dtype == DType::Nvfp4 { 6.01 * 448.0 } else { 1e10 };
        for magnitude in [large, 1e20, f32::MAX] {
            let mut row = vec![1.0; 1024];
            row[900] = magnitude;
            let index = 900 / dtype.block_len() * dtype.block_len();
            assert_eq!(encode(dtype, &row), Err(TensorError::ScaleOverflow { dtype, index }));
        }
        let subnormal = encode(dtype, &[1e-40; 256]).unwrap();
        assert!(decode(dtype, &subnormal, 256).iter().all(|&value| value == 0.0), "{dtype}");
    }
}

#[test]
fn formats_with_scales_of_a_larger_range_store_large_values() {
    for (dtype, largest) in [(DType::Mxfp4, f32::MAX), (DType::Q8K, 2f32.powi(127))] {
        for magnitude in [1e10, 1e20, largest] {
            let row = [magnitude, -magnitude, 0.0, magnitude].repeat(64);
            let found = round_trip(dtype, &row);
            assert!(found.iter().all(|value| value.is_finite()), "{dtype} of {magnitude}");
            let [scaled, expected] = [&found, &row].map(|values| -> Vec<f32> {
                values.iter().map(|value| value / magnitude).collect()
            });
            assert!(relative_error(&expected, &scaled) < 0.34, "{dtype} of {magnitude}");
        }
    }
    let overflow = TensorError::ScaleOverflow { dtype: DType::Q8K, index: 0 };
    assert_eq!(encode(DType::Q8K, &[f32::MAX; 256]), Err(overflow));
}

#[test]
fn finite_values_that_would_become_infinite_are_out_of_range() {
    // The largest finite numbers, and the smallest that are rounded to infinity.
    let bf16 = f32::from_bits(0x7f7f_8000);
    for (dtype, fits, overflows) in [
        (DType::F16, 65504.0, 65520.0),
        (DType::F16, f32::from_bits(65520f32.to_bits() - 1), f32::MAX),
        (DType::BF16, f32::from_bits(bf16.to_bits() - 1), bf16),
        (DType::BF16, 1e38, f32::MAX),
    ] {
        let row = [0.0, f32::INFINITY, f32::NAN, -fits];
        assert_eq!(quant::check_range(dtype, &row), Ok(()), "{dtype}");
        assert!(round_trip(dtype, &row)[3].is_finite());
        let row = [0.0, fits, -overflows, overflows];
        let error = TensorError::OutOfRange { dtype, index: 2, value: -overflows };
        assert_eq!(quant::check_range(dtype, &row), Err(error));
        assert_eq!(round_trip(dtype, &row)[2], f32::NEG_INFINITY);
    }
    let message = quant::check_range(DType::F16, &[1.0, 1e6]).unwrap_err().to_string();
    assert_eq!(
        message,
        "value 1 of the row is 1000000.0, which is too large for F16; use BF16 or F32 for this tensor"
    );
    let message = quant::check_range(DType::BF16, &[f32::MAX]).unwrap_err().to_string();
    assert!(message.ends_with("too large for BF16; use F32 for this tensor"), "{message}");
    assert_eq!(quant::check_range(DType::F32, &[f32::MAX]), Ok(()));
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
    fn quotients_by_the_scale_of_an_nvfp4_matrix_are_encoded(largest in 0.0f32..=f32::MAX) {
        for largest in [largest, f32::from_bits(largest.to_bits() / 2), f32::from_bits(1)] {
            let scale = quant::Nvfp4Block::matrix_scale(largest);
            prop_assert!(scale.is_normal(), "{scale}");
            prop_assert!(encode(DType::Nvfp4, &[largest / scale; 64]).is_ok(), "{largest}");
        }
    }

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
}
