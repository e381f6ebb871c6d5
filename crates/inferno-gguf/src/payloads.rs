//! Payloads that are computed when they are read.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

/// The payloads of a checkpoint that exists only in memory, such as a conversion of another format.
///
/// Tensors are numbered in the order of the index. Ranges are in bytes, inside of the payload and on the borders of its
/// blocks.
pub trait Payloads: fmt::Debug + Send + Sync {
    /// A part of a payload. The same part has the same bytes every time.
    fn read(&self, tensor: usize, part: Range<usize>) -> Bytes;

    /// Starts reading what a payload is computed from, in the background.
    fn preload(&self, tensor: usize);

    /// Releases the memory of what a part is computed from; later accesses read it again.
    fn release(&self, tensor: usize, part: Range<usize>);
}
