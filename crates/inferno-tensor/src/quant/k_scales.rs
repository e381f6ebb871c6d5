//! The eight 6-bit scales and eight 6-bit minimums of Q4_K and Q5_K, packed in 12 bytes.
//!
//! | byte | bits 0 to 5 | bits 6 and 7 |
//! |---|---|---|
//! | `i` in 0..4 | scale `i` | bits 4 and 5 of scale `i + 4` |
//! | `4 + i` | minimum `i` | bits 4 and 5 of minimum `i + 4` |
//! | | **bits 0 to 3** | **bits 4 to 7** |
//! | `8 + i` | bits 0 to 3 of scale `i + 4` | bits 0 to 3 of minimum `i + 4` |

use bytemuck::{Pod, Zeroable};

/// The packed scales and minimums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct KScales([u8; 12]);

impl KScales {
    /// **Panics** if `group >= 8`.
    pub(super) fn scale(&self, group: usize) -> u8 {
        let bytes = &self.0;
        match group {
            0..4 => bytes[group] & 0x3f,
            _ => (bytes[group + 4] & 0x0f) | (bytes[group - 4] >> 6) << 4,
        }
    }

    /// **Panics** if `group >= 8`.
    pub(super) fn min(&self, group: usize) -> u8 {
        let bytes = &self.0;
        match group {
            0..4 => bytes[group + 4] & 0x3f,
            _ => (bytes[group + 4] >> 4) | (bytes[group] >> 6) << 4,
        }
    }

    /// Packs scales and minimums below 64.
    pub(super) fn new(scales: &[u8], mins: &[u8]) -> KScales {
        let mut bytes = [0; 12];
        for i in 0..4 {
            bytes[i] = scales[i] | (scales[i + 4] >> 4) << 6;
            bytes[i + 4] = mins[i] | (mins[i + 4] >> 4) << 6;
            bytes[i + 8] = (scales[i + 4] & 0x0f) | (mins[i + 4] & 0x0f) << 4;
        }
        KScales(bytes)
    }
}
