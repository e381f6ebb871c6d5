//! The random number generator for sampling: PCG XSL RR 128/64.
//!
//! Implemented here instead of using a crate, so that a seed reproduces the text on every machine
//! and in every version. Changing anything in this file is a breaking change.
//!
//! **Source**: O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms
//! for Random Number Generation, section 6.3.

use std::hash::{BuildHasher, RandomState};

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// Which of the generator's sequences all samplers draw from; any odd step will do.
const STREAM: u128 = 0x1405_7b7e_f767_814f;

/// 2^-53, the distance of neighbouring draws. Exact, as a library's power function need not be.
const UNIT: f64 = 1.0 / (1u64 << 53) as f64;

/// A stream of random numbers that its seed determines.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u128,
    increment: u128,
}

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self::new(u128::from(seed), STREAM)
    }

    fn new(seed: u128, stream: u128) -> Self {
        let mut random = Self { state: 0, increment: stream << 1 | 1 };
        random.advance();
        random.state = random.state.wrapping_add(seed);
        random.advance();
        random
    }

    /// Uniform in `[0, 1)`, of 53 random bits.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNIT
    }

    fn next_u64(&mut self) -> u64 {
        self.advance();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    fn advance(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }
}

/// A seed that differs from run to run.
///
/// The standard library keys its hash maps from the operating system's randomness.
pub(super) fn fresh_seed() -> u64 {
    RandomState::new().hash_one("seed")
}

/// The index in `weights` at which their cumulative sum exceeds `left`; the last non-zero one if rounding leads
/// past the end, and 0 if all are zero.
pub(super) fn pick(weights: impl IntoIterator<Item = f32>, mut left: f64) -> usize {
    let mut drawn = 0;
    for (place, weight) in weights.into_iter().enumerate() {
        if weight > 0.0 {
            drawn = place;
            left -= f64::from(weight);
            if left < 0.0 {
                break;
            }
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference_implementation() {
        // First line of the demonstration program that comes with the C library, pcg64, (42, 54).
        let mut random = Random::new(42, 54);
        let expected = [
            0x86b1_da1d_7206_2b68,
            0x1304_aa46_c985_3d39,
            0xa367_0e9e_0dd5_0358,
            0xf909_0e52_9a7d_ae00,
            0xc85b_9fd8_3799_6f2c,
            0x6061_21f8_e391_9196,
        ];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    #[test]
    fn units_are_below_one_and_differ_between_seeds() {
        let mut first = Random::from_seed(1);
        let mut second = Random::from_seed(2);
        for _ in 0..1000 {
            let (a, b) = (first.unit(), second.unit());
            assert!((0.0..1.0).contains(&a) && (0.0..1.0).contains(&b));
            assert_ne!(a, b);
        }
    }
}
