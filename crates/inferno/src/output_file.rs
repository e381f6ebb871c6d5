//! Checks of output files before they are written.

mod error;

use std::path::{Path, PathBuf};
use std::{fs, io};

use inferno_gguf::Gguf;

use crate::Error;

pub use error::OutputError;
pub(crate) use inferno_gguf::temporary_next_to;

/// Checks that the output is not one of the files of `checkpoint`, under any name.
///
/// **Errors**: [`OutputError::IsInput`].
pub(crate) fn ensure_not_input(checkpoint: &Gguf, output: &Path) -> Result<(), Error> {
    match is_among(output, checkpoint.paths()) {
        true => Err(Error::Output(OutputError::IsInput { path: output.to_owned() })),
        false => Ok(()),
    }
}

/// Checks that the output is not one of the other files that a command reads, under any name.
///
/// **Errors**: [`OutputError::IsOtherInput`].
pub(crate) fn ensure_not_read<P: AsRef<Path>>(
    inputs: impl IntoIterator<Item = P>,
    output: &Path,
) -> Result<(), Error> {
    match is_among(output, inputs) {
        true => Err(Error::Output(OutputError::IsOtherInput { path: output.to_owned() })),
        false => Ok(()),
    }
}

/// Returns whether an output is `-`, which means standard output.
pub(crate) fn is_stdout(output: &Path) -> bool {
    output.as_os_str() == "-"
}

/// Checks that the output is not `-`, which means standard output elsewhere and would become the name of a file.
///
/// **Errors**: [`OutputError::NotNamed`].
pub(crate) fn ensure_named(output: &Path) -> Result<(), Error> {
    match is_stdout(output) {
        true => Err(Error::Output(OutputError::NotNamed)),
        false => Ok(()),
    }
}

/// Returns whether a file exists and is one of `files`.
fn is_among<P: AsRef<Path>>(file: &Path, files: impl IntoIterator<Item = P>) -> bool {
    let Ok(target) = identity(file) else { return false };
    files.into_iter().any(|other| identity(other.as_ref()).is_ok_and(|other| other == target))
}

/// Identifies a file by device and inode, which hard links share.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Identifies a file by its canonical path.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Checks that `output` can be written in place, before the work whose result it stores.
///
/// **Errors**: as [`ensure_creatable`]; a file that cannot be opened for writing.
pub(crate) fn ensure_writable(output: &Path) -> Result<(), Error> {
    match fs::metadata(output) {
        // Pipes and devices are opened when there is something to write.
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        Ok(_) => match fs::OpenOptions::new().append(true).open(output) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::io(output, error)),
        },
        Err(_) => ensure_creatable(output),
    }
}

/// Checks that a file can be created at `output`, or replaced there, before the work whose result it stores.
///
/// **Errors**: [`OutputError::Folder`]; a folder that cannot be written to.
pub(crate) fn ensure_creatable(output: &Path) -> Result<(), Error> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::Output(OutputError::Folder {
            path: output.to_owned(),
            folder: folder.to_owned(),
        }));
    }
    // The message of the error contains the name of the temporary file, its kind does not.
    let created = tempfile::tempfile_in(folder);
    created.map(drop).map_err(|error| Error::io(output, io::Error::from(error.kind())))
}

/// Returns the file to write for `output`, with symbolic links resolved.
///
/// **Errors**: [`OutputError::NotFile`]; [`OutputError::Exists`] unless `overwrite`.
pub(crate) fn replaceable(output: &Path, overwrite: bool) -> Result<PathBuf, Error> {
    if !output.exists() && !output.is_symlink() {
        return Ok(output.to_owned());
    }
    let target = fs::canonicalize(output).map_err(|error| Error::io(output, error))?;
    match (target.is_file(), overwrite) {
        (true, true) => Ok(target),
        (true, false) => Err(Error::Output(OutputError::Exists { path: output.to_owned() })),
        (false, _) => Err(Error::Output(OutputError::NotFile { path: output.to_owned() })),
    }
}
