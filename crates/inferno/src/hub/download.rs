//! Brings the bytes of a file in, going on where an earlier attempt stopped.
//!
//! Invariant: nothing that the hub answers here becomes part of a path; the path of the partial file is the caller's.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use hf_hub::api::sync::ApiError;
use ureq::Agent;
use ureq::config::RedirectAuthHeaders;
use ureq::http::StatusCode;

use super::{DownloadProgress, DownloadStage, Hub, OnDownload, file_bytes, hub_error};
use crate::Error;

/// How often a download that broke off is taken up again before giving up.
const MAX_NUM_ATTEMPTS: usize = 3;

const CHUNK_BYTES: usize = 1 << 18;

/// A file of a repository, as it stands at one commit.
pub(super) struct RemoteFile<'a> {
    /// Its path in the repository.
    pub(super) name: &'a str,
    pub(super) url: &'a str,
    pub(super) size: u64,
}

/// The client that downloads. Where the hub sends it to another host for the bytes, the token is not sent along.
pub(super) fn agent() -> Agent {
    Agent::config_builder()
        .user_agent(concat!("inferno/", env!("CARGO_PKG_VERSION")))
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .build()
        .new_agent()
}

impl Hub {
    /// Makes `part` the whole of `file`.
    ///
    /// **Errors**: [`Error::Hub`], [`Error::Io`].
    pub(super) fn download(
        &self,
        file: &RemoteFile<'_>,
        part: &Path,
        on_progress: OnDownload<'_>,
    ) -> Result<(), Error> {
        // A part as long as the whole was not finished for another reason; there is no byte left to ask for.
        if file_bytes(part).is_some_and(|part| part >= file.size) {
            fs::remove_file(part).map_err(|error| Error::io(part, error))?;
        }
        let mut attempt = 1;
        loop {
            let before = file_bytes(part).unwrap_or(0);
            let error = match self.download_rest(file, part, on_progress) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let Error::Hub { source, .. } = &error else {
                return Err(error);
            };
            let broke_off = matches!(**source, ApiError::IoError(_));
            // An attempt that brought something does not count.
            if file_bytes(part).unwrap_or(0) > before {
                continue;
            }
            if !broke_off || attempt == MAX_NUM_ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Appends to `part` what it lacks.
    fn download_rest(
        &self,
        file: &RemoteFile<'_>,
        part: &Path,
        on_progress: OnDownload<'_>,
    ) -> Result<(), Error> {
        let io_error = |error| Error::io(part, error);
        let mut output = File::options().create(true).append(true).open(part).map_err(io_error)?;
        let mut done_bytes = output.metadata().map_err(io_error)?.len();

        let request = self.agent.get(file.url);
        let request = request.header("Range", format!("bytes={done_bytes}-"));
        let request = match &self.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        };
        let response = request
            .call()
            .map_err(|error| hub_error(&self.endpoint, ApiError::RequestError(Box::new(error))))?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            // The whole file comes, whatever part was asked for.
            output.set_len(0).map_err(io_error)?;
            done_bytes = 0;
        }

        // One byte more than there should be shows that the file is too long, and no more is taken.
        let lacking = (file.size + 1).saturating_sub(done_bytes);
        let mut body = response.into_body().into_reader().take(lacking);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            on_progress(DownloadProgress {
                file: file.name,
                stage: DownloadStage::Downloading,
                done_bytes,
                total_bytes: file.size,
            });
            let len = match body.read(&mut chunk) {
                Ok(0) if done_bytes < file.size => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            let len = len.map_err(|error| hub_error(&self.endpoint, ApiError::IoError(error)))?;
            if len == 0 {
                return Ok(());
            }
            output.write_all(&chunk[..len]).map_err(io_error)?;
            done_bytes += len as u64;
        }
    }
}
