//! NVFP4: 64 4-bit floating-point numbers, and an 8-bit floating-point scale per 16.

use bytemuck::{Pod, Zeroable};

use super::block::{BlockFormat, EncodeBlock, block_of};
use super::{bits, mxfp4};
use crate::DType;

/// 64 weights in 36 bytes, 4.5 bits per weight: `weight[i] = d[i / 16] / 2 * MXFP4_LEVELS[code[i]]`.
///
/// | bytes | field | holds |
/// |---|---|---|
/// | 0..4 | `d` | the scales: 4 exponent bits (bias 7) and 3 fraction bits; the highest bit is ignored, and 0x7f is zero |
/// | 4..36 | `qs` | the codes, in runs of 8 bytes for 16 weights: low half of byte `i` is weight `i`, high half weight `i + 8` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Nvfp4Block {
    d: [u8; 4],
    qs: [u8; 32],
}

const _: () = assert!(size_of::<Nvfp4Block>() == 36);

/// The largest scale that is encoded, 448.
const LARGEST_SCALE: u8 = 0x7e;

impl Nvfp4Block {
    /// The scale of group `group` as a number of 4 exponent bits (bias 7) and 3 fraction bits, without
    /// exceptions.
    ///
    /// **Panics** if `group >= 4`.
    pub fn scale_bits(&self, group: usize) -> u8 {
        match self.d[group] {
            0x7f => 0,
            bits => bits & 0x7f,
        }
    }

    /// The scale of a matrix whose largest magnitude is `largest`, by which its weights are divided before they are encoded.
    ///
    /// The scales of blocks have a small range: from weights of less than about 0.01, too little would remain, and above
    /// 2688 they are rejected. Quotients by this scale are at most 2688 and use the whole range. Files store it as a tensor
    /// of its own. It is 1 for a matrix of zeros.
    pub fn matrix_scale(largest: f32) -> f32 {
        if largest == 0.0 {
            return 1.0;
        }
        let scale = (largest / Self::MAX_MAGNITUDE).max(f32::MIN_POSITIVE);
        match largest / scale > Self::MAX_MAGNITUDE {
            // It was rounded down.
            true => f32::from_bits(scale.to_bits() + 1),
            false => scale,
        }
    }
}

/// The value of scale bits. The subnormal ones are subnormal in single precision as well.
fn from_bits(bits: u8) -> f32 {
    const TWO_TO_120: f32 = f32::from_bits((120 + 127) << 23);
    f32::from_bits(u32::from(bits) << 20) * TWO_TO_120
}

/// The bits of the scale nearest to a magnitude.
fn nearest_scale(value: f32) -> u8 {
    let nearer = |best: u8, bits: u8| {
        let [distance, least] = [bits, best].map(|bits| (from_bits(bits) - value).abs());
        // Ties are rounded up.
        if distance <= least { bits } else { best }
    };
    (1..=LARGEST_SCALE).fold(0, nearer)
}

impl BlockFormat for Nvfp4Block {
    const DTYPE: DType = DType::Nvfp4;
    const LEN: usize = 64;
    const GROUP_LEN: usize = 16;

    fn scale(&self, group: usize) -> f32 {
        from_bits(self.scale_bits(group)) * 0.5
    }

    fn quants(&self, out: &mut [i8]) {
        let mut codes = [0; Self::LEN];
        bits::unpack::<4, 8>(&self.qs, 0, &mut codes);
        mxfp4::levels(&codes, out);
    }
}

impl EncodeBlock for Nvfp4Block {
    /// The largest element times the largest scale. Larger weights need a [`matrix_scale`](Nvfp4Block::matrix_scale).
    const MAX_MAGNITUDE: f32 = 6.0 * 448.0;

    /// The largest magnitude of a group becomes nearly 6.
    fn encode(values: &[f32], _importance: Option<&[f32]>) -> Nvfp4Block {
        let mut block = Nvfp4Block::zeroed();
        let mut codes = [0; Self::LEN];
        let groups = block_of::<{ Self::LEN }>(values).chunks_exact(Self::GROUP_LEN);
        for (group, values) in groups.enumerate() {
            let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
            block.d[group] = nearest_scale(largest / 6.0);
            let codes = &mut codes[group * Self::GROUP_LEN..][..Self::GROUP_LEN];
            mxfp4::nearest_codes(values, block.scale(group), codes);
        }
        bits::pack::<4, 8>(&codes, 0, &mut block.qs);
        block
    }
}
