//! The clock rate of a core.

// Instructions whose number and dependencies must be exact.
#![allow(unsafe_code)]

use std::hint::black_box;

use super::fastest;

/// Additions of one turn.
const CHAIN: usize = 16;

/// Turns of one try, which takes a few milliseconds.
const TURNS: usize = 1 << 20;

/// Cycles per second of a busy core: a chain of additions of registers, each of which waits for the one before it, takes
/// one cycle per addition on every processor with 64-bit registers. (Additions of constants do not: some processors
/// compute several of them at once.)
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn cycles_per_second() -> Option<f64> {
    let seconds = fastest(|| {
        black_box((0..TURNS).fold(0, |sum, _| chain(sum)));
    });
    Some((CHAIN * TURNS) as f64 / seconds)
}

/// It is not known how many additions other processors compute per cycle.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn cycles_per_second() -> Option<f64> {
    None
}

/// Adds [`CHAIN`] to `sum`, one by one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn chain(mut sum: u64) -> u64 {
    // SAFETY: the instructions only change the registers that are declared.
    unsafe {
        std::arch::asm!(
            ".rept {chain}",
            "add {sum}, {one}",
            ".endr",
            chain = const CHAIN,
            sum = inout(reg) sum,
            one = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
    sum
}

/// Adds [`CHAIN`] to `sum`, one by one.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn chain(mut sum: u64) -> u64 {
    // SAFETY: the instructions only change the registers that are declared.
    unsafe {
        std::arch::asm!(
            ".rept {chain}",
            "add {sum}, {sum}, {one}",
            ".endr",
            chain = const CHAIN,
            sum = inout(reg) sum,
            one = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
    sum
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    #[test]
    fn a_core_has_some_gigahertz() {
        let rate = super::cycles_per_second().expect("a known architecture");
        // Slow if it is shared, and no core is faster.
        assert!((1e8..1e10).contains(&rate), "{rate}");
    }
}
