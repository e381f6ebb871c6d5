//! AVX2 with FMA and F16C, with or without AVX-VNNI: a vector is two 256-bit registers, the first with lanes 0 to
//! 7.
//!
//! With VNNI, unsigned bytes are multiplied by signed bytes as in `avx512.rs`. Without it, the unsigned operand is
//! the codes of up to 7 bits, or the magnitudes of signed bytes.

// Intrinsics are unsafe to call.
#![allow(unsafe_code)]
// The intrinsic of AVX-VNNI needs Rust 1.89. The crate's lower bound is for other targets.
#![allow(clippy::incompatible_msrv)]

use std::arch::x86_64::*;

use crate::lanes::{
    ByteLanes, ConvertLanes, DotLanes, FloatLanes, Int16Lanes, IntegerLanes, Kernel, LANES,
    MatrixLanes, NoMatrixUnit, PrefetchLanes, ShuffleLanes, VECTOR_BYTES, VectorTypes,
};

/// A proof that this processor has AVX2, FMA and F16C, and if `VNNI` is true AVX-VNNI. Only [`Avx2::detect`]
/// creates values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2<const VNNI: bool>(());

impl<const VNNI: bool> Avx2<VNNI> {
    /// Detects the instruction set.
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && (!VNNI || is_x86_feature_detected!("avxvnni"));
        found.then_some(Self(()))
    }

    /// Runs `kernel`, compiled for this instruction set.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) {
        if VNNI {
            // SAFETY: `self` proves the features: only `detect` creates values, after checking them.
            unsafe { enter_vnni(self, kernel) }
        } else {
            // SAFETY: as in the other branch.
            unsafe { enter(self, kernel) }
        }
    }
}

/// # Safety
///
/// The processor must support the features of the attribute.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn enter<K: Kernel, const VNNI: bool>(level: Avx2<VNNI>, kernel: K) {
    kernel.run(level);
}

/// # Safety
///
/// The processor must support the features of the attribute.
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
unsafe fn enter_vnni<K: Kernel, const VNNI: bool>(level: Avx2<VNNI>, kernel: K) {
    kernel.run(level);
}

/// Wraps intrinsics. Each body uses only those of AVX2, FMA, F16C and below, or with `VNNI` of AVX-VNNI, which a
/// value of [`Avx2`] proves, and accesses memory only through references to arrays of the full size.
macro_rules! avx2 {
    ($($body:tt)*) => {
        // SAFETY: `detect` checked the features before it created the `Avx2` that the method was called on;
        // pointers come from references to arrays of the accessed size.
        unsafe { $($body)* }
    };
}

/// Applies an intrinsic to both halves.
macro_rules! halves {
    ($intrinsic:ident, $($x:expr),+) => {
        avx2! { [$intrinsic($($x[0]),+), $intrinsic($($x[1]),+)] }
    };
}

impl<const VNNI: bool> Avx2<VNNI> {
    /// The four bytes in each of eight lanes.
    #[inline(always)]
    fn splat_four(self, a: [i8; 4]) -> __m256i {
        let a = i32::from_le_bytes([a[0] as u8, a[1] as u8, a[2] as u8, a[3] as u8]);
        avx2! { _mm256_set1_epi32(a) }
    }

    /// Adds pairs of products, which must fit in 16 bits, to 32-bit sums of four products.
    #[inline(always)]
    fn add_pairs(self, acc: __m256i, pairs: __m256i) -> __m256i {
        avx2! { _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))) }
    }
}

impl<const VNNI: bool> VectorTypes for Avx2<VNNI> {
    type F32 = [__m256; 2];
    type I32 = [__m256i; 2];
    type Bytes = [__m256i; 2];
}

impl<const VNNI: bool> FloatLanes for Avx2<VNNI> {
    #[inline(always)]
    fn splat(self, x: f32) -> [__m256; 2] {
        avx2! { [_mm256_set1_ps(x); 2] }
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> [__m256; 2] {
        avx2! { [_mm256_loadu_ps(x.as_ptr()), _mm256_loadu_ps(x.as_ptr().add(8))] }
    }

    #[inline(always)]
    fn store(self, x: [__m256; 2], out: &mut [f32; LANES]) {
        avx2! {
            _mm256_storeu_ps(out.as_mut_ptr(), x[0]);
            _mm256_storeu_ps(out.as_mut_ptr().add(8), x[1]);
        }
    }

    #[inline(always)]
    fn add(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_add_ps, a, b)
    }

    #[inline(always)]
    fn sub(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_sub_ps, a, b)
    }

    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_mul_ps, a, b)
    }

    #[inline(always)]
    fn div(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_div_ps, a, b)
    }

    #[inline(always)]
    fn fma(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_fmadd_ps, a, b, c)
    }

    #[inline(always)]
    fn max(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_max_ps, a, b)
    }

    #[inline(always)]
    fn min(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        halves!(_mm256_min_ps, a, b)
    }

    #[inline(always)]
    fn zero_below(self, x: [__m256; 2], limit: [__m256; 2], y: [__m256; 2]) -> [__m256; 2] {
        avx2! {
            [
                _mm256_andnot_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(x[0], limit[0]), y[0]),
                _mm256_andnot_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(x[1], limit[1]), y[1]),
            ]
        }
    }

    #[inline(always)]
    fn pow2(self, pattern: [__m256; 2]) -> [__m256; 2] {
        avx2! {
            [
                _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pattern[0]), 23)),
                _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pattern[1]), 23)),
            ]
        }
    }

    #[inline(always)]
    fn sum(self, x: [__m256; 2]) -> f32 {
        avx2! {
            let x = _mm256_add_ps(x[0], x[1]);
            let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
        }
    }

    #[inline(always)]
    fn max_lane(self, x: [__m256; 2]) -> f32 {
        avx2! {
            let x = _mm256_max_ps(x[0], x[1]);
            let x = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let x = _mm_max_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)))
        }
    }

    #[inline(always)]
    fn larger_magnitude(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        avx2! {
            let sign = _mm256_set1_ps(-0.0);
            let larger = |a, b| {
                let a = _mm256_castps_si256(_mm256_andnot_ps(sign, a));
                let b = _mm256_castps_si256(_mm256_andnot_ps(sign, b));
                _mm256_castsi256_ps(_mm256_max_epi32(a, b))
            };
            [larger(a[0], b[0]), larger(a[1], b[1])]
        }
    }

    #[inline(always)]
    fn max_magnitude(self, a: [__m256; 2], b: [__m256; 2]) -> f32 {
        let x = self.larger_magnitude(a, b);
        avx2! {
            let x = _mm256_max_epi32(_mm256_castps_si256(x[0]), _mm256_castps_si256(x[1]));
            let x = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            let x = _mm_max_epi32(x, _mm_unpackhi_epi64(x, x));
            let x = _mm_max_epi32(x, _mm_shuffle_epi32::<1>(x));
            f32::from_bits(_mm_cvtsi128_si32(x) as u32)
        }
    }
}

impl<const VNNI: bool> IntegerLanes for Avx2<VNNI> {
    #[inline(always)]
    fn load_u8(self, x: &[u8; LANES]) -> [__m256i; 2] {
        avx2! {
            let bytes = _mm_loadu_si128(x.as_ptr().cast());
            [_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes))]
        }
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> [__m256i; 2] {
        avx2! { [_mm256_set1_epi32(x); 2] }
    }

    #[inline(always)]
    fn load_i32(self, x: &[i32; LANES]) -> [__m256i; 2] {
        avx2! {
            [_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().add(8).cast())]
        }
    }

    #[inline(always)]
    fn store_i32(self, x: [__m256i; 2], out: &mut [i32; LANES]) {
        let out = out.as_mut_ptr().cast::<__m256i>();
        avx2! {
            _mm256_storeu_si256(out, x[0]);
            _mm256_storeu_si256(out.add(1), x[1]);
        }
    }

    #[inline(always)]
    fn add_i32(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        halves!(_mm256_add_epi32, a, b)
    }

    #[inline(always)]
    fn mul_i32(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        halves!(_mm256_mullo_epi32, a, b)
    }

    #[inline(always)]
    fn shl8(self, x: [__m256i; 2]) -> [__m256i; 2] {
        avx2! { [_mm256_slli_epi32::<8>(x[0]), _mm256_slli_epi32::<8>(x[1])] }
    }

    #[inline(always)]
    fn shr8(self, x: [__m256i; 2]) -> [__m256i; 2] {
        avx2! { [_mm256_srai_epi32::<8>(x[0]), _mm256_srai_epi32::<8>(x[1])] }
    }
}

impl<const VNNI: bool> ConvertLanes for Avx2<VNNI> {
    #[inline(always)]
    fn load_f32(self, x: &[u8; 4 * LANES]) -> [__m256; 2] {
        avx2! { [_mm256_loadu_ps(x.as_ptr().cast()), _mm256_loadu_ps(x.as_ptr().add(32).cast())] }
    }

    #[inline(always)]
    fn load_f16(self, x: &[u8; 2 * LANES]) -> [__m256; 2] {
        avx2! {
            [
                _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().cast())),
                _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().add(16).cast())),
            ]
        }
    }

    #[inline(always)]
    fn load_bf16(self, x: &[u8; 2 * LANES]) -> [__m256; 2] {
        avx2! {
            let low = _mm256_cvtepu16_epi32(_mm_loadu_si128(x.as_ptr().cast()));
            let high = _mm256_cvtepu16_epi32(_mm_loadu_si128(x.as_ptr().add(16).cast()));
            [
                _mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
                _mm256_castsi256_ps(_mm256_slli_epi32(high, 16)),
            ]
        }
    }

    #[inline(always)]
    fn load_i8(self, x: &[u8; LANES]) -> [__m256; 2] {
        avx2! {
            let bytes = _mm_loadu_si128(x.as_ptr().cast());
            [
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes))),
            ]
        }
    }

    #[inline(always)]
    fn load_u4(self, x: &[u8; LANES], shift: u32) -> [__m256; 2] {
        avx2! {
            let bytes = _mm_loadu_si128(x.as_ptr().cast());
            let bytes = _mm_srl_epi16(bytes, _mm_cvtsi32_si128(shift as i32));
            let bytes = _mm_and_si128(bytes, _mm_set1_epi8(15));
            [
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes))),
            ]
        }
    }

    #[inline(always)]
    fn store_f16(self, x: [__m256; 2], out: &mut [u8; 2 * LANES]) {
        avx2! {
            let low = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x[0]);
            let high = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x[1]);
            _mm_storeu_si128(out.as_mut_ptr().cast(), low);
            _mm_storeu_si128(out.as_mut_ptr().add(16).cast(), high);
        }
    }

    #[inline(always)]
    fn store_i8(self, x: [__m256; 2], out: &mut [i8; LANES]) {
        let x = self.min(self.max(x, self.splat(-127.0)), self.splat(127.0));
        avx2! {
            // The packs work within 128 bits: the quarters are in the order 0, 2, 1, 3.
            let words = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
            let low = _mm256_castsi256_si128(words);
            let bytes = _mm_packs_epi16(low, _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(out.as_mut_ptr().cast(), bytes);
        }
    }

    #[inline(always)]
    fn store_i16(self, x: [__m256; 2], out: &mut [i16; LANES]) {
        avx2! {
            // The pack works within 128 bits: the quarters are in the order 0, 2, 1, 3.
            let words = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
            _mm256_storeu_si256(out.as_mut_ptr().cast(), words);
        }
    }

    #[inline(always)]
    fn to_f32(self, x: [__m256i; 2]) -> [__m256; 2] {
        halves!(_mm256_cvtepi32_ps, x)
    }

    #[inline(always)]
    fn round_i32(self, x: [__m256; 2]) -> [__m256i; 2] {
        halves!(_mm256_cvtps_epi32, x)
    }
}

impl<const VNNI: bool> ByteLanes for Avx2<VNNI> {
    #[inline(always)]
    fn load_bytes(self, x: &[u8; VECTOR_BYTES]) -> [__m256i; 2] {
        avx2! {
            [_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().add(32).cast())]
        }
    }

    #[inline(always)]
    fn store_bytes(self, x: [__m256i; 2], out: &mut [u8; VECTOR_BYTES]) {
        avx2! {
            _mm256_storeu_si256(out.as_mut_ptr().cast(), x[0]);
            _mm256_storeu_si256(out.as_mut_ptr().add(32).cast(), x[1]);
        }
    }

    #[inline(always)]
    fn bits(self, x: [__m256i; 2], shift: u32, width: u32) -> [__m256i; 2] {
        avx2! {
            // The shift is 16 bits wide; the mask removes the bits of the neighbouring byte.
            let count = _mm_cvtsi32_si128(shift as i32);
            let mask = _mm256_set1_epi8(((1u32 << width) - 1) as i8);
            [
                _mm256_and_si256(_mm256_srl_epi16(x[0], count), mask),
                _mm256_and_si256(_mm256_srl_epi16(x[1], count), mask),
            ]
        }
    }

    #[inline(always)]
    fn join(self, low: [__m256i; 2], high: [__m256i; 2], shift: u32) -> [__m256i; 2] {
        avx2! {
            // The shift is 16 bits wide; no bit crosses bytes, since `high << shift` fits in a byte.
            let count = _mm_cvtsi32_si128(shift as i32);
            [
                _mm256_or_si256(low[0], _mm256_sll_epi16(high[0], count)),
                _mm256_or_si256(low[1], _mm256_sll_epi16(high[1], count)),
            ]
        }
    }

    #[inline(always)]
    fn lookup(self, table: &[i8; 16], x: [__m256i; 2]) -> [__m256i; 2] {
        avx2! {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            [_mm256_shuffle_epi8(table, x[0]), _mm256_shuffle_epi8(table, x[1])]
        }
    }
}

impl<const VNNI: bool> ShuffleLanes for Avx2<VNNI> {
    #[inline(always)]
    fn interleave_u32(self, a: [__m256i; 2], b: [__m256i; 2]) -> [[__m256i; 2]; 2] {
        [halves!(_mm256_unpacklo_epi32, a, b), halves!(_mm256_unpackhi_epi32, a, b)]
    }

    #[inline(always)]
    fn interleave_u64(self, a: [__m256i; 2], b: [__m256i; 2]) -> [[__m256i; 2]; 2] {
        [halves!(_mm256_unpacklo_epi64, a, b), halves!(_mm256_unpackhi_epi64, a, b)]
    }

    #[inline(always)]
    fn transpose_quarters(self, [a, b, c, d]: [[__m256i; 2]; 4]) -> [[__m256i; 2]; 4] {
        // The first or the second quarter of both operands.
        const FIRST: i32 = 0x20;
        const SECOND: i32 = 0x31;
        let mut rows = [[a[0]; 2]; 4];
        for half in 0..2 {
            for (place, (x, y)) in [(a[half], b[half]), (c[half], d[half])].into_iter().enumerate()
            {
                rows[2 * half][place] = avx2! { _mm256_permute2x128_si256::<FIRST>(x, y) };
                rows[2 * half + 1][place] = avx2! { _mm256_permute2x128_si256::<SECOND>(x, y) };
            }
        }
        rows
    }

    #[inline(always)]
    fn exchange_middle_u16(self, x: [__m256i; 2]) -> [__m256i; 2] {
        let order = avx2! {
            let order = _mm_set_epi32(0x0f0e_0b0a, 0x0d0c_0908, 0x0706_0302, 0x0504_0100);
            [_mm256_broadcastsi128_si256(order); 2]
        };
        halves!(_mm256_shuffle_epi8, x, order)
    }
}

impl<const VNNI: bool> PrefetchLanes for Avx2<VNNI> {
    #[inline(always)]
    fn prefetch(self, x: &[u8], ahead: usize) {
        // A prefetch of an unmapped address has no effect.
        avx2! { _mm_prefetch::<_MM_HINT_T0>(x.as_ptr().wrapping_add(ahead).cast()) }
    }

    #[inline(always)]
    fn prefetch_far(self, x: &[u8], ahead: usize) {
        // As in `prefetch`.
        avx2! { _mm_prefetch::<_MM_HINT_T1>(x.as_ptr().wrapping_add(ahead).cast()) }
    }
}

impl<const VNNI: bool> DotLanes for Avx2<VNNI> {
    const BYTE_OFFSET: i32 = if VNNI { 128 } else { 0 };

    #[inline(always)]
    fn operand_i8(self, w: [__m256i; 2]) -> [__m256i; 2] {
        if !VNNI {
            return w;
        }
        let offset = avx2! { [_mm256_set1_epi8(i8::MIN); 2] };
        halves!(_mm256_xor_si256, w, offset)
    }

    #[inline(always)]
    fn dot_i8(self, acc: [__m256i; 2], w: [__m256i; 2], a: [i8; 4]) -> [__m256i; 2] {
        if VNNI {
            return self.dot_u7(acc, w, a);
        }
        // The multiplication requires one unsigned operand: the sign of `w` is moved to `a`. Two products are
        // at most 2 * 128 * 127, which fits in 16 bits.
        let a = self.splat_four(a);
        let pairs = avx2! {
            [
                _mm256_maddubs_epi16(_mm256_abs_epi8(w[0]), _mm256_sign_epi8(a, w[0])),
                _mm256_maddubs_epi16(_mm256_abs_epi8(w[1]), _mm256_sign_epi8(a, w[1])),
            ]
        };
        [self.add_pairs(acc[0], pairs[0]), self.add_pairs(acc[1], pairs[1])]
    }

    #[inline(always)]
    fn dot_u7(self, acc: [__m256i; 2], w: [__m256i; 2], a: [i8; 4]) -> [__m256i; 2] {
        let a = [self.splat_four(a); 2];
        if VNNI {
            return halves!(_mm256_dpbusd_avx_epi32, acc, w, a);
        }
        // Two products are at most 2 * 127 * 127, which fits in 16 bits.
        let pairs = halves!(_mm256_maddubs_epi16, w, a);
        [self.add_pairs(acc[0], pairs[0]), self.add_pairs(acc[1], pairs[1])]
    }
}

impl<const VNNI: bool> Int16Lanes for Avx2<VNNI> {
    #[inline(always)]
    fn pair_i16(self, first: [__m256i; 2], second: [__m256i; 2]) -> [__m256i; 2] {
        avx2! {
            [
                _mm256_blend_epi16::<0xaa>(first[0], _mm256_slli_epi32::<16>(second[0])),
                _mm256_blend_epi16::<0xaa>(first[1], _mm256_slli_epi32::<16>(second[1])),
            ]
        }
    }

    #[inline(always)]
    fn dot_i16(self, acc: [__m256i; 2], x: [__m256i; 2], y: [i16; 2]) -> [__m256i; 2] {
        let y = i32::from(y[0] as u16) | i32::from(y[1]) << 16;
        let y = avx2! { [_mm256_set1_epi32(y); 2] };
        if VNNI {
            return halves!(_mm256_dpwssd_avx_epi32, acc, x, y);
        }
        let products = halves!(_mm256_madd_epi16, x, y);
        self.add_i32(acc, products)
    }
}

impl<const VNNI: bool> MatrixLanes for Avx2<VNNI> {
    type Unit = NoMatrixUnit;
    type Bf16Unit = NoMatrixUnit;
}
