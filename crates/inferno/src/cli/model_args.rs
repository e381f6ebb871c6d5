//! Flags that several commands share.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Once;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use inferno_backend::KvDType;
use inferno_cpu::Isa;
use inferno_gguf::Gguf;
use inferno_model::{LoadProgress, Requantize};

use crate::cli::failure::print_note;
use crate::cli::progress::{DownloadBars, bytes_bar};
use crate::{BackendChoice, BatchLimits, Error, LoadOptions, ModelSource, embedded};

/// Which model.
#[derive(clap::Args)]
pub(super) struct SourceArgs {
    /// The model: a GGUF file (any shard of a split one), or hf:owner/repo[:quantization]
    #[cfg_attr(feature = "embedded-model", doc = "[default: ember, the small one inside]")]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<ModelSource>,
}

impl SourceArgs {
    /// Whether a model was named.
    pub(super) fn is_given(&self) -> bool {
        self.model.is_some()
    }

    /// What to call the model: its file's name, its name on the hub, or that of the model inside.
    pub(super) fn name(&self) -> Option<String> {
        match &self.model {
            None => Some("ember".to_owned()),
            Some(ModelSource::Hub(reference)) => Some(reference.repo().to_owned()),
            Some(ModelSource::File(path)) => Some(path.file_stem()?.to_str()?.to_owned()),
        }
    }

    /// Opens the model that was named, else the one inside.
    ///
    /// **Errors**: as [`open`].
    pub(super) fn open(&self) -> Result<Gguf, Error> {
        open(self.model.as_ref(), "-m FILE or -m hf:owner/repo")
    }
}

/// How the model computes.
#[derive(clap::Args)]
pub(super) struct ComputeArgs {
    /// What computes: scalar (one thread, portable code), simd (one thread, best instruction set), parallel (all
    /// threads), reference (plain loops that the others are tested against); gpu and metal are not in this build.
    #[arg(long, value_name = "BACKEND", default_value_t, ignore_case = true)]
    #[arg(value_parser = names(BackendChoice::ALL.map(BackendChoice::name)).try_map(|name| name.parse::<BackendChoice>()))]
    backend: BackendChoice,
    /// Threads, whatever the backend's name says.
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Instruction set, whatever the backend's name says; results are the same with all.
    #[arg(long, value_name = "ISA", ignore_case = true)]
    #[arg(value_parser = names(Isa::ALL.map(Isa::name)).try_map(|name| name.parse::<Isa>()))]
    isa: Option<Isa>,
    /// Format of the KV cache.
    #[arg(long, value_name = "FORMAT", default_value_t, ignore_case = true)]
    #[arg(value_parser = names(KvDType::ALL.map(KvDType::name)).try_map(|name| name.parse::<KvDType>()))]
    kv_dtype: KvDType,
    /// Turn weights that the file has as floats into this format while loading.
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    #[arg(value_parser = names(Requantize::ALL.map(|choice| choice.to_string())).try_map(|name| name.parse::<Requantize>()))]
    requantize: Option<Requantize>,
    /// Say what memory loading would take, and load nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl ComputeArgs {
    /// The options of a load with this context and these batches.
    pub(super) fn options(
        &self,
        context_length: Option<usize>,
        limits: BatchLimits,
    ) -> LoadOptions {
        LoadOptions {
            backend: self.backend,
            num_threads: self.threads,
            isa: self.isa,
            requantize: self.requantize,
            context_length,
            cache_tokens: None,
            kv_dtype: self.kv_dtype,
            limits,
        }
    }
}

/// Rows of logits that one batch gives where nothing else is asked for; at least one.
pub(super) fn num_logit_rows(vocab_size: usize) -> usize {
    const LOGIT_BYTES: usize = 64 << 20;
    let row_bytes = vocab_size.saturating_mul(size_of::<f32>()).max(1);
    (LOGIT_BYTES / row_bytes).max(1)
}

/// Accepts the given names in upper or lower case, and lists them in help and completions.
pub(super) fn names(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
) -> PossibleValuesParser {
    PossibleValuesParser::new(names)
}

/// Opens a model's file, which is downloaded where it needs to be. Where none is named it is the model inside, and the
/// user is told so once, and that `another` names another.
///
/// **Errors**: [`Error::NoModel`] where there is none inside; as [`ModelSource::locate`] and [`Gguf::open`].
pub(super) fn open(source: Option<&ModelSource>, another: &str) -> Result<Gguf, Error> {
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
pub(super) fn locate(source: &ModelSource) -> Result<PathBuf, Error> {
    let mut bars = DownloadBars::default();
    source.locate(&mut |progress| bars.show(progress))
}

/// Runs a load with a progress bar.
pub(super) fn with_loading_bar<T>(load: impl FnOnce(&mut dyn FnMut(LoadProgress)) -> T) -> T {
    let bar = bytes_bar("loading", 0);
    let loaded = load(&mut |progress| {
        bar.set_length(progress.total_bytes as u64);
        bar.set_position(progress.loaded_bytes as u64);
    });
    bar.finish_and_clear();
    loaded
}

/// Reads a number of at least 1.
pub(super) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("expected a number of at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("expected a number of at least 1: {error}")),
    }
}

/// Reads a number in this range, and names the range where it is not.
pub(super) fn number_in(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
    }
}

/// The most threads: more than any machine runs at once would only exhaust it.
pub(super) const MAX_THREADS: usize = 1024;

/// The most seconds, which are a year: clocks do not count as far as numbers do.
pub(super) const MAX_SECONDS: usize = 365 * 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_their_range_are_told_the_range() {
        let read = number_in(1..=12);
        assert_eq!((read("1"), read("12")), (Ok(1), Ok(12)));
        for text in ["0", "13", "-1", "99999999999999999999999", "a few", ""] {
            assert_eq!(read(text), Err("expected a number from 1 to 12".to_owned()), "{text}");
        }
    }
}
