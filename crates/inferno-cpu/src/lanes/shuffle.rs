//! Lane permutations for transposes. A *quarter* is 16 bytes of a vector.

use super::vector::VectorTypes;

/// Operations that move numbers of 64 bytes.
pub(crate) trait ShuffleLanes: VectorTypes {
    /// Alternates the 32-bit numbers of `a` with those of `b` within each quarter: `a0 b0 a1 b1`, then `a2 b2 a3 b3`.
    fn interleave_u32(self, a: Self::Bytes, b: Self::Bytes) -> [Self::Bytes; 2];
    /// Alternates the 64-bit numbers of `a` with those of `b` within each quarter: `a0 b0`, then `a1 b1`.
    fn interleave_u64(self, a: Self::Bytes, b: Self::Bytes) -> [Self::Bytes; 2];
    /// Result `i` holds quarter `i` of each of `rows`.
    fn transpose_quarters(self, rows: [Self::Bytes; 4]) -> [Self::Bytes; 4];
    /// Swaps elements 1 and 2 of each group of four 16-bit values.
    fn exchange_middle_u16(self, x: Self::Bytes) -> Self::Bytes;
}
