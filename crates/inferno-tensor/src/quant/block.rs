//! The common interface of the block formats.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::{QK, QK_K};
use crate::{DType, TensorError};

/// A block of quantized weights, in the layout of GGUF files.
///
/// Weight `i` of a block is `scale(g) * quant(i) - min(g)` with `g = i / GROUP_LEN`, each step
/// rounded to single precision.
pub trait BlockFormat: Pod {
    /// The format of this block.
    const DTYPE: DType;

    /// Number of weights in a block.
    const LEN: usize = QK;

    /// Number of weights that share a scale and a minimum; divides `LEN`.
    const GROUP_LEN: usize = Self::LEN;

    /// The factor of a group's quants.
    ///
    /// **Panics** if `group >= LEN / GROUP_LEN` and the format has more than one group.
    fn scale(&self, group: usize) -> f32;

    /// The value subtracted from every weight of a group; zero for the symmetric formats.
    ///
    /// **Panics** like [`BlockFormat::scale`].
    fn min(&self, _group: usize) -> f32 {
        0.0
    }

    /// Writes the integers that are multiplied by the scales, in the order of the weights.
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
}

/// A block that values can be encoded in.
pub trait EncodeBlock: BlockFormat {
    /// The largest magnitude that is encoded. Up to 2^30, no sum of the search for scales overflows. Larger values are
    /// beyond the reach of scales in half precision; formats with scales of a larger range have another limit.
    const MAX_MAGNITUDE: f32 = (1 << 30) as f32;

    /// Whether blocks are only accurate if the errors of important columns count more than others.
    const NEEDS_IMPORTANCE: bool = false;

    /// Encodes a block. `importance` is the weight of each squared error: the mean square of the product's input in the
    /// weight's column. Formats whose scale follows from the values ignore it.
    ///
    /// **Shapes**: `values` and `importance` hold `LEN` values. The block is unspecified if any is not finite, or an
    /// importance is negative; [`encode_row`](super::encode_row) rejects those.
    ///
    /// **Panics** if there are not `LEN` values.
    fn encode(values: &[f32], importance: Option<&[f32]>) -> Self;

    /// Encodes a block with a shorter search for its scales, if the format has one.
    ///
    /// **Shapes**, **panics**: as [`encode`](Self::encode).
    fn encode_fast(values: &[f32]) -> Self {
        Self::encode(values, None)
    }
}

/// A block of the K and most IQ formats, whose groups have scales relative to those of the block.
pub trait SuperBlock: BlockFormat {
    /// [`SymmetricFactors`] or [`AffineFactors`].
    type Factors;

    /// Returns the scales as they are stored.
    fn factors(&self) -> Self::Factors;
}

/// Scales of a super-block with `N` groups: `scale(group) = d * sub_scales[group]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SymmetricFactors<const N: usize> {
    /// The scale of the sub-scales.
    pub d: f32,
    /// One sub-scale per group.
    pub sub_scales: [i8; N],
}

/// Scales of a super-block with `N` groups: `scale(group) = d * sub_scales[group]` and
/// `min(group) = dmin * sub_mins[group]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AffineFactors<const N: usize> {
    /// The scale of the sub-scales.
    pub d: f32,
    /// The scale of the sub-minimums.
    pub dmin: f32,
    /// One sub-scale per group: below 16 for Q2_K, below 64 for Q4_K and Q5_K.
    pub sub_scales: [u8; N],
    /// One sub-minimum per group, with the limits of the sub-scales.
    pub sub_mins: [u8; N],
}

/// Views stored bytes as blocks, without copying and at any alignment.
///
/// **Errors**: [`TensorError::PartialBlockBytes`] unless the bytes are a whole number of blocks.
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

/// How a row is encoded by formats that have a choice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Search<'a> {
    /// For the least error.
    Thorough,
    /// For a slightly larger error, faster.
    Fast,
    /// For the least error weighted by the importance of each column.
    Weighted(&'a [f32]),
}

/// Encodes a row of blocks.
pub(super) fn encode_blocks<B: EncodeBlock>(
    row: &[f32],
    search: Search<'_>,
    out: &mut [u8],
) -> Result<(), TensorError> {
    if B::NEEDS_IMPORTANCE && !matches!(search, Search::Weighted(_)) {
        return Err(TensorError::NeedsImportance { dtype: B::DTYPE });
    }
    let blocks: &mut [B] = bytemuck::cast_slice_mut(out);
    for (i, (values, block)) in row.chunks_exact(B::LEN).zip(blocks).enumerate() {
        *block = match search {
            Search::Thorough => B::encode(values, None),
            Search::Fast => B::encode_fast(values),
            Search::Weighted(all) => B::encode(values, Some(&all[i * B::LEN..][..B::LEN])),
        };
        let mut groups = 0..B::LEN / B::GROUP_LEN;
        if values.iter().any(|value| value.abs() > B::MAX_MAGNITUDE)
            || groups.any(|group| !(block.scale(group) + block.min(group)).is_finite())
        {
            return Err(TensorError::ScaleOverflow { dtype: B::DTYPE, index: i * B::LEN });
        }
    }
    Ok(())
}

/// The values of one block.
///
/// **Panics** if there are not exactly `N`.
pub(super) fn block_of<const N: usize>(values: &[f32]) -> &[f32; N] {
    values.try_into().expect("a block encodes exactly LEN values")
}

/// A half-precision number stored as two little-endian bytes, so that blocks need no alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct HalfBytes([u8; 2]);

impl HalfBytes {
    /// Rounds to the nearest half, ties to even.
    pub(super) fn new(value: f32) -> HalfBytes {
        HalfBytes(f16::from_f32(value).to_le_bytes())
    }

    pub(super) fn get(self) -> f32 {
        f16::from_le_bytes(self.0).to_f32()
    }

    /// The bits, as an integer.
    pub(super) fn to_bits(self) -> u16 {
        u16::from_le_bytes(self.0)
    }

    /// The next half of larger magnitude and the same sign; infinity after the largest number.
    pub(super) fn next_larger(self) -> HalfBytes {
        HalfBytes((self.to_bits() + 1).to_le_bytes())
    }
}
