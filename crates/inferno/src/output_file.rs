//! Checks of output files before they are written.

use std::path::{Path, PathBuf};
use std::{fs, io};

use inferno_gguf::Gguf;
use tempfile::NamedTempFile;

use crate::Error;

/// Checks that the output is not one of the files of `checkpoint`, under any name.
///
/// **Errors**: [`Error::OutputIsInput`].
pub(crate) fn ensure_not_input(checkpoint: &Gguf, output: &Path) -> Result<(), Error> {
    let Ok(target) = identity(output) else {
        return Ok(());
    };
    let is_target = |input: &Path| identity(input).is_ok_and(|input| input == target);
    match checkpoint.paths().any(is_target) {
        true => Err(Error::OutputIsInput { path: output.to_owned() }),
        false => Ok(()),
    }
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
/// **Errors**: [`Error::OutputFolder`]; a folder that cannot be written to.
pub(crate) fn ensure_creatable(output: &Path) -> Result<(), Error> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::OutputFolder { path: output.to_owned(), folder: folder.to_owned() });
    }
    // The message of the error contains the name of the temporary file, its kind does not.
    let created = tempfile::tempfile_in(folder);
    created.map(drop).map_err(|error| Error::io(output, io::Error::from(error.kind())))
}

/// Creates a file in the folder of `output`, to be renamed to it when it is complete. It has the permissions of ordinary files.
pub(crate) fn temporary_next_to(output: &Path) -> io::Result<NamedTempFile> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // Limited by the user's mask. Temporary files are private by default.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

/// Returns the file to write for `output`, with symbolic links resolved.
///
/// **Errors**: [`Error::OutputNotFile`]; [`Error::OutputExists`] unless `overwrite`.
pub(crate) fn replaceable(output: &Path, overwrite: bool) -> Result<PathBuf, Error> {
    if !output.exists() && !output.is_symlink() {
        return Ok(output.to_owned());
    }
    let target = fs::canonicalize(output).map_err(|error| Error::io(output, error))?;
    match (target.is_file(), overwrite) {
        (true, true) => Ok(target),
        (true, false) => Err(Error::OutputExists { path: output.to_owned() }),
        (false, _) => Err(Error::OutputNotFile { path: output.to_owned() }),
    }
}
