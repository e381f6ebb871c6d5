//! Verifies the size and checksum of a downloaded file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::Error;
use crate::hub::{DownloadProgress, DownloadStage, HubError, OnDownload};

const CHUNK_BYTES: usize = 1 << 20;

/// Checks the size, and the SHA-256 if the entity tag is one, as it is for large files.
///
/// **Errors**: [`HubError::DownloadSize`], [`HubError::Checksum`], [`Error::Io`].
pub(super) fn verify(
    path: &Path,
    file: &str,
    etag: &str,
    size: u64,
    on_progress: OnDownload<'_>,
) -> Result<(), Error> {
    let io_error = |error| Error::io(path, error);
    let mut content = File::open(path).map_err(io_error)?;
    let found = content.metadata().map_err(io_error)?.len();
    if found != size {
        let file = file.to_owned();
        return Err(HubError::DownloadSize { file, expected: size, found }.into());
    }
    if etag.len() != 2 * Sha256::output_size() || !etag.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(());
    }
    let mut done_bytes = 0;
    let found = sha256(&mut content, &mut |chunk_bytes| {
        done_bytes += chunk_bytes;
        on_progress(DownloadProgress {
            file,
            stage: DownloadStage::Verifying,
            done_bytes,
            total_bytes: size,
        });
    });
    let found = found.map_err(io_error)?;
    match found.eq_ignore_ascii_case(etag) {
        true => Ok(()),
        false => {
            let (file, expected) = (file.to_owned(), etag.to_owned());
            Err(HubError::Checksum { file, expected, found }.into())
        }
    }
}

fn sha256(content: &mut impl Read, on_chunk: &mut dyn FnMut(u64)) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match content.read(&mut chunk)? {
            0 => break,
            len => {
                hasher.update(&chunk[..len]);
                on_chunk(len as u64);
            }
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_matches_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&mut &b"abc"[..], &mut |_| {}).unwrap(), expected);
    }
}
