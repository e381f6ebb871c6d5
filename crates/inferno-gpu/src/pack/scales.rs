//! The scales of a row, as `shaders/formats/scales.wgsl` reads them.

use half::f16;
use inferno_tensor::quant::{
    AffineFactors, BlockFormat, Mxfp4Block, Nvfp4Block, SuperBlock, SymmetricFactors,
};

use super::codes::words;

/// A half that equals `value`, which was decoded from one.
fn half(value: f32) -> [u8; 2] {
    f16::from_f32(value).to_le_bytes()
}

/// One half per block.
pub(super) fn halves<B: BlockFormat>(blocks: &[B], side: &mut [u32]) {
    words(blocks.iter().flat_map(|block| half(block.scale(0))), side);
}

/// One single-precision scale per block.
pub(super) fn floats<B: BlockFormat>(blocks: &[B], side: &mut [u32]) {
    words(blocks.iter().flat_map(|block| block.scale(0).to_le_bytes()), side);
}

/// Per block, a half and the negative of the minimum as a half.
pub(super) fn halves_and_minimums<B: BlockFormat>(blocks: &[B], side: &mut [u32]) {
    let pairs = blocks.iter().map(|block| [half(block.scale(0)), half(-block.min(0))]);
    words(pairs.flatten().flatten(), side);
}

/// The exponents.
pub(super) fn powers(blocks: &[Mxfp4Block], side: &mut [u32]) {
    words(blocks.iter().map(|block| bytemuck::bytes_of(block)[0]), side);
}

/// Four small floating-point numbers per block.
pub(super) fn small_floats(blocks: &[Nvfp4Block], side: &mut [u32]) {
    words(blocks.iter().flat_map(|block| (0..4).map(|group| block.scale_bits(group))), side);
}

/// Per block, two halves; then per group, `pair` of its scale and minimum.
pub(super) fn affine<B, const N: usize, const BYTES: usize>(
    blocks: &[B],
    pair: impl Fn(u8, u8) -> [u8; BYTES],
    side: &mut [u32],
) where
    B: SuperBlock<Factors = AffineFactors<N>>,
{
    let (tops, pairs) = side.split_at_mut(blocks.len());
    let factors = || blocks.iter().map(SuperBlock::factors);
    words(factors().flat_map(|block| [half(block.d), half(block.dmin)]).flatten(), tops);
    let codes = factors().flat_map(|block| {
        std::array::from_fn::<_, N, _>(|i| pair(block.sub_scales[i], block.sub_mins[i]))
    });
    words(codes.flatten(), pairs);
}

/// Per group, its scale plus 128; then per block, a half.
pub(super) fn signed<B, const N: usize>(blocks: &[B], side: &mut [u32])
where
    B: SuperBlock<Factors = SymmetricFactors<N>>,
{
    let (scales, tops) = side.split_at_mut(blocks.len() * N / 4);
    let factors = || blocks.iter().map(SuperBlock::factors);
    words(factors().flat_map(|block| block.sub_scales.map(|scale| scale as u8 ^ 0x80)), scales);
    words(factors().flat_map(|block| half(block.d)), tops);
}

/// Per group, 4 bits of its odd scale; then per block, a half, the block's scale divided by `multiplier`.
pub(super) fn odd<B, const N: usize>(blocks: &[B], multiplier: f32, side: &mut [u32])
where
    B: SuperBlock<Factors = SymmetricFactors<N>>,
{
    let (codes, tops) = side.split_at_mut(blocks.len() * N / 8);
    let factors = || blocks.iter().map(SuperBlock::factors);
    let code = |scale: i8| (scale as u8) >> 1;
    let nibbles = factors().flat_map(|block| {
        let codes = block.sub_scales.map(code);
        std::array::from_fn::<_, N, _>(|i| codes[i])
    });
    for (at, code) in nibbles.enumerate() {
        codes[at / 8] |= u32::from(code) << (4 * (at % 8));
    }
    words(factors().flat_map(|block| half(block.d / multiplier)), tops);
}
