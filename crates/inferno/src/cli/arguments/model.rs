//! Options that choose the model.

use std::path::PathBuf;
use std::sync::Once;

use inferno_gguf::Gguf;
use inferno_model::LoadProgress;

use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::{DownloadBars, bytes_bar};
use crate::{Error, ModelSource, embedded};

/// Which model.
#[derive(clap::Args)]
pub(crate) struct SourceArgs {
    /// The model: a GGUF file (any shard of a split one), or hf:owner/repo[:quantization]
    #[cfg_attr(feature = "embedded-model", doc = "[default: ember, the small one inside]")]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<ModelSource>,
}

impl SourceArgs {
    /// Whether a model was named.
    pub(crate) fn is_given(&self) -> bool {
        self.model.is_some()
    }

    /// What to call the model: its file's name, its name on the hub, or that of the model inside.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.model {
            None => Some("ember".to_owned()),
            Some(ModelSource::Hub(reference)) => Some(reference.repo().to_owned()),
            Some(ModelSource::File(path)) => Some(path.file_stem()?.to_str()?.to_owned()),
        }
    }

    /// Opens the model that was named, else the one inside.
    ///
    /// **Errors**: as [`open`].
    pub(crate) fn open(&self) -> Result<Gguf, Error> {
        open(self.model.as_ref(), "-m FILE or -m hf:owner/repo")
    }
}

/// Opens a model's file, which is downloaded where it needs to be. Where none is named it is the model inside, and the
/// user is told so once, and that `another` names another.
///
/// **Errors**: [`Error::NoModel`] where there is none inside; as [`ModelSource::locate`] and [`Gguf::open`].
pub(crate) fn open(source: Option<&ModelSource>, another: &str) -> Result<Gguf, Error> {
    static TOLD: Once = Once::new();
    let Some(source) = source else {
        let checkpoint = embedded::checkpoint()?;
        TOLD.call_once(|| {
            print_note(&format!(
                "note: no model was given; this is ember, the small one inside ({another} takes another)"
            ));
        });
        return Ok(checkpoint);
    };
    Ok(Gguf::open(locate(source)?)?)
}

/// The path of a model's file, with a progress bar where it is downloaded.
///
/// **Errors**: as [`ModelSource::locate`].
pub(crate) fn locate(source: &ModelSource) -> Result<PathBuf, Error> {
    let mut bars = DownloadBars::default();
    source.locate(&mut |progress| bars.show(progress))
}

/// Runs a load with a progress bar.
pub(crate) fn with_loading_bar<T>(load: impl FnOnce(&mut dyn FnMut(LoadProgress)) -> T) -> T {
    let bar = bytes_bar("loading", 0);
    let loaded = load(&mut |progress| {
        bar.set_length(progress.total_bytes as u64);
        bar.set_position(progress.loaded_bytes as u64);
    });
    bar.finish_and_clear();
    loaded
}
