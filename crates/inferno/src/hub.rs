//! Models from the Hugging Face hub, kept in the cache that other programs use as well.
//!
//! Invariants: a path that is returned holds a complete file whose size, and checksum where the hub states one, were
//! checked when it was downloaded. Nothing that the hub answers becomes part of a path before it was checked to stay
//! inside of the cache. An interrupted download leaves what came so far and goes on from there.

mod reference;
mod select;
mod verify;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo};

use crate::Error;
pub use reference::HubReference;
use select::select;
use verify::verify;

/// The revision that is downloaded.
const REVISION: &str = "main";

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// How often a download that broke off is taken up again before giving up.
const MAX_NUM_ATTEMPTS: usize = 3;

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
#[derive(Debug)]
pub struct Hub {
    api: Api,
    cache: Cache,
    endpoint: String,
    is_offline: bool,
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
        let api = ApiBuilder::from_cache(cache.clone())
            .with_endpoint(endpoint.clone())
            .with_token(set("HF_TOKEN").or_else(|| cache.token()))
            .with_user_agent("inferno", env!("CARGO_PKG_VERSION"))
            .with_progress(false)
            .build()
            .map_err(|error| hub_error(&endpoint, error))?;
        let is_offline = set("HF_HUB_OFFLINE").is_some_and(|value| value != "0");
        Ok(Self {
            api,
            cache,
            endpoint,
            is_offline,
        })
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
            && let Some(cached) = self.cached(reference)
        {
            return Ok(cached);
        }
        match self.pull(reference, on_progress) {
            Err(error @ (Error::Hub { .. } | Error::HubOffline { .. })) => {
                self.cached(reference).ok_or(error)
            }
            other => other,
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
            return Err(Error::HubOffline {
                reference: reference.clone(),
            });
        }
        let repo = self.api.repo(repo(reference));
        let info = repo
            .info()
            .map_err(|error| self.refused(reference, error))?;
        let files: Vec<String> = info
            .siblings
            .into_iter()
            .map(|sibling| sibling.rfilename)
            .collect();
        let mut paths = Vec::new();
        for file in select(reference, &files)? {
            paths.push(self.fetch(reference, &repo, &file, on_progress)?);
        }
        Ok(paths.swap_remove(0))
    }

    /// A model that the cache holds completely.
    pub fn cached(&self, reference: &HubReference) -> Option<PathBuf> {
        let repo = repo(reference);
        let commit_path = self
            .cache
            .path()
            .join(repo.folder_name())
            .join("refs")
            .join(REVISION);
        let commit = fs::read_to_string(commit_path).ok()?;
        let snapshot = self.cache.repo(repo).pointer_path(commit.trim());
        let mut files = Vec::new();
        list_files(&snapshot, "", &mut files).ok()?;
        let selected = select(reference, &files).ok()?;
        Some(snapshot.join(selected.first()?))
    }

    /// Brings one file of a repository into the cache.
    fn fetch(
        &self,
        reference: &HubReference,
        repo: &ApiRepo,
        file: &str,
        on_progress: OnDownload<'_>,
    ) -> Result<PathBuf, Error> {
        let metadata = self
            .api
            .metadata(&repo.url(file))
            .map_err(|error| self.refused(reference, error))?;
        let (etag, commit) = (metadata.etag(), metadata.commit_hash());
        for (what, value) in [("etag", etag), ("commit", commit)] {
            if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(Error::HubAnswer {
                    what,
                    found: value.to_owned(),
                });
            }
        }
        let cache = self.cache.repo(self::repo(reference));
        let size = metadata.size() as u64;
        let blob = cache.blob_path(etag);
        let pointer = cache.pointer_path(commit).join(file);
        if file_bytes(&blob) == Some(size) {
            if file_bytes(&pointer) != Some(size) {
                link(&blob, &pointer).map_err(|error| Error::io(&pointer, error))?;
            }
            cache
                .create_ref(commit)
                .map_err(|error| Error::io(&pointer, error))?;
            return Ok(pointer);
        }

        // A part as long as the whole was not finished for another reason; there is no byte left to ask for.
        let part = blob.with_extension("part");
        if file_bytes(&part).is_some_and(|part| part >= size) {
            fs::remove_file(&part).map_err(|error| Error::io(&part, error))?;
        }
        self.download(repo, file, &part, on_progress)?;
        let verified = verify(&blob, file, etag, size, on_progress);
        if verified.is_err() {
            // What is damaged must not be found in the cache. A failure to remove it changes nothing in the answer.
            let _ = fs::remove_file(&pointer);
            let _ = fs::remove_file(&blob);
        }
        verified.map(|()| pointer)
    }

    /// Downloads a file, going on where an earlier attempt stopped.
    fn download(
        &self,
        repo: &ApiRepo,
        file: &str,
        part: &Path,
        on_progress: OnDownload<'_>,
    ) -> Result<(), Error> {
        let mut attempt = 1;
        loop {
            let before = file_bytes(part).unwrap_or(0);
            let adapter = ProgressAdapter {
                file,
                done_bytes: 0,
                total_bytes: 0,
                on_progress,
            };
            match repo.download_with_progress(file, adapter) {
                Ok(_) => return Ok(()),
                // An attempt that brought something does not count.
                Err(ApiError::IoError(_) | ApiError::RequestError(_))
                    if file_bytes(part).unwrap_or(0) > before => {}
                Err(ApiError::IoError(_)) if attempt < MAX_NUM_ATTEMPTS => attempt += 1,
                Err(error) => return Err(hub_error(&self.endpoint, error)),
            }
        }
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
    Error::Hub {
        endpoint: endpoint.to_owned(),
        source: Box::new(error),
    }
}

fn repo(reference: &HubReference) -> Repo {
    Repo::model(reference.repo().to_owned())
}

/// The size of a file; `None` where there is none.
fn file_bytes(path: &Path) -> Option<u64> {
    fs::metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.len())
}

/// Gives a blob a second name. The two lie in one cache, so that a hard link does.
fn link(blob: &Path, pointer: &Path) -> io::Result<()> {
    if let Some(folder) = pointer.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::hard_link(blob, pointer)
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

/// Turns the hub client's notices into [`DownloadProgress`].
struct ProgressAdapter<'a, 'b> {
    file: &'a str,
    done_bytes: u64,
    total_bytes: u64,
    on_progress: OnDownload<'b>,
}

impl ProgressAdapter<'_, '_> {
    fn report(&mut self) {
        (self.on_progress)(DownloadProgress {
            file: self.file,
            stage: DownloadStage::Downloading,
            done_bytes: self.done_bytes,
            total_bytes: self.total_bytes,
        });
    }
}

impl hf_hub::api::Progress for ProgressAdapter<'_, '_> {
    fn init(&mut self, size: usize, _: &str) {
        self.done_bytes = 0;
        self.total_bytes = size as u64;
        self.report();
    }

    fn update(&mut self, size: usize) {
        self.done_bytes += size as u64;
        self.report();
    }

    fn finish(&mut self) {
        self.report();
    }
}
