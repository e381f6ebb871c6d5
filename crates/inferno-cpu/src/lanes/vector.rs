//! Vector types and sizes.

use bytemuck::Pod;

/// Lanes of a vector of `f32` or `i32`.
pub(crate) const LANES: usize = 16;

/// Bytes of a vector.
pub(crate) const VECTOR_BYTES: usize = 64;

/// The vectors of an instruction set.
pub(crate) trait VectorTypes: Copy + Send + Sync + 'static {
    /// Number of vectors that the registers hold.
    const REGISTERS: usize = 8;

    /// 16 `f32`.
    type F32: Copy;
    /// 16 `i32`.
    type I32: Copy;
    /// 64 bytes. In weights, bytes `4i..4i + 4` are four neighbouring columns of row `i`.
    type Bytes: Copy;
}

/// Splits `values` into whole vectors and the remainder. Loops over the vectors need no length checks.
#[inline(always)]
pub(crate) fn vectors<T: Pod>(values: &[T]) -> (&[[T; LANES]], &[T]) {
    let (whole, rest) = values.split_at(values.len() - values.len() % LANES);
    (bytemuck::cast_slice(whole), rest)
}

/// The mutable form of [`vectors`].
#[inline(always)]
pub(crate) fn vectors_mut<T: Pod>(values: &mut [T]) -> (&mut [[T; LANES]], &mut [T]) {
    let (whole, rest) = values.split_at_mut(values.len() - values.len() % LANES);
    (bytemuck::cast_slice_mut(whole), rest)
}
