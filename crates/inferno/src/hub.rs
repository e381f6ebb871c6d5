//! Models from the Hugging Face Hub, stored in the cache that other Hugging Face tools share.
//!
//! Invariants: a returned path is a complete file whose size was verified after the download, and whose checksum was if
//! the hub reports one. No value from the hub becomes part of a path before it is validated to stay inside the cache. A
//! file gets its final name only after verification. Interrupted downloads keep the partial file and resume from it.

mod cache;
pub(crate) mod catalog;
mod download;
mod error;
mod reference;
mod select;
mod snapshots;
mod verify;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, io};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::Agent;

use crate::Error;
pub use cache::CachedModel;
use download::RemoteFile;
pub use error::HubError;
pub use reference::HubReference;
use select::select;
use snapshots::snapshots;
use verify::verify;

/// The revision to download.
const REVISION: &str = "main";

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// The progress of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadProgress<'a> {
    /// Path of the file in the repository.
    pub file: &'a str,
    /// The current stage.
    pub stage: DownloadStage,
    /// Bytes processed in this stage, including those of earlier attempts.
    pub done_bytes: u64,
    /// Size of the file, in bytes.
    pub total_bytes: u64,
}

/// A stage of downloading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadStage {
    /// The file is being received.
    Downloading,
    /// The checksum is being computed.
    Verifying,
}

/// A callback that receives the progress of a download.
pub type OnDownload<'a> = &'a mut dyn FnMut(DownloadProgress<'_>);

/// A client for the Hugging Face Hub with a local cache.
///
/// ```no_run
/// let hub = inferno::Hub::from_env()?;
/// let path = hub.resolve(&"hf:Qwen/Qwen3-0.6B-GGUF:Q8_0".parse()?, &mut |_| {})?;
/// let model = inferno::Model::open(path)?;
/// # Ok::<(), inferno::Error>(())
/// ```
pub struct Hub {
    api: Api,
    agent: Agent,
    cache: Cache,
    endpoint: String,
    token: Option<String>,
    is_offline: bool,
}

/// The path of the first file of a model, and whether it is up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulled {
    /// The current version on the hub.
    Current(PathBuf),
    /// The cached version, because the hub could not be reached.
    Cached(PathBuf),
}

impl Pulled {
    /// Returns the path.
    pub fn into_path(self) -> PathBuf {
        match self {
            Self::Current(path) | Self::Cached(path) => path,
        }
    }
}

impl Hub {
    /// Creates a client from the Hugging Face environment variables: `HF_ENDPOINT`, `HF_TOKEN`, `HF_TOKEN_PATH`,
    /// `HF_HUB_CACHE`, `HF_HOME` and `HF_HUB_OFFLINE`.
    ///
    /// **Errors**: [`HubError::NoHome`] if the location of the cache is unknown; [`HubError::Request`].
    pub fn from_env() -> Result<Self, Error> {
        let folder = match set("HF_HUB_CACHE") {
            Some(cache) => PathBuf::from(cache),
            None => home().ok_or(HubError::NoHome)?.join("hub"),
        };
        let folder = std::path::absolute(&folder).map_err(|error| Error::io(folder, error))?;
        let cache = Cache::new(folder);
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let token = set("HF_TOKEN").or_else(login).or_else(|| cache.token());
        let api = ApiBuilder::from_cache(cache.clone())
            .with_endpoint(endpoint.clone())
            .with_token(token.clone())
            .with_user_agent("inferno", env!("CARGO_PKG_VERSION"))
            .with_progress(false)
            .build()
            .map_err(|error| request_failed("models".to_owned(), &endpoint, error))?;
        let is_offline = set("HF_HUB_OFFLINE").is_some_and(|value| value != "0");
        Ok(Self { api, agent: download::agent(), cache, endpoint, token, is_offline })
    }

    /// Returns the path of the first file of a model. Uses the cache if the reference names a quantization that it
    /// contains, or if the hub cannot be reached; otherwise downloads the model.
    ///
    /// **Errors**: see [`Hub::pull`].
    pub fn resolve(
        &self,
        reference: &HubReference,
        on_progress: OnDownload<'_>,
    ) -> Result<PathBuf, Error> {
        if reference.quant().is_some()
            && let Ok(Some(cached)) = self.cached(reference)
        {
            return Ok(cached);
        }
        let pulled = self.pull_or_cached(reference, on_progress)?;
        Ok(pulled.into_path())
    }

    /// Like [`pull`](Self::pull), but falls back to the cache if the hub cannot be reached.
    ///
    /// **Errors**: see [`pull`](Self::pull).
    pub fn pull_or_cached(
        &self,
        reference: &HubReference,
        on_progress: OnDownload<'_>,
    ) -> Result<Pulled, Error> {
        let error = match self.pull(reference, on_progress) {
            Err(Error::Hub(
                error @ (HubError::Request { .. }
                | HubError::Download { .. }
                | HubError::Offline { .. }),
            )) => error,
            other => return other.map(Pulled::Current),
        };
        match self.cached(reference) {
            Ok(Some(path)) => Ok(Pulled::Cached(path)),
            // In offline mode, the problem with the cache is more informative.
            Err(in_cache) if matches!(error, HubError::Offline { .. }) => Err(in_cache),
            _ => Err(error.into()),
        }
    }

    /// Downloads or updates a model, and returns the path of its first file. Files in the cache that are up to date are
    /// not downloaded again.
    ///
    /// **Errors**: [`HubError::Offline`], [`HubError::Request`], [`HubError::Download`], [`HubError::Access`],
    /// [`HubError::Response`]; no unique complete model: [`HubError::NoSuchQuant`], [`HubError::AmbiguousQuant`], [`HubError::NoGguf`],
    /// [`HubError::IncompleteShards`]; [`HubError::DownloadSize`], [`HubError::Checksum`]; [`Error::Io`].
    pub fn pull(
        &self,
        reference: &HubReference,
        on_progress: OnDownload<'_>,
    ) -> Result<PathBuf, Error> {
        if self.is_offline {
            return Err(HubError::Offline { reference: reference.clone() }.into());
        }
        let repo = self.api.repo(repo(reference));
        let info = repo.info().map_err(|error| self.request_error(reference, error))?;
        let commit = checked("commit", &info.sha)?;
        let files: Vec<String> =
            info.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
        let mut fetched = Vec::new();
        // All files are those of one commit, whatever is published in the meantime.
        for file in select(reference, &files)? {
            fetched.push(self.fetch(reference, commit, &file, on_progress)?);
        }
        // Only now, since an earlier snapshot may contain the whole model.
        let path = fetched.swap_remove(0);
        let cache = self.cache.repo(self::repo(reference));
        let current = self.folder(reference).join("refs").join(REVISION);
        let current = fs::read_to_string(current).unwrap_or_default();
        if current.trim() != commit {
            cache.create_ref(commit).map_err(|error| Error::io(&path, error))?;
        }
        Ok(path)
    }

    /// Returns the path of the first file of a model in the cache, of its last download; `None` if it is not cached.
    ///
    /// **Errors**: [`HubError::IncompleteShards`], [`HubError::AmbiguousQuant`].
    pub fn cached(&self, reference: &HubReference) -> Result<Option<PathBuf>, Error> {
        let mut failure = None;
        for snapshot in snapshots(&self.folder(reference)) {
            match select(reference, &snapshot.files) {
                Ok(selected) => return Ok(selected.first().map(|file| snapshot.folder.join(file))),
                Err(HubError::NoSuchQuant { .. } | HubError::NoGguf { .. }) => {}
                Err(error @ HubError::IncompleteShards { .. }) => failure = failure.or(Some(error)),
                Err(error) => return Err(error.into()),
            }
        }
        failure.map_or(Ok(None), |error| Err(error.into()))
    }

    /// The folder of a repository in the cache.
    fn folder(&self, reference: &HubReference) -> PathBuf {
        self.cache.path().join(repo(reference).folder_name())
    }

    /// Downloads one file of a repository at a commit into the cache, unless it is there. Returns its path.
    fn fetch(
        &self,
        reference: &HubReference,
        commit: &str,
        file: &str,
        on_progress: OnDownload<'_>,
    ) -> Result<PathBuf, Error> {
        let name = reference.repo().to_owned();
        let at_commit = Repo::with_revision(name, RepoType::Model, commit.to_owned());
        let url = self.api.repo(at_commit).url(&encoded(file));
        let metadata = self.api.metadata(&url);
        let metadata = metadata.map_err(|error| self.request_error(reference, error))?;
        let etag = checked("etag", metadata.etag())?;
        let cache = self.cache.repo(repo(reference));
        let size = metadata.size() as u64;
        let blob = cache.blob_path(etag);
        let pointer = cache.pointer_path(commit).join(file);
        if file_bytes(&blob) == Some(size) && file_bytes(&pointer) == Some(size) {
            return Ok(pointer);
        }

        // Only one process downloads a file at a time.
        let _lock = lock(&blob)?;
        if file_bytes(&blob) != Some(size) {
            let part = blob.with_extension("part");
            let remote = RemoteFile { name: file, url: &url, size };
            self.download(&remote, &part, on_progress)?;
            if let Err(error) = verify(&part, file, etag, size, on_progress) {
                // The next attempt starts from the beginning. Failing to remove the file does not change the error.
                let _ = fs::remove_file(&part);
                return Err(error);
            }
            fs::rename(&part, &blob).map_err(|error| Error::io(&blob, error))?;
        }
        if file_bytes(&pointer) != Some(size) {
            link(&blob, &pointer).map_err(|error| Error::io(&pointer, error))?;
        }
        Ok(pointer)
    }

    /// Converts an error of the client: access denied, or a failed connection.
    fn request_error(&self, reference: &HubReference, error: ApiError) -> Error {
        let ApiError::RequestError(request) = &error else {
            return request_failed(reference.to_string(), &self.endpoint, error);
        };
        match **request {
            ureq::Error::StatusCode(status @ (401 | 403 | 404)) => HubError::Access {
                reference: reference.clone(),
                endpoint: self.endpoint.clone(),
                status,
            }
            .into(),
            _ => request_failed(reference.to_string(), &self.endpoint, error),
        }
    }
}

/// The value of an environment variable that is not empty.
fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder of Hugging Face's tools.
fn home() -> Option<PathBuf> {
    let home = set("HF_HOME").map(PathBuf::from);
    home.or_else(|| Some(dirs::home_dir()?.join(".cache").join("huggingface")))
}

/// The token that a login stored.
fn login() -> Option<String> {
    let file = set("HF_TOKEN_PATH").map(PathBuf::from).or_else(|| Some(home()?.join("token")))?;
    let token = fs::read_to_string(file).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

fn request_failed(what: String, endpoint: &str, error: ApiError) -> Error {
    HubError::Request { what, endpoint: endpoint.to_owned(), source: Box::new(error) }.into()
}

fn repo(reference: &HubReference) -> Repo {
    Repo::model(reference.repo().to_owned())
}

/// Returns a value of the hub that becomes part of a path.
///
/// **Errors**: [`HubError::Response`] if it has other characters than letters, digits and hyphens, or none.
fn checked<'v>(what: &'static str, value: &'v str) -> Result<&'v str, HubError> {
    match !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        true => Ok(value),
        false => Err(HubError::Response { what, found: value.to_owned() }),
    }
}

/// Returns the path of a file in its repository as a part of a URL.
fn encoded(file: &str) -> String {
    const KEPT: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(file, KEPT).to_string()
}

/// Returns the size of a file; `None` if it does not exist.
fn file_bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Locks the partial download of `blob` against other processes until the result is dropped.
///
/// **Errors**: [`Error::Io`].
fn lock(blob: &Path) -> Result<File, Error> {
    let path = blob.with_extension("lock");
    let locked = || -> io::Result<File> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(&path)?;
        match file.lock() {
            // Some network file systems have no locks.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(file),
        }
    };
    locked().map_err(|error| Error::io(&path, error))
}

/// Whether a hard link failed because the file system has none.
fn has_no_links(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

/// Creates or replaces the link `pointer` to a blob. Both are in the same cache, so a hard link is possible, unless the file
/// system has none.
fn link(blob: &Path, pointer: &Path) -> io::Result<()> {
    if let Some(folder) = pointer.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = pointer.with_extension("link");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match fs::hard_link(blob, &temporary) {
        Err(error) if has_no_links(&error) => fs::copy(blob, &temporary).map(drop),
        linked => linked,
    }?;
    fs::rename(&temporary, pointer)
}
