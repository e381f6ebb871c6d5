//! Int8: symmetric 8-bit weights with one scale per row.
//!
//! Created from float weights at load time; not a format of GGUF files.
//!
//! | bytes | holds |
//! |---|---|
//! | 0..4 | the scale, single precision, little-endian |
//! | 4..4 + cols | the quants, signed, -127 to 127 |
//!
//! The scale is the largest magnitude divided by 127; quants round to nearest, ties away from zero.

use super::nearest;
use crate::{DType, TensorError};

/// Size of the scale at the start of a row.
pub(super) const SCALE_BYTES: usize = size_of::<f32>();

pub(super) fn decode(bytes: &[u8], out: &mut [f32]) {
    let (scale, quants) = bytes.split_at(SCALE_BYTES);
    let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
    for (out, &quant) in out.iter_mut().zip(quants) {
        *out = scale * f32::from(quant as i8);
    }
}

pub(super) fn encode(row: &[f32], out: &mut [u8]) -> Result<(), TensorError> {
    let (header, quants) = out.split_at_mut(SCALE_BYTES);
    let scale = nearest::magnitude(row, bytemuck::cast_slice_mut(quants));
    if !(scale * 127.0).is_finite() {
        let dtype = DType::Int8;
        return Err(TensorError::ScaleOverflow { dtype, index: 0 });
    }
    header.copy_from_slice(&scale.to_le_bytes());
    Ok(())
}
