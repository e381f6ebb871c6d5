//! Portable code: vectors are arrays. It runs everywhere and defines the results of all other levels.
//!
//! Without a hardware multiply-add, `f32::mul_add` is computed in software: slow, but exact.

use half::{bf16, f16};

use crate::lanes::{
    ByteLanes, ConvertLanes, DotLanes, FloatLanes, Int16Lanes, IntegerLanes, LANES, MatrixLanes,
    NoMatrixUnit, PrefetchLanes, ShuffleLanes, VECTOR_BYTES, VectorTypes,
};

/// Plain arrays, for every processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scalar;

/// Applies `$body` to each lane.
macro_rules! each {
    ($($x:ident),+ => $body:expr) => {{
        let mut out = [Default::default(); LANES];
        let mut lane = 0;
        while lane < LANES {
            $(let $x = $x[lane];)+
            out[lane] = $body;
            lane += 1;
        }
        out
    }};
}

impl Scalar {
    /// Folds lane `i` with lane `i + 8`, then `i + 4`, `i + 2`, `i + 1`.
    #[inline(always)]
    fn fold<T: Copy>(mut x: [T; LANES], combine: impl Fn(T, T) -> T) -> T {
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                x[lane] = combine(x[lane], x[lane + width]);
            }
            width /= 2;
        }
        x[0]
    }

    /// Alternates numbers of `N` bytes within each quarter of the vectors.
    #[inline(always)]
    fn interleave<const N: usize>(
        a: [u8; VECTOR_BYTES],
        b: [u8; VECTOR_BYTES],
    ) -> [[u8; VECTOR_BYTES]; 2] {
        let mut out = [[0; VECTOR_BYTES]; 2];
        for at in (0..VECTOR_BYTES).step_by(N) {
            let (quarter, place) = (at / 16 * 16, at % 16);
            let (half, first) = (place / 8, quarter + place % 8 * 2);
            out[half][first..first + N].copy_from_slice(&a[at..at + N]);
            out[half][first + N..first + 2 * N].copy_from_slice(&b[at..at + N]);
        }
        out
    }

    #[inline(always)]
    fn dot(
        acc: [i32; LANES],
        w: &[u8; VECTOR_BYTES],
        a: [i8; 4],
        extend: fn(u8) -> i32,
    ) -> [i32; LANES] {
        let mut out = acc;
        for (lane, out) in out.iter_mut().enumerate() {
            for column in 0..4 {
                *out += extend(w[4 * lane + column]) * i32::from(a[column]);
            }
        }
        out
    }
}

impl VectorTypes for Scalar {
    type F32 = [f32; LANES];
    type I32 = [i32; LANES];
    type Bytes = [u8; VECTOR_BYTES];
}

impl FloatLanes for Scalar {
    #[inline(always)]
    fn splat(self, x: f32) -> [f32; LANES] {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> [f32; LANES] {
        *x
    }

    #[inline(always)]
    fn store(self, x: [f32; LANES], out: &mut [f32; LANES]) {
        *out = x;
    }

    #[inline(always)]
    fn add(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => a + b)
    }

    #[inline(always)]
    fn sub(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => a - b)
    }

    #[inline(always)]
    fn mul(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => a * b)
    }

    #[inline(always)]
    fn div(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => a / b)
    }

    #[inline(always)]
    fn fma(self, a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        each!(a, b, c => a.mul_add(b, c))
    }

    #[inline(always)]
    fn max(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => if a < b { a } else { b })
    }

    #[inline(always)]
    fn zero_below(self, x: [f32; LANES], limit: [f32; LANES], y: [f32; LANES]) -> [f32; LANES] {
        each!(x, limit, y => if x < limit { 0.0 } else { y })
    }

    #[inline(always)]
    fn pow2(self, pattern: [f32; LANES]) -> [f32; LANES] {
        each!(pattern => f32::from_bits(pattern.to_bits() << 23))
    }

    #[inline(always)]
    fn sum(self, x: [f32; LANES]) -> f32 {
        Self::fold(x, |a, b| a + b)
    }

    #[inline(always)]
    fn max_lane(self, x: [f32; LANES]) -> f32 {
        Self::fold(x, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn larger_magnitude(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        each!(a, b => f32::from_bits(a.abs().to_bits().max(b.abs().to_bits())))
    }

    #[inline(always)]
    fn max_magnitude(self, a: [f32; LANES], b: [f32; LANES]) -> f32 {
        // The bit patterns of positive numbers are ordered like the numbers, with NaN last.
        let magnitudes = self.larger_magnitude(a, b).map(f32::to_bits);
        f32::from_bits(Self::fold(magnitudes, u32::max))
    }
}

impl IntegerLanes for Scalar {
    #[inline(always)]
    fn load_u8(self, x: &[u8; LANES]) -> [i32; LANES] {
        each!(x => i32::from(x))
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> [i32; LANES] {
        [x; LANES]
    }

    #[inline(always)]
    fn load_i32(self, x: &[i32; LANES]) -> [i32; LANES] {
        *x
    }

    #[inline(always)]
    fn store_i32(self, x: [i32; LANES], out: &mut [i32; LANES]) {
        *out = x;
    }

    #[inline(always)]
    fn add_i32(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        each!(a, b => i32::wrapping_add(a, b))
    }

    #[inline(always)]
    fn mul_i32(self, a: [i32; LANES], b: [i32; LANES]) -> [i32; LANES] {
        each!(a, b => i32::wrapping_mul(a, b))
    }

    #[inline(always)]
    fn shl8(self, x: [i32; LANES]) -> [i32; LANES] {
        each!(x => x << 8)
    }

    #[inline(always)]
    fn shr8(self, x: [i32; LANES]) -> [i32; LANES] {
        each!(x => x >> 8)
    }
}

impl ConvertLanes for Scalar {
    #[inline(always)]
    fn load_f32(self, x: &[u8; 4 * LANES]) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        for (bytes, out) in x.chunks_exact(4).zip(&mut out) {
            *out = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        out
    }

    #[inline(always)]
    fn load_f16(self, x: &[u8; 2 * LANES]) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            *out = f16::from_le_bytes([x[2 * lane], x[2 * lane + 1]]).to_f32();
        }
        out
    }

    #[inline(always)]
    fn load_bf16(self, x: &[u8; 2 * LANES]) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            *out = bf16::from_le_bytes([x[2 * lane], x[2 * lane + 1]]).to_f32();
        }
        out
    }

    #[inline(always)]
    fn load_i8(self, x: &[u8; LANES]) -> [f32; LANES] {
        each!(x => f32::from(x as i8))
    }

    #[inline(always)]
    fn load_u4(self, x: &[u8; LANES], shift: u32) -> [f32; LANES] {
        each!(x => f32::from(x >> shift & 15))
    }

    #[inline(always)]
    fn store_i8(self, x: [f32; LANES], out: &mut [i8; LANES]) {
        let low = [-127.0; LANES];
        let high = [127.0; LANES];
        let clamped = self.min(self.max(x, low), high);
        *out = each!(clamped => clamped.round_ties_even() as i8);
    }

    #[inline(always)]
    fn to_f32(self, x: [i32; LANES]) -> [f32; LANES] {
        each!(x => x as f32)
    }

    #[inline(always)]
    fn round_i32(self, x: [f32; LANES]) -> [i32; LANES] {
        each!(x => x.round_ties_even() as i32)
    }
}

impl ByteLanes for Scalar {
    #[inline(always)]
    fn load_bytes(self, x: &[u8; VECTOR_BYTES]) -> [u8; VECTOR_BYTES] {
        *x
    }

    #[inline(always)]
    fn store_bytes(self, x: [u8; VECTOR_BYTES], out: &mut [u8; VECTOR_BYTES]) {
        *out = x;
    }

    #[inline(always)]
    fn bits(self, mut x: [u8; VECTOR_BYTES], shift: u32, width: u32) -> [u8; VECTOR_BYTES] {
        let mask = ((1u32 << width) - 1) as u8;
        for byte in &mut x {
            *byte = (*byte >> shift) & mask;
        }
        x
    }

    #[inline(always)]
    fn join(
        self,
        mut low: [u8; VECTOR_BYTES],
        high: [u8; VECTOR_BYTES],
        shift: u32,
    ) -> [u8; VECTOR_BYTES] {
        for (low, high) in low.iter_mut().zip(high) {
            *low |= high << shift;
        }
        low
    }

    #[inline(always)]
    fn lookup(self, table: &[i8; 16], mut x: [u8; VECTOR_BYTES]) -> [u8; VECTOR_BYTES] {
        for byte in &mut x {
            *byte = table[usize::from(*byte)] as u8;
        }
        x
    }
}

impl ShuffleLanes for Scalar {
    #[inline(always)]
    fn interleave_u32(
        self,
        a: [u8; VECTOR_BYTES],
        b: [u8; VECTOR_BYTES],
    ) -> [[u8; VECTOR_BYTES]; 2] {
        Self::interleave::<4>(a, b)
    }

    #[inline(always)]
    fn interleave_u64(
        self,
        a: [u8; VECTOR_BYTES],
        b: [u8; VECTOR_BYTES],
    ) -> [[u8; VECTOR_BYTES]; 2] {
        Self::interleave::<8>(a, b)
    }

    #[inline(always)]
    fn transpose_quarters(self, rows: [[u8; VECTOR_BYTES]; 4]) -> [[u8; VECTOR_BYTES]; 4] {
        let mut columns = rows;
        for (i, row) in rows.iter().enumerate() {
            for (column, quarter) in columns.iter_mut().zip(row.chunks_exact(16)) {
                column[16 * i..16 * (i + 1)].copy_from_slice(quarter);
            }
        }
        columns
    }

    #[inline(always)]
    fn exchange_middle_u16(self, mut x: [u8; VECTOR_BYTES]) -> [u8; VECTOR_BYTES] {
        for four in x.chunks_exact_mut(8) {
            four[2..6].rotate_left(2);
        }
        x
    }
}

impl PrefetchLanes for Scalar {
    #[inline(always)]
    fn prefetch(self, _x: &[u8], _ahead: usize) {}

    #[inline(always)]
    fn prefetch_far(self, _x: &[u8], _ahead: usize) {}
}

impl DotLanes for Scalar {
    #[inline(always)]
    fn dot_i8(self, acc: [i32; LANES], w: [u8; VECTOR_BYTES], a: [i8; 4]) -> [i32; LANES] {
        Self::dot(acc, &w, a, |w| i32::from(w as i8))
    }

    #[inline(always)]
    fn dot_u7(self, acc: [i32; LANES], w: [u8; VECTOR_BYTES], a: [i8; 4]) -> [i32; LANES] {
        Self::dot(acc, &w, a, i32::from)
    }
}

impl Int16Lanes for Scalar {
    #[inline(always)]
    fn pair_i16(self, first: [i32; LANES], second: [i32; LANES]) -> [u8; VECTOR_BYTES] {
        let mut pairs = [0; VECTOR_BYTES];
        for ((pair, first), second) in pairs.chunks_exact_mut(4).zip(first).zip(second) {
            pair[..2].copy_from_slice(&(first as i16).to_le_bytes());
            pair[2..].copy_from_slice(&(second as i16).to_le_bytes());
        }
        pairs
    }

    #[inline(always)]
    fn dot_i16(self, acc: [i32; LANES], x: [u8; VECTOR_BYTES], y: [i16; 2]) -> [i32; LANES] {
        let mut out = acc;
        for (lane, out) in out.iter_mut().enumerate() {
            for (half, y) in y.into_iter().enumerate() {
                let at = 4 * lane + 2 * half;
                let x = i16::from_le_bytes([x[at], x[at + 1]]);
                *out = out.wrapping_add(i32::from(x) * i32::from(y));
            }
        }
        out
    }
}

impl MatrixLanes for Scalar {
    type Unit = NoMatrixUnit;
    type Bf16Unit = NoMatrixUnit;
}
