//! Encoding and decoding one head's key or value row in each format of the cache.
//!
//! Values that a format cannot represent are not silently replaced: F16 stores values that are too
//! large as infinity; Q8_0 stores the 32 values of a block with a NaN or infinity as NaN, I16 the
//! whole row.
//!
//! An **I16** row is a single-precision scale followed by one integer per value, little-endian. The
//! largest magnitude becomes [`largest_i16`]; values are rounded to nearest, ties to even. A row with
//! a largest magnitude below 2^-100 becomes zeros.

use half::f16;
use inferno_tensor::quant::{self, QK};
use inferno_tensor::{DType, TensorError};

use crate::{BackendError, KvDType};

/// The largest magnitude of a 16-bit integer: both of its halves, the lower one signed, fit a signed byte.
pub const LARGEST_I16: f32 = (127 * 257) as f32;

/// Maximum number of values in a row of I16. The integers of longer rows would have less than 14 bits.
pub const MAX_I16_ROW_LEN: usize = 1024;

/// The largest magnitude of the integers in an I16 row of `num_values`.
///
/// Attention multiplies them by the halves of other integers, which are -128 to 127, and sums up the products in 32 bits:
/// the sum of `num_values` products with halves of -128 must be below 2^31. Rows of up to 514 values may contain
/// [`LARGEST_I16`]; longer ones contain smaller integers, such as 29127 for the 576 values of DeepSeek's keys. The sum of
/// products with whole integers, without its low 8 bits, is smaller: at most 32639 / 256 = 127.5 times the integers.
pub fn largest_i16(num_values: usize) -> f32 {
    const LARGEST_HALF: i32 = 128;
    let num_values = i32::try_from(num_values.max(1)).unwrap_or(i32::MAX);
    LARGEST_I16.min((i32::MAX / LARGEST_HALF / num_values) as f32)
}

/// Size of the scale of an I16 row, in bytes.
const SCALE_BYTES: usize = size_of::<f32>();

impl KvDType {
    /// The tensor format of a row, if there is one.
    fn tensor_format(self) -> Option<DType> {
        match self {
            Self::F32 => Some(DType::F32),
            Self::I16 => None,
            Self::F16 => Some(DType::F16),
            Self::Q8_0 => Some(DType::Q8_0),
        }
    }

    /// Size of a row of `head_dim` values, in bytes.
    ///
    /// **Errors**: [`BackendError::KvHeadDim`] if `head_dim` is not a multiple of the format's block
    /// length, [`BackendError::KvHeadTooWide`] if a sum over a head could overflow the format's
    /// integers.
    pub fn row_bytes(self, head_dim: usize) -> Result<usize, BackendError> {
        let dtype = self.name();
        let indivisible = |multiple| BackendError::KvHeadDim { dtype, head_dim, multiple };
        match self.tensor_format() {
            Some(format) => format.row_bytes(head_dim).map_err(|_| indivisible(format.block_len())),
            None if head_dim % 2 != 0 => Err(indivisible(2)),
            None if head_dim > MAX_I16_ROW_LEN => {
                Err(BackendError::KvHeadTooWide { dtype, head_dim, most: MAX_I16_ROW_LEN })
            }
            None => Ok(SCALE_BYTES + head_dim * size_of::<i16>()),
        }
    }

    /// Encodes a row, or any number of blocks of a Q8_0 row.
    ///
    /// **Panics** if `row` does not have the format's size.
    pub fn encode_row(self, values: &[f32], row: &mut [u8]) {
        let Some(format) = self.tensor_format() else {
            return encode_i16(values, row);
        };
        let block_bytes = QK / format.block_len() * format.block_bytes();
        for (values, bytes) in values.chunks(QK).zip(row.chunks_mut(block_bytes)) {
            // Q8_0 cannot store infinities or NaN.
            if quant::encode_row(format, values, bytes).is_err() {
                bytes.fill(0);
                bytes[..size_of::<f16>()].copy_from_slice(&f16::NAN.to_le_bytes());
            }
        }
    }

    /// Decodes a row.
    ///
    /// **Errors**: those of [`quant::decode_row`], if `row` does not have the format's size.
    pub fn decode_row(self, row: &[u8], values: &mut [f32]) -> Result<(), TensorError> {
        let Some(format) = self.tensor_format() else {
            let (scale, integers) = row.split_at(SCALE_BYTES);
            let scale = f32::from_le_bytes(scale.try_into().expect("it was split off"));
            for (value, bytes) in values.iter_mut().zip(integers.chunks_exact(2)) {
                *value = scale * f32::from(i16::from_le_bytes([bytes[0], bytes[1]]));
            }
            return Ok(());
        };
        quant::decode_row(format, row, values)
    }
}

fn encode_i16(values: &[f32], row: &mut [u8]) {
    const LOWEST: f32 = f32::from_bits((127 - 100) << 23);
    // As integers, NaNs compare above all other magnitudes.
    let magnitude = values.iter().map(|x| x.abs().to_bits()).max().unwrap_or(0);
    let magnitude = f32::from_bits(magnitude);
    let (scale, factor) = if !magnitude.is_finite() {
        (f32::NAN, 0.0)
    } else if magnitude < LOWEST {
        (0.0, 0.0)
    } else {
        let largest = largest_i16(values.len());
        (magnitude / largest, largest / magnitude)
    };
    let (scale_bytes, integers) = row.split_at_mut(SCALE_BYTES);
    scale_bytes.copy_from_slice(&scale.to_le_bytes());
    for (value, bytes) in values.iter().zip(integers.chunks_exact_mut(2)) {
        // Infinity and NaN times zero are NaN, which is cast to zero.
        let integer = (value * factor).round_ties_even() as i16;
        bytes.copy_from_slice(&integer.to_le_bytes());
    }
}
