//! The scales of Q4_K and Q5_K: two half-precision scales, and eight scales and eight minimums of
//! 6 bits relative to them.
//!
//! | bytes | bits 0 to 5 | bits 6 and 7 |
//! |---|---|---|
//! | 0..2 | `d`, the scale of the sub-scales, half precision | |
//! | 2..4 | `dmin`, the scale of the sub-minimums, half precision | |
//! | `4 + i`, `i` in 0..4 | sub-scale `i` | bits 4 and 5 of sub-scale `i + 4` |
//! | `8 + i` | sub-minimum `i` | bits 4 and 5 of sub-minimum `i + 4` |
//! | | **bits 0 to 3** | **bits 4 to 7** |
//! | `12 + i` | bits 0 to 3 of sub-scale `i + 4` | bits 0 to 3 of sub-minimum `i + 4` |

use bytemuck::{Pod, Zeroable};

use super::block::{AffineFactors, HalfBytes};
use super::search::affine::AffineSuperBlock;

/// The scales and minimums of a super-block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct KScales {
    d: HalfBytes,
    dmin: HalfBytes,
    packed: [u8; 12],
}

impl KScales {
    pub(super) fn new(found: &AffineSuperBlock<8>) -> Self {
        let (scales, mins) = (&found.sub_scales, &found.sub_mins);
        let mut packed = [0; 12];
        for i in 0..4 {
            packed[i] = scales[i] | (scales[i + 4] >> 4) << 6;
            packed[i + 4] = mins[i] | (mins[i + 4] >> 4) << 6;
            packed[i + 8] = (scales[i + 4] & 0x0f) | (mins[i + 4] & 0x0f) << 4;
        }
        Self { d: found.d, dmin: found.dmin, packed }
    }

    /// The scale of a group's codes.
    ///
    /// **Panics** if `group >= 8`.
    pub(super) fn scale(&self, group: usize) -> f32 {
        self.d.get() * f32::from(self.sub_scale(group))
    }

    /// The minimum of a group.
    ///
    /// **Panics** if `group >= 8`.
    pub(super) fn min(&self, group: usize) -> f32 {
        self.dmin.get() * f32::from(self.sub_min(group))
    }

    pub(super) fn factors(&self) -> AffineFactors<8> {
        AffineFactors {
            d: self.d.get(),
            dmin: self.dmin.get(),
            sub_scales: std::array::from_fn(|group| self.sub_scale(group)),
            sub_mins: std::array::from_fn(|group| self.sub_min(group)),
        }
    }

    fn sub_scale(&self, group: usize) -> u8 {
        let bytes = &self.packed;
        match group {
            0..4 => bytes[group] & 0x3f,
            _ => (bytes[group + 4] & 0x0f) | (bytes[group - 4] >> 6) << 4,
        }
    }

    fn sub_min(&self, group: usize) -> u8 {
        let bytes = &self.packed;
        match group {
            0..4 => bytes[group + 4] & 0x3f,
            _ => (bytes[group + 4] >> 4) | (bytes[group] >> 6) << 4,
        }
    }
}
