//! Quantized weights in panels of 16 output rows.
//!
//! A panel is split into chunks of 256 columns; the last one may have fewer. A chunk holds its scales, padded to
//! whole cache lines, then its codes, 32 columns at a time. So a weight is one stream that is read from front to
//! back.
//!
//! (Tried: all codes of a panel, then all its scales. With one thread, Q8_0 then reads 15 instead of 25 GB/s,
//! because every panel starts a second stream that the processor must detect.)

use std::marker::PhantomData;
use std::ops::Range;

use inferno_tensor::quant::{self, BlockFormat, QK_K};

use super::codes::{CodeLayout, GROUP_COLS, PackedCodes, Quants};
use super::scales::Scales;
use crate::lanes::{LANES, Lanes};

/// A quantized format of packed weights.
pub(crate) trait QuantFormat: Copy + Send + Sync + 'static {
    /// The layout of the integers.
    type Codes: CodeLayout;

    /// Whether each half of a group has its own scale.
    const HALVES: bool = false;
    /// Whether weights have a minimum in addition to the scale.
    const MINS: bool = false;
    /// Whether factors are from 0 to 255.
    const BYTE_FACTORS: bool = false;

    /// Bytes of the scales of `groups` groups, without padding.
    fn scale_bytes(groups: usize) -> usize;

    /// Packs columns of up to 16 rows of the file into a zeroed chunk.
    fn pack(rows: &[&[u8]], cols: Range<usize>, scales: &mut [u8], codes: &mut [u8]);

    /// The unit of the 16-bit integers of 16 rows (`ops/product/fixed_point.rs`), in a chunk of `num_groups` groups.
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize) -> L::F32;

    /// The factors of 16 rows in half `half` of the chunk's group `group`. `inverse` is the inverse of the unit, or zero.
    fn factor<L: Lanes>(
        lanes: L,
        scales: &[u8],
        group: usize,
        half: usize,
        inverse: L::F32,
    ) -> L::I32;

    /// The minimums, indexed like the factors.
    #[inline(always)]
    fn min<L: Lanes>(lanes: L, _scales: &[u8], _group: usize, _half: usize) -> L::F32 {
        lanes.splat(0.0)
    }
}

/// Weights in blocks `B` of the file, packed as codes `C` and scales `S`.
pub(crate) struct BlockWeights<B, C, S>(PhantomData<(B, C, S)>);

impl<B, C, S> Clone for BlockWeights<B, C, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B, C, S> Copy for BlockWeights<B, C, S> {}

impl<B, C, S> QuantFormat for BlockWeights<B, C, S>
where
    B: BlockFormat + Send + Sync,
    C: PackedCodes,
    S: Scales<B>,
{
    type Codes = C;

    const HALVES: bool = B::GROUP_LEN < GROUP_COLS;
    const MINS: bool = S::MINS;

    fn scale_bytes(groups: usize) -> usize {
        groups * GROUP_COLS / B::LEN * S::BLOCK_BYTES
    }

    fn pack(rows: &[&[u8]], cols: Range<usize>, scales: &mut [u8], codes: &mut [u8]) {
        let mut quants = [[0; QK_K]; LANES];
        let block_scales = scales.chunks_exact_mut(S::BLOCK_BYTES);
        let block_codes = codes.chunks_exact_mut(C::BYTES * B::LEN / GROUP_COLS);
        let first = cols.start / B::LEN;
        for (block, (scales, codes)) in block_scales.zip(block_codes).enumerate() {
            for (row, (bytes, quants)) in rows.iter().zip(&mut quants).enumerate() {
                let blocks: &[B] = quant::blocks(bytes).expect("a weight's rows are whole blocks");
                let block = &blocks[first + block];
                block.quants(&mut quants[..B::LEN]);
                S::pack(block, row, scales);
            }
            for (group, codes) in codes.chunks_exact_mut(C::BYTES).enumerate() {
                C::pack(&group_of(&quants, group), codes);
            }
        }
    }

    #[inline(always)]
    fn factor<L: Lanes>(
        lanes: L,
        scales: &[u8],
        group: usize,
        half: usize,
        inverse: L::F32,
    ) -> L::I32 {
        S::factor(lanes, scales, group, half, inverse)
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize) -> L::F32 {
        S::unit(lanes, scales, num_groups, C::RANGE)
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        S::min(lanes, scales, group, half)
    }
}

/// The 32 columns of group `group`, of all rows.
fn group_of<const N: usize>(quants: &[[i8; N]; LANES], group: usize) -> Quants {
    std::array::from_fn(|row| {
        *quants[row][group * GROUP_COLS..].first_chunk().expect("a block is whole groups")
    })
}
