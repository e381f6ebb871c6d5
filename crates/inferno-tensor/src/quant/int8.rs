//! Int8: symmetric 8-bit weights with one scale per row.
//!
//! The layout of rows in memory. GGUF files store the quants as a tensor of type I8, and the scales as another tensor.
//!
//! | bytes | holds |
//! |---|---|
//! | 0..4 | the scale, single precision, little-endian |
//! | 4..4 + cols | the quants, signed, -127 to 127 |
//!
//! The scale is the largest magnitude divided by 127; quants round to nearest, ties away from zero.

use super::block::Search;
use super::nearest;
use crate::{DType, TensorError};

/// The contents of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Int8Row<'a> {
    /// The factor of the quants.
    pub scale: f32,
    /// The quants: signed, one byte each.
    pub quants: &'a [u8],
}

impl<'a> Int8Row<'a> {
    /// Size of the scale at the start of a row, in bytes.
    pub const SCALE_BYTES: usize = size_of::<f32>();

    /// Views an encoded row.
    ///
    /// **Panics** if `bytes` has no room for a scale.
    pub fn read(bytes: &'a [u8]) -> Self {
        let (scale, quants) = bytes.split_first_chunk().expect("rows begin with their scale");
        Self { scale: f32::from_le_bytes(*scale), quants }
    }

    /// Encodes the row.
    ///
    /// **Panics** unless `out` has the size of the row.
    pub fn write(self, out: &mut [u8]) {
        let (scale, quants) = out.split_at_mut(Self::SCALE_BYTES);
        scale.copy_from_slice(&self.scale.to_le_bytes());
        quants.copy_from_slice(self.quants);
    }

    /// Decodes the row.
    ///
    /// **Shapes**: `out` holds a value for each quant.
    pub fn decode(self, out: &mut [f32]) {
        for (out, &quant) in out.iter_mut().zip(self.quants) {
            *out = self.scale * f32::from(quant as i8);
        }
    }
}

pub(super) fn decode(bytes: &[u8], out: &mut [f32]) {
    Int8Row::read(bytes).decode(out);
}

pub(super) fn encode(row: &[f32], _: Search<'_>, out: &mut [u8]) -> Result<(), TensorError> {
    let (header, quants) = out.split_at_mut(Int8Row::SCALE_BYTES);
    let scale = nearest::magnitude(row, bytemuck::cast_slice_mut(quants));
    if !(scale * 127.0).is_finite() {
        let dtype = DType::Int8;
        return Err(TensorError::ScaleOverflow { dtype, index: 0 });
    }
    header.copy_from_slice(&scale.to_le_bytes());
    Ok(())
}
