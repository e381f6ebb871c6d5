//! Operations on bytes, and prefetches.

use super::vector::{VECTOR_BYTES, VectorTypes};

/// Operations on 64 bytes.
pub(crate) trait ByteLanes: VectorTypes {
    /// Loads 64 bytes.
    fn load_bytes(self, x: &[u8; VECTOR_BYTES]) -> Self::Bytes;
    /// Stores 64 bytes.
    fn store_bytes(self, x: Self::Bytes, out: &mut [u8; VECTOR_BYTES]);
    /// Bits `shift..shift + width` of each byte, moved to its lowest bits; `shift + width <= 8`.
    fn bits(self, x: Self::Bytes, shift: u32, width: u32) -> Self::Bytes;
    /// `low | high << shift` in each byte. `high << shift` must fit in a byte.
    fn join(self, low: Self::Bytes, high: Self::Bytes, shift: u32) -> Self::Bytes;
    /// Replaces each byte, which must be below 16, by that entry of `table`.
    fn lookup(self, table: &[i8; 16], x: Self::Bytes) -> Self::Bytes;
}

/// Prefetches. They do not change any result.
pub(crate) trait PrefetchLanes: VectorTypes {
    /// Prefetches the cache line `ahead` bytes after the start of `x` into all cache levels. The line may be
    /// outside of `x`, or not mapped at all.
    fn prefetch(self, x: &[u8], ahead: usize);
    /// Prefetches as [`prefetch`](Self::prefetch) does, but only into the second-level cache.
    fn prefetch_far(self, x: &[u8], ahead: usize);
}
