//! Sources of models.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::hub::OnDownload;
use crate::hub::catalog::{self, similar};
use crate::{Error, Hub, HubError, HubReference, checkpoint};

/// A model file on disk or a model on the Hugging Face Hub.
///
/// Well-known models on the hub have short names; `inferno list --catalog` prints them.
///
/// ```
/// use inferno::ModelSource;
///
/// let source: ModelSource = "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0".parse()?;
/// assert!(matches!(source, ModelSource::Hub(_)));
/// let source: ModelSource = "qwen3:0.6b".parse()?;
/// assert!(matches!(source, ModelSource::Hub(_)));
/// let source: ModelSource = "models/qwen3.gguf".parse()?;
/// assert!(matches!(source, ModelSource::File(_)));
/// # Ok::<(), inferno::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// A GGUF file, any shard of a split model, or a folder with a Hugging Face checkpoint; or its `config.json` or a
    /// file of its weights, which opens that folder.
    File(PathBuf),
    /// A model on the Hugging Face Hub.
    Hub(HubReference),
}

impl ModelSource {
    /// Returns the path of the model file, downloading it if needed.
    ///
    /// **Errors**: [`HubError::UnknownShortName`]; see also [`Hub::resolve`].
    pub fn locate(&self, on_progress: OnDownload<'_>) -> Result<PathBuf, Error> {
        match self {
            Self::File(path) => match unknown_short_name(path) {
                Some(name) => {
                    let (name, similar) = (name.to_owned(), similar(name));
                    Err(HubError::UnknownShortName { name, similar }.into())
                }
                None => Ok(path.clone()),
            },
            Self::Hub(reference) => Hub::from_env()?.resolve(reference, on_progress),
        }
    }

    /// Returns the name of the model: that of its file without the ending, of its folder, or of its repository; `None` for a path
    /// without a name, such as `..`, or whose name is not UTF-8.
    ///
    /// ```
    /// use inferno::ModelSource;
    ///
    /// let source: ModelSource = "models/qwen3.gguf".parse()?;
    /// assert_eq!(source.name().as_deref(), Some("qwen3"));
    /// # Ok::<(), inferno::Error>(())
    /// ```
    pub fn name(&self) -> Option<String> {
        let name = match self {
            Self::Hub(reference) => return Some(reference.repo().to_owned()),
            // Names of folders often contain sizes such as 0.6B.
            Self::File(path) if path.is_dir() => path.file_name(),
            Self::File(path) => path.file_stem(),
        };
        name?.to_str().map(str::to_owned)
    }
}

impl TryFrom<OsString> for ModelSource {
    type Error = Error;

    /// Parses a reference as [`from_str`](Self::from_str) does; a name that is not UTF-8 is a path.
    ///
    /// **Errors**: [`HubError::InvalidReference`].
    fn try_from(text: OsString) -> Result<Self, Error> {
        match text.to_str() {
            Some(text) => text.parse(),
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

impl FromStr for ModelSource {
    type Err = Error;

    /// Parses `hf:OWNER/REPO[:QUANT]`, the web address of a repository or of a file in it, a short name such as
    /// `qwen3:0.6b` or a path. A file takes precedence over an address and a short name. The path of a safetensors file or the
    /// `config.json` of a checkpoint becomes that of the folder.
    ///
    /// **Errors**: [`HubError::InvalidReference`].
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.starts_with(HubReference::PREFIX) {
            return text.parse().map(Self::Hub);
        }
        let path = PathBuf::from(text);
        if path.exists() {
            let folder = checkpoint::folder_of_part(&path).map(Path::to_owned);
            return Ok(Self::File(folder.unwrap_or(path)));
        }
        let found = HubReference::from_web_address(text).or_else(|| catalog::find(text));
        Ok(found.map_or(Self::File(path), Self::Hub))
    }
}

/// Returns a path that does not exist and is a single word such as `llama3` or `qwen3:0.5b`.
fn unknown_short_name(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let has_form = !text.contains(['/', '\\']) && !text.ends_with(".gguf");
    (has_form && !path.exists()).then_some(text)
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Hub(reference) => reference.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_whole() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("Qwen3-0.6B");
        std::fs::create_dir(&folder).unwrap();
        for file in ["config.json", "model.safetensors"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        for path in [folder.clone(), folder.join("model.safetensors")] {
            let source = ModelSource::try_from(path.into_os_string()).unwrap();
            assert_eq!(source.name().as_deref(), Some("Qwen3-0.6B"));
        }
        let names = ["models/a.b.gguf", "hf:owner/Qwen3-0.6B-GGUF:Q8_0"];
        let names = names.map(|name| name.parse::<ModelSource>().unwrap().name().unwrap());
        assert_eq!(names, ["a.b", "owner/Qwen3-0.6B-GGUF"]);
    }
}
