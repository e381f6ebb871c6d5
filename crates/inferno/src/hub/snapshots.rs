//! Snapshots: the files of a repository at one commit, as links to their contents.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::REVISION;

/// The files of a repository at one commit that were downloaded.
pub(super) struct Snapshot {
    pub(super) folder: PathBuf,
    /// Paths relative to `folder`.
    pub(super) files: Vec<String>,
}

/// Returns the snapshots in the folder of a repository: that of the last complete download first, then the others from
/// new to old. A repository that was updated has its models in several.
pub(super) fn snapshots(repo: &Path) -> Vec<Snapshot> {
    let current = fs::read_to_string(repo.join("refs").join(REVISION)).unwrap_or_default();
    let Ok(entries) = fs::read_dir(repo.join("snapshots")) else { return Vec::new() };
    let mut folders: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_current = entry.file_name().to_str() == Some(current.trim());
            Some((is_current, entry.metadata().ok()?.modified().ok(), entry.path()))
        })
        .collect();
    folders.sort_unstable_by(|one, other| other.cmp(one));
    let snapshot = |(_, _, folder): (bool, _, PathBuf)| {
        let mut files = Vec::new();
        list_files(&folder, "", &mut files).ok()?;
        Some(Snapshot { folder, files })
    };
    folders.into_iter().filter_map(snapshot).collect()
}

/// Collects the paths of all files below `folder`, relative to the snapshot.
fn list_files(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // Entries are links to blobs. Links to missing blobs are skipped.
        if entry.file_type()?.is_dir() {
            list_files(&entry.path(), &format!("{prefix}{name}/"), files)?;
        } else if entry.path().is_file() {
            files.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}
