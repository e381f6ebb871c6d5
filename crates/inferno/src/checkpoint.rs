//! Opening models: GGUF files, and checkpoints that are converted when they are read.

use std::path::Path;

use inferno_convert::{Conversion, ConvertOptions, is_checkpoint};
use inferno_gguf::Gguf;

use crate::Error;

/// Opens a GGUF file, or a folder with a Hugging Face checkpoint, whose tensors are converted when they are read.
/// `on_note` gets what the user should know about the conversion.
///
/// **Errors**: a file that cannot be read or is damaged, a checkpoint that cannot be converted.
pub(crate) fn open(path: &Path, on_note: &mut dyn FnMut(&str)) -> Result<Gguf, Error> {
    if !is_checkpoint(path) {
        return Ok(Gguf::open(path)?);
    }
    let conversion = Conversion::open(path, &ConvertOptions::default())?;
    conversion.notes().iter().for_each(|note| on_note(note));
    Ok(conversion.into_gguf()?)
}
