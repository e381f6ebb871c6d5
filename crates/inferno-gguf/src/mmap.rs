//! Memory mapping, the only unsafe code of this crate.
//!
//! **Files that change while they are mapped** are the one accepted exception to the rule that safe
//! functions are sound: [`Gguf::open`](crate::Gguf::open) is a safe function, but another process may
//! change the file later, which no type or check can prevent. If a file is overwritten in place,
//! payloads change; metadata does not, as it is copied when the file is opened. If a file is
//! truncated, accessing a payload beyond its new end raises `SIGBUS` on Unix, which ends the process.
//! [`FileWatch`](crate::FileWatch) detects both, if the change precedes the check.
//! Therefore, replace model files by renaming (as downloaders and
//! [`GgufWriter`](crate::GgufWriter) do) instead of overwriting them; if that is not guaranteed, read
//! the file into memory and use [`Gguf::from_bytes`](crate::Gguf::from_bytes). Windows does not allow
//! truncating a mapped file.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;

/// A read-only mapping of a whole file, shared by its clones.
#[derive(Debug, Clone)]
pub(crate) struct Mapping(Arc<Mmap>);

impl Mapping {
    /// Maps a regular file.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is read-only and read as plain bytes, for which every bit pattern is
        // valid. Strings are copied before they are validated as UTF-8 (`Cursor::string`).
        // `Mmap::map` also requires that the file does not change. That cannot be guaranteed for
        // other processes and is the accepted exception documented in the head of this module and
        // in `Gguf::open`: changed files give changed bytes, truncated files `SIGBUS`.
        let mmap = unsafe { Mmap::map(file)? };
        Ok(Self(Arc::new(mmap)))
    }

    /// Starts reading the pages of a range in the background. A hint; failures are ignored.
    #[cfg(unix)]
    pub(crate) fn preload(&self, range: Range<usize>) {
        let _ = self.0.advise_range(memmap2::Advice::WillNeed, range.start, range.len());
    }

    /// Releases the pages of a range; later accesses read the file again. Failures are ignored.
    #[cfg(unix)]
    pub(crate) fn release(&self, range: Range<usize>) {
        // SAFETY: dropping pages is sound if their contents are restored: `Mapping::new` created a
        // shared read-only mapping of a file, so no page was modified and each is read from the file
        // again.
        let _ = unsafe {
            self.0.unchecked_advise_range(
                memmap2::UncheckedAdvice::DontNeed,
                range.start,
                range.len(),
            )
        };
    }

    #[cfg(not(unix))]
    pub(crate) fn preload(&self, _: Range<usize>) {}

    #[cfg(not(unix))]
    pub(crate) fn release(&self, _: Range<usize>) {}
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
