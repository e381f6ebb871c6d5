//! The scales of quantized weights, 16 rows side by side, in the precision that the file has.
//!
//! The formats of 32 weights a block keep their half-precision scales. The super-blocks of the K
//! formats keep their half-precision scale of scales; the integers below it, which the file packs
//! into 6 bits, take a byte. So a scale has the very bits that the format defines.

use half::f16;
use inferno_tensor::quant::{
    BlockFormat, Iq4XsBlock, Q2KBlock, Q3KBlock, Q4KBlock, Q5KBlock, Q6KBlock, QK_K,
};

use super::codes::{CHUNK_GROUPS, GROUP_COLS};
use crate::lanes::{LANES, Lanes};

/// 16 half-precision numbers.
const HALVES_BYTES: usize = 2 * LANES;

// A chunk is as wide as a super-block.
const _: () = assert!(CHUNK_GROUPS * GROUP_COLS == QK_K);

/// How the scales, and minimums where there are any, of blocks `B` are stored in a chunk.
pub(crate) trait Scales<B>: Copy + Send + Sync + 'static {
    /// Whether weights have a minimum beside their scale.
    const MINS: bool;
    /// Bytes for one block of 16 rows.
    const BLOCK_BYTES: usize;

    /// Stores what belongs to row `row` of a block of 16 rows.
    fn pack(block: &B, row: usize, scales: &mut [u8]);

    /// The scales of 16 rows in part `half` of the chunk's group `group`, which has two such parts
    /// where the format's groups are of 16.
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32;

    /// The minimums likewise.
    fn min<L: Lanes>(lanes: L, _scales: &[u8], _group: usize, _half: usize) -> L::F32 {
        lanes.splat(0.0)
    }
}

/// A scale a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Half;

/// A scale and a minimum a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HalfMin;

/// A scale a super-block, and signed factors of it for each of its `N` groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Super<const N: usize>;

/// A scale and a minimum a super-block, and factors of them for each of its 8 groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperMin;

/// As [`SuperMin`] for 16 groups with factors of 4 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperMin4;

impl<B: BlockFormat> Scales<B> for Half {
    const MINS: bool = false;
    const BLOCK_BYTES: usize = HALVES_BYTES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.scale(0));
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        halves(lanes, scales, group * HALVES_BYTES)
    }
}

impl<B: BlockFormat> Scales<B> for HalfMin {
    const MINS: bool = true;
    const BLOCK_BYTES: usize = 2 * HALVES_BYTES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.scale(0));
        put_half(scales, LANES + row, block.min(0));
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        halves(lanes, scales, group * 2 * HALVES_BYTES)
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        halves(lanes, scales, group * 2 * HALVES_BYTES + HALVES_BYTES)
    }
}

/// A super-block of weights around zero.
pub(crate) trait Symmetric<const N: usize> {
    fn d(&self) -> f32;
    fn sub_scales(&self) -> [i8; N];
}

/// A super-block of weights with minimums.
pub(crate) trait Affine<const N: usize> {
    fn d(&self) -> f32;
    fn dmin(&self) -> f32;
    fn sub_scales(&self) -> [u8; N];
    fn sub_mins(&self) -> [u8; N];
}

/// Forwards a trait's methods to the block's own.
macro_rules! symmetric {
    ($block:ty, $n:literal) => {
        impl Symmetric<$n> for $block {
            fn d(&self) -> f32 {
                <$block>::d(self)
            }
            fn sub_scales(&self) -> [i8; $n] {
                <$block>::sub_scales(self)
            }
        }
    };
}

/// Forwards a trait's methods to the block's own.
macro_rules! affine {
    ($block:ty, $n:literal) => {
        impl Affine<$n> for $block {
            fn d(&self) -> f32 {
                <$block>::d(self)
            }
            fn dmin(&self) -> f32 {
                <$block>::dmin(self)
            }
            fn sub_scales(&self) -> [u8; $n] {
                <$block>::sub_scales(self)
            }
            fn sub_mins(&self) -> [u8; $n] {
                <$block>::sub_mins(self)
            }
        }
    };
}

symmetric!(Q3KBlock, 16);
symmetric!(Q6KBlock, 16);
symmetric!(Iq4XsBlock, 8);
affine!(Q2KBlock, 16);
affine!(Q4KBlock, 8);
affine!(Q5KBlock, 8);

impl<const N: usize, B: Symmetric<N>> Scales<B> for Super<N> {
    const MINS: bool = false;
    const BLOCK_BYTES: usize = HALVES_BYTES + N * LANES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.d());
        for (group, scale) in block.sub_scales().into_iter().enumerate() {
            scales[HALVES_BYTES + group * LANES + row] = scale as u8;
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = group * (N / CHUNK_GROUPS) + half;
        let factors = lanes.load_i8(chunk(scales, HALVES_BYTES + sub * LANES));
        lanes.mul(halves(lanes, scales, 0), factors)
    }
}

impl<B: Affine<8>> Scales<B> for SuperMin {
    const MINS: bool = true;
    const BLOCK_BYTES: usize = 2 * HALVES_BYTES + 8 * 2 * LANES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.d());
        put_half(scales, LANES + row, block.dmin());
        let factors = block.sub_scales().into_iter().zip(block.sub_mins());
        for (group, (scale, min)) in factors.enumerate() {
            let at = 2 * HALVES_BYTES + group * 2 * LANES + row;
            scales[at] = scale;
            scales[at + LANES] = min;
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + group * 2 * LANES;
        lanes.mul(halves(lanes, scales, 0), lanes.load_i8(chunk(scales, sub)))
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + group * 2 * LANES + LANES;
        lanes.mul(halves(lanes, scales, HALVES_BYTES), lanes.load_i8(chunk(scales, sub)))
    }
}

impl<B: Affine<16>> Scales<B> for SuperMin4 {
    const MINS: bool = true;
    const BLOCK_BYTES: usize = 2 * HALVES_BYTES + 16 * LANES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.d());
        put_half(scales, LANES + row, block.dmin());
        let factors = block.sub_scales().into_iter().zip(block.sub_mins());
        for (group, (scale, min)) in factors.enumerate() {
            scales[2 * HALVES_BYTES + group * LANES + row] = scale | min << 4;
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + (group * 2 + half) * LANES;
        lanes.mul(halves(lanes, scales, 0), lanes.load_u4(chunk(scales, sub), 0))
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + (group * 2 + half) * LANES;
        let mins = lanes.load_u4(chunk(scales, sub), 4);
        lanes.mul(halves(lanes, scales, HALVES_BYTES), mins)
    }
}

/// Stores `value`, which was a half in the file, as number `index`.
fn put_half(scales: &mut [u8], index: usize, value: f32) {
    scales[2 * index..2 * index + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
}

#[inline(always)]
fn halves<L: Lanes>(lanes: L, scales: &[u8], at: usize) -> L::F32 {
    lanes.load_f16(chunk(scales, at))
}

#[inline(always)]
fn chunk<const N: usize>(scales: &[u8], at: usize) -> &[u8; N] {
    scales[at..].first_chunk().expect("a chunk holds the scales of all its groups")
}
