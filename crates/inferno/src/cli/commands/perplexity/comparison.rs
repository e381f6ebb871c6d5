//! The divergence of a model from a base: a model, or stored log-probabilities.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use inferno_engine::{
    EngineError, KlBase, KlDivergence, Runner, StoredLogits, TextWindows, kl_divergence,
    store_logits,
};
use inferno_model::ModelSpec;
use inferno_tokenizer::Tokenizer;

use super::report::KlReport;
use super::{ENCODING, PerplexityArgs};
use crate::cli::arguments::limits::within_limit;
use crate::cli::arguments::model::{open, with_loading_bar};
use crate::cli::arguments::report_format::ReportFormat;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::progress::DelayedBar;
use crate::evaluation::EvaluationError;
use crate::free_memory::free_bytes;
use crate::output_file::{
    ensure_creatable, ensure_named, ensure_not_input, ensure_not_read, replaceable,
    temporary_next_to,
};
use crate::{Error, Model, ModelSource};

/// A file whose writes fail once an interrupt was requested, so that it is removed.
struct UntilInterrupt<'a, W> {
    file: W,
    interrupt: &'a Interrupt,
}

impl<W: Write> Write for UntilInterrupt<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.interrupt.is_requested() {
            true => Err(io::Error::other("interrupted")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A comparison with a base, or the preparation of one.
pub(super) struct Comparison<'a> {
    args: &'a PerplexityArgs,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(args: &'a PerplexityArgs) -> Self {
        Self { args }
    }

    /// Writes the log-probabilities of the model to a file, whole or not at all, and prints its perplexity.
    pub(super) fn store(self, path: &Path) -> Result<(), Failure> {
        ensure_named(path)?;
        let checkpoint = self.args.source.open()?;
        let window = self.args.window(&checkpoint)?;
        let model = self.args.model(checkpoint, window, &self.args.compute)?;
        if self.args.compute.dry_run {
            return dry_run::report(&model, dry_run::REDUCE_CONTEXT);
        }
        ensure_not_input(model.checkpoint(), path)?;
        ensure_not_read(&self.args.text, path)?;
        let path = replaceable(path, self.args.force)?;
        ensure_creatable(&path)?;
        let file = temporary_next_to(&path).map_err(|error| Error::io(&path, error))?;
        let tokenizer = model.tokenizer()?;
        let text = read_file(self.args.text()?)?;
        let text = self.windows(&tokenizer, &text, window);
        let mut runner = with_loading_bar(&model, |on_progress| model.runner(on_progress))?;
        let bar = DelayedBar::steps("scoring");
        let interrupt = Interrupt::watch();
        let mut output = BufWriter::new(UntilInterrupt { file: &file, interrupt: &interrupt });
        let result = store_logits(&mut *runner, &text, &mut output, &mut |so_far| {
            bar.show(so_far.num_windows as u64, so_far.total_windows as u64);
        });
        drop((bar, output));
        if interrupt.is_requested() {
            return Err(Failure::Interrupted);
        }
        let result = result?;
        file.persist(&path).map_err(|error| Error::io(&path, error.error))?;
        Ok(self.args.print(&result, window)?)
    }

    /// Compares the model with `base` and prints the result.
    pub(super) fn compare(self, base: &Path) -> Result<(), Failure> {
        match StoredLogits::is_at(base) {
            true => self.compare_with_stored(base),
            false => self.compare_with_model(base),
        }
    }

    fn compare_with_stored(self, path: &Path) -> Result<(), Failure> {
        let checkpoint = self.args.source.open()?;
        let tokenizer = Tokenizer::from_metadata(checkpoint.metadata())?;
        let (file, text) = StoredLogits::open(path, tokenizer.added_bos())
            .map_err(|error| Error::from(EngineError::from(error)))?;
        let limit = ModelSpec::from_checkpoint(&checkpoint)?.context_length;
        let context = self.args.context.map(|context| within_limit(context, limit));
        if let Some(context) = context.filter(|&context| context != text.window()) {
            return Err(Failure::Usage(format!(
                "--context is {context}, but {} has windows of {} tokens; leave out --context",
                path.display(),
                text.window()
            )));
        }
        if let Some(given) = &self.args.text {
            self.ensure_same_text(&tokenizer, &text, given)?;
        }
        let mut tokens = text.tokens().to_vec();
        self.args.limit_windows(&mut tokens, text.window(), text.window());
        let text = TextWindows::new(tokens, text.window(), tokenizer.added_bos());
        let model = self.args.model(checkpoint, text.window(), &self.args.compute)?;
        if self.args.compute.dry_run {
            return dry_run::report(&model, "write a base with a smaller --context");
        }
        let mut runner = with_loading_bar(&model, |on_progress| model.runner(on_progress))?;
        self.print(&mut *runner, KlBase::Stored(file), &text)
    }

    /// Checks that a text that was specified is the stored one.
    fn ensure_same_text(
        &self,
        tokenizer: &Tokenizer,
        stored: &TextWindows,
        given: &Path,
    ) -> Result<(), Failure> {
        let tokens = tokenizer.encode(&read_file(given)?, ENCODING);
        match tokens.starts_with(stored.tokens()) {
            true => Ok(()),
            false => Err(Failure::Usage(format!(
                "the file of log-probabilities was written for another text than {}, or for another vocabulary; leave out the text to use the stored one",
                given.display()
            ))),
        }
    }

    fn compare_with_model(self, base: &Path) -> Result<(), Failure> {
        let checkpoint = self.args.source.open()?;
        let source = ModelSource::try_from(base.as_os_str().to_owned())?;
        let base_checkpoint = open(Some(&source), "")?;
        let limit = ModelSpec::from_checkpoint(&base_checkpoint)?.context_length;
        let window = within_limit(self.args.window(&checkpoint)?, limit);
        let model = self.args.model(checkpoint, window, &self.args.compute)?;
        let compute = self.args.compute.without_requantizing();
        let base = self.args.model(base_checkpoint, window, &compute)?;
        if self.args.compute.dry_run {
            return dry_run::report_pair(&model, &base);
        }
        let tokenizer = model.tokenizer()?;
        let text = read_file(self.args.text()?)?;
        let of_base = self.windows(&base.tokenizer()?, &text, window);
        let text = self.windows(&tokenizer, &text, window);
        if of_base != text {
            return Err(Error::Evaluation(EvaluationError::OtherVocabulary).into());
        }
        ensure_room_for_both(&model, &base)?;
        let mut base = with_loading_bar(&base, |on_progress| base.runner(on_progress))?;
        let mut runner = with_loading_bar(&model, |on_progress| model.runner(on_progress))?;
        self.print(&mut *runner, KlBase::Model(&mut *base), &text)
    }

    /// The windows of a text to score.
    fn windows(&self, tokenizer: &Tokenizer, text: &str, window: usize) -> TextWindows {
        let mut tokens = tokenizer.encode(text, ENCODING);
        self.args.limit_windows(&mut tokens, window, window);
        TextWindows::new(tokens, window, tokenizer.added_bos())
    }

    /// Compares and prints the result.
    fn print(
        &self,
        runner: &mut dyn Runner,
        base: KlBase<'_>,
        text: &TextWindows,
    ) -> Result<(), Failure> {
        let bar = DelayedBar::steps("comparing");
        let total = text.num_windows() as u64;
        let compared: Result<KlDivergence, _> =
            kl_divergence(runner, base, text, &mut |done| bar.show(done as u64, total));
        drop(bar);
        let compared = compared?;
        let report = KlReport { result: &compared, text };
        Ok(self.args.output.unwrap_or(ReportFormat::Md).print(&report, || report.json())?)
    }
}

/// Checks that there is memory for two models at once.
///
/// **Errors**: [`EvaluationError::TwoModelsTooLarge`].
fn ensure_room_for_both(model: &Model, base: &Model) -> Result<(), Error> {
    let needed_bytes = model.estimate()?.footprint.total_bytes() as u64
        + base.estimate()?.footprint.total_bytes() as u64;
    let free_bytes = free_bytes();
    match needed_bytes > free_bytes {
        true => {
            Err(Error::Evaluation(EvaluationError::TwoModelsTooLarge { needed_bytes, free_bytes }))
        }
        false => Ok(()),
    }
}
