//! Opening models: GGUF files, and checkpoints that are converted when they are read.

use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions, is_checkpoint};
use inferno_gguf::Gguf;

use crate::Error;

/// Opens a GGUF file, or a folder with a Hugging Face checkpoint, whose tensors are converted when they are read. A
/// [part](folder_of_part) of a checkpoint opens its folder. `on_note` gets what the user should know about the conversion.
///
/// **Errors**: a file that cannot be read or is damaged, a checkpoint that cannot be converted.
pub(crate) fn open(path: &Path, on_note: &mut dyn FnMut(&str)) -> Result<Gguf, Error> {
    let path = folder_of_part(path).unwrap_or(path);
    if !is_checkpoint(path) {
        return Ok(Gguf::open(path)?);
    }
    let conversion = Conversion::open(path, &ConvertOptions::default())?;
    conversion.notes().iter().for_each(|note| on_note(note));
    Ok(conversion.into_gguf()?)
}

/// The file that every checkpoint has.
const CONFIG: &str = "config.json";

/// Returns whether a path is the folder of a checkpoint.
pub(crate) fn is_folder_of_checkpoint(path: &Path) -> bool {
    is_checkpoint(path) && path.join(CONFIG).is_file()
}

/// Returns the folder of the checkpoint that a file is a part of: its `config.json`, or weights next to that.
pub(crate) fn folder_of_part(path: &Path) -> Option<&Path> {
    let name = path.file_name()?.to_str()?;
    let is_part = name == CONFIG
        || name.ends_with(".safetensors")
        || name.ends_with(".safetensors.index.json");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    (is_part && path.is_file() && is_folder_of_checkpoint(folder)).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_and_weights_of_a_checkpoint_open_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            path
        };
        let weights = file("model-00001-of-00002.safetensors");
        assert_eq!(folder_of_part(&weights), None, "there is no config.json");
        let parts = [file("config.json"), weights, file("model.safetensors.index.json")];
        for path in &parts {
            assert_eq!(folder_of_part(path), Some(folder.path()), "{}", path.display());
        }
        for path in [file("tokenizer.json"), file("q8_0.gguf"), folder.path().to_owned()] {
            assert_eq!(folder_of_part(&path), None, "{}", path.display());
        }
        assert_eq!(folder_of_part(&folder.path().join("missing.safetensors")), None);
    }
}
