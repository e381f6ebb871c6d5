//! What all block formats share.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::QK_K;
use crate::{DType, TensorError};

/// A block of quantized weights, as it lies in a file.
///
/// Weight `i` of a block is `scale(g) * quant(i) - min(g)` with `g = i / GROUP_LEN`, each step
/// rounded to single precision.
pub trait BlockFormat: Pod {
    /// The format that this block belongs to.
    const DTYPE: DType;

    /// The weights in a block.
    const LEN: usize;

    /// The weights that share a scale and a minimum; divides `LEN`.
    const GROUP_LEN: usize;

    /// The factor of a group's quants.
    ///
    /// **Panics** if `group >= LEN / GROUP_LEN`, where the format has more than one group.
    fn scale(&self, group: usize) -> f32;

    /// What is subtracted from every weight of a group; zero in the symmetric formats.
    ///
    /// **Panics** as [`BlockFormat::scale`] does.
    fn min(&self, _group: usize) -> f32 {
        0.0
    }

    /// Writes the integers that the scales multiply, in the order of the weights.
    ///
    /// **Shapes**: `out` holds `LEN` values.
    ///
    /// **Panics** if it does not.
    fn quants(&self, out: &mut [i8]);

    /// Decodes the block.
    ///
    /// **Shapes**: `out` holds `LEN` values.
    ///
    /// **Panics** if it does not.
    fn decode(&self, out: &mut [f32]) {
        assert_eq!(out.len(), Self::LEN, "a block decodes to exactly LEN values");
        let mut quants = [0; QK_K];
        let quants = &mut quants[..Self::LEN];
        self.quants(quants);
        let groups =
            out.chunks_exact_mut(Self::GROUP_LEN).zip(quants.chunks_exact(Self::GROUP_LEN));
        for (group, (out, quants)) in groups.enumerate() {
            let (scale, min) = (self.scale(group), self.min(group));
            for (out, &quant) in out.iter_mut().zip(quants) {
                *out = scale * f32::from(quant) - min;
            }
        }
    }

    /// Encodes a block.
    ///
    /// **Shapes**: `values` holds `LEN` values. They should be finite: others give an unspecified
    /// block, which is why [`encode_row`](super::encode_row) refuses them.
    ///
    /// **Panics** if there are not `LEN` values.
    fn encode(values: &[f32]) -> Self;
}

/// Views stored bytes as blocks, without copying and at any alignment.
///
/// **Errors**: [`TensorError::PartialBlockBytes`] if the bytes are no whole number of blocks.
pub fn blocks<B: BlockFormat>(bytes: &[u8]) -> Result<&[B], TensorError> {
    const { assert!(align_of::<B>() == 1, "block structs consist of bytes") };
    bytemuck::try_cast_slice(bytes).map_err(|_| TensorError::PartialBlockBytes {
        dtype: B::DTYPE,
        block_bytes: size_of::<B>(),
        found: bytes.len(),
    })
}

pub(super) fn decode_blocks<B: BlockFormat>(bytes: &[u8], out: &mut [f32]) {
    let blocks: &[B] = bytemuck::cast_slice(bytes);
    for (block, out) in blocks.iter().zip(out.chunks_exact_mut(B::LEN)) {
        block.decode(out);
    }
}

/// Beyond this magnitude the scale of every format overflows; up to it no sum of the search does.
const MAX_MAGNITUDE: f32 = (1 << 30) as f32;

pub(super) fn encode_blocks<B: BlockFormat>(
    row: &[f32],
    out: &mut [u8],
) -> Result<(), TensorError> {
    let blocks: &mut [B] = bytemuck::cast_slice_mut(out);
    for (i, (values, block)) in row.chunks_exact(B::LEN).zip(blocks).enumerate() {
        *block = B::encode(values);
        let mut groups = 0..B::LEN / B::GROUP_LEN;
        if values.iter().any(|value| value.abs() > MAX_MAGNITUDE)
            || groups.any(|group| !(block.scale(group) + block.min(group)).is_finite())
        {
            return Err(TensorError::ScaleOverflow { dtype: B::DTYPE, index: i * B::LEN });
        }
    }
    Ok(())
}

/// The values that one block encodes.
///
/// **Panics** if there are not as many.
pub(super) fn block_of<const N: usize>(values: &[f32]) -> &[f32; N] {
    values.try_into().expect("a block encodes exactly LEN values")
}

/// A half-precision number as two little-endian bytes, so that blocks need no alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Half([u8; 2]);

impl Half {
    /// Rounds to the nearest half, ties to even.
    pub(super) fn new(value: f32) -> Half {
        Half(f16::from_f32(value).to_le_bytes())
    }

    pub(super) fn get(self) -> f32 {
        f16::from_le_bytes(self.0).to_f32()
    }
}
