//! Sources of models.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::hub::OnDownload;
use crate::{Error, Hub, HubReference};

/// A model file on disk or a model on the Hugging Face Hub.
///
/// ```
/// use inferno::ModelSource;
///
/// let source: ModelSource = "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0".parse()?;
/// assert!(matches!(source, ModelSource::Hub(_)));
/// let source: ModelSource = "models/qwen3.gguf".parse()?;
/// assert!(matches!(source, ModelSource::File(_)));
/// # Ok::<(), inferno::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// A GGUF file, or any shard of a split model.
    File(PathBuf),
    /// A model on the Hugging Face Hub.
    Hub(HubReference),
}

impl ModelSource {
    /// Returns the path of the model file, downloading it if needed.
    ///
    /// **Errors**: see [`Hub::resolve`].
    pub fn locate(&self, on_progress: OnDownload<'_>) -> Result<PathBuf, Error> {
        match self {
            Self::File(path) => Ok(path.clone()),
            Self::Hub(reference) => Hub::from_env()?.resolve(reference, on_progress),
        }
    }
}

impl FromStr for ModelSource {
    type Err = Error;

    /// Parses `hf:OWNER/REPO[:QUANT]` or a path.
    ///
    /// **Errors**: [`Error::HubReference`].
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.starts_with(HubReference::PREFIX) {
            true => text.parse().map(Self::Hub),
            false => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Hub(reference) => reference.fmt(f),
        }
    }
}
