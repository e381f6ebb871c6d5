//! Dot products of bytes.

use super::bytes::ByteLanes;
use super::integer::IntegerLanes;

/// Dot products of four bytes per lane, added to 32-bit sums.
pub(crate) trait DotLanes: ByteLanes + IntegerLanes {
    /// The initial value of a chain of [`dot_i8`](Self::dot_i8). `start` is -128 times the sum of all
    /// activations of the chain; the sum is correct only after all of them were added.
    fn dot_i8_start(self, start: i32) -> Self::I32;
    /// Converts signed bytes to the operand of [`dot_i8`](Self::dot_i8).
    #[inline(always)]
    fn operand_i8(self, w: Self::Bytes) -> Self::Bytes {
        w
    }
    /// Adds to lane `i` the four products of bytes `4i..4i + 4` of `w` with `a`, which must not contain
    /// -128. `w` is the result of [`operand_i8`](Self::operand_i8).
    fn dot_i8(self, acc: Self::I32, w: Self::Bytes, a: [i8; 4]) -> Self::I32;
    /// The same for bytes of 0 to 127; the chain may start from any number.
    fn dot_u7(self, acc: Self::I32, w: Self::Bytes, a: [i8; 4]) -> Self::I32;

    /// Returns `x`, and keeps the compiler from moving its computation behind later calls. Compilers
    /// otherwise put one chain of products after the other to save registers, and each product then waits
    /// for the result of the previous one.
    #[inline(always)]
    fn in_program_order(self, x: Self::I32) -> Self::I32 {
        x
    }
}
