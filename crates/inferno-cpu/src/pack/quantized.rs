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

use super::codes::{CodeLayout, GROUP_COLS, PackedCodes, Quants, ShortCodes, SignedCodes};
use super::scales::{CodeRange, IntegerScales, Scales};
use crate::lanes::{LANES, Lanes};

/// A quantized format of packed weights.
pub(crate) trait QuantFormat: Copy + Send + Sync + 'static {
    /// The layout of the integers.
    type Codes: CodeLayout;

    /// Bytes of the scales of `groups` groups, without padding.
    fn scale_bytes(groups: usize) -> usize;

    /// Packs columns of up to 16 rows of the file into a zeroed chunk.
    fn pack(rows: &[&[u8]], cols: Range<usize>, scales: &mut [u8], codes: &mut [u8]);

    /// The scales of 16 rows in half `half` of the chunk's group `group`.
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32;
}

/// A format whose weights are multiplied as 16-bit integers.
pub(crate) trait FixedPointFormat: QuantFormat {
    /// Whether each half of a group has its own scale.
    const HALVES: bool;
    /// Whether weights have a minimum in addition to the scale.
    const MINS: bool;
    /// The range of the codes.
    const RANGE: CodeRange;

    /// The unit of the integers of 16 rows, in a chunk of `num_groups` groups.
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize) -> L::F32;

    /// The minimums, indexed like [`scale`](QuantFormat::scale).
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32;
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
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        S::scale(lanes, scales, group, half)
    }
}

impl<B, C, S> FixedPointFormat for BlockWeights<B, C, S>
where
    B: BlockFormat + Send + Sync,
    C: ShortCodes + PackedCodes,
    S: IntegerScales<B>,
{
    const HALVES: bool = B::GROUP_LEN < GROUP_COLS;
    const MINS: bool = S::MINS;
    const RANGE: CodeRange = CodeRange { zero: C::ZERO, last: C::LAST };

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize) -> L::F32 {
        S::unit(lanes, scales, num_groups, Self::RANGE)
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

/// One single-precision scale per row, repeated in every chunk, for any number of columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Int8Weights;

/// Bytes of one single-precision number.
const SCALE_BYTES: usize = size_of::<f32>();

impl QuantFormat for Int8Weights {
    type Codes = SignedCodes;

    fn scale_bytes(_groups: usize) -> usize {
        LANES * SCALE_BYTES
    }

    fn pack(rows: &[&[u8]], cols: Range<usize>, scales: &mut [u8], codes: &mut [u8]) {
        for (row, out) in rows.iter().zip(scales.chunks_exact_mut(SCALE_BYTES)) {
            out.copy_from_slice(&row[..SCALE_BYTES]);
        }
        for (first, codes) in
            cols.step_by(GROUP_COLS).zip(codes.chunks_exact_mut(SignedCodes::BYTES))
        {
            let mut quants = [[0; GROUP_COLS]; LANES];
            for (row, quants) in rows.iter().zip(&mut quants) {
                let row = &bytemuck::cast_slice(&row[SCALE_BYTES..])[first..];
                let used = GROUP_COLS.min(row.len());
                quants[..used].copy_from_slice(&row[..used]);
            }
            SignedCodes::pack(&quants, codes);
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], _group: usize, _half: usize) -> L::F32 {
        lanes.load_f32(scales.first_chunk().expect("a scale a row"))
    }
}
