//! Detects that the files of a checkpoint changed while they are mapped.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{GgufError, Result};

/// A mapped file and its state when it was mapped.
#[derive(Debug, Clone)]
pub(crate) struct WatchedFile {
    path: PathBuf,
    /// The open file, which stays the same if another one is renamed to its path.
    file: Arc<File>,
    /// Size in bytes, and the time of the last change of its contents.
    mapped: (u64, Option<SystemTime>),
}

impl WatchedFile {
    pub(crate) fn new(path: PathBuf, file: File) -> io::Result<Self> {
        let mapped = state(&file)?;
        Ok(Self { path, file: Arc::new(file), mapped })
    }
}

fn state(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Detects whether the mapped files of a checkpoint were overwritten or truncated, by their size and modification time.
///
/// Replacing a file by renaming another one to its path is no change: the mapped file remains. The default value
/// watches no file.
#[derive(Debug, Clone, Default)]
pub struct FileWatch {
    files: Arc<[WatchedFile]>,
}

impl FileWatch {
    pub(crate) fn new(files: impl Iterator<Item = WatchedFile>) -> Self {
        Self { files: files.collect() }
    }

    /// Checks that no file has changed since it was mapped. Costs one system call per file.
    ///
    /// A file may still change between this check and a read of its payloads.
    ///
    /// **Errors**: [`GgufError::FileChanged`], [`GgufError::Io`].
    pub fn check(&self) -> Result<()> {
        for WatchedFile { path, file, mapped } in &*self.files {
            match state(file) {
                Ok(now) if now == *mapped => (),
                Ok(_) => return Err(GgufError::FileChanged { path: path.clone() }),
                Err(error) => return Err(GgufError::Io { path: path.clone(), error }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::Write;

    use super::*;

    fn watched(bytes: &[u8]) -> (tempfile::TempDir, PathBuf, FileWatch) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model.gguf");
        fs::write(&path, bytes).expect("the file is written");
        // Modification times are as coarse as a timer interrupt.
        let earlier = SystemTime::now() - std::time::Duration::from_secs(1);
        let file = OpenOptions::new().append(true).open(&path).expect("the file exists");
        file.set_modified(earlier).expect("the time can be set");
        let file = File::open(&path).expect("the file exists");
        let watched = WatchedFile::new(path.clone(), file).expect("its state can be read");
        (folder, path, FileWatch::new([watched].into_iter()))
    }

    #[test]
    fn replacing_a_file_by_renaming_is_no_change() {
        let (folder, path, watch) = watched(b"old");
        let new = folder.path().join("new");
        fs::write(&new, b"new and longer").expect("the file is written");
        fs::rename(new, path).expect("it is renamed");
        watch.check().expect("the mapped file is the same");
    }

    #[test]
    fn overwriting_and_truncating_are_changes() {
        let overwrite = |mut file: File| file.write_all(b"new");
        let truncate = |file: File| file.set_len(1);
        for change in [&overwrite as &dyn Fn(File) -> io::Result<()>, &truncate] {
            let (_folder, path, watch) = watched(b"old");
            watch.check().expect("nothing has changed");
            let file = OpenOptions::new().write(true).open(&path).expect("the file exists");
            change(file).expect("the file is changed");
            let error = watch.check().expect_err("the file has changed");
            assert!(matches!(error, GgufError::FileChanged { path: found } if found == path));
        }
    }
}
