//! Dot products of bytes.

use super::bytes::ByteLanes;
use super::integer::IntegerLanes;

/// Dot products of four bytes per lane, added to 32-bit sums.
pub(crate) trait DotLanes: ByteLanes + IntegerLanes {
    /// Whether [`dot_pair`](Self::dot_pair) is faster than a [`dot_i8`](Self::dot_i8) for each row and each four
    /// columns. If so, [`BYTE_OFFSET`](Self::BYTE_OFFSET) is 0.
    const ROW_PAIRS: bool = false;
    /// What [`operand_i8`](Self::operand_i8) adds to signed bytes: 128 if products need an unsigned operand, else 0.
    const BYTE_OFFSET: i32 = 0;

    /// Converts signed bytes to the operand of [`dot_i8`](Self::dot_i8).
    #[inline(always)]
    fn operand_i8(self, w: Self::Bytes) -> Self::Bytes {
        w
    }
    /// Adds to lane `i` the four products of bytes `4i..4i + 4` of `w` with `a`, which must not contain
    /// -128. `w` is the result of [`operand_i8`](Self::operand_i8), so each product exceeds that of the signed bytes
    /// by [`BYTE_OFFSET`](Self::BYTE_OFFSET) times the activation.
    fn dot_i8(self, acc: Self::I32, w: Self::Bytes, a: [i8; 4]) -> Self::I32;
    /// The same for bytes of 0 to 127.
    fn dot_u7(self, acc: Self::I32, w: Self::Bytes, a: [i8; 4]) -> Self::I32;

    /// Converts two vectors of consecutive columns to the operand of [`dot_pair`](Self::dot_pair).
    #[inline(always)]
    fn pair_operands(self, w: [Self::Bytes; 2]) -> [Self::Bytes; 2] {
        w
    }
    /// Adds to the sums of two rows of activations the products of their eight columns `a` with `w`, as
    /// [`dot_i8`](Self::dot_i8) does for four columns of one row. The order of the sums is unspecified until
    /// [`pair_sums`](Self::pair_sums) has restored it.
    #[inline(always)]
    fn dot_pair(
        self,
        sums: [Self::I32; 2],
        w: [Self::Bytes; 2],
        a: [[i8; 8]; 2],
    ) -> [Self::I32; 2] {
        self.dot_pair_by_row(sums, w, a)
    }
    /// [`dot_pair`](Self::dot_pair) as a chain of dot products for each row.
    #[inline(always)]
    fn dot_pair_by_row(
        self,
        mut sums: [Self::I32; 2],
        w: [Self::Bytes; 2],
        a: [[i8; 8]; 2],
    ) -> [Self::I32; 2] {
        for (sum, a) in sums.iter_mut().zip(a) {
            let [a0, a1, a2, a3, b0, b1, b2, b3] = a;
            *sum = self.dot_i8(*sum, w[0], [a0, a1, a2, a3]);
            *sum = self.dot_i8(*sum, w[1], [b0, b1, b2, b3]);
        }
        sums
    }
    /// The sums of each of the two rows after the last [`dot_pair`](Self::dot_pair).
    #[inline(always)]
    fn pair_sums(self, sums: [Self::I32; 2]) -> [Self::I32; 2] {
        sums
    }

    /// Returns `x`, and keeps the compiler from moving its computation behind later calls. Compilers
    /// otherwise put one chain of products after the other to save registers, and each product then waits
    /// for the result of the previous one.
    #[inline(always)]
    fn in_program_order(self, x: Self::I32) -> Self::I32 {
        x
    }
}
