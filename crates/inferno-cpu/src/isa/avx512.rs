//! AVX-512 with VNNI: a vector is one 512-bit register.
//!
//! Unsigned bytes are multiplied by signed bytes. Signed weights are made unsigned by adding 128, and a chain of
//! products starts from the negated sum of what that adds.
//!
//! The vector instructions for bfloat16 products are not used: they treat subnormals as zeros and round at other points
//! than a fused multiply-add, so that other instruction sets could not reproduce their results. Those of AMX, for which this
//! is as true, are worth it (`amx/bf16.rs`).

// Intrinsics are unsafe to call.
#![allow(unsafe_code)]
// These intrinsics need Rust 1.89. The crate's lower bound is for targets without this level.
#![allow(clippy::incompatible_msrv)]

use std::arch::asm;
use std::arch::x86_64::*;

use super::amx::{Amx, AmxTiles, Bf16Tiles};
use crate::lanes::{
    ByteLanes, ConvertLanes, DotLanes, FloatLanes, Int16Lanes, IntegerLanes, Kernel, LANES,
    MatrixLanes, PrefetchLanes, ShuffleLanes, VECTOR_BYTES, VectorTypes,
};

/// A proof that this processor has AVX-512 F, BW, DQ, VL and VNNI. Only [`Avx512::detect`] creates values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512 {
    amx: Option<Amx>,
}

impl Avx512 {
    /// Detects the instruction set; without the matrix unit.
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        found.then_some(Self { amx: None })
    }

    /// Detects the instruction set and the matrix unit.
    pub(crate) fn detect_amx() -> Option<Self> {
        Self::detect()?;
        Some(Self { amx: Some(Amx::detect()?) })
    }

    /// Runs `kernel`, compiled for this instruction set.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) {
        // SAFETY: `self` proves the features: only `detect` creates values, after checking them.
        unsafe { enter(self, kernel) }
    }
}

/// # Safety
///
/// The processor must support the features of the attribute.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn enter<K: Kernel>(level: Avx512, kernel: K) {
    kernel.run(level);
}

/// Wraps intrinsics. Each body uses only those of AVX-512 F, BW, DQ, VL, VNNI and below, which a value of
/// [`Avx512`] proves, and accesses memory only through references to arrays of the full size.
macro_rules! avx512 {
    ($($body:tt)*) => {
        // SAFETY: `detect` checked the features before it created the `Avx512` that the method was called on;
        // pointers come from references to arrays of the accessed size.
        unsafe { $($body)* }
    };
}

/// Returns `x`; to the compiler, an operation that must happen here.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_program_order(mut x: __m512i) -> __m512i {
    // SAFETY: this is a comment that names the register, without any instruction.
    unsafe { asm!("/* {} */", inout(zmm_reg) x, options(nomem, nostack, preserves_flags)) };
    x
}

impl VectorTypes for Avx512 {
    const REGISTERS: usize = 32;

    type F32 = __m512;
    type I32 = __m512i;
    type Bytes = __m512i;
}

impl FloatLanes for Avx512 {
    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        avx512! { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> __m512 {
        avx512! { _mm512_loadu_ps(x.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, x: __m512, out: &mut [f32; LANES]) {
        avx512! { _mm512_storeu_ps(out.as_mut_ptr(), x) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        avx512! { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        avx512! { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        avx512! { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        avx512! { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        avx512! { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        avx512! { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        avx512! { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn zero_below(self, x: __m512, limit: __m512, y: __m512) -> __m512 {
        avx512! {
            _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, limit), y)
        }
    }

    #[inline(always)]
    fn pow2(self, pattern: __m512) -> __m512 {
        avx512! { _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(pattern))) }
    }

    #[inline(always)]
    fn sum(self, x: __m512) -> f32 {
        avx512! {
            let x = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x));
            let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
        }
    }

    #[inline(always)]
    fn max_lane(self, x: __m512) -> f32 {
        avx512! {
            let x = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x));
            let x = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let x = _mm_max_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)))
        }
    }

    #[inline(always)]
    fn larger_magnitude(self, a: __m512, b: __m512) -> __m512 {
        avx512! {
            let sign = _mm512_set1_epi32(i32::MIN);
            let a = _mm512_andnot_si512(sign, _mm512_castps_si512(a));
            let b = _mm512_andnot_si512(sign, _mm512_castps_si512(b));
            _mm512_castsi512_ps(_mm512_max_epi32(a, b))
        }
    }

    #[inline(always)]
    fn max_magnitude(self, a: __m512, b: __m512) -> f32 {
        let larger = self.larger_magnitude(a, b);
        avx512! { f32::from_bits(_mm512_reduce_max_epi32(_mm512_castps_si512(larger)) as u32) }
    }
}

impl IntegerLanes for Avx512 {
    #[inline(always)]
    fn load_u8(self, x: &[u8; LANES]) -> __m512i {
        avx512! { _mm512_cvtepu8_epi32(_mm_loadu_si128(x.as_ptr().cast())) }
    }

    #[inline(always)]
    fn splat_i32(self, x: i32) -> __m512i {
        avx512! { _mm512_set1_epi32(x) }
    }

    #[inline(always)]
    fn load_i32(self, x: &[i32; LANES]) -> __m512i {
        avx512! { _mm512_loadu_si512(x.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_i32(self, x: __m512i, out: &mut [i32; LANES]) {
        avx512! { _mm512_storeu_si512(out.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn add_i32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512! { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn mul_i32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512! { _mm512_mullo_epi32(a, b) }
    }

    #[inline(always)]
    fn shl8(self, x: __m512i) -> __m512i {
        avx512! { _mm512_slli_epi32::<8>(x) }
    }

    #[inline(always)]
    fn shr8(self, x: __m512i) -> __m512i {
        avx512! { _mm512_srai_epi32::<8>(x) }
    }
}

impl ConvertLanes for Avx512 {
    #[inline(always)]
    fn load_f32(self, x: &[u8; 4 * LANES]) -> __m512 {
        avx512! { _mm512_loadu_ps(x.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_f16(self, x: &[u8; 2 * LANES]) -> __m512 {
        avx512! { _mm512_cvtph_ps(_mm256_loadu_si256(x.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_bf16(self, x: &[u8; 2 * LANES]) -> __m512 {
        avx512! {
            let numbers = _mm512_cvtepu16_epi32(_mm256_loadu_si256(x.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(numbers))
        }
    }

    #[inline(always)]
    fn store_bf16(self, x: __m512, out: &mut [u8; 2 * LANES]) {
        avx512! {
            let bits = _mm512_castps_si512(x);
            let is_odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
            let rounder = _mm512_add_epi32(is_odd, _mm512_set1_epi32(0x7fff));
            let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, rounder));
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
            let rounded = _mm512_mask_mov_epi32(rounded, is_nan, _mm512_set1_epi32(0x7fc0));
            _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(rounded))
        }
    }

    #[inline(always)]
    fn round_bf16(self, x: __m512) -> __m512 {
        avx512! {
            let rounded = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
            let upper = _mm512_set1_epi32(0xffff_0000_u32 as i32);
            _mm512_castsi512_ps(_mm512_and_si512(rounded, upper))
        }
    }

    #[inline(always)]
    fn store_upper_halves(self, even: __m512, odd: __m512, out: &mut [u8; 4 * LANES]) {
        const ODD: __mmask32 = 0xaaaa_aaaa;
        avx512! {
            let even = _mm512_srli_epi32::<16>(_mm512_castps_si512(even));
            let both = _mm512_mask_blend_epi16(ODD, even, _mm512_castps_si512(odd));
            _mm512_storeu_si512(out.as_mut_ptr().cast(), both)
        }
    }

    #[inline(always)]
    fn load_i8(self, x: &[u8; LANES]) -> __m512 {
        avx512! {
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(x.as_ptr().cast())))
        }
    }

    #[inline(always)]
    fn load_u4(self, x: &[u8; LANES], shift: u32) -> __m512 {
        avx512! {
            let bytes = _mm_loadu_si128(x.as_ptr().cast());
            let bytes = _mm_srl_epi16(bytes, _mm_cvtsi32_si128(shift as i32));
            let bytes = _mm_and_si128(bytes, _mm_set1_epi8(15));
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))
        }
    }

    #[inline(always)]
    fn store_f16(self, x: __m512, out: &mut [u8; 2 * LANES]) {
        avx512! {
            let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
            _mm256_storeu_si256(out.as_mut_ptr().cast(), halves);
        }
    }

    #[inline(always)]
    fn store_i8(self, x: __m512, out: &mut [i8; LANES]) {
        let x = self.min(self.max(x, self.splat(-127.0)), self.splat(127.0));
        avx512! {
            let bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x));
            _mm_storeu_si128(out.as_mut_ptr().cast(), bytes);
        }
    }

    #[inline(always)]
    fn store_i16(self, x: __m512, out: &mut [i16; LANES]) {
        avx512! {
            let integers = _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(x));
            _mm256_storeu_si256(out.as_mut_ptr().cast(), integers);
        }
    }

    #[inline(always)]
    fn store_i16_halves(self, x: [__m512; 4], high: &mut [i8; 64], low: &mut [i8; 64]) {
        avx512! {
            let [a, b, c, d] = x;
            let first = _mm512_packs_epi32(_mm512_cvtps_epi32(a), _mm512_cvtps_epi32(b));
            let second = _mm512_packs_epi32(_mm512_cvtps_epi32(c), _mm512_cvtps_epi32(d));
            let (byte, rounding) = (_mm512_set1_epi16(0xff), _mm512_set1_epi16(128));
            let low_bytes = _mm512_packus_epi16(
                _mm512_and_si512(first, byte),
                _mm512_and_si512(second, byte),
            );
            let high_bytes = _mm512_packs_epi16(
                _mm512_srai_epi16::<8>(_mm512_add_epi16(first, rounding)),
                _mm512_srai_epi16::<8>(_mm512_add_epi16(second, rounding)),
            );
            // Packs work within 128 bits: element 4 q + k of the result holds quarter q of vector k.
            let order =
                _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            let high_bytes = _mm512_permutexvar_epi32(order, high_bytes);
            let low_bytes = _mm512_permutexvar_epi32(order, low_bytes);
            _mm512_storeu_si512(high.as_mut_ptr().cast(), high_bytes);
            _mm512_storeu_si512(low.as_mut_ptr().cast(), low_bytes);
        }
    }

    #[inline(always)]
    fn to_f32(self, x: __m512i) -> __m512 {
        avx512! { _mm512_cvtepi32_ps(x) }
    }

    #[inline(always)]
    fn round_i32(self, x: __m512) -> __m512i {
        avx512! { _mm512_cvtps_epi32(x) }
    }
}

impl ByteLanes for Avx512 {
    #[inline(always)]
    fn load_bytes(self, x: &[u8; VECTOR_BYTES]) -> __m512i {
        avx512! { _mm512_loadu_si512(x.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_bytes(self, x: __m512i, out: &mut [u8; VECTOR_BYTES]) {
        avx512! { _mm512_storeu_si512(out.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn bits(self, x: __m512i, shift: u32, width: u32) -> __m512i {
        avx512! {
            // The shift is 16 bits wide; the mask removes the bits of the neighbouring byte.
            let count = _mm_cvtsi32_si128(shift as i32);
            let mask = _mm512_set1_epi8(((1u32 << width) - 1) as i8);
            _mm512_and_si512(_mm512_srl_epi16(x, count), mask)
        }
    }

    #[inline(always)]
    fn join(self, low: __m512i, high: __m512i, shift: u32) -> __m512i {
        avx512! {
            // The shift is 16 bits wide; no bit crosses bytes, since `high << shift` fits in a byte.
            let count = _mm_cvtsi32_si128(shift as i32);
            _mm512_or_si512(low, _mm512_sll_epi16(high, count))
        }
    }

    #[inline(always)]
    fn lookup(self, table: &[i8; 16], x: __m512i) -> __m512i {
        avx512! {
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            _mm512_shuffle_epi8(table, x)
        }
    }
}

impl ShuffleLanes for Avx512 {
    #[inline(always)]
    fn interleave_u32(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        avx512! { [_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)] }
    }

    #[inline(always)]
    fn interleave_u64(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        avx512! { [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)] }
    }

    #[inline(always)]
    fn transpose_quarters(self, [a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
        // Quarters 0 and 2 of both operands, or 1 and 3.
        const EVEN: i32 = 0b10_00_10_00;
        const ODD: i32 = 0b11_01_11_01;
        avx512! {
            let ab = [_mm512_shuffle_i64x2::<EVEN>(a, b), _mm512_shuffle_i64x2::<ODD>(a, b)];
            let cd = [_mm512_shuffle_i64x2::<EVEN>(c, d), _mm512_shuffle_i64x2::<ODD>(c, d)];
            [
                _mm512_shuffle_i64x2::<EVEN>(ab[0], cd[0]),
                _mm512_shuffle_i64x2::<EVEN>(ab[1], cd[1]),
                _mm512_shuffle_i64x2::<ODD>(ab[0], cd[0]),
                _mm512_shuffle_i64x2::<ODD>(ab[1], cd[1]),
            ]
        }
    }

    #[inline(always)]
    fn exchange_middle_u16(self, x: __m512i) -> __m512i {
        avx512! {
            let order = _mm_set_epi32(0x0f0e_0b0a, 0x0d0c_0908, 0x0706_0302, 0x0504_0100);
            _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(order))
        }
    }
}

impl PrefetchLanes for Avx512 {
    #[inline(always)]
    fn prefetch(self, x: &[u8], ahead: usize) {
        // A prefetch of an unmapped address has no effect.
        avx512! { _mm_prefetch::<_MM_HINT_T0>(x.as_ptr().wrapping_add(ahead).cast()) }
    }

    #[inline(always)]
    fn prefetch_far(self, x: &[u8], ahead: usize) {
        // As in `prefetch`.
        avx512! { _mm_prefetch::<_MM_HINT_T1>(x.as_ptr().wrapping_add(ahead).cast()) }
    }
}

impl DotLanes for Avx512 {
    const BYTE_OFFSET: i32 = 128;

    #[inline(always)]
    fn operand_i8(self, w: __m512i) -> __m512i {
        avx512! { _mm512_xor_si512(w, _mm512_set1_epi8(i8::MIN)) }
    }

    #[inline(always)]
    fn dot_i8(self, acc: __m512i, w: __m512i, a: [i8; 4]) -> __m512i {
        self.dot_u7(acc, w, a)
    }

    #[inline(always)]
    fn dot_u7(self, acc: __m512i, w: __m512i, a: [i8; 4]) -> __m512i {
        let a = i32::from_le_bytes([a[0] as u8, a[1] as u8, a[2] as u8, a[3] as u8]);
        avx512! { _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(a)) }
    }

    #[inline(always)]
    fn in_program_order(self, x: __m512i) -> __m512i {
        avx512! { in_program_order(x) }
    }
}

impl Int16Lanes for Avx512 {
    #[inline(always)]
    fn pair_i16(self, first: __m512i, second: __m512i) -> __m512i {
        avx512! {
            _mm512_mask_blend_epi16(0xaaaa_aaaa, first, _mm512_slli_epi32::<16>(second))
        }
    }

    #[inline(always)]
    fn dot_i16(self, acc: __m512i, x: __m512i, y: [i16; 2]) -> __m512i {
        let y = i32::from(y[0] as u16) | i32::from(y[1]) << 16;
        avx512! { _mm512_dpwssd_epi32(acc, x, _mm512_set1_epi32(y)) }
    }

    #[inline(always)]
    fn halves(self, first: __m512i, second: __m512i) -> [__m512i; 2] {
        avx512! {
            // Adding 128 rounds the high half, and flips the highest bit of the low half.
            let half = _mm512_set1_epi16(128);
            // In each lane, both low bytes before both high bytes.
            let order = _mm_set_epi32(0x0f0d_0e0c, 0x0b09_0a08, 0x0705_0604, 0x0301_0200);
            let order = _mm512_broadcast_i32x4(order);
            let first = _mm512_shuffle_epi8(_mm512_add_epi16(first, half), order);
            let second = _mm512_shuffle_epi8(_mm512_add_epi16(second, half), order);
            let low = _mm512_mask_blend_epi16(
                0xaaaa_aaaa,
                first,
                _mm512_slli_epi32::<16>(second),
            );
            let high = _mm512_mask_blend_epi16(
                0xaaaa_aaaa,
                _mm512_srli_epi32::<16>(first),
                second,
            );
            [high, _mm512_xor_si512(low, _mm512_set1_epi8(i8::MIN))]
        }
    }

    #[inline(always)]
    fn scaled_bytes(self, codes: __m512i, factors: __m512i, offsets: __m512i) -> [__m512i; 2] {
        avx512! {
            let even = _mm512_and_si512(codes, _mm512_set1_epi16(0xff));
            let odd = _mm512_srli_epi16::<8>(codes);
            self.split_pairs(
                _mm512_sub_epi16(_mm512_mullo_epi16(even, factors), offsets),
                _mm512_sub_epi16(_mm512_mullo_epi16(odd, factors), offsets),
            )
        }
    }

    #[inline(always)]
    fn scaled_signed_bytes(self, codes: __m512i, factors: __m512i) -> [__m512i; 2] {
        avx512! {
            // Sums of two products of which one is zero.
            self.split_pairs(
                _mm512_maddubs_epi16(factors, codes),
                _mm512_maddubs_epi16(_mm512_slli_epi16::<8>(factors), codes),
            )
        }
    }
}

impl Avx512 {
    /// The high bytes of 16-bit integers, those of `even` and `odd` in turns, then their low bytes.
    #[inline(always)]
    fn split_pairs(self, even: __m512i, odd: __m512i) -> [__m512i; 2] {
        const ODD: __mmask64 = 0xaaaa_aaaa_aaaa_aaaa;
        avx512! {
            [
                _mm512_mask_blend_epi8(ODD, _mm512_srli_epi16::<8>(even), odd),
                _mm512_mask_blend_epi8(ODD, even, _mm512_slli_epi16::<8>(odd)),
            ]
        }
    }
}

impl MatrixLanes for Avx512 {
    type Unit = AmxTiles;
    type Bf16Unit = Bf16Tiles;

    #[inline(always)]
    fn matrix_unit(self) -> Option<AmxTiles> {
        self.amx.map(Amx::tiles)
    }

    #[inline(always)]
    fn bf16_unit(self, num_rows: usize) -> Option<Bf16Tiles> {
        self.amx.map(|amx| amx.bf16_tiles(num_rows))
    }
}
