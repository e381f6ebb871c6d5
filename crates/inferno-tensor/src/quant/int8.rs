//! Int8: symmetric 8-bit weights with one scale a row.
//!
//! Ours, made from F32 or F16 weights when loading; no file holds it.
//!
//! | bytes | holds |
//! |---|---|
//! | 0..4 | the scale, single precision, little-endian |
//! | 4..4 + cols | the quants, signed, -127 to 127 |
//!
//! The scale is the largest magnitude divided by 127; quants round to nearest, ties away from zero.

use super::nearest;
use super::table::Format;
use crate::{DType, TensorError};

const SCALE_BYTES: usize = size_of::<f32>();

pub(super) const FORMAT: Format = Format {
    dtype: DType::Int8,
    name: "INT8",
    ggml_id: None,
    block_len: 1,
    block_bytes: 1,
    row_header_bytes: SCALE_BYTES,
    decode,
    encode,
};

fn decode(bytes: &[u8], out: &mut [f32]) {
    let (scale, quants) = bytes.split_at(SCALE_BYTES);
    let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
    for (out, &quant) in out.iter_mut().zip(quants) {
        *out = scale * f32::from(quant as i8);
    }
}

fn encode(row: &[f32], out: &mut [u8]) -> Result<(), TensorError> {
    let (header, quants) = out.split_at_mut(SCALE_BYTES);
    let scale = nearest::magnitude(row, bytemuck::cast_slice_mut(quants));
    if !(scale * 127.0).is_finite() {
        let dtype = DType::Int8;
        return Err(TensorError::ScaleOverflow { dtype, index: 0 });
    }
    header.copy_from_slice(&scale.to_le_bytes());
    Ok(())
}
