//! Floating-point weights in panels of 16 output rows: `[k][16 rows]` in the file's own precision.

use crate::lanes::{LANES, Lanes};

/// A floating-point format of packed weights.
pub(crate) trait FloatFormat: Copy + Send + Sync + 'static {
    /// Bytes of one number.
    const BYTES: usize;

    /// The fewest bfloat16 numbers whose sum is any number of the format.
    const BF16_PARTS: usize;

    /// Loads 16 numbers from `16 * BYTES` bytes.
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32;

    /// Interleaves up to 16 rows of the file into a zeroed panel.
    fn pack(rows: &[&[u8]], panel: &mut [u8]) {
        for (row, bytes) in rows.iter().enumerate() {
            let columns = panel.chunks_exact_mut(LANES * Self::BYTES);
            for (number, column) in bytes.chunks_exact(Self::BYTES).zip(columns) {
                column[row * Self::BYTES..(row + 1) * Self::BYTES].copy_from_slice(number);
            }
        }
    }
}

/// Single precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct F32Weights;

/// Half precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct F16Weights;

/// Bfloat16: the upper half of single precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BF16Weights;

impl FloatFormat for F32Weights {
    const BYTES: usize = 4;
    const BF16_PARTS: usize = 3;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        lanes.load_f32(bytes.first_chunk().expect("16 numbers"))
    }
}

impl FloatFormat for F16Weights {
    const BYTES: usize = 2;
    const BF16_PARTS: usize = 2;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        lanes.load_f16(bytes.first_chunk().expect("16 halves"))
    }
}

impl FloatFormat for BF16Weights {
    const BYTES: usize = 2;
    const BF16_PARTS: usize = 1;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        lanes.load_bf16(bytes.first_chunk().expect("16 bfloat16 numbers"))
    }
}
