//! Options that choose the model.

use std::path::PathBuf;
use std::sync::Once;

use inferno_gguf::Gguf;
use inferno_model::LoadProgress;

use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::{DownloadBars, bytes_bar};
use crate::{Error, ModelSource, embedded};

/// The model to use.
#[derive(clap::Args)]
pub(crate) struct SourceArgs {
    /// Model to use: a GGUF file (any shard of a split model) or hf:OWNER/REPO[:QUANTIZATION]
    #[cfg_attr(feature = "embedded-model", doc = "[default: the built-in Ember]")]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<ModelSource>,
}

impl SourceArgs {
    /// Returns whether a model was specified.
    pub(crate) fn is_given(&self) -> bool {
        self.model.is_some()
    }

    /// Returns the model's name: its file name, its repository on the Hugging Face Hub, or `ember`.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.model {
            None => Some("ember".to_owned()),
            Some(ModelSource::Hub(reference)) => Some(reference.repo().to_owned()),
            Some(ModelSource::File(path)) => Some(path.file_stem()?.to_str()?.to_owned()),
        }
    }

    /// Opens the specified model, or the built-in one.
    ///
    /// **Errors**: see [`open`].
    pub(crate) fn open(&self) -> Result<Gguf, Error> {
        open(self.model.as_ref(), "-m FILE or -m hf:OWNER/REPO")
    }
}

/// Opens a model file, downloading it first if needed. Without a source, opens the built-in model and prints a note
/// once; `alternative` is how the user specifies another model.
///
/// **Errors**: [`Error::NoModel`] if this build has no built-in model; see also [`ModelSource::locate`] and
/// [`Gguf::open`].
pub(crate) fn open(source: Option<&ModelSource>, alternative: &str) -> Result<Gguf, Error> {
    static NOTE: Once = Once::new();
    let Some(source) = source else {
        let checkpoint = embedded::checkpoint()?;
        NOTE.call_once(|| {
            let megabytes = checkpoint.file_bytes() as f64 / 1e6;
            print_note(&format!(
                "note: no model specified, using the built-in Ember ({megabytes:.0} MB). Pass {alternative} to use another."
            ));
        });
        return Ok(checkpoint);
    };
    Ok(Gguf::open(locate(source)?)?)
}

/// Returns the path of a model file, with a progress bar during the download if there is one.
///
/// **Errors**: see [`ModelSource::locate`].
pub(crate) fn locate(source: &ModelSource) -> Result<PathBuf, Error> {
    let mut bars = DownloadBars::default();
    source.locate(&mut |progress| bars.show(progress))
}

/// Runs `load` with a progress bar.
pub(crate) fn with_loading_bar<T>(load: impl FnOnce(&mut dyn FnMut(LoadProgress)) -> T) -> T {
    let bar = bytes_bar("loading", 0);
    let loaded = load(&mut |progress| {
        bar.set_length(progress.total_bytes as u64);
        bar.set_position(progress.loaded_bytes as u64);
    });
    bar.finish_and_clear();
    loaded
}
