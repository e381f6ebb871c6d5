//! Models from the Hugging Face hub, kept in the cache that other programs use as well.
//!
//! Invariants: a path that is returned holds a complete file whose size, and checksum where the hub states one, were
//! checked when it was downloaded. Nothing that the hub answers becomes part of a path before it was checked to stay
//! inside of the cache. A file has its name in the cache from when it was checked, never before. An interrupted download leaves what came so far and goes on from there.

mod download;
mod reference;
mod select;
mod verify;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, io};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};
use ureq::Agent;

use crate::Error;
use download::RemoteFile;
pub use reference::HubReference;
use select::select;
use verify::verify;

/// The revision that is downloaded.
const REVISION: &str = "main";

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// How far a download has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownloadProgress<'a> {
    /// The file's path in the repository.
    pub file: &'a str,
    /// What is being done with it.
    pub stage: DownloadStage,
    /// Bytes that were handled in this stage, those of earlier attempts included.
    pub done_bytes: u64,
    /// Bytes of the whole file.
    pub total_bytes: u64,
}

/// What is being done with a file from the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadStage {
    /// Its bytes are coming in.
    Downloading,
    /// Its checksum is computed.
    Verifying,
}

/// What calls that download report their progress to.
pub type OnDownload<'a> = &'a mut dyn FnMut(DownloadProgress<'_>);

/// A connection to the hub, and the local cache.
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

/// The path of a model's (first) file, and how fresh it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulled {
    /// What the hub has now.
    Current(PathBuf),
    /// What the cache holds, as the hub was not reached.
    Cached(PathBuf),
}

impl Pulled {
    /// The path.
    pub fn into_path(self) -> PathBuf {
        match self {
            Self::Current(path) | Self::Cached(path) => path,
        }
    }
}

impl Hub {
    /// The hub and cache that the usual environment variables name: `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_CACHE`,
    /// `HF_HOME`, `HF_HUB_OFFLINE`.
    ///
    /// **Errors**: [`Error::NoHome`] where nothing says where the cache is; [`Error::Hub`].
    pub fn from_env() -> Result<Self, Error> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let folder = match (set("HF_HUB_CACHE"), set("HF_HOME")) {
            (Some(cache), _) => PathBuf::from(cache),
            (None, Some(home)) => PathBuf::from(home).join("hub"),
            (None, None) => {
                let home = dirs::home_dir().ok_or(Error::NoHome)?;
                home.join(".cache").join("huggingface").join("hub")
            }
        };
        let folder = std::path::absolute(&folder).map_err(|error| Error::io(folder, error))?;
        let cache = Cache::new(folder);
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let token = set("HF_TOKEN").or_else(|| cache.token());
        let api = ApiBuilder::from_cache(cache.clone())
            .with_endpoint(endpoint.clone())
            .with_token(token.clone())
            .with_user_agent("inferno", env!("CARGO_PKG_VERSION"))
            .with_progress(false)
            .build()
            .map_err(|error| hub_error(&endpoint, error))?;
        let is_offline = set("HF_HUB_OFFLINE").is_some_and(|value| value != "0");
        Ok(Self { api, agent: download::agent(), cache, endpoint, token, is_offline })
    }

    /// The path of a model's (first) file: from the cache where it holds a model of the quantization that is named,
    /// or no connection can be made; else downloaded.
    ///
    /// **Errors**: as [`Hub::pull`].
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

    /// As [`pull`](Self::pull), with what the cache holds where the hub cannot be reached.
    ///
    /// **Errors**: as [`pull`](Self::pull).
    pub fn pull_or_cached(
        &self,
        reference: &HubReference,
        on_progress: OnDownload<'_>,
    ) -> Result<Pulled, Error> {
        let error = match self.pull(reference, on_progress) {
            Err(error @ (Error::Hub { .. } | Error::HubOffline { .. })) => error,
            other => return other.map(Pulled::Current),
        };
        match self.cached(reference) {
            Ok(Some(path)) => Ok(Pulled::Cached(path)),
            // Where the hub may not be asked, what is wrong with the cache says more.
            Err(in_cache) if matches!(error, Error::HubOffline { .. }) => Err(in_cache),
            _ => Err(error),
        }
    }

    /// Downloads a model, or brings it up to date, and returns the path of its (first) file. Files that are in the
    /// cache already are not downloaded again.
    ///
    /// **Errors**: [`Error::HubOffline`], [`Error::Hub`], [`Error::HubRefused`], [`Error::HubAnswer`]; what
    /// keeps a model from being chosen: [`Error::NoSuchQuant`], [`Error::AmbiguousQuant`], [`Error::NoGguf`],
    /// [`Error::IncompleteShards`]; [`Error::DownloadSize`], [`Error::Checksum`]; [`Error::Io`].
    pub fn pull(
        &self,
        reference: &HubReference,
        on_progress: OnDownload<'_>,
    ) -> Result<PathBuf, Error> {
        if self.is_offline {
            return Err(Error::HubOffline { reference: reference.clone() });
        }
        let repo = self.api.repo(repo(reference));
        let info = repo.info().map_err(|error| self.refused(reference, error))?;
        let files: Vec<String> =
            info.siblings.into_iter().map(|sibling| sibling.rfilename).collect();
        let mut paths = Vec::new();
        for file in select(reference, &files)? {
            paths.push(self.fetch(reference, &file, on_progress)?);
        }
        Ok(paths.swap_remove(0))
    }

    /// The path of a model's (first) file in the cache; `None` where the cache knows no such model.
    ///
    /// **Errors**: [`Error::IncompleteShards`], [`Error::AmbiguousQuant`].
    pub fn cached(&self, reference: &HubReference) -> Result<Option<PathBuf>, Error> {
        let repo = repo(reference);
        let commit_path = self.cache.path().join(repo.folder_name()).join("refs").join(REVISION);
        let Ok(commit) = fs::read_to_string(commit_path) else {
            return Ok(None);
        };
        let snapshot = self.cache.repo(repo).pointer_path(commit.trim());
        let mut files = Vec::new();
        if list_files(&snapshot, "", &mut files).is_err() {
            return Ok(None);
        }
        match select(reference, &files) {
            Ok(selected) => Ok(selected.first().map(|file| snapshot.join(file))),
            Err(Error::NoSuchQuant { .. } | Error::NoGguf { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Brings one file of a repository into the cache.
    fn fetch(
        &self,
        reference: &HubReference,
        file: &str,
        on_progress: OnDownload<'_>,
    ) -> Result<PathBuf, Error> {
        let metadata = self
            .api
            .metadata(&self.api.repo(repo(reference)).url(file))
            .map_err(|error| self.refused(reference, error))?;
        let (etag, commit) = (metadata.etag(), metadata.commit_hash());
        for (what, value) in [("etag", etag), ("commit", commit)] {
            if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(Error::HubAnswer { what, found: value.to_owned() });
            }
        }
        let cache = self.cache.repo(repo(reference));
        let size = metadata.size() as u64;
        let blob = cache.blob_path(etag);
        let pointer = cache.pointer_path(commit).join(file);

        // Two programs that fetch one file take turns.
        let _lock = lock(&blob)?;
        if file_bytes(&blob) != Some(size) {
            let part = blob.with_extension("part");
            let at_commit = Repo::with_revision(
                reference.repo().to_owned(),
                RepoType::Model,
                commit.to_owned(),
            );
            let remote = RemoteFile { name: file, url: &self.api.repo(at_commit).url(file), size };
            self.download(&remote, &part, on_progress)?;
            if let Err(error) = verify(&part, file, etag, size, on_progress) {
                // The next attempt starts afresh. A failure to remove it changes nothing in the answer.
                let _ = fs::remove_file(&part);
                return Err(error);
            }
            fs::rename(&part, &blob).map_err(|error| Error::io(&blob, error))?;
        }
        if file_bytes(&pointer) != Some(size) {
            link(&blob, &pointer).map_err(|error| Error::io(&pointer, error))?;
        }
        cache.create_ref(commit).map_err(|error| Error::io(&pointer, error))?;
        Ok(pointer)
    }

    /// Tells a refusal by the hub from a connection that failed.
    fn refused(&self, reference: &HubReference, error: ApiError) -> Error {
        let ApiError::RequestError(request) = &error else {
            return hub_error(&self.endpoint, error);
        };
        match **request {
            ureq::Error::StatusCode(status @ (401 | 403 | 404)) => Error::HubRefused {
                reference: reference.clone(),
                endpoint: self.endpoint.clone(),
                status,
            },
            _ => hub_error(&self.endpoint, error),
        }
    }
}

fn hub_error(endpoint: &str, error: ApiError) -> Error {
    Error::Hub { endpoint: endpoint.to_owned(), source: Box::new(error) }
}

fn repo(reference: &HubReference) -> Repo {
    Repo::model(reference.repo().to_owned())
}

/// The size of a file; `None` where there is none.
fn file_bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Keeps others from the file beside `blob` that partial downloads go to, for as long as the answer lives.
///
/// **Errors**: [`Error::Io`].
fn lock(blob: &Path) -> Result<File, Error> {
    let path = blob.with_extension("lock");
    let locked = || -> io::Result<File> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(&path)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|error| Error::io(&path, error))
}

/// Gives a blob a second name, in place of whatever has that name. The two lie in one cache, so that a hard link does.
fn link(blob: &Path, pointer: &Path) -> io::Result<()> {
    if let Some(folder) = pointer.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = pointer.with_extension("link");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::hard_link(blob, &temporary)?;
    fs::rename(&temporary, pointer)
}

/// Collects the paths of all files below `folder`, relative to the snapshot.
fn list_files(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // Entries are links to blobs; one whose blob is gone does not count.
        if entry.file_type()?.is_dir() {
            list_files(&entry.path(), &format!("{prefix}{name}/"), files)?;
        } else if entry.path().is_file() {
            files.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}
