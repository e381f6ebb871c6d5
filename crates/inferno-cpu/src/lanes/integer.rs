//! Arithmetic on `i32`.

use super::vector::{LANES, VectorTypes};

/// Operations on 16 `i32`, all of them wrapping.
pub(crate) trait IntegerLanes: VectorTypes {
    /// The same integer in all lanes.
    fn splat_i32(self, x: i32) -> Self::I32;
    /// Loads 16 integers.
    fn load_i32(self, x: &[i32; LANES]) -> Self::I32;
    /// Loads 16 unsigned bytes.
    fn load_u8(self, x: &[u8; LANES]) -> Self::I32;
    /// Stores 16 integers.
    fn store_i32(self, x: Self::I32, out: &mut [i32; LANES]);
    /// `a + b`.
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a * b`.
    fn mul_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `256 x`.
    fn shl8(self, x: Self::I32) -> Self::I32;
    /// `x / 256`, rounded down.
    fn shr8(self, x: Self::I32) -> Self::I32;
}
