//! The instructions with which levels with NEON multiply bytes. Sums are exact, so all of them have the same results.

use std::arch::aarch64::*;
use std::arch::{asm, is_aarch64_feature_detected};
use std::fmt::Debug;

use super::Neon;
use crate::lanes::Kernel;

/// A set of instructions for products of bytes.
pub(crate) trait ByteProducts: Debug + Copy + Send + Sync + 'static {
    /// Whether there is [`multiply`](Self::multiply).
    const ROW_PAIRS: bool = false;

    /// Whether this processor has the instructions.
    fn detected() -> bool;

    /// Runs `kernel`, compiled for the instructions.
    ///
    /// # Safety
    ///
    /// The processor must support NEON, and the instructions must be [`detected`](Self::detected).
    unsafe fn enter<K: Kernel>(level: Neon<Self>, kernel: K);

    /// Adds to each of four lanes the four products of its signed bytes. `a` must not contain -128.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter).
    unsafe fn dot(acc: int32x4_t, w: int8x16_t, a: int8x16_t) -> int32x4_t;

    /// Adds the products of each of two rows of eight columns `w` with each of two rows `a`: the first row of `w` with
    /// both of `a`, then the second.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter).
    unsafe fn multiply(_acc: int32x4_t, _w: int8x16_t, _a: int8x16_t) -> int32x4_t {
        unreachable!("only for row pairs")
    }
}

/// Products of 16 bits (`smull`), of every AArch64 processor, such as the Cortex-A72.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LongProducts;

impl ByteProducts for LongProducts {
    fn detected() -> bool {
        true
    }

    #[inline]
    unsafe fn enter<K: Kernel>(level: Neon<Self>, kernel: K) {
        #[target_feature(enable = "neon")]
        unsafe fn enter<K: Kernel>(level: Neon<LongProducts>, kernel: K) {
            kernel.run(level);
        }
        // SAFETY: the caller checked the feature.
        unsafe { enter(level, kernel) }
    }

    #[inline(always)]
    unsafe fn dot(acc: int32x4_t, w: int8x16_t, a: int8x16_t) -> int32x4_t {
        // From Rust 1.87 on, intrinsics without pointers are safe to call.
        #[allow(unused_unsafe)]
        // SAFETY: the caller checked the feature.
        unsafe {
            // The sum of two products is at most 2 * 128 * 127 = 32512 in magnitude. (A second product added to the
            // first, by `smlal`, would occupy the same pipeline of a Cortex-A72 as long as `smull`, and leave two sums
            // per lane.)
            let low = vmull_s8(vget_low_s8(w), vget_low_s8(a));
            let high = vmull_high_s8(w, a);
            vpadalq_s16(acc, vpaddq_s16(low, high))
        }
    }
}

/// Dot products (`sdot`), of processors since the Cortex-A55 and A76, and of Apple's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DotProducts;

impl ByteProducts for DotProducts {
    fn detected() -> bool {
        is_aarch64_feature_detected!("dotprod")
    }

    #[inline]
    unsafe fn enter<K: Kernel>(level: Neon<Self>, kernel: K) {
        #[target_feature(enable = "neon,dotprod")]
        unsafe fn enter<K: Kernel>(level: Neon<DotProducts>, kernel: K) {
            kernel.run(level);
        }
        // SAFETY: the caller checked the features.
        unsafe { enter(level, kernel) }
    }

    #[inline(always)]
    unsafe fn dot(acc: int32x4_t, w: int8x16_t, a: int8x16_t) -> int32x4_t {
        // SAFETY: the caller checked the features.
        unsafe { sdot(acc, w, a) }
    }
}

/// Products of matrices (`smmla`), in addition to dot products: of the Neoverse V1 and N2, the Cortex-A510 and A710,
/// Apple's M2, and later processors. Twice the products of `sdot` per instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatrixProducts;

impl ByteProducts for MatrixProducts {
    const ROW_PAIRS: bool = true;

    fn detected() -> bool {
        DotProducts::detected() && is_aarch64_feature_detected!("i8mm")
    }

    #[inline]
    unsafe fn enter<K: Kernel>(level: Neon<Self>, kernel: K) {
        #[target_feature(enable = "neon,dotprod,i8mm")]
        unsafe fn enter<K: Kernel>(level: Neon<MatrixProducts>, kernel: K) {
            kernel.run(level);
        }
        // SAFETY: the caller checked the features.
        unsafe { enter(level, kernel) }
    }

    #[inline(always)]
    unsafe fn dot(acc: int32x4_t, w: int8x16_t, a: int8x16_t) -> int32x4_t {
        // SAFETY: the caller checked the features.
        unsafe { sdot(acc, w, a) }
    }

    #[inline(always)]
    unsafe fn multiply(mut acc: int32x4_t, w: int8x16_t, a: int8x16_t) -> int32x4_t {
        // SAFETY: the caller checked the features.
        unsafe {
            asm!(
                "smmla {acc:v}.4s, {w:v}.16b, {a:v}.16b",
                acc = inout(vreg) acc,
                w = in(vreg) w,
                a = in(vreg) a,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        acc
    }
}

/// # Safety
///
/// The processor must support dot products.
#[inline(always)]
unsafe fn sdot(mut acc: int32x4_t, w: int8x16_t, a: int8x16_t) -> int32x4_t {
    // SAFETY: the caller checked the feature.
    unsafe {
        asm!(
            "sdot {acc:v}.4s, {w:v}.16b, {a:v}.16b",
            acc = inout(vreg) acc,
            w = in(vreg) w,
            a = in(vreg) a,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    acc
}
