//! Memory mapping, the only unsafe code of this crate.
//!
//! **Files that change while they are mapped.** This is the one accepted exception to the rule that
//! safe functions are sound whatever their callers do: [`Gguf::open`](crate::Gguf::open) is safe to
//! call, but another process may change the file later. The operating system gives no way to hold a
//! file still, and no type or check can promise it. A file that is overwritten in place shows its
//! new bytes: metadata is copied when the file is opened and stays as it was, payloads do not. A
//! file that is cut shorter raises `SIGBUS` on Unix when a payload beyond its new end is touched,
//! which ends the process. So: replace model files by renaming (as downloaders and
//! [`GgufWriter`](crate::GgufWriter) do), never by overwriting; where that cannot be relied on,
//! read the file into memory and use [`Gguf::from_bytes`](crate::Gguf::from_bytes). On Windows the
//! system refuses to cut a mapped file.

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
        // SAFETY: the mapping is read-only and only ever read as plain bytes, which every bit
        // pattern is. What must be valid UTF-8 is copied out first and checked in the copy
        // (`Cursor::string`). `Mmap::map` also asks that nobody changes the file meanwhile. No type
        // and no check can promise that of other processes, so this is the one exception that we
        // accept: a file that is changed in place gives changed bytes, one that is cut shorter
        // gives `SIGBUS`. The head of this module and `Gguf::open` say so.
        let mmap = unsafe { Mmap::map(file)? };
        Ok(Self(Arc::new(mmap)))
    }

    /// Asks the system to read the pages of a range soon. A hint: failure changes nothing.
    #[cfg(unix)]
    pub(crate) fn preload(&self, range: Range<usize>) {
        let _ = self.0.advise_range(memmap2::Advice::WillNeed, range.start, range.len());
    }

    /// Gives the pages of a range back; touching them again reads the file again. Failure changes
    /// nothing.
    #[cfg(unix)]
    pub(crate) fn release(&self, range: Range<usize>) {
        // SAFETY: dropping pages is sound where their contents come back: `Mapping::new` made a
        // shared read-only mapping of a file, so no page was written and each is read from the file
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
