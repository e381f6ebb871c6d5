//! Options that choose the model.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Once;

use clap::builder::{OsStringValueParser, TypedValueParser};
use inferno_gguf::Gguf;
use inferno_model::LoadProgress;

use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::{DelayedBar, DownloadBars};
use crate::{Error, HubError, HubReference, Model, ModelSource, checkpoint, embedded};

/// The model to use.
#[derive(Clone, clap::Args)]
pub(crate) struct SourceArgs {
    /// Model to use: a GGUF file (any shard of a split model), a folder with a Hugging Face checkpoint,
    /// hf:OWNER/REPO[:QUANTIZATION] or a short name such as qwen3:0.6b (see inferno list --catalog)
    #[cfg_attr(feature = "embedded-model", doc = "[default: the built-in Ember]")]
    #[arg(short, long, value_name = "MODEL", value_parser = model_source())]
    model: Option<ModelSource>,
}

impl From<ModelSource> for SourceArgs {
    fn from(model: ModelSource) -> Self {
        Self { model: Some(model) }
    }
}

impl SourceArgs {
    /// Returns whether a model was specified.
    pub(crate) fn is_given(&self) -> bool {
        self.model.is_some()
    }

    /// Returns the model's [name](ModelSource::name), or `ember`.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.model {
            None => Some(embedded::NAME.to_owned()),
            Some(source) => source.name(),
        }
    }

    /// Opens the specified model, or the built-in one.
    ///
    /// **Errors**: see [`open`].
    pub(crate) fn open(&self) -> Result<Gguf, Error> {
        open(self.model.as_ref(), "Pass -m FILE or -m hf:OWNER/REPO to use another.")
    }

    /// Like [`open`](Self::open), with a note for people who expect to chat with a capable model.
    ///
    /// **Errors**: see [`open`].
    pub(crate) fn open_for_chat(&self) -> Result<Gguf, Error> {
        open(
            self.model.as_ref(),
            "It is a demo; chat with a real model with: inferno chat -m qwen3:0.6b (639 MB)",
        )
    }
}

/// Returns a parser for models. File names need not be UTF-8.
pub(crate) fn model_source() -> impl TypedValueParser<Value = ModelSource> {
    OsStringValueParser::new().try_map(ModelSource::try_from)
}

/// Parses a model on the hub: a reference, a web address or a short name.
///
/// **Errors**: [`HubError::InvalidReference`], [`HubError::NotOnHub`], [`HubError::UnknownShortName`].
pub(crate) fn hub_reference(text: &str) -> Result<HubReference, Error> {
    match text.parse()? {
        ModelSource::Hub(reference) => Ok(reference),
        ModelSource::File(path) if reference_of(&path).is_some() => {
            Err(HubError::InvalidReference { found: text.to_owned() }.into())
        }
        ModelSource::File(path) => {
            ModelSource::File(path.clone()).locate(&mut |_| {})?;
            Err(HubError::NotOnHub { path }.into())
        }
    }
}

/// Returns the model on the hub that a path would refer to with the prefix of references: `OWNER/REPO`.
pub(crate) fn reference_of(path: &Path) -> Option<HubReference> {
    let is_file = path.extension().is_some_and(|ending| ending == "gguf") || path.exists();
    let name = format!("{}{}", HubReference::PREFIX, path.display());
    name.parse().ok().filter(|_| !is_file)
}

/// Rejects an argument, such as the prompt, that is the name of a model, whose option is missing.
///
/// **Errors**: [`Failure::Usage`].
pub(crate) fn ensure_not_model(argument: &str, meaning: &str) -> Result<(), Failure> {
    let is_model = match argument.parse() {
        Ok(ModelSource::Hub(_)) => true,
        Ok(source @ ModelSource::File(_)) if is_built_in(&source) => true,
        Ok(ModelSource::File(path)) => {
            checkpoint::is_folder_of_checkpoint(&path) || (path.is_file() && is_gguf(&path))
        }
        Err(_) => false,
    };
    match is_model {
        true => Err(Failure::Usage(format!(
            "{argument} is a model, but is used as the {meaning}; pass the model with -m {argument}"
        ))),
        false => Ok(()),
    }
}

/// Returns whether a file is a GGUF file by its name or by its first bytes.
fn is_gguf(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    path.extension().is_some_and(|ending| ending == "gguf") || (read.is_ok() && start == *b"GGUF")
}

/// Opens a model file, downloading it first if needed. The built-in model is opened if it is named, or without a source
/// with a note that is printed once; `advice` is how the user specifies another model.
///
/// **Errors**: [`Error::NoModel`] if this build has no built-in model; see also [`ModelSource::locate`] and
/// [`Gguf::open`].
pub(crate) fn open(source: Option<&ModelSource>, advice: &str) -> Result<Gguf, Error> {
    static NOTE: Once = Once::new();
    let Some(source) = source else {
        let checkpoint = embedded::checkpoint()?;
        NOTE.call_once(|| {
            let megabytes = checkpoint.file_bytes() as f64 / 1e6;
            print_note(&format!(
                "note: no model specified, using the built-in Ember ({megabytes:.0} MB). {advice}"
            ));
        });
        return Ok(checkpoint);
    };
    match is_built_in(source) {
        true => embedded::checkpoint(),
        false => open_file(source),
    }
}

/// Opens a model that is not built in. Notes on the conversion of a folder are printed once.
///
/// **Errors**: see [`ModelSource::locate`] and [`checkpoint::open`].
pub(crate) fn open_file(source: &ModelSource) -> Result<Gguf, Error> {
    static NOTES: Once = Once::new();
    let mut notes = Vec::new();
    let opened = checkpoint::open(&locate(source)?, &mut |note| notes.push(note.to_owned()));
    NOTES.call_once(|| notes.iter().for_each(|note| print_note(&format!("note: {note}"))));
    opened
}

/// Whether a model is the built-in one by its name, in any case. A file of that name takes precedence.
fn is_built_in(source: &ModelSource) -> bool {
    let is_named =
        |path: &Path| path.as_os_str().eq_ignore_ascii_case(embedded::NAME) && !path.exists();
    embedded::IS_BUILT_IN && matches!(source, ModelSource::File(path) if is_named(path))
}

/// Returns the path of a model file, with a progress bar during the download if there is one.
///
/// **Errors**: see [`ModelSource::locate`].
pub(crate) fn locate(source: &ModelSource) -> Result<PathBuf, Error> {
    let mut bars = DownloadBars::default();
    source.locate(&mut |progress| bars.show(progress))
}

/// Runs `load`, which loads `model`, with a progress bar, and reports if it runs elsewhere than planned.
pub(crate) fn with_loading_bar<T>(
    model: &Model,
    load: impl FnOnce(&mut dyn FnMut(LoadProgress)) -> T,
) -> T {
    let bar = DelayedBar::bytes("loading");
    let show = |progress: LoadProgress| {
        bar.show(progress.loaded_bytes as u64, progress.total_bytes as u64)
    };
    let loaded = load(&mut { show });
    drop(bar);
    if let Some(fallback) = model.fallback() {
        print_note(&format!("warning: {fallback}"));
    }
    loaded
}
