//! Downloads a file, resuming an earlier attempt.
//!
//! Invariant: nothing from the hub becomes part of a path here; the caller provides the path of the partial file.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use hf_hub::api::sync::ApiError;
use ureq::Agent;
use ureq::config::RedirectAuthHeaders;
use ureq::http::StatusCode;

use super::{DownloadProgress, DownloadStage, Hub, HubError, OnDownload, file_bytes};
use crate::Error;

/// Attempts without progress before an interrupted download fails.
const MAX_NUM_ATTEMPTS: usize = 3;

const CHUNK_BYTES: usize = 1 << 18;

/// A file of a repository at one commit.
pub(super) struct RemoteFile<'a> {
    /// Path in the repository.
    pub(super) name: &'a str,
    pub(super) url: &'a str,
    pub(super) size: u64,
}

/// Time limits of a request: to connect, until the response begins, and without receiving anything.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the HTTP client. The token is not sent to other hosts on redirects.
pub(super) fn agent() -> Agent {
    Agent::config_builder()
        .user_agent(concat!("inferno/", env!("CARGO_PKG_VERSION")))
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(RESPONSE_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT))
        .build()
        .new_agent()
}

impl Hub {
    /// Completes the partial file `part` of `file`.
    ///
    /// **Errors**: [`HubError::Download`], [`Error::Io`].
    pub(super) fn download(
        &self,
        file: &RemoteFile<'_>,
        part: &Path,
        on_progress: OnDownload<'_>,
    ) -> Result<(), Error> {
        // A partial file of full length failed verification or was not renamed; there is no range left to request.
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
            let Error::Hub(HubError::Download { source, .. }) = &error else {
                return Err(error);
            };
            let was_interrupted = match &**source {
                ApiError::IoError(_) => true,
                ApiError::RequestError(error) => {
                    matches!(**error, ureq::Error::Timeout(_) | ureq::Error::Io(_))
                }
                _ => false,
            };
            // Attempts that made progress do not count.
            if file_bytes(part).unwrap_or(0) > before {
                continue;
            }
            if !was_interrupted || attempt == MAX_NUM_ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Appends the missing bytes to `part`.
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
        let failed = |error| HubError::Download {
            file: file.name.to_owned(),
            endpoint: self.endpoint.clone(),
            source: Box::new(error),
        };
        let response = request.call();
        let response = response.map_err(|error| failed(ApiError::RequestError(Box::new(error))))?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            // The server ignored the range and sends the whole file.
            output.set_len(0).map_err(io_error)?;
            done_bytes = 0;
        }

        // One extra byte is enough to detect a file that is too long.
        let missing = (file.size + 1).saturating_sub(done_bytes);
        let mut body = response.into_body().into_reader().take(missing);
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
            let len = len.map_err(|error| failed(ApiError::IoError(error)))?;
            if len == 0 {
                return Ok(());
            }
            output.write_all(&chunk[..len]).map_err(io_error)?;
            done_bytes += len as u64;
        }
    }
}
