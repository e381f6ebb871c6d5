//! `inferno eval`: measures a model on tasks.

mod report;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use inferno_model::ModelSpec;

use crate::cli::arguments::compute::{ComputeArgs, num_logit_rows};
use crate::cli::arguments::limits::ContextArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::report_format::ReportFormat;
use crate::cli::arguments::values::{number_in, positive, unescape};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::DelayedBar;
use crate::evaluation::{FewShot, Task, TaskOptions, TaskResult, evaluate};
use crate::output_file::{ensure_not_input, ensure_not_read, ensure_writable, is_stdout};
use crate::plural::count;
use crate::{BatchLimits, Error, LoadOptions, Model, OutputError};
use report::{EvaluationReport, sample_lines};

/// Default maximum number of sequences in a batch.
const DEFAULT_SEQUENCES: usize = 64;

/// The largest batch.
const MAX_SEQUENCES: usize = 256;

/// Size of the KV cache, in multiples of the context length.
const NUM_CONTEXTS: usize = 4;

/// Measure the accuracy or the perplexity of a model on tasks in JSONL files
///
/// Each file is a task, and each line a sample. A question, {"context": …, "choices": [A, B, …], "answer": INDEX}, is scored
/// by the log-likelihood of each choice after the context: acc is the share of questions whose right answer is the most
/// probable one, acc_norm and acc_bytes divide the log-likelihood by the number of characters or bytes. A text,
/// {"text": …}, is scored as a whole: word_perplexity, byte_perplexity and bits_per_byte. The rules are those of
/// lm-evaluation-harness. Records of HellaSwag, ARC, MMLU, PIQA and WinoGrande are converted to its prompts.
///
/// Results do not depend on the number of threads or on the size of batches.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno eval -m model.gguf arc_easy.jsonl hellaswag.jsonl
  inferno eval -m model.gguf --limit 200 -o json piqa.jsonl
  inferno eval -m model.gguf --few-shot 5 --few-shot-file mmlu_dev.jsonl \\
    mmlu_test.jsonl
  inferno eval -m model.gguf --samples samples.jsonl questions.jsonl")]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Files with one sample per line; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    tasks: Vec<PathBuf>,
    /// Use only the first N samples of each file
    #[arg(short, long, value_name = "N", value_parser = positive)]
    limit: Option<usize>,
    /// Number of examples before each question, the first ones of --few-shot-file
    #[arg(long, value_name = "N", value_parser = positive, alias = "num-fewshot")]
    #[arg(requires = "few_shot_file")]
    few_shot: Option<usize>,
    /// File with examples in the same form as the samples; for MMLU, those of the same subject are used
    #[arg(long, value_name = "FILE", requires = "few_shot")]
    few_shot_file: Option<PathBuf>,
    /// Text between a context and a choice; \n, \t and \\ are escapes [default: a space]
    #[arg(long, value_name = "TEXT", default_value = " ", hide_default_value = true)]
    target_delimiter: String,
    /// Write the result of each sample to this file, one JSON object per line; - writes them to standard output, and the
    /// report to standard error
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Overwrite the file of --samples if it exists
    #[arg(long, requires = "samples")]
    force: bool,
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Md)]
    output: ReportFormat,
    #[command(flatten)]
    context: ContextArgs,
    /// Maximum number of sequences in a batch
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_SEQUENCES))]
    #[arg(default_value_t = DEFAULT_SEQUENCES)]
    max_num_seqs: usize,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl EvalArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let model = self.model()?;
        if self.compute.dry_run {
            return dry_run::report(&model, dry_run::REDUCE_CONTEXT);
        }
        if let Some(path) = self.samples_file() {
            self.check_samples_file(path, &model)?;
        }
        let tasks = self.read_tasks()?;
        let loaded = with_loading_bar(&model, |on_progress| model.load_with(on_progress))?;
        let interrupt = Interrupt::watch();
        let bar = DelayedBar::steps("evaluating");
        let results = evaluate(&loaded, &tasks, &mut |progress| {
            bar.show(progress.num_done as u64, progress.num_samples as u64);
            match interrupt.is_requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        drop(bar);
        let results = match results {
            Err(Error::Cancelled) => return Err(Failure::Interrupted),
            results => results?,
        };
        note_truncated(&results);
        let report = EvaluationReport { results: &results };
        match (&self.samples, self.samples_file()) {
            (Some(_), None) => {
                print_samples(&results)?;
                print_note(self.output.text(&report, || report.json()).trim_end());
                Ok(())
            }
            // Neither is lost if the other cannot be written.
            (_, Some(path)) => {
                let printed = self.output.print(&report, || report.json());
                write_samples(path, &results)?;
                Ok(printed?)
            }
            (None, None) => Ok(self.output.print(&report, || report.json())?),
        }
    }

    /// Returns the file for the results of samples, if they are written to one.
    fn samples_file(&self) -> Option<&Path> {
        self.samples.as_deref().filter(|path| !is_stdout(path))
    }

    /// Checks the file for the results of samples before the work.
    ///
    /// **Errors**: [`OutputError::IsInput`], [`OutputError::IsOtherInput`], [`OutputError::Exists`]; a file that cannot be
    /// written.
    fn check_samples_file(&self, path: &Path, model: &Model) -> Result<(), Error> {
        ensure_not_input(model.checkpoint(), path)?;
        ensure_not_read(self.tasks.iter().chain(&self.few_shot_file), path)?;
        // Pipes and devices have nothing to lose.
        if path.is_file() && !self.force {
            return Err(Error::Output(OutputError::Exists { path: path.to_owned() }));
        }
        ensure_writable(path)
    }

    /// Opens the model, for many sequences.
    fn model(&self) -> Result<Model, Error> {
        let checkpoint = self.source.open()?;
        let spec = ModelSpec::from_checkpoint(&checkpoint)?;
        let max_num_tokens = LoadOptions::default().limits.max_num_tokens;
        let max_num_logit_rows = num_logit_rows(spec.vocab_size).min(max_num_tokens);
        let limits = BatchLimits { max_num_tokens, max_num_logit_rows };
        let context = self.context.length(&checkpoint)?;
        let options = self.compute.options(&checkpoint, context, limits);
        let model = Model::from(checkpoint).with_options(options);
        let cache_tokens = Some(NUM_CONTEXTS * model.context_length()?);
        let max_num_sequences = Some(self.max_num_seqs.min(max_num_logit_rows));
        Ok(model.with_options(LoadOptions { cache_tokens, max_num_sequences, ..options }))
    }

    fn read_tasks(&self) -> Result<Vec<Task>, Error> {
        let few_shot = match (&self.few_shot_file, self.few_shot) {
            (Some(path), Some(num_examples)) => {
                let (name, lines) = (path.display().to_string(), read_file(path)?);
                Some(FewShot { name, lines, num_examples })
            }
            _ => None,
        };
        let options = TaskOptions {
            target_delimiter: unescape(&self.target_delimiter),
            limit: self.limit,
            few_shot,
        };
        let read = |path: &PathBuf| {
            let name = path.display().to_string();
            let task = Task::from_jsonl(&name, &read_file(path)?, &options)?;
            Ok(Task { name: self.task_name(path), ..task })
        };
        self.tasks.iter().map(read).collect()
    }

    /// The name of a task: its file's name without an ending, or its path if another file has the same name.
    fn task_name(&self, path: &Path) -> String {
        let same = self.tasks.iter().filter(|other| other.file_stem() == path.file_stem());
        match path.file_stem().filter(|_| same.count() == 1) {
            Some(stem) => stem.to_string_lossy().into_owned(),
            None => path.display().to_string(),
        }
    }
}

/// Prints the results of samples.
fn print_samples(results: &[TaskResult]) -> Result<(), Error> {
    let mut output = Output::new();
    results.iter().flat_map(sample_lines).try_for_each(|line| output.line(line))?;
    output.flush()
}

fn write_samples(path: &Path, results: &[TaskResult]) -> Result<(), Error> {
    let failed = |error| Error::io(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for line in results.iter().flat_map(sample_lines) {
        writeln!(file, "{line}").map_err(failed)?;
    }
    file.flush().map_err(failed)
}

fn note_truncated(results: &[TaskResult]) {
    for TaskResult { name, num_truncated, .. } in results {
        if *num_truncated > 0 {
            print_note(&format!(
                "warning: the contexts of {} of {name} exceed the context length and lost their beginning; increase --context",
                count(*num_truncated, "sample")
            ));
        }
    }
}
