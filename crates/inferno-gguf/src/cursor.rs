//! A bounds-checked position in the bytes of a file.
//!
//! Invariant: `position <= bytes.len()`. Every read checks the number of remaining bytes before it
//! accesses or allocates memory.

use crate::{GgufError, Result};

/// Reads consecutive little-endian fields.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The offset of the next field.
    pub(crate) fn offset(&self) -> u64 {
        self.position as u64
    }

    /// Number of remaining bytes.
    pub(crate) fn available(&self) -> u64 {
        (self.bytes.len() - self.position) as u64
    }

    /// Up to `len` of the next bytes, without advancing.
    pub(crate) fn peek(&self, len: usize) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        &rest[..len.min(rest.len())]
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: u64, what: &'static str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.position..];
        match usize::try_from(len).ok().and_then(|len| rest.get(..len)) {
            Some(taken) => {
                self.position += taken.len();
                Ok(taken)
            }
            None => Err(GgufError::Truncated {
                what,
                offset: self.offset(),
                needed: len,
                available: self.available(),
            }),
        }
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, what)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A count of items of at least `min_bytes` bytes each; an error if they exceed the rest of the
    /// file.
    pub(crate) fn count(&mut self, what: &'static str, min_bytes: u64) -> Result<usize> {
        let offset = self.offset();
        let count = self.u64(what)?;
        self.check_count(count, offset, what, min_bytes)
    }

    /// Checks a count that was read at `offset` against the number of remaining bytes.
    pub(crate) fn check_count(
        &self,
        count: u64,
        offset: u64,
        what: &'static str,
        min_bytes: u64,
    ) -> Result<usize> {
        let available = self.available();
        let max = available / min_bytes;
        match usize::try_from(count) {
            Ok(fitting) if count <= max => Ok(fitting),
            _ => Err(GgufError::CountTooLarge { what, offset, count, max, available }),
        }
    }

    /// The bytes of a length-prefixed string.
    pub(crate) fn string_bytes(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let length = self.u64(what)?;
        self.take(length, what)
    }

    /// A length-prefixed string; `None` if it is not valid UTF-8.
    ///
    /// The bytes are copied before they are validated, as a mapped file could change in between.
    pub(crate) fn string(&mut self, what: &'static str) -> Result<Option<String>> {
        let bytes = self.string_bytes(what)?.to_vec();
        Ok(String::from_utf8(bytes).ok())
    }

    /// A length-prefixed string of at most `max` bytes.
    pub(crate) fn name(&mut self, what: &'static str, max: u64) -> Result<String> {
        let offset = self.offset();
        let length = self.clone().u64(what)?;
        if length > max && length <= self.available() {
            return Err(GgufError::NameTooLong { what, offset, length, max });
        }
        self.string(what)?.ok_or(GgufError::InvalidUtf8 { what, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_end_is_an_error_at_its_offset() {
        let bytes = [5, 0, 0, 0, 0, 0, 0, 0, b'a', b'b'];
        let error = Cursor::new(&bytes).string("key").unwrap_err();
        assert!(matches!(
            error,
            GgufError::Truncated { what: "key", offset: 8, needed: 5, available: 2 }
        ));
    }

    #[test]
    fn a_count_is_checked_against_the_remaining_bytes() {
        let mut bytes = 3_u64.to_le_bytes().to_vec();
        bytes.extend([0; 12]);
        assert_eq!(Cursor::new(&bytes).count("values", 4).unwrap(), 3);
        let error = Cursor::new(&bytes).count("values", 5).unwrap_err();
        assert!(matches!(
            error,
            GgufError::CountTooLarge { offset: 0, count: 3, max: 2, available: 12, .. }
        ));
    }

    #[test]
    fn the_largest_length_does_not_overflow() {
        let bytes = [0xff; 16];
        assert!(matches!(
            Cursor::new(&bytes).string("key"),
            Err(GgufError::Truncated { needed: u64::MAX, .. })
        ));
    }
}
