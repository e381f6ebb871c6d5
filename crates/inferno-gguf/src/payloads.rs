//! Payloads that are computed when they are read.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::PayloadError;

/// The payloads of a checkpoint that exists only in memory, such as a conversion of another format.
///
/// Tensors are numbered in the order of the index. Ranges are in bytes, inside of the payload and on the borders of its
/// blocks.
pub trait Payloads: fmt::Debug + Send + Sync {
    /// A part of a payload. The same part has the same bytes every time. Values that are too large for the tensor's type become
    /// infinite, and [`check`](Self::check) fails from then on.
    fn read(&self, tensor: usize, part: Range<usize>) -> Bytes;

    /// Checks that no value of the parts that were read so far is too large for its type. By default, none ever is.
    ///
    /// **Errors**: [`PayloadError::ValueTooLarge`].
    fn check(&self) -> Result<(), PayloadError> {
        Ok(())
    }

    /// Starts reading what a payload is computed from, in the background.
    fn preload(&self, tensor: usize);

    /// Releases the memory of what a part is computed from; later accesses read it again.
    fn release(&self, tensor: usize, part: Range<usize>);
}
