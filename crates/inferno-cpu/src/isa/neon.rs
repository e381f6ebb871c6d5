//! NEON, on AArch64: a vector is four 128-bit registers, the first with lanes 0 to 3. Levels differ in the instructions
//! that multiply bytes (`neon/byte_products.rs`).
//!
//! A few instructions are written as assembly because their intrinsics are not stable in the oldest compiler that
//! this crate supports. Maximum and minimum are comparisons with a selection: the instructions of these names treat
//! NaN and signed zeros differently from [`FloatLanes`].

// Intrinsics are unsafe to call.
#![allow(unsafe_code)]

mod byte_products;

use std::arch::aarch64::*;
use std::arch::asm;
use std::marker::PhantomData;

use crate::lanes::{
    ByteLanes, ConvertLanes, DotLanes, FloatLanes, Int16Lanes, IntegerLanes, Kernel, LANES,
    MatrixLanes, NoMatrixUnit, PrefetchLanes, ShuffleLanes, VECTOR_BYTES, VectorTypes,
};
use byte_products::ByteProducts;
pub(crate) use byte_products::{DotProducts, LongProducts, MatrixProducts};

/// A proof that this processor has NEON and the instructions of `P`. Only [`Neon::detect`] creates values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon<P>(PhantomData<P>);

impl<P: ByteProducts> Neon<P> {
    /// Detects the instruction set.
    pub(crate) fn detect() -> Option<Self> {
        let found = std::arch::is_aarch64_feature_detected!("neon") && P::detected();
        found.then_some(Self(PhantomData))
    }

    /// Runs `kernel`, compiled for this instruction set.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) {
        // SAFETY: `self` proves the features: only `detect` creates values, after checking them.
        unsafe { P::enter(self, kernel) }
    }
}

/// Wraps intrinsics and assembly. Each body uses only instructions of NEON, or those of `P`, which a value of
/// [`Neon<P>`] proves, and accesses memory only through references to arrays of the full size.
macro_rules! neon {
    ($($body:tt)*) => {{
        // From Rust 1.87 on, intrinsics without pointers are safe to call.
        #[allow(unused_unsafe)]
        // SAFETY: `detect` checked the features before it created the `Neon` that the method was called on;
        // pointers come from references to arrays of the accessed size.
        let result = unsafe { $($body)* };
        result
    }};
}

/// Applies `$body` to each register of the vectors.
macro_rules! quarters {
    ($($x:ident),+ => $body:expr) => {
        [
            { $(let $x = $x[0];)+ neon! { $body } },
            { $(let $x = $x[1];)+ neon! { $body } },
            { $(let $x = $x[2];)+ neon! { $body } },
            { $(let $x = $x[3];)+ neon! { $body } },
        ]
    };
}

impl<P: ByteProducts> Neon<P> {
    /// 16 numbers of 16 bits.
    #[inline(always)]
    fn load_u16(self, x: &[u8; 2 * LANES]) -> [uint16x8_t; 2] {
        let x = x.as_ptr();
        neon! { [vreinterpretq_u16_u8(vld1q_u8(x)), vreinterpretq_u16_u8(vld1q_u8(x.add(16)))] }
    }

    /// 16 signed bytes, converted.
    #[inline(always)]
    fn widen_bytes(self, x: int8x16_t) -> [float32x4_t; 4] {
        neon! {
            let (low, high) = (vmovl_s8(vget_low_s8(x)), vmovl_high_s8(x));
            [
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
                vcvtq_f32_s32(vmovl_high_s16(low)),
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                vcvtq_f32_s32(vmovl_high_s16(high)),
            ]
        }
    }

    /// Four lanes of the maximum, as [`FloatLanes::max`] defines it.
    #[inline(always)]
    fn larger(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        neon! { vbslq_f32(vcgtq_f32(a, b), a, b) }
    }

    /// The four numbers in the low half of `x`, from half precision.
    #[inline(always)]
    fn widen_low(self, x: uint16x8_t) -> float32x4_t {
        let wide: float32x4_t;
        neon! {
            asm!(
                "fcvtl {wide:v}.4s, {x:v}.4h",
                wide = lateout(vreg) wide,
                x = in(vreg) x,
                options(pure, nomem, nostack, preserves_flags),
            )
        };
        wide
    }

    /// The four numbers in the high half of `x`, from half precision.
    #[inline(always)]
    fn widen_high(self, x: uint16x8_t) -> float32x4_t {
        let wide: float32x4_t;
        neon! {
            asm!(
                "fcvtl2 {wide:v}.4s, {x:v}.8h",
                wide = lateout(vreg) wide,
                x = in(vreg) x,
                options(pure, nomem, nostack, preserves_flags),
            )
        };
        wide
    }

    /// Eight numbers, to half precision.
    #[inline(always)]
    fn narrow(self, low: float32x4_t, high: float32x4_t) -> uint16x8_t {
        let narrow: uint16x8_t;
        neon! {
            asm!(
                "fcvtn {narrow:v}.4h, {low:v}.4s",
                "fcvtn2 {narrow:v}.8h, {high:v}.4s",
                narrow = out(vreg) narrow,
                low = in(vreg) low,
                high = in(vreg) high,
                options(pure, nomem, nostack, preserves_flags),
            )
        };
        narrow
    }
}

impl<P: ByteProducts> VectorTypes for Neon<P> {
    type F32 = [float32x4_t; 4];
    type I32 = [int32x4_t; 4];
    type Bytes = [uint8x16_t; 4];
}

impl<P: ByteProducts> FloatLanes for Neon<P> {
    #[inline(always)]
    fn splat(self, x: f32) -> [float32x4_t; 4] {
        neon! { [vdupq_n_f32(x); 4] }
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> [float32x4_t; 4] {
        let x = x.as_ptr();
        neon! { [vld1q_f32(x), vld1q_f32(x.add(4)), vld1q_f32(x.add(8)), vld1q_f32(x.add(12))] }
    }

    #[inline(always)]
    fn store(self, x: [float32x4_t; 4], out: &mut [f32; LANES]) {
        let out = out.as_mut_ptr();
        neon! {
            vst1q_f32(out, x[0]);
            vst1q_f32(out.add(4), x[1]);
            vst1q_f32(out.add(8), x[2]);
            vst1q_f32(out.add(12), x[3]);
        }
    }

    #[inline(always)]
    fn add(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(a, b => vaddq_f32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(a, b => vsubq_f32(a, b))
    }

    #[inline(always)]
    fn mul(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(a, b => vmulq_f32(a, b))
    }

    #[inline(always)]
    fn div(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(a, b => vdivq_f32(a, b))
    }

    #[inline(always)]
    fn fma(
        self,
        a: [float32x4_t; 4],
        b: [float32x4_t; 4],
        c: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        quarters!(a, b, c => vfmaq_f32(c, a, b))
    }

    #[inline(always)]
    fn max(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(a, b => self.larger(a, b))
    }

    #[inline(always)]
    fn min(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(a, b => vbslq_f32(vcltq_f32(a, b), a, b))
    }

    #[inline(always)]
    fn zero_below(
        self,
        x: [float32x4_t; 4],
        limit: [float32x4_t; 4],
        y: [float32x4_t; 4],
    ) -> [float32x4_t; 4] {
        quarters!(x, limit, y => {
            let y = vbicq_u32(vreinterpretq_u32_f32(y), vcltq_f32(x, limit));
            vreinterpretq_f32_u32(y)
        })
    }

    #[inline(always)]
    fn pow2(self, pattern: [float32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(pattern => vreinterpretq_f32_u32(vshlq_n_u32::<23>(vreinterpretq_u32_f32(pattern))))
    }

    #[inline(always)]
    fn sum(self, x: [float32x4_t; 4]) -> f32 {
        neon! {
            let x = vaddq_f32(vaddq_f32(x[0], x[2]), vaddq_f32(x[1], x[3]));
            vpadds_f32(vadd_f32(vget_low_f32(x), vget_high_f32(x)))
        }
    }

    #[inline(always)]
    fn max_lane(self, x: [float32x4_t; 4]) -> f32 {
        let x = self.larger(self.larger(x[0], x[2]), self.larger(x[1], x[3]));
        let x = self.larger(x, neon! { vextq_f32::<2>(x, x) });
        let x = self.larger(x, neon! { vextq_f32::<1>(x, x) });
        neon! { vgetq_lane_f32::<0>(x) }
    }

    #[inline(always)]
    fn larger_magnitude(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // The bit patterns of positive numbers are ordered like the numbers, with NaN last.
        quarters!(a, b => {
            let (a, b) = (vabsq_f32(a), vabsq_f32(b));
            vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)))
        })
    }

    #[inline(always)]
    fn max_magnitude(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> f32 {
        let x = self.larger_magnitude(a, b);
        let x = quarters!(x => vreinterpretq_u32_f32(x));
        f32::from_bits(neon! {
            vmaxvq_u32(vmaxq_u32(vmaxq_u32(x[0], x[1]), vmaxq_u32(x[2], x[3])))
        })
    }
}

impl<P: ByteProducts> IntegerLanes for Neon<P> {
    #[inline(always)]
    fn load_u8(self, x: &[u8; LANES]) -> [int32x4_t; 4] {
        neon! {
            let bytes = vld1q_u8(x.as_ptr());
            let (low, high) = (vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes));
            [
                vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))),
                vreinterpretq_s32_u32(vmovl_high_u16(low)),
                vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
                vreinterpretq_s32_u32(vmovl_high_u16(high)),
            ]
        }
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> [int32x4_t; 4] {
        neon! { [vdupq_n_s32(x); 4] }
    }

    #[inline(always)]
    fn load_i32(self, x: &[i32; LANES]) -> [int32x4_t; 4] {
        let x = x.as_ptr();
        neon! { [vld1q_s32(x), vld1q_s32(x.add(4)), vld1q_s32(x.add(8)), vld1q_s32(x.add(12))] }
    }

    #[inline(always)]
    fn store_i32(self, x: [int32x4_t; 4], out: &mut [i32; LANES]) {
        for (x, out) in x.into_iter().zip(out.chunks_exact_mut(4)) {
            neon! { vst1q_s32(out.as_mut_ptr(), x) };
        }
    }

    #[inline(always)]
    fn add_i32(self, a: [int32x4_t; 4], b: [int32x4_t; 4]) -> [int32x4_t; 4] {
        quarters!(a, b => vaddq_s32(a, b))
    }

    #[inline(always)]
    fn mul_i32(self, a: [int32x4_t; 4], b: [int32x4_t; 4]) -> [int32x4_t; 4] {
        quarters!(a, b => vmulq_s32(a, b))
    }

    #[inline(always)]
    fn shl8(self, x: [int32x4_t; 4]) -> [int32x4_t; 4] {
        quarters!(x => vshlq_n_s32::<8>(x))
    }

    #[inline(always)]
    fn shr8(self, x: [int32x4_t; 4]) -> [int32x4_t; 4] {
        quarters!(x => vshrq_n_s32::<8>(x))
    }
}

impl<P: ByteProducts> ConvertLanes for Neon<P> {
    #[inline(always)]
    fn load_f32(self, x: &[u8; 4 * LANES]) -> [float32x4_t; 4] {
        let x = self.load_bytes(x);
        quarters!(x => vreinterpretq_f32_u8(x))
    }

    #[inline(always)]
    fn load_f16(self, x: &[u8; 2 * LANES]) -> [float32x4_t; 4] {
        let [low, high] = self.load_u16(x);
        [self.widen_low(low), self.widen_high(low), self.widen_low(high), self.widen_high(high)]
    }

    #[inline(always)]
    fn load_bf16(self, x: &[u8; 2 * LANES]) -> [float32x4_t; 4] {
        let [low, high] = self.load_u16(x);
        let x = neon! {
            [
                vshll_n_u16::<16>(vget_low_u16(low)),
                vshll_high_n_u16::<16>(low),
                vshll_n_u16::<16>(vget_low_u16(high)),
                vshll_high_n_u16::<16>(high),
            ]
        };
        quarters!(x => vreinterpretq_f32_u32(x))
    }

    #[inline(always)]
    fn load_i8(self, x: &[u8; LANES]) -> [float32x4_t; 4] {
        self.widen_bytes(neon! { vreinterpretq_s8_u8(vld1q_u8(x.as_ptr())) })
    }

    #[inline(always)]
    fn load_u4(self, x: &[u8; LANES], shift: u32) -> [float32x4_t; 4] {
        self.widen_bytes(neon! {
            let bytes = vshlq_u8(vld1q_u8(x.as_ptr()), vdupq_n_s8(-(shift as i8)));
            vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)))
        })
    }

    #[inline(always)]
    fn store_f16(self, x: [float32x4_t; 4], out: &mut [u8; 2 * LANES]) {
        let (low, high) = (self.narrow(x[0], x[1]), self.narrow(x[2], x[3]));
        let out = out.as_mut_ptr();
        neon! {
            vst1q_u8(out, vreinterpretq_u8_u16(low));
            vst1q_u8(out.add(16), vreinterpretq_u8_u16(high));
        }
    }

    #[inline(always)]
    fn store_i8(self, x: [float32x4_t; 4], out: &mut [i8; LANES]) {
        let x = self.min(self.max(x, self.splat(-127.0)), self.splat(127.0));
        let x = quarters!(x => vmovn_s32(vcvtnq_s32_f32(x)));
        neon! {
            let (low, high) = (vcombine_s16(x[0], x[1]), vcombine_s16(x[2], x[3]));
            vst1q_s8(out.as_mut_ptr(), vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
        }
    }

    #[inline(always)]
    fn to_f32(self, x: [int32x4_t; 4]) -> [float32x4_t; 4] {
        quarters!(x => vcvtq_f32_s32(x))
    }

    #[inline(always)]
    fn round_i32(self, x: [float32x4_t; 4]) -> [int32x4_t; 4] {
        quarters!(x => vcvtnq_s32_f32(x))
    }
}

impl<P: ByteProducts> ByteLanes for Neon<P> {
    #[inline(always)]
    fn load_bytes(self, x: &[u8; VECTOR_BYTES]) -> [uint8x16_t; 4] {
        let x = x.as_ptr();
        neon! { [vld1q_u8(x), vld1q_u8(x.add(16)), vld1q_u8(x.add(32)), vld1q_u8(x.add(48))] }
    }

    #[inline(always)]
    fn store_bytes(self, x: [uint8x16_t; 4], out: &mut [u8; VECTOR_BYTES]) {
        let out = out.as_mut_ptr();
        neon! {
            vst1q_u8(out, x[0]);
            vst1q_u8(out.add(16), x[1]);
            vst1q_u8(out.add(32), x[2]);
            vst1q_u8(out.add(48), x[3]);
        }
    }

    #[inline(always)]
    fn bits(self, x: [uint8x16_t; 4], shift: u32, width: u32) -> [uint8x16_t; 4] {
        // A right shift is a left shift by a negative count.
        let count = neon! { vdupq_n_s8(-(shift as i8)) };
        let mask = neon! { vdupq_n_u8(((1u32 << width) - 1) as u8) };
        quarters!(x => vandq_u8(vshlq_u8(x, count), mask))
    }

    #[inline(always)]
    fn join(self, low: [uint8x16_t; 4], high: [uint8x16_t; 4], shift: u32) -> [uint8x16_t; 4] {
        let count = neon! { vdupq_n_s8(shift as i8) };
        quarters!(low, high => vorrq_u8(low, vshlq_u8(high, count)))
    }

    #[inline(always)]
    fn lookup(self, table: &[i8; 16], x: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        let table = neon! { vreinterpretq_u8_s8(vld1q_s8(table.as_ptr())) };
        quarters!(x => vqtbl1q_u8(table, x))
    }
}

impl<P: ByteProducts> ShuffleLanes for Neon<P> {
    #[inline(always)]
    fn interleave_u32(self, a: [uint8x16_t; 4], b: [uint8x16_t; 4]) -> [[uint8x16_t; 4]; 2] {
        let a = quarters!(a => vreinterpretq_u32_u8(a));
        let b = quarters!(b => vreinterpretq_u32_u8(b));
        [
            quarters!(a, b => vreinterpretq_u8_u32(vzip1q_u32(a, b))),
            quarters!(a, b => vreinterpretq_u8_u32(vzip2q_u32(a, b))),
        ]
    }

    #[inline(always)]
    fn interleave_u64(self, a: [uint8x16_t; 4], b: [uint8x16_t; 4]) -> [[uint8x16_t; 4]; 2] {
        let a = quarters!(a => vreinterpretq_u64_u8(a));
        let b = quarters!(b => vreinterpretq_u64_u8(b));
        [
            quarters!(a, b => vreinterpretq_u8_u64(vzip1q_u64(a, b))),
            quarters!(a, b => vreinterpretq_u8_u64(vzip2q_u64(a, b))),
        ]
    }

    #[inline(always)]
    fn transpose_quarters(self, rows: [[uint8x16_t; 4]; 4]) -> [[uint8x16_t; 4]; 4] {
        let [a, b, c, d] = rows;
        let mut columns = rows;
        for (quarter, column) in columns.iter_mut().enumerate() {
            *column = [a[quarter], b[quarter], c[quarter], d[quarter]];
        }
        columns
    }

    #[inline(always)]
    fn exchange_middle_u16(self, x: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        const ORDER: [u8; 16] = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
        let order = neon! { vld1q_u8(ORDER.as_ptr()) };
        quarters!(x => vqtbl1q_u8(x, order))
    }
}

impl<P: ByteProducts> PrefetchLanes for Neon<P> {
    #[inline(always)]
    fn prefetch(self, x: &[u8], ahead: usize) {
        // A prefetch of an unmapped address has no effect.
        neon! {
            asm!(
                "prfm pldl1keep, [{address}]",
                address = in(reg) x.as_ptr().wrapping_add(ahead),
                options(readonly, nostack, preserves_flags),
            )
        }
    }

    #[inline(always)]
    fn prefetch_far(self, x: &[u8], ahead: usize) {
        // As in `prefetch`.
        neon! {
            asm!(
                "prfm pldl2keep, [{address}]",
                address = in(reg) x.as_ptr().wrapping_add(ahead),
                options(readonly, nostack, preserves_flags),
            )
        }
    }
}

impl<P: ByteProducts> DotLanes for Neon<P> {
    const ROW_PAIRS: bool = P::ROW_PAIRS;

    #[inline(always)]
    fn dot_i8(self, acc: [int32x4_t; 4], w: [uint8x16_t; 4], a: [i8; 4]) -> [int32x4_t; 4] {
        let a = i32::from_le_bytes([a[0] as u8, a[1] as u8, a[2] as u8, a[3] as u8]);
        let a = neon! { vreinterpretq_s8_s32(vdupq_n_s32(a)) };
        quarters!(acc, w => P::dot(acc, vreinterpretq_s8_u8(w), a))
    }

    #[inline(always)]
    fn dot_u7(self, acc: [int32x4_t; 4], w: [uint8x16_t; 4], a: [i8; 4]) -> [int32x4_t; 4] {
        // Bytes of 0 to 127 are the same signed and unsigned.
        self.dot_i8(acc, w, a)
    }

    #[inline(always)]
    fn pair_operands(self, w: [[uint8x16_t; 4]; 2]) -> [[uint8x16_t; 4]; 2] {
        // In each quarter two rows of eight columns, then the two rows that follow them.
        if P::ROW_PAIRS { self.interleave_u32(w[0], w[1]) } else { w }
    }

    #[inline(always)]
    fn dot_pair(
        self,
        sums: [[int32x4_t; 4]; 2],
        w: [[uint8x16_t; 4]; 2],
        a: [[i8; 8]; 2],
    ) -> [[int32x4_t; 4]; 2] {
        if !P::ROW_PAIRS {
            return self.dot_pair_by_row(sums, w, a);
        }
        let a = neon! { vcombine_s8(vld1_s8(a[0].as_ptr()), vld1_s8(a[1].as_ptr())) };
        let ([first, last], [w, w_last]) = (sums, w);
        [
            quarters!(first, w => P::multiply(first, vreinterpretq_s8_u8(w), a)),
            quarters!(last, w_last => P::multiply(last, vreinterpretq_s8_u8(w_last), a)),
        ]
    }

    #[inline(always)]
    fn pair_sums(self, sums: [[int32x4_t; 4]; 2]) -> [[int32x4_t; 4]; 2] {
        if !P::ROW_PAIRS {
            return sums;
        }
        let [first, last] = sums;
        [
            quarters!(first, last => vuzp1q_s32(first, last)),
            quarters!(first, last => vuzp2q_s32(first, last)),
        ]
    }
}

impl<P: ByteProducts> Int16Lanes for Neon<P> {
    #[inline(always)]
    fn pair_i16(self, first: [int32x4_t; 4], second: [int32x4_t; 4]) -> [uint8x16_t; 4] {
        quarters!(first, second => vreinterpretq_u8_s32(vsliq_n_s32::<16>(first, second)))
    }

    #[inline(always)]
    fn dot_i16(self, acc: [int32x4_t; 4], x: [uint8x16_t; 4], y: [i16; 2]) -> [int32x4_t; 4] {
        let y = i32::from(y[0] as u16) | i32::from(y[1]) << 16;
        let y = neon! { vreinterpretq_s16_s32(vdupq_n_s32(y)) };
        quarters!(acc, x => {
            let x = vreinterpretq_s16_u8(x);
            let low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
            let high = vmull_high_s16(x, y);
            vaddq_s32(acc, vpaddq_s32(low, high))
        })
    }
}

impl<P: ByteProducts> MatrixLanes for Neon<P> {
    type Unit = NoMatrixUnit;
    type Bf16Unit = NoMatrixUnit;
}
