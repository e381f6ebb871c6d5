//! Errors from finding and downloading models on the Hugging Face Hub.

use std::path::PathBuf;

use hf_hub::api::sync::ApiError;

use crate::error::list;
use crate::{HubReference, embedded};

/// An error from finding or downloading a model on the Hugging Face Hub.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A string is not a valid reference to a model on the Hugging Face Hub.
    #[error(
        "invalid model reference {found:?}; expected hf:OWNER/REPO or hf:OWNER/REPO:QUANTIZATION"
    )]
    InvalidReference {
        /// The string.
        found: String,
    },
    /// The home directory is unknown, and no variable sets the cache directory.
    #[error("no home directory found for the model cache; set HF_HOME to a directory")]
    NoHome,
    /// The model is not in the cache, and downloads are disabled.
    #[error(
        "{reference} is not in the cache, and HF_HUB_OFFLINE disables downloads; unset it, or pass -m FILE"
    )]
    Offline {
        /// The requested model.
        reference: HubReference,
    },
    /// No such model was downloaded.
    #[error("{reference} is not in the cache; inferno list shows the downloaded models")]
    NotCached {
        /// The requested model.
        reference: HubReference,
    },
    /// The model is a file, but a downloaded model is required.
    #[error(
        "{} is not a model on the Hugging Face Hub; expected hf:OWNER/REPO[:QUANTIZATION] or a short name of inferno list \
         --catalog",
        path.display()
    )]
    NotOnHub {
        /// The file.
        path: PathBuf,
    },
    /// A name looks like a short name, but no model has it.
    #[error("{}", unknown_short_name(name, similar))]
    UnknownShortName {
        /// The name.
        name: String,
        /// Short names of the same family.
        similar: Vec<String>,
    },
    /// The hub could not be reached.
    #[error(
        "failed to request {what} from {endpoint}; check the connection, the proxy in HTTPS_PROXY and the hub in HF_ENDPOINT, or \
         pass a model file"
    )]
    Request {
        /// The model, or the list of models.
        what: String,
        /// The URL of the hub.
        endpoint: String,
        /// The cause.
        source: Box<ApiError>,
    },
    /// The connection was lost while a file was downloaded.
    #[error("the download of {file} from {endpoint} failed; run the command again to resume it")]
    Download {
        /// The file's path in the repository.
        file: String,
        /// The URL of the hub.
        endpoint: String,
        /// The cause.
        source: Box<ApiError>,
    },
    /// The hub denied access to the model.
    #[error(
        "{endpoint} returned status {status} for {reference}: the repository does not exist or requires \
         authentication; check the name, or set HF_TOKEN"
    )]
    Access {
        /// The requested model.
        reference: HubReference,
        /// The URL of the hub.
        endpoint: String,
        /// The HTTP status.
        status: u16,
    },
    /// The hub returned an invalid value.
    #[error("the hub returned {found:?} as the {what} of a file; expected letters and digits")]
    Response {
        /// The kind of value.
        what: &'static str,
        /// The value.
        found: String,
    },
    /// A repository contains no GGUF model.
    #[error("{reference} contains no GGUF model; look for a repository whose name ends in GGUF")]
    NoGguf {
        /// The requested model.
        reference: HubReference,
    },
    /// A repository does not contain the quantization.
    #[error("{reference} not found; this repository contains:{}", list(available))]
    NoSuchQuant {
        /// The requested model.
        reference: HubReference,
        /// The models in the repository.
        available: Vec<String>,
    },
    /// A reference matches several models in a repository.
    #[error(
        "{reference} matches several models:{}\nselect one, for example hf:OWNER/REPO:Q8_0 or hf:OWNER/REPO:FILE",
        list(matching)
    )]
    AmbiguousQuant {
        /// The requested model.
        reference: HubReference,
        /// The matching models.
        matching: Vec<String>,
    },
    /// A shard of a model is missing in the repository, or in the cache if downloads are disabled.
    #[error("{reference} is incomplete: shard {missing} is missing")]
    IncompleteShards {
        /// The requested model.
        reference: HubReference,
        /// The first missing shard.
        missing: String,
    },
    /// A downloaded file has the wrong size.
    #[error("{file} has {found} bytes, expected {expected}; it was deleted, run the command again")]
    DownloadSize {
        /// The file's path in the repository.
        file: String,
        /// The size reported by the hub, in bytes.
        expected: u64,
        /// The size on disk, in bytes.
        found: u64,
    },
    /// A downloaded file is corrupted.
    #[error(
        "{file} is corrupted: SHA-256 is {found}, expected {expected}; it was deleted, run the command again"
    )]
    Checksum {
        /// The file's path in the repository.
        file: String,
        /// The checksum reported by the hub.
        expected: String,
        /// The checksum of the file.
        found: String,
    },
}

/// Returns the message about a short name that no downloadable model has.
fn unknown_short_name(name: &str, similar: &[String]) -> String {
    if cfg!(feature = "embedded-model") && name.eq_ignore_ascii_case(embedded::NAME) {
        return format!(
            "{name} is built into this program and is not a file of its own: it cannot be downloaded, removed or converted"
        );
    }
    let instead = match similar.is_empty() {
        true => "inferno list --catalog shows all short names, and hf:OWNER/REPO selects any other model".to_owned(),
        false => format!("similar short names:{}", list(similar)),
    };
    format!("no file and no model is named {name:?}; {instead}")
}
