//! The scales of quantized weights, 16 rows side by side, in the precision of the file.
//!
//! Formats with blocks of 32 weights keep their half-precision scales. The super-blocks of the K formats keep their
//! half-precision scale of scales; the integer factors of it, which the file packs into 6 bits, are stored as bytes.
//! So scales have exactly the bits that the format defines.

use half::f16;
use inferno_tensor::quant::{
    AffineFactors, BlockFormat, Nvfp4Block, QK_K, SuperBlock, SymmetricFactors,
};

use super::codes::{CHUNK_GROUPS, CodeRange, GROUP_COLS};
use crate::lanes::{LANES, Lanes};

/// 16 half-precision numbers.
const HALVES_BYTES: usize = 2 * LANES;

/// 16 single-precision numbers.
const FLOATS_BYTES: usize = 4 * LANES;

// A chunk has as many columns as a super-block.
const _: () = assert!(CHUNK_GROUPS * GROUP_COLS == QK_K);

/// How the scales of blocks `B`, and their minimums if they have any, are stored in a chunk.
pub(crate) trait Scales<B>: Copy + Send + Sync + 'static {
    /// Bytes for one block of 16 rows.
    const BLOCK_BYTES: usize;
    /// Whether weights have a minimum in addition to the scale.
    const MINS: bool = false;

    /// Stores the scales of `block`, which is row `row` of 16.
    fn pack(block: &B, row: usize, scales: &mut [u8]);

    /// The scales of 16 rows in half `half` of the chunk's group `group`. The halves differ if the format has a
    /// scale for each 16 columns.
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32;

    /// The unit of 16-bit integers in a chunk of `num_groups` groups, which `ops/product/fixed_point.rs` defines.
    /// NaN if a scale is not finite.
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize, codes: CodeRange) -> L::F32;

    /// The factors of 16 rows, indexed like [`scale`](Self::scale). `inverse` is the inverse of the unit, or zero.
    #[inline(always)]
    fn factor<L: Lanes>(
        lanes: L,
        scales: &[u8],
        group: usize,
        half: usize,
        inverse: L::F32,
    ) -> L::I32 {
        lanes.round_i32(lanes.mul(Self::scale(lanes, scales, group, half), inverse))
    }

    /// The minimums, indexed like [`scale`](Self::scale).
    #[inline(always)]
    fn min<L: Lanes>(lanes: L, _scales: &[u8], _group: usize, _half: usize) -> L::F32 {
        lanes.splat(0.0)
    }
}

/// The largest weight as an integer. With what rounding adds, less than half of a code plus one, it has 16 bits.
const LARGEST: i32 = 32600;

/// The largest power of two by which `count * each` can be multiplied without exceeding `limit`.
fn spare_factor(limit: i32, each: i32, count: i32) -> f32 {
    (1 << (limit / (each * count)).ilog2()) as f32
}

/// The unit of blocks whose largest scale is `largest`, which becomes a whole factor.
#[inline(always)]
fn largest_unit<L: Lanes>(lanes: L, largest: L::F32, codes: CodeRange) -> L::F32 {
    let steps = 1.0 / (LARGEST / codes.reach()) as f32;
    finite(lanes, lanes.mul(largest, lanes.splat(steps)))
}

/// `unit`, or NaN if it is not finite.
#[inline(always)]
fn finite<L: Lanes>(lanes: L, unit: L::F32) -> L::F32 {
    lanes.fma(unit, lanes.splat(0.0), unit)
}

/// One scale per block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockScale;

/// One scale per block, a power of two, in the upper half of single precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PowerScale;

/// One scale per 16 columns: a number of 4 exponent and 3 fraction bits, as in NVFP4.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HalfScale;

/// One scale per super-block, and an odd factor of it, from 1 to 31, for each of its `N` groups. The scale has single
/// precision, because the scale of scales in the file is divided by a power of two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OddScale<const N: usize>;

/// One scale and one minimum per block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockScaleMin;

/// One scale per super-block, and a signed factor of it for each of its `N` groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperScale<const N: usize>;

/// One scale and one minimum per super-block, and factors of them for each of its 8 groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperScaleMin;

/// [`SuperScaleMin`] for 16 groups with factors of 4 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperScaleMinNibbles;

impl<B: BlockFormat> Scales<B> for BlockScale {
    const BLOCK_BYTES: usize = HALVES_BYTES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.scale(0));
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        halves(lanes, scales, group * GROUP_COLS / B::LEN * HALVES_BYTES)
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize, codes: CodeRange) -> L::F32 {
        let mut largest = lanes.splat(0.0);
        for block in 0..num_groups * GROUP_COLS / B::LEN {
            let scale = halves(lanes, scales, block * HALVES_BYTES);
            largest = lanes.larger_magnitude(largest, scale);
        }
        largest_unit(lanes, largest, codes)
    }
}

impl<B: BlockFormat> Scales<B> for PowerScale {
    const BLOCK_BYTES: usize = HALVES_BYTES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        let upper = (block.scale(0).to_bits() >> 16) as u16;
        scales[2 * row..2 * row + 2].copy_from_slice(&upper.to_le_bytes());
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        lanes.load_bf16(chunk(scales, group * HALVES_BYTES))
    }

    /// The largest scale divided by a power of two, so that factors are exact unless scales differ by more.
    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize, codes: CodeRange) -> L::F32 {
        let mut largest = lanes.splat(0.0);
        for group in 0..num_groups {
            let scale = <Self as Scales<B>>::scale(lanes, scales, group, 0);
            largest = lanes.larger_magnitude(largest, scale);
        }
        let steps = 1.0 / spare_factor(LARGEST, 1, codes.reach());
        finite(lanes, lanes.mul(largest, lanes.splat(steps)))
    }
}

impl Scales<Nvfp4Block> for HalfScale {
    const BLOCK_BYTES: usize = Nvfp4Block::LEN / Nvfp4Block::GROUP_LEN * LANES;

    fn pack(block: &Nvfp4Block, row: usize, scales: &mut [u8]) {
        for (group, scales) in scales.chunks_exact_mut(LANES).enumerate() {
            scales[row] = block.scale_bits(group);
        }
    }

    /// Shifted by 7 bits, the scale is a half-precision number with an exponent bias of 15 instead of 7; and weights
    /// are half of their scale times the level.
    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let bytes: &[u8; LANES] = chunk(scales, (2 * group + half) * LANES);
        let mut halves = [[0; 2]; LANES];
        for (half, &byte) in halves.iter_mut().zip(bytes) {
            *half = (u16::from(byte) << 7).to_le_bytes();
        }
        let rescale = lanes.splat((1 << (15 - 7 - 1)) as f32);
        lanes.mul(lanes.load_f16(bytemuck::cast_ref(&halves)), rescale)
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize, codes: CodeRange) -> L::F32 {
        let mut largest = lanes.splat(0.0);
        for part in 0..2 * num_groups {
            let scale = Self::scale(lanes, scales, part / 2, part % 2);
            largest = lanes.larger_magnitude(largest, scale);
        }
        largest_unit(lanes, largest, codes)
    }
}

impl<B: BlockFormat> Scales<B> for BlockScaleMin {
    const BLOCK_BYTES: usize = 2 * HALVES_BYTES;
    const MINS: bool = true;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        put_half(scales, row, block.scale(0));
        put_half(scales, LANES + row, block.min(0));
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        halves(lanes, scales, group * 2 * HALVES_BYTES)
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], num_groups: usize, codes: CodeRange) -> L::F32 {
        let zero = lanes.splat(0.0);
        let last = lanes.splat(codes.last as f32);
        let mut largest = zero;
        for group in 0..num_groups {
            let scale = halves(lanes, scales, group * 2 * HALVES_BYTES);
            let min = halves(lanes, scales, group * 2 * HALVES_BYTES + HALVES_BYTES);
            let highest = lanes.fma(scale, last, lanes.sub(zero, min));
            largest = lanes.larger_magnitude(largest, lanes.larger_magnitude(min, highest));
        }
        finite(lanes, lanes.mul(largest, lanes.splat(1.0 / LARGEST as f32)))
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        halves(lanes, scales, group * 2 * HALVES_BYTES + HALVES_BYTES)
    }
}

impl<const N: usize, B: SuperBlock<Factors = SymmetricFactors<N>>> Scales<B> for SuperScale<N> {
    const BLOCK_BYTES: usize = HALVES_BYTES + N * LANES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        let factors = block.factors();
        put_half(scales, row, factors.d);
        for (group, scale) in factors.sub_scales.into_iter().enumerate() {
            scales[HALVES_BYTES + group * LANES + row] = scale as u8;
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = group * (N / CHUNK_GROUPS) + half;
        let factors = lanes.load_i8(chunk(scales, HALVES_BYTES + sub * LANES));
        lanes.mul(halves(lanes, scales, 0), factors)
    }

    /// A fraction of the scale of scales, so that factors are exact integers.
    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], _num_groups: usize, codes: CodeRange) -> L::F32 {
        let scale = halves(lanes, scales, 0);
        let steps = 1.0 / spare_factor(LARGEST, i8::MAX as i32 + 1, codes.reach());
        finite(lanes, lanes.mul(lanes.larger_magnitude(scale, scale), lanes.splat(steps)))
    }
}

impl<const N: usize, B: SuperBlock<Factors = SymmetricFactors<N>>> Scales<B> for OddScale<N> {
    const BLOCK_BYTES: usize = FLOATS_BYTES + N / 2 * LANES;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        let factors = block.factors();
        put_float(scales, row, factors.d);
        for (group, scale) in factors.sub_scales.into_iter().enumerate() {
            let code = scale as u8 / 2;
            scales[FLOATS_BYTES + group / 2 * LANES + row] |= code << (group % 2 * 4);
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = group * (N / CHUNK_GROUPS) + half;
        let bytes = chunk(scales, FLOATS_BYTES + sub / 2 * LANES);
        let codes = lanes.load_u4(bytes, sub as u32 % 2 * 4);
        let factors = lanes.fma(codes, lanes.splat(2.0), lanes.splat(1.0));
        lanes.mul(lanes.load_f32(chunk(scales, 0)), factors)
    }

    /// As that of [`SuperScale`].
    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], _num_groups: usize, codes: CodeRange) -> L::F32 {
        let scale = lanes.load_f32(chunk(scales, 0));
        let steps = 1.0 / spare_factor(LARGEST, 2 * 15 + 1, codes.reach());
        finite(lanes, lanes.mul(lanes.larger_magnitude(scale, scale), lanes.splat(steps)))
    }
}

impl<B: SuperBlock<Factors = AffineFactors<8>>> Scales<B> for SuperScaleMin {
    const BLOCK_BYTES: usize = 2 * HALVES_BYTES + 8 * 2 * LANES;
    const MINS: bool = true;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        let factors = block.factors();
        put_half(scales, row, factors.d);
        put_half(scales, LANES + row, factors.dmin);
        let groups = factors.sub_scales.into_iter().zip(factors.sub_mins);
        for (group, (scale, min)) in groups.enumerate() {
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
    fn unit<L: Lanes>(lanes: L, scales: &[u8], _num_groups: usize, codes: CodeRange) -> L::F32 {
        super_unit(lanes, scales, 64, codes)
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, _half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + group * 2 * LANES + LANES;
        lanes.mul(halves(lanes, scales, HALVES_BYTES), lanes.load_i8(chunk(scales, sub)))
    }
}

impl<B: SuperBlock<Factors = AffineFactors<16>>> Scales<B> for SuperScaleMinNibbles {
    const BLOCK_BYTES: usize = 2 * HALVES_BYTES + 16 * LANES;
    const MINS: bool = true;

    fn pack(block: &B, row: usize, scales: &mut [u8]) {
        let factors = block.factors();
        put_half(scales, row, factors.d);
        put_half(scales, LANES + row, factors.dmin);
        let groups = factors.sub_scales.into_iter().zip(factors.sub_mins);
        for (group, (scale, min)) in groups.enumerate() {
            scales[2 * HALVES_BYTES + group * LANES + row] = scale | min << 4;
        }
    }

    #[inline(always)]
    fn scale<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + (group * 2 + half) * LANES;
        lanes.mul(halves(lanes, scales, 0), lanes.load_u4(chunk(scales, sub), 0))
    }

    #[inline(always)]
    fn unit<L: Lanes>(lanes: L, scales: &[u8], _num_groups: usize, codes: CodeRange) -> L::F32 {
        super_unit(lanes, scales, 16, codes)
    }

    #[inline(always)]
    fn min<L: Lanes>(lanes: L, scales: &[u8], group: usize, half: usize) -> L::F32 {
        let sub = 2 * HALVES_BYTES + (group * 2 + half) * LANES;
        let mins = lanes.load_u4(chunk(scales, sub), 4);
        lanes.mul(halves(lanes, scales, HALVES_BYTES), mins)
    }
}

/// The unit of super-blocks with minimums, whose factors are below `factors`. Scales and minimums have half of the
/// range each. The unit is a fraction of the scale of scales, so that factors are exact integers unless minimums are
/// much larger than scales.
#[inline(always)]
fn super_unit<L: Lanes>(lanes: L, scales: &[u8], factors: i32, codes: CodeRange) -> L::F32 {
    const HALF: i32 = 1 << 14;
    let steps = [spare_factor(HALF, factors, codes.last), spare_factor(HALF, factors, 1)];
    let scale = lanes.mul(halves(lanes, scales, 0), lanes.splat(1.0 / steps[0]));
    let min = lanes.mul(halves(lanes, scales, HALVES_BYTES), lanes.splat(1.0 / steps[1]));
    finite(lanes, lanes.larger_magnitude(scale, min))
}

/// Stores `value`, which is half precision in the file, as number `index`.
fn put_half(scales: &mut [u8], index: usize, value: f32) {
    scales[2 * index..2 * index + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
}

/// Stores a single-precision number as number `index`.
fn put_float(scales: &mut [u8], index: usize, value: f32) {
    scales[4 * index..4 * index + 4].copy_from_slice(&value.to_le_bytes());
}

#[inline(always)]
fn halves<L: Lanes>(lanes: L, scales: &[u8], at: usize) -> L::F32 {
    lanes.load_f16(chunk(scales, at))
}

#[inline(always)]
fn chunk<const N: usize>(scales: &[u8], at: usize) -> &[u8; N] {
    scales[at..].first_chunk().expect("a chunk holds the scales of all its groups")
}
