//! Values, encoding and errors, for several tests.

use inferno_tensor::quant::{self, Nvfp4Block};
use inferno_tensor::{DType, TensorError};

pub const LEN: usize = 256 * 256;

/// Encodes a row, with an importance that is the same for all columns if the format needs one.
pub fn encode(dtype: DType, row: &[f32]) -> Result<Vec<u8>, TensorError> {
    let mut stored = vec![0; dtype.row_bytes(row.len())?];
    match dtype.needs_importance() {
        true => quant::encode_row_weighted(dtype, row, &vec![1.0; row.len()], &mut stored)?,
        false => quant::encode_row(dtype, row, &mut stored)?,
    }
    Ok(stored)
}

pub fn decode(dtype: DType, stored: &[u8], cols: usize) -> Vec<f32> {
    let mut values = vec![f32::NAN; cols];
    quant::decode_row(dtype, stored, &mut values).unwrap();
    values
}

/// The decoded values of an encoded row. In NVFP4, the row is a matrix with a scale.
pub fn round_trip(dtype: DType, row: &[f32]) -> Vec<f32> {
    if dtype != DType::Nvfp4 {
        return decode(dtype, &encode(dtype, row).unwrap(), row.len());
    }
    let largest = row.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
    let scale = Nvfp4Block::matrix_scale(largest);
    let quotients: Vec<f32> = row.iter().map(|value| value / scale).collect();
    let decoded = decode(dtype, &encode(dtype, &quotients).unwrap(), row.len());
    decoded.into_iter().map(|value| value * scale).collect()
}

/// Normally distributed values with the standard deviation of a typical weight matrix.
pub fn gaussian(len: usize) -> Vec<f32> {
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

/// Normally distributed values with the standard deviation `deviation`.
pub fn gaussian_with(deviation: f32, len: usize) -> Vec<f32> {
    gaussian(len).into_iter().map(|value| value * (deviation / 0.02)).collect()
}

/// The norm of the difference over the norm of the expected values.
pub fn relative_error(expected: &[f32], found: &[f32]) -> f64 {
    let square = |value: f32| f64::from(value) * f64::from(value);
    let difference: f64 = expected.iter().zip(found).map(|(a, b)| square(a - b)).sum();
    let norm: f64 = expected.iter().copied().map(square).sum();
    (difference / norm).sqrt()
}

/// Whether a format has so few levels that it only suits models that were trained for it.
pub fn needs_training(dtype: DType) -> bool {
    matches!(dtype, DType::Q1_0 | DType::Tq1_0 | DType::Tq2_0)
}

/// Whether a format has vectors of a codebook.
pub fn is_codebook(dtype: DType) -> bool {
    matches!(dtype, DType::Iq3Xxs | DType::Iq3S) || dtype.needs_importance()
}
