//! Conversions between `f32` and other number formats. Numbers in memory are little-endian.

use super::float::{FloatLanes, ROUNDER};
use super::int16::split_i16;
use super::integer::IntegerLanes;
use super::vector::LANES;

/// Loads and stores that convert, and conversions between vectors.
pub(crate) trait ConvertLanes: FloatLanes + IntegerLanes {
    /// Loads 16 single-precision numbers.
    fn load_f32(self, x: &[u8; 4 * LANES]) -> Self::F32;
    /// Loads 16 half-precision numbers.
    fn load_f16(self, x: &[u8; 2 * LANES]) -> Self::F32;
    /// Loads 16 bfloat16 numbers.
    fn load_bf16(self, x: &[u8; 2 * LANES]) -> Self::F32;
    /// Loads 16 signed bytes.
    fn load_i8(self, x: &[u8; LANES]) -> Self::F32;
    /// Loads the low (`shift` = 0) or the high (`shift` = 4) four bits of 16 bytes.
    fn load_u4(self, x: &[u8; LANES], shift: u32) -> Self::F32;

    /// Stores the nearest half-precision numbers, ties to even.
    #[inline(always)]
    fn store_f16(self, x: Self::F32, out: &mut [u8; 2 * LANES]) {
        let mut all = [0.0; LANES];
        self.store(x, &mut all);
        for (x, out) in all.into_iter().zip(out.chunks_exact_mut(2)) {
            out.copy_from_slice(&half::f16::from_f32(x).to_le_bytes());
        }
    }

    /// Stores the nearest bfloat16 numbers, ties to even.
    #[inline(always)]
    fn store_bf16(self, x: Self::F32, out: &mut [u8; 2 * LANES]) {
        let mut all = [0.0; LANES];
        self.store(x, &mut all);
        for (x, out) in all.into_iter().zip(out.chunks_exact_mut(2)) {
            out.copy_from_slice(&half::bf16::from_f32(x).to_le_bytes());
        }
    }

    /// The nearest bfloat16 numbers as single precision, ties away from zero. NaN and numbers that round to infinity have
    /// unspecified results.
    #[inline(always)]
    fn round_bf16(self, x: Self::F32) -> Self::F32 {
        let mut all = [0.0; LANES];
        self.store(x, &mut all);
        for x in &mut all {
            *x = f32::from_bits(x.to_bits().wrapping_add(0x8000) & 0xffff_0000);
        }
        self.load(&all)
    }

    /// Stores the upper halves of numbers, which are bfloat16 numbers, those of `even` and `odd` in turns.
    #[inline(always)]
    fn store_upper_halves(self, even: Self::F32, odd: Self::F32, out: &mut [u8; 4 * LANES]) {
        let (mut evens, mut odds) = ([0.0; LANES], [0.0; LANES]);
        self.store(even, &mut evens);
        self.store(odd, &mut odds);
        for ((even, odd), out) in evens.iter().zip(odds).zip(out.chunks_exact_mut(4)) {
            let both = even.to_bits() >> 16 | odd.to_bits() & 0xffff_0000;
            out.copy_from_slice(&both.to_le_bytes());
        }
    }

    /// Stores the nearest integers, ties to even, clamped to -127..=127. NaN becomes -127.
    fn store_i8(self, x: Self::F32, out: &mut [i8; LANES]);

    /// Stores the nearest integers, ties to even, for magnitudes up to 32767. NaN and larger magnitudes have
    /// unspecified results.
    #[inline(always)]
    fn store_i16(self, x: Self::F32, out: &mut [i16; LANES]) {
        let mut rounded = [0.0; LANES];
        self.store(self.add(x, self.splat(ROUNDER)), &mut rounded);
        for (out, rounded) in out.iter_mut().zip(rounded) {
            *out = (rounded.to_bits() as i16).to_le();
        }
    }

    /// Stores the high and the low halves ([`split_i16`]) of the nearest integers, ties to even, for magnitudes up to
    /// 32639. NaN and larger magnitudes have unspecified results.
    #[inline(always)]
    fn store_i16_halves(
        self,
        x: [Self::F32; 4],
        high: &mut [i8; 4 * LANES],
        low: &mut [i8; 4 * LANES],
    ) {
        let mut integers = [[0; LANES]; 4];
        for (x, integers) in x.into_iter().zip(&mut integers) {
            self.store_i16(x, integers);
        }
        let halves = high.iter_mut().zip(low);
        for (&x, (high, low)) in integers.as_flattened().iter().zip(halves) {
            [*high, *low] = split_i16(i16::from_le(x));
        }
    }

    /// The nearest floating-point numbers, ties to even.
    fn to_f32(self, x: Self::I32) -> Self::F32;
    /// The nearest integers, ties to even. NaN and numbers beyond `i32` have unspecified results.
    fn round_i32(self, x: Self::F32) -> Self::I32;
}
