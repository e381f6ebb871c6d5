//! Checks of output files before they are written.

use std::path::{Path, PathBuf};
use std::{fs, io};

use inferno_gguf::Gguf;

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
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Identifies a file by its canonical path.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
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
