//! Floating-point weights in panels of 16 output rows: `[k][16 rows]` in the file's own precision.

use crate::lanes::{LANES, Lanes};

/// A floating-point format as the kernels read it.
pub(crate) trait FloatFormat: Copy + Send + Sync + 'static {
    /// Bytes of one number.
    const BYTES: usize;

    /// 16 numbers, converted; `bytes` holds `16 * BYTES`.
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32;

    /// Interleaves up to 16 rows of the file in a zeroed panel.
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
pub(crate) struct F32;

/// Half precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct F16;

/// The upper half of single precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BF16;

impl FloatFormat for F32 {
    const BYTES: usize = 4;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        lanes.load_f32(bytes.first_chunk().expect("16 numbers"))
    }
}

impl FloatFormat for F16 {
    const BYTES: usize = 2;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        lanes.load_f16(bytes.first_chunk().expect("16 halves"))
    }
}

impl FloatFormat for BF16 {
    const BYTES: usize = 2;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, bytes: &[u8]) -> L::F32 {
        lanes.load_bf16(bytes.first_chunk().expect("16 bfloat16 numbers"))
    }
}
