//! Arithmetic on `f32`.

use super::vector::{LANES, VectorTypes};

/// [`FloatLanes::exp`] returns zero for inputs below this, which is a little above the logarithm of the
/// smallest normal number.
pub(crate) const EXP_LOWEST: f32 = -87.3;

/// Inputs of [`FloatLanes::exp`] are clamped to this. The result is infinity from 127.5 ln 2 = 88.376 on,
/// where the power of two rounds to 2^128; `e^x` itself leaves the range of `f32` at 88.72.
const EXP_HIGHEST: f32 = 88.5;

/// 1.5 * 2^23: adding it leaves the nearest integer in a number's low bits.
pub(super) const ROUNDER: f32 = 12_582_912.0;

/// Operations on 16 `f32`. All of them round once, to nearest even.
pub(crate) trait FloatLanes: VectorTypes {
    /// The same number in all lanes.
    fn splat(self, x: f32) -> Self::F32;
    /// Loads 16 numbers.
    fn load(self, x: &[f32; LANES]) -> Self::F32;
    /// Stores 16 numbers.
    fn store(self, x: Self::F32, out: &mut [f32; LANES]);

    /// `a + b`.
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a - b`.
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b`.
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a / b`.
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, rounded once.
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// `a` if `a > b`, else `b`.
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a` if `a < b`, else `b`.
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// Zero if `x < limit`, else `y`.
    fn zero_below(self, x: Self::F32, limit: Self::F32, y: Self::F32) -> Self::F32;
    /// `2^n` if the low 9 bits of each lane's pattern are those of the integer `n + 127`, for
    /// `-127 < n <= 128`; 128 results in infinity. Other patterns have unspecified results.
    fn pow2(self, pattern: Self::F32) -> Self::F32;
    /// The sum of all lanes, as a tree: lane `i` plus lane `i + 8`, then `i + 4`, `i + 2`, `i + 1`.
    fn sum(self, x: Self::F32) -> f32;
    /// The largest lane, as a tree of [`max`](Self::max).
    fn max_lane(self, x: Self::F32) -> f32;
    /// The larger magnitude in each lane; NaN if either is NaN.
    fn larger_magnitude(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The largest magnitude in both vectors; NaN if either holds a NaN.
    fn max_magnitude(self, a: Self::F32, b: Self::F32) -> f32;

    /// Loads up to 16 numbers and fills the other lanes with zeros.
    #[inline(always)]
    fn load_part(self, x: &[f32]) -> Self::F32 {
        match x.first_chunk() {
            Some(all) => self.load(all),
            None => {
                let mut padded = [0.0; LANES];
                padded[..x.len()].copy_from_slice(x);
                self.load(&padded)
            }
        }
    }

    /// Stores as many of the first lanes as `out` has room for.
    #[inline(always)]
    fn store_part(self, x: Self::F32, out: &mut [f32]) {
        match out.first_chunk_mut() {
            Some(all) => self.store(x, all),
            None => {
                let mut all = [0.0; LANES];
                self.store(x, &mut all);
                out.copy_from_slice(&all[..out.len()]);
            }
        }
    }

    /// `e^x` to within 2 units in the last place: exactly 1 for 0, 0 below -87.3, infinity above 88.376.
    /// NaN stays NaN.
    ///
    /// `x = n ln 2 + r` with the integer `n` and `|r| <= ln 2 / 2`; then a polynomial of degree 6 for
    /// `e^r`, evaluated by Horner's rule.
    #[inline(always)]
    fn exp(self, x: Self::F32) -> Self::F32 {
        self.exp_in_range(self.min(self.splat(EXP_HIGHEST), x))
    }

    /// [`exp`](Self::exp) for numbers up to 88.5.
    #[inline(always)]
    fn exp_in_range(self, x: Self::F32) -> Self::F32 {
        // ln 2 in two parts. The first ends in zeros, so that `n * LN2_HIGH` is exact.
        const LN2_HIGH: f32 = 0.693_359_4;
        const LN2_LOW: f32 = -2.121_944_4e-4;
        // Starts as the Taylor series does; the other coefficients minimize the largest relative error, which
        // is 3.7e-9 (Remez exchange algorithm).
        const SERIES: [f32; 7] =
            [1.0, 1.0, 0.499_999_94, 0.166_665_21, 0.041_668_39, 0.008_368_745, 0.001_381_454];

        // Includes the exponent's bias.
        let rounder = self.splat(ROUNDER + 127.0);
        let pattern = self.fma(x, self.splat(std::f32::consts::LOG2_E), rounder);
        let n = self.sub(pattern, rounder);
        let r = self.fma(n, self.splat(-LN2_HIGH), x);
        let r = self.fma(n, self.splat(-LN2_LOW), r);
        let mut series = self.splat(SERIES[6]);
        let mut term = 6;
        while term > 0 {
            term -= 1;
            series = self.fma(series, r, self.splat(SERIES[term]));
        }
        // Below EXP_LOWEST the power of two is meaningless; the result is zero.
        self.zero_below(x, self.splat(EXP_LOWEST), self.mul(series, self.pow2(pattern)))
    }
}
