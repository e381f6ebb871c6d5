//! Lists and deletes models in the local cache.
//!
//! Invariant: only files below the folder of a repository are deleted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::select::{checkpoints, select};
use super::snapshots::{Snapshot, snapshots};
use super::{Hub, HubError, HubReference};
use crate::Error;
use crate::output_file::identity;

/// A model in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedModel {
    /// The reference that selects exactly this model.
    pub reference: HubReference,
    /// Its files, the first shard first.
    pub files: Vec<PathBuf>,
    /// Size of all files, in bytes.
    pub num_bytes: u64,
    /// When the first file was written; `None` if the file system does not store it.
    pub downloaded: Option<SystemTime>,
}

impl Hub {
    /// Returns all complete models in the cache, sorted by reference. A missing cache contains none.
    ///
    /// **Errors**: [`Error::Io`] if the cache cannot be read.
    pub fn models(&self) -> Result<Vec<CachedModel>, Error> {
        let folder = self.cache.path();
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Error::io(folder, error))?,
        };
        let mut models = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| Error::io(folder, error))?;
            let name = entry.file_name();
            let repo = name.to_str().and_then(|name| name.strip_prefix("models--"));
            let repo = repo.and_then(|repo| repo.split_once("--"));
            let Some((owner, name)) = repo else { continue };
            let text = format!("{}{owner}/{name}", HubReference::PREFIX);
            if let Ok(reference) = text.parse() {
                models.extend(models_of(&reference, &entry.path()));
            }
        }
        models.sort_by_cached_key(|model| model.reference.to_string());
        Ok(models)
    }

    /// Returns the models in the cache that a reference selects: one if it has a quantization, otherwise all of the
    /// repository.
    ///
    /// **Errors**: [`HubError::NotCached`]; [`HubError::AmbiguousQuant`]; [`HubError::IncompleteShards`]; [`Error::Io`].
    pub fn cached_models(&self, reference: &HubReference) -> Result<Vec<CachedModel>, Error> {
        let path = match reference.quant() {
            Some(_) => self.cached(reference)?,
            None => None,
        };
        let models = self.models()?.into_iter().filter(|model| match reference.quant() {
            Some(_) => model.files.first() == path.as_ref(),
            None => model.reference.repo() == reference.repo(),
        });
        let models: Vec<_> = models.collect();
        match models.is_empty() {
            true => Err(HubError::NotCached { reference: reference.clone() }.into()),
            false => Ok(models),
        }
    }

    /// Deletes a model from the cache: its files in every snapshot, also earlier versions, and their contents, and the
    /// folder of the repository if nothing else is left in it.
    ///
    /// **Errors**: [`Error::Io`].
    pub fn remove(&self, model: &CachedModel) -> Result<(), Error> {
        let folder = self.folder(&model.reference);
        for file in versions(&folder, model) {
            let failed = |error| Error::io(&file, error);
            // It may be a link to the contents of a version that was just removed.
            let Ok(target) = identity(&file) else { continue };
            // Snapshots link to the contents, by symbolic or hard links.
            for place in ["snapshots", "blobs"] {
                let is_removed = |path: &Path| identity(path).is_ok_and(|found| found == target);
                remove_files(&folder.join(place), &is_removed).map_err(failed)?;
            }
        }
        if snapshots(&folder).iter().all(|snapshot| snapshot.files.is_empty()) {
            fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, error))?;
        }
        Ok(())
    }
}

/// Returns the files of a model in all snapshots of its repository.
fn versions(folder: &Path, model: &CachedModel) -> Vec<PathBuf> {
    let snapshots = snapshots(folder);
    let mut versions = Vec::new();
    for file in &model.files {
        let name = snapshots.iter().find_map(|snapshot| file.strip_prefix(&snapshot.folder).ok());
        let Some(name) = name else { continue };
        versions.extend(snapshots.iter().map(|snapshot| snapshot.folder.join(name)));
    }
    versions
}

/// Returns the complete models of a repository, of several versions the last one.
fn models_of(repo: &HubReference, folder: &Path) -> Vec<CachedModel> {
    let mut models: Vec<CachedModel> = Vec::new();
    for model in snapshots(folder).iter().flat_map(|snapshot| models_in(repo, snapshot)) {
        if models.iter().all(|newer| newer.reference != model.reference) {
            models.push(model);
        }
    }
    models
}

/// Returns the complete models of a snapshot.
fn models_in(repo: &HubReference, snapshot: &Snapshot) -> Vec<CachedModel> {
    let files = &snapshot.files;
    let model = |first: &String| {
        let reference = shortest_reference(repo, first, files);
        let files = select(&reference, files).ok()?;
        let files: Vec<PathBuf> = files.iter().map(|file| snapshot.folder.join(file)).collect();
        let metadata: Option<Vec<_>> = files.iter().map(|file| fs::metadata(file).ok()).collect();
        let metadata = metadata?;
        Some(CachedModel {
            reference,
            files,
            num_bytes: metadata.iter().map(fs::Metadata::len).sum(),
            downloaded: metadata.first()?.modified().ok(),
        })
    };
    checkpoints(files).iter().filter_map(|checkpoint| model(&checkpoint.first)).collect()
}

/// Returns the reference of a checkpoint: with the quantization that its name ends with if that is unique, otherwise
/// with its file name.
fn shortest_reference(repo: &HubReference, first: &str, files: &[String]) -> HubReference {
    let with = |quant: &str| HubReference { quant: Some(quant.to_owned()), ..repo.clone() };
    let stem = first.strip_suffix(".gguf").unwrap_or(first);
    let stem = stem.split("-00001-of-").next().unwrap_or(stem);
    let quant = stem.rsplit(['-', '.', '/']).next().unwrap_or(stem);
    let is_this = |reference: &HubReference| {
        select(reference, files).is_ok_and(|selected| selected.first().is_some_and(|f| f == first))
    };
    let by_quant = with(quant);
    if !quant.is_empty() && quant != stem && is_this(&by_quant) { by_quant } else { with(first) }
}

/// Removes the files below `folder` for which `is_removed` is true, and folders that are empty then.
fn remove_files(folder: &Path, is_removed: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_files(&path, is_removed)?;
            // Fails if it is not empty.
            let _ = fs::remove_dir(&path);
        } else if is_removed(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
