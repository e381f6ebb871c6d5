//! Projections after pooling: the modules `Dense` of sentence-transformers, in files of their own.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::{ConvertError, json};

/// A projection of embeddings.
pub(crate) struct Projection {
    /// Name in the result.
    pub(crate) name: &'static str,
    /// The file of its weights.
    pub(crate) path: PathBuf,
    pub(crate) num_inputs: usize,
    pub(crate) num_outputs: usize,
}

/// The names that projections can have, in order.
const NAMES: [&str; 2] = ["dense_2", "dense_3"];

/// Folders of the modules whose type has this ending, from `modules.json`.
pub(crate) fn module_folders(folder: &Path, kind: &str) -> Result<Vec<PathBuf>, ConvertError> {
    let modules = json::read(&folder.join("modules.json"))?.unwrap_or_default();
    let modules = modules.as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kind =
        |module: &&Value| module["type"].as_str().is_some_and(|found| found.ends_with(kind));
    let paths = modules.iter().filter(of_kind).filter_map(|module| module["path"].as_str());
    let folder_of = |path: &str| {
        let is_inside =
            Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        match is_inside {
            true => Ok(folder.join(path)),
            false => {
                let reason = format!("expected a path within the folder, found {path:?}");
                Err(ConvertError::invalid(folder.join("modules.json"), reason))
            }
        }
    };
    paths.map(folder_of).collect()
}

/// Checks that nothing follows the pooling.
///
/// **Errors**: a projection, which would be lost.
pub(crate) fn check_none(folder: &Path) -> Result<(), ConvertError> {
    match module_folders(folder, "Dense")?.is_empty() {
        true => Ok(()),
        false => {
            let reason = "modules of type Dense are supported for EmbeddingGemma only; remove them \
                          from the file to convert the model without its projection";
            Err(ConvertError::invalid(folder.join("modules.json"), reason.to_owned()))
        }
    }
}

/// The projections of a folder.
///
/// **Errors**: more than two, or with an activation, which GGUF files cannot have.
pub(crate) fn projections(folder: &Path) -> Result<Vec<Projection>, ConvertError> {
    let folders = module_folders(folder, "Dense")?;
    if folders.len() > NAMES.len() {
        let reason =
            format!("expected at most {} Dense modules, found {}", NAMES.len(), folders.len());
        return Err(ConvertError::invalid(folder.join("modules.json"), reason));
    }
    let projections = NAMES.into_iter().zip(folders).map(|(name, folder)| {
        let path = folder.join("config.json");
        let config = json::read_object(&path)?.unwrap_or_default();
        let size = |key: &str| {
            let found = config.get(key).and_then(Value::as_u64);
            let missing = || ConvertError::invalid(&path, format!("expected a number \"{key}\""));
            found.map(|size| size as usize).ok_or_else(missing)
        };
        let (num_inputs, num_outputs) = (size("in_features")?, size("out_features")?);
        match config.get("activation_function").and_then(Value::as_str) {
            Some(function) if !function.ends_with("Identity") => {
                let reason = format!("activation_function: expected Identity, found {function}");
                Err(ConvertError::invalid(path, reason))
            }
            _ => {
                let path = folder.join("model.safetensors");
                Ok(Projection { name, path, num_inputs, num_outputs })
            }
        }
    });
    projections.collect()
}
