//! Files that only their owner may read, written whole or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file under a temporary name, which replaces its target when it is complete and is deleted otherwise.
///
/// It is meant for conversations: on Unix only its owner may read it, whatever the umask allows.
#[derive(Debug)]
pub struct PrivateFile {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl PrivateFile {
    /// Creates a file in the directory of `target`, so that renaming stays on one file system.
    ///
    /// **Errors**: a directory that cannot be written to.
    pub fn beside(target: &Path) -> io::Result<Self> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let temporary = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        Ok(Self { temporary, target: target.to_owned() })
    }

    /// Syncs the file to disk and renames it to its target.
    ///
    /// **Errors**: a file that cannot be stored or renamed.
    pub fn finish(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}
