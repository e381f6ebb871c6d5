//! The one imaginary processor that every kernel is written for.
//!
//! Its vectors hold 16 `f32`, 16 `i32` or 64 bytes. [`Lanes`] lists the few operations that the
//! kernels need; each instruction set implements them with the registers it has. Lane `i` is lane
//! `i` everywhere, and each operation is defined to the bit, so all instruction sets give
//! identical results:
//!
//! - `add`, `sub`, `mul`, `div`, [`fma`](Lanes::fma) round once, to nearest even; subnormals stay.
//! - [`max`](Lanes::max) and [`min`](Lanes::min) give their second operand where either is NaN, or
//!   where both are zeros.
//! - [`sum`](Lanes::sum) adds lane `i` to lane `i + 8`, then `i + 4`, `i + 2`, `i + 1`;
//!   [`max_lane`](Lanes::max_lane) folds in the same order.
//! - Integer sums are exact.
//!
//! Which of its payloads a NaN carries is the one thing left open.

mod tiles;

use bytemuck::Pod;

#[cfg(target_arch = "x86_64")] // A matrix unit alone names it.
pub(crate) use tiles::RowTile;
pub(crate) use tiles::{ColumnTile, ExtraTiles, NoTiles, TileSums, TileUnit};

/// Lanes of a vector of `f32` or `i32`.
pub(crate) const LANES: usize = 16;

/// Bytes of a vector.
pub(crate) const VECTOR_BYTES: usize = 64;

/// Inputs of [`Lanes::exp`] below this give zero; it is a little above the logarithm of the
/// smallest normal number.
pub(crate) const EXP_LOWEST: f32 = -87.3;

/// Inputs of [`Lanes::exp`] above this are taken for it. Its result is infinity already: that
/// begins at 127.5 ln 2, which is 88.376, where the power of two rounds to 2^128; `e^x` itself
/// leaves the range of `f32` at 88.72.
const EXP_HIGHEST: f32 = 88.5;

/// 1.5 * 2^23: adding it leaves the nearest integer in a number's low bits.
const ROUNDER: f32 = 12_582_912.0;

/// The operations of the 16-lane machine. Holding a value proves that this processor has the
/// instructions that its methods use.
pub(crate) trait Lanes: Copy + Send + Sync + 'static {
    /// Vectors that the registers hold.
    const REGISTERS: usize = 8;

    /// 16 `f32`.
    type F32: Copy;
    /// 16 `i32`.
    type I32: Copy;
    /// 64 bytes: for weights, the 4 neighbouring columns of row `i` stand in bytes `4i..4i + 4`.
    type Bytes: Copy;
    /// The matrix unit, where there is one; else [`NoTiles`].
    type Tiles: TileUnit;

    /// The same number in all lanes.
    fn splat(self, x: f32) -> Self::F32;
    /// 16 numbers from memory.
    fn load(self, x: &[f32; LANES]) -> Self::F32;
    /// 16 numbers to memory.
    fn store(self, x: Self::F32, out: &mut [f32; LANES]);
    /// 16 little-endian single-precision numbers.
    fn load_f32(self, x: &[u8; 4 * LANES]) -> Self::F32;
    /// 16 little-endian half-precision numbers, converted.
    fn load_f16(self, x: &[u8; 2 * LANES]) -> Self::F32;
    /// 16 little-endian bfloat16 numbers, converted.
    fn load_bf16(self, x: &[u8; 2 * LANES]) -> Self::F32;
    /// 16 signed bytes, converted.
    fn load_i8(self, x: &[u8; LANES]) -> Self::F32;
    /// The four bits from `shift`, which is 0 or 4, of 16 bytes, converted.
    fn load_u4(self, x: &[u8; LANES], shift: u32) -> Self::F32;

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
    /// `a` where `a > b`, else `b`.
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a` where `a < b`, else `b`.
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// Zero where `x < limit`, else `y`.
    fn zero_below(self, x: Self::F32, limit: Self::F32, y: Self::F32) -> Self::F32;
    /// `2^n` where the low 9 bits of each lane's pattern are those of the integer `n + 127`,
    /// `-127 < n <= 128`; 128 gives infinity, and what lies beyond anything.
    fn pow2(self, pattern: Self::F32) -> Self::F32;
    /// The sum of all lanes, as a tree.
    fn sum(self, x: Self::F32) -> f32;
    /// The largest lane, as a tree of [`max`](Self::max).
    fn max_lane(self, x: Self::F32) -> f32;
    /// The larger magnitude of each lane; NaN where one is NaN.
    fn larger_magnitude(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The largest magnitude in both vectors; NaN where one holds a NaN.
    fn max_magnitude(self, a: Self::F32, b: Self::F32) -> f32;
    /// The nearest half-precision numbers, ties to even, little-endian.
    #[inline(always)]
    fn store_f16(self, x: Self::F32, out: &mut [u8; 2 * LANES]) {
        let mut all = [0.0; LANES];
        self.store(x, &mut all);
        for (x, out) in all.into_iter().zip(out.chunks_exact_mut(2)) {
            out.copy_from_slice(&half::f16::from_f32(x).to_le_bytes());
        }
    }
    /// Rounds to the nearest integers, ties to even, within -127 and 127. NaN becomes -127.
    fn store_i8(self, x: Self::F32, out: &mut [i8; LANES]);

    /// Rounds numbers within 32767 to integers, ties to even, little-endian. NaN and what lies beyond
    /// become anything.
    #[inline(always)]
    fn store_i16(self, x: Self::F32, out: &mut [i16; LANES]) {
        let mut rounded = [0.0; LANES];
        self.store(self.add(x, self.splat(ROUNDER)), &mut rounded);
        *out = rounded.map(|rounded| (rounded.to_bits() as i16).to_le());
    }

    /// The same integer in all lanes.
    fn splat_i32(self, x: i32) -> Self::I32;
    /// 16 integers from memory.
    fn load_i32(self, x: &[i32; LANES]) -> Self::I32;
    /// 16 integers to memory.
    fn store_i32(self, x: Self::I32, out: &mut [i32; LANES]);
    /// The nearest floating-point numbers, ties to even.
    fn to_f32(self, x: Self::I32) -> Self::F32;
    /// The nearest integers, ties to even. NaN and what lies beyond them become anything.
    fn round_i32(self, x: Self::F32) -> Self::I32;
    /// `a + b`, wrapping.
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a * b`, wrapping.
    fn mul_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `256 x`, wrapping.
    fn raise(self, x: Self::I32) -> Self::I32;
    /// `x / 256`, rounded down.
    fn lower(self, x: Self::I32) -> Self::I32;

    /// 64 bytes from memory.
    fn load_bytes(self, x: &[u8; VECTOR_BYTES]) -> Self::Bytes;
    /// Asks for the cache line `ahead` bytes after the start of `x`, which need not exist.
    fn prefetch(self, x: &[u8], ahead: usize);
    /// As [`prefetch`](Self::prefetch), no nearer than the second-level cache.
    fn prefetch_far(self, x: &[u8], ahead: usize);
    /// 64 bytes to memory.
    fn store_bytes(self, x: Self::Bytes, out: &mut [u8; VECTOR_BYTES]);
    /// Bits `shift..shift + width` of each byte, moved to its lowest; `shift + width <= 8`.
    fn bits(self, x: Self::Bytes, shift: u32, width: u32) -> Self::Bytes;
    /// `low | high << shift` in each byte. `high << shift` must fit a byte.
    fn join(self, low: Self::Bytes, high: Self::Bytes, shift: u32) -> Self::Bytes;
    /// Each byte, below 16, replaced by the entry of that number.
    fn lookup(self, table: &[i8; 16], x: Self::Bytes) -> Self::Bytes;

    /// What a chain of [`dot_i8`](Self::dot_i8) starts from, where `start` is -128 times the sum of
    /// all its activations. The chain's value is right only when it has taken them all.
    fn dot_i8_start(self, start: i32) -> Self::I32;
    /// Signed bytes in the form that [`dot_i8`](Self::dot_i8) takes.
    #[inline(always)]
    fn operand_i8(self, w: Self::Bytes) -> Self::Bytes {
        w
    }
    /// Adds to lane `i` the four products of bytes `4i..4i + 4` of `w` with `a`, which must not hold
    /// -128. `w` is made of signed bytes by [`operand_i8`](Self::operand_i8).
    fn dot_i8(self, acc: Self::I32, w: Self::Bytes, a: [i8; 4]) -> Self::I32;
    /// As [`dot_i8`](Self::dot_i8) for bytes of 0 to 127; it may start from any number.
    fn dot_u7(self, acc: Self::I32, w: Self::Bytes, a: [i8; 4]) -> Self::I32;

    /// `x`, computed before what this is called with later. Compilers put one chain of products after the
    /// other to save registers, and each product then waits for the last one's result.
    #[inline(always)]
    fn in_turn(self, x: Self::I32) -> Self::I32 {
        x
    }

    /// Two little-endian 16-bit integers a lane: the low halves of `first`, then of `second`.
    fn pair_i16(self, first: Self::I32, second: Self::I32) -> Self::Bytes;
    /// Adds to lane `i` the products of its two little-endian 16-bit integers of `x` with those of `y`,
    /// wrapping. Not all four of them may be -32768.
    fn dot_i16(self, acc: Self::I32, x: Self::Bytes, y: [i16; 2]) -> Self::I32;
    /// The high halves of 16-bit integers, then the low halves, which are signed. `first` holds two a
    /// lane, `second` the two that follow them; their halves are the bytes of that lane. What is above
    /// 32639 has no such high half.
    #[inline(always)]
    fn halves(self, first: Self::Bytes, second: Self::Bytes) -> [Self::Bytes; 2] {
        let (mut pairs, mut halves) = ([[0; VECTOR_BYTES]; 2], [[0; VECTOR_BYTES]; 2]);
        self.store_bytes(first, &mut pairs[0]);
        self.store_bytes(second, &mut pairs[1]);
        for (pair, pairs) in pairs.iter().enumerate() {
            for (index, x) in pairs.chunks_exact(2).enumerate() {
                let x = i16::from_le_bytes([x[0], x[1]]);
                let at = index / 2 * 4 + 2 * pair + index % 2;
                let [high, low] = split_i16(x);
                (halves[0][at], halves[1][at]) = (high as u8, low as u8);
            }
        }
        halves.map(|halves| self.load_bytes(&halves))
    }

    /// The [`halves`](Self::halves) of the 16-bit integers `code * factor - offset`, where `factors` and
    /// `offsets` hold a lane's numbers twice, for codes of 0 to 127.
    #[inline(always)]
    fn scaled_halves(
        self,
        codes: Self::Bytes,
        factors: Self::Bytes,
        offsets: Self::Bytes,
    ) -> [Self::Bytes; 2] {
        let mut bytes = [[0; VECTOR_BYTES]; 3];
        for (bytes, vector) in bytes.iter_mut().zip([codes, factors, offsets]) {
            self.store_bytes(vector, bytes);
        }
        let [codes, factors, offsets] = bytes;
        let mut halves = [[0; VECTOR_BYTES]; 2];
        for (at, code) in codes.into_iter().enumerate() {
            let number = |of: &[u8; VECTOR_BYTES]| i16::from_le_bytes([of[at & !1], of[at | 1]]);
            let x = i16::from(code).wrapping_mul(number(&factors)).wrapping_sub(number(&offsets));
            let [high, low] = split_i16(x);
            (halves[0][at], halves[1][at]) = (high as u8, low as u8);
        }
        halves.map(|halves| self.load_bytes(&halves))
    }

    /// The matrix unit, set up on this thread for sums of `cols` columns: 32, or the 64 that it has room
    /// for.
    #[inline(always)]
    fn tiles(self, _cols: usize) -> Option<Self::Tiles> {
        None
    }

    /// Up to 16 numbers from memory; zeros in the lanes beyond.
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

    /// As many of the first lanes to memory as `out` has room for.
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

    /// `e^x`, within 2 units in the last place; exactly 1 for 0; 0 below -87.3; infinity
    /// above 88.376. NaN stays NaN.
    ///
    /// `x = n ln 2 + r` with the integer `n` and `|r| <= ln 2 / 2`; then a polynomial of degree 6 for
    /// `e^r`, from its last term inwards.
    #[inline(always)]
    fn exp(self, x: Self::F32) -> Self::F32 {
        self.exp_in_range(self.min(self.splat(EXP_HIGHEST), x))
    }

    /// As [`exp`](Self::exp), for numbers that are at most 88.5.
    #[inline(always)]
    fn exp_in_range(self, x: Self::F32) -> Self::F32 {
        // ln 2 in two pieces; the first has zeros at its end, so that `n * LN2_HIGH` is exact.
        const LN2_HIGH: f32 = 0.693_359_4;
        const LN2_LOW: f32 = -2.121_944_4e-4;
        // Begins as the Taylor series does; the others make the largest relative error the smallest,
        // 3.7e-9 (by Remez' exchange).
        const SERIES: [f32; 7] =
            [1.0, 1.0, 0.499_999_94, 0.166_665_21, 0.041_668_39, 0.008_368_745, 0.001_381_454];

        // With it the exponent's bias.
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
        // Far below, where the power of two means nothing, the result is zero.
        self.zero_below(x, self.splat(EXP_LOWEST), self.mul(series, self.pow2(pattern)))
    }
}

/// The two halves of a 16-bit integer, of which the low one is signed: `x = 256 high + low`, for up to
/// 32639.
#[inline(always)]
pub(crate) fn split_i16(x: i16) -> [i8; 2] {
    [(x.wrapping_add(128) >> 8) as i8, x as i8]
}

/// The whole vectors of `values`, and what is left behind them. Loops over these need no look at lengths.
#[inline(always)]
pub(crate) fn vectors<T: Pod>(values: &[T]) -> (&[[T; LANES]], &[T]) {
    let (whole, rest) = values.split_at(values.len() - values.len() % LANES);
    (bytemuck::cast_slice(whole), rest)
}

/// As [`vectors`], to write to.
#[inline(always)]
pub(crate) fn vectors_mut<T: Pod>(values: &mut [T]) -> (&mut [[T; LANES]], &mut [T]) {
    let (whole, rest) = values.split_at_mut(values.len() - values.len() % LANES);
    (bytemuck::cast_slice_mut(whole), rest)
}

/// 32 columns of 16 rows of a weight as bytes: what [`Lanes::dot_i8`] takes vector by vector.
pub(crate) type GroupBytes = [[u8; VECTOR_BYTES]; 8];
