//! Errors of encoding, compared with those of the reference quantizers.

use inferno_tensor::{DType, quant};
use proptest::prelude::*;

use crate::support::{
    LEN, decode, encode, gaussian, gaussian_with, is_codebook, needs_training, relative_error,
    round_trip,
};

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

#[test]
fn no_format_has_a_larger_error_than_its_reference_quantizer() {
    let values = gaussian(LEN);
    for dtype in DType::ALL {
        let error = relative_error(&values, &round_trip(dtype, &values));
        assert!(error <= reference_error(dtype), "{dtype}: {error}");
    }
}

/// The distance of the weights that a format can store with the smallest scale, in units of the smallest half, 2^-24; `None`
/// if the bytes are those of the reference quantizers, whatever the weights, zero if the range of scales is larger.
fn coarsest_step(dtype: DType) -> Option<f64> {
    match dtype {
        DType::Q8_0 | DType::Q4_0 | DType::Q4_1 | DType::Q5_0 | DType::Q5_1 => None,
        DType::Mxfp4 | DType::Nvfp4 | DType::Q8K | DType::Int8 | DType::F32 | DType::BF16 => {
            Some(0.0)
        }
        // Levels between -22 and 25 are up to 13 apart.
        DType::Iq4Nl | DType::Iq4Xs => Some(13.0),
        // Elements are 8 to 18 apart, and scales a quarter or an eighth.
        DType::Iq2Xxs | DType::Iq2Xs | DType::Iq2S | DType::Iq3Xxs => Some(2.25),
        _ => Some(1.0),
    }
}

#[test]
fn small_weights_have_the_error_of_ordinary_ones_and_of_rounding_to_the_smallest_scale() {
    for dtype in DType::ALL.into_iter().filter(|&dtype| !needs_training(dtype)) {
        let Some(step) = coarsest_step(dtype) else { continue };
        for deviation in [1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7] {
            let values = gaussian_with(deviation, 4096);
            let error = relative_error(&values, &round_trip(dtype, &values));
            // Rounding is off by the step over the square root of 12 on average.
            let rounding = 2f64.powi(-24) * step / 12f64.sqrt() / f64::from(deviation);
            let bound = 1.1 * (reference_error(dtype) + rounding);
            assert!(error <= bound, "{dtype} of {deviation}: {error}, not {bound}");
        }
    }
}

#[test]
fn nvfp4_with_a_scale_of_the_matrix_has_the_same_error_at_any_magnitude() {
    for deviation in [1e-30, 1e-10, 1e-3, 1.0, 1e3, 1e35] {
        let values = gaussian_with(deviation, 4096);
        let error = relative_error(&values, &round_trip(DType::Nvfp4, &values));
        assert!(error <= reference_error(DType::Nvfp4), "{deviation}: {error}");
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
fn equal_and_nearly_equal_weights_are_accurate_in_formats_with_a_minimum() {
    let importance: Vec<f32> = gaussian_with(1.5, 256).into_iter().map(f32::exp).collect();
    let noise = gaussian_with(1.0, 256);
    for dtype in [DType::Q2K, DType::Q4K, DType::Q5K, DType::Q4_1, DType::Q5_1] {
        let mut stored = vec![0; dtype.row_bytes(256).unwrap()];
        for step in 0..60 {
            for (sign, spread) in [(1.0, 0.0), (-1.0, 0.0), (1.0, 1e-6), (1.0, 1e-4)] {
                let value = sign * 0.01 * 1.1f32.powi(step);
                let row: Vec<f32> = noise.iter().map(|x| value * (1.0 + spread * x)).collect();
                for search in ["thorough", "fast", "weighted"] {
                    let encoded = match search {
                        "thorough" => quant::encode_row(dtype, &row, &mut stored),
                        "fast" => quant::encode_row_fast(dtype, &row, &mut stored),
                        _ => quant::encode_row_weighted(dtype, &row, &importance, &mut stored),
                    };
                    encoded.unwrap();
                    let error = relative_error(&row, &decode(dtype, &stored, 256));
                    assert!(error < 0.006, "{dtype}, {search}, {value} {spread}: {error}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn rows_with_an_offset_have_at_most_half_of_their_magnitude_as_error_or_that_of_the_smallest_scale(
        values in prop::collection::vec(-1.0f32..1.0, 256),
        shift in -2.0f32..2.0,
        exponent in -25..10,
    ) {
        let factor = 2.0f32.powi(exponent);
        let row: Vec<f32> = values.iter().map(|value| (value + shift) * factor).collect();
        for dtype in DType::ALL.into_iter().filter(|&dtype| !needs_training(dtype)) {
            let step = match coarsest_step(dtype) {
                Some(step) => step,
                None if exponent < -10 => continue,
                None => 0.0,
            };
            let found = round_trip(dtype, &row);
            let error = relative_error(&row, &found);
            let squares = row.iter().map(|&value| f64::from(value) * f64::from(value));
            let rms = (squares.sum::<f64>() / row.len() as f64).sqrt();
            let bound = 0.5 + step * 2f64.powi(-24) / rms;
            // Weights below the smallest scale become zero or are rounded up to it, whichever has the smaller error
            // by the search's own measure, in which an error counts by `rms + |weight|`.
            let weigh = |values: &[f32]| -> Vec<f32> {
                let weights = row.iter().map(|value| (rms + f64::from(value.abs())).sqrt());
                values.iter().zip(weights).map(|(&value, weight)| (f64::from(value) * weight) as f32).collect()
            };
            let weighted = relative_error(&weigh(&row), &weigh(&found));
            prop_assert!(
                error <= bound || weighted <= 1.00001,
                "{dtype}: {error}, not {bound}; {weighted} by the search's measure"
            );
        }
    }
}
