//! `inferno imatrix`: computes an importance matrix.

mod summary;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use inferno_model::ModelSpec;

use crate::cli::arguments::compute::{ComputeArgs, num_logit_rows};
use crate::cli::arguments::model::SourceArgs;
use crate::cli::arguments::values::{OrDefault, or_default, positive, whole};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::read_file;
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::printable::printable;
use crate::cli::terminal::progress::DelayedBar;
use crate::imatrix::OUTPUT_HEAD;
use crate::output_file::{
    ensure_creatable, ensure_named, ensure_not_input, ensure_not_read, replaceable,
};
use crate::plural::count;
use crate::{
    BatchLimits, Error, ImatrixFormat, ImatrixOptions, ImportanceMatrix, LoadOptions, Model,
    OutputError, collect_importance,
};
use summary::Summary;

/// Compute an importance matrix, which makes quantized models more accurate
///
/// Runs the model on a calibration text and writes how large the inputs of each weight are, for inferno quantize --imatrix and
/// for llama.cpp. The text should resemble what the model will be used for; 100 chunks are enough for dense models, mixtures of
/// experts need more. Ctrl-C stops after the current chunk and writes what was collected.
///
/// Without --file, matrices of earlier runs are only combined.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno imatrix -m model-f16.gguf -f calibration.txt
  inferno imatrix -m model-f16.gguf -f more.txt --in-file imatrix.gguf \\
    -o both.gguf
  inferno imatrix --in-file first.gguf --in-file second.dat -o both.gguf
  inferno imatrix --in-file imatrix.gguf --show-statistics
  inferno quantize --imatrix imatrix.gguf model-f16.gguf model-iq2_m.gguf iq2_m")]
pub(crate) struct ImatrixArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Calibration text; - reads standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// File to write [default: imatrix.gguf, or imatrix.dat with --output-format dat]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = MatrixFormat::Gguf)]
    output_format: MatrixFormat,
    /// Matrix to combine with, in GGUF or in llama.cpp's former format; may be repeated
    #[arg(long, value_name = "FILE")]
    in_file: Vec<PathBuf>,
    /// Print figures of the matrices in --in-file per tensor and per layer, and write nothing: the sum (Σx²), minimum,
    /// maximum, mean and standard deviation (σ) of the mean squares of the inputs, the share of active columns, the number of
    /// columns (N), the entropy in bits and relative to equal columns, the share of columns more than σ above the mean (ZD),
    /// and the cosine similarity with the previous layer
    #[arg(long, requires = "in_file", conflicts_with_all = ["file", "output"])]
    show_statistics: bool,
    /// Length of a chunk in tokens; not set by the context of other commands in the environment or in inferno.toml
    #[arg(short, long, value_name = "N", value_parser = positive, default_value = "512")]
    context: usize,
    /// Maximum number of chunks to compute [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = or_default(positive))]
    chunks: Option<OrDefault<usize>>,
    /// Number of chunks to skip at the start of the text
    #[arg(long, value_name = "N", value_parser = whole::<usize>, default_value = "0")]
    from_chunk: usize,
    /// Write the output every N chunks
    #[arg(long, value_name = "N", value_parser = positive, default_value = "10")]
    output_frequency: usize,
    /// Write a copy named OUTPUT.at_CHUNK every N chunks; 0 for none
    #[arg(long, value_name = "N", value_parser = whole::<usize>, default_value = "0")]
    save_frequency: usize,
    /// Collect the inputs of the output head as well
    #[arg(long)]
    process_output: bool,
    /// Parse special tokens such as <|im_start|> in the text
    #[arg(long)]
    parse_special: bool,
    /// Overwrite the output if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// Names of file formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MatrixFormat {
    /// GGUF
    Gguf,
    /// llama.cpp's former format, for older programs
    Dat,
}

impl From<MatrixFormat> for ImatrixFormat {
    fn from(format: MatrixFormat) -> Self {
        match format {
            MatrixFormat::Gguf => Self::Gguf,
            MatrixFormat::Dat => Self::Legacy,
        }
    }
}

impl ImatrixArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.file.is_none() && self.in_file.is_empty() {
            return Err(Failure::Usage(
                "no calibration text specified; pass it with --file, or matrices to combine with --in-file"
                    .to_owned(),
            ));
        }
        if self.compute.dry_run {
            return dry_run::report(&self.model()?, dry_run::REDUCE_CONTEXT);
        }
        if self.show_statistics {
            let mut stdout = Output::new();
            stdout.write(Summary(&self.inputs()?))?;
            return Ok(stdout.flush()?);
        }
        let named = self.output.as_deref().unwrap_or(Path::new(match self.output_format {
            MatrixFormat::Gguf => "imatrix.gguf",
            MatrixFormat::Dat => "imatrix.dat",
        }));
        ensure_named(named)?;
        let calibration = match &self.file {
            Some(text) => Some((text, self.model()?)),
            None => None,
        };
        if let Some((text, model)) = &calibration {
            ensure_not_input(model.checkpoint(), named)?;
            ensure_not_read([text], named)?;
        }
        let output = replaceable(named, self.force)?;
        ensure_creatable(&output)?;
        if self.save_frequency > 0 && !self.force {
            ensure_no_copies(&output)?;
        }
        let mut matrix = self.inputs()?;
        let is_interrupted = match calibration {
            Some((text, model)) => self.collect(text, &model, &output, &mut matrix)?,
            None => false,
        };
        matrix.write(&output, self.output_format.into())?;
        report(&matrix, named);
        match is_interrupted {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }

    /// Returns the sum of the matrices to combine.
    fn inputs(&self) -> Result<ImportanceMatrix, Error> {
        let files = self.in_file.iter();
        let inputs = files.map(|path| ImportanceMatrix::open(path, self.context));
        let inputs: Vec<_> = inputs.collect::<Result<_, _>>()?;
        // Without a text, chunks remain those of the files.
        let chunk_size = match (&self.file, inputs.first()) {
            (None, Some(first)) => first.chunk_size(),
            _ => self.context,
        };
        let mut matrix = ImportanceMatrix::new(chunk_size);
        inputs.iter().try_for_each(|input| matrix.merge(input))?;
        Ok(matrix)
    }

    fn model(&self) -> Result<Model, Error> {
        let checkpoint = self.source.open()?;
        let num_rows = match self.process_output {
            true => num_logit_rows(ModelSpec::from_checkpoint(&checkpoint)?.vocab_size),
            false => 1,
        };
        let limits = BatchLimits {
            max_num_logit_rows: num_rows.min(self.context),
            ..LoadOptions::default().limits
        };
        let options = self.compute.options(&checkpoint, Some(self.context), limits);
        let model = Model::from(checkpoint).with_options(options.for_one_sequence());
        model.check_generates()?;
        Ok(model)
    }

    /// Adds the statistics of a text, and writes them to `output` every few chunks. Returns whether Ctrl-C was pressed.
    fn collect(
        &self,
        text_path: &Path,
        model: &Model,
        output: &Path,
        matrix: &mut ImportanceMatrix,
    ) -> Result<bool, Failure> {
        let text = read_file(text_path)?;
        let options = ImatrixOptions {
            first_chunk: self.from_chunk,
            max_chunks: OrDefault::value_of(self.chunks),
            process_output: self.process_output,
            parse_special: self.parse_special,
        };
        if self.process_output && model.checkpoint().tensor(OUTPUT_HEAD).is_none() {
            print_note(
                "note: --process-output has no effect: the output head is the table of embeddings",
            );
        }
        matrix.add_dataset(&text_path.display().to_string());
        let interrupt = Interrupt::watch();
        let loading = DelayedBar::bytes("loading");
        let bar = DelayedBar::steps("collecting");
        collect_importance(
            model,
            &text,
            matrix,
            options,
            &mut |progress| {
                loading.show(progress.loaded_bytes as u64, progress.total_bytes as u64);
            },
            &mut |progress, so_far| {
                loading.clear();
                bar.show(progress.done_chunks as u64, progress.total_chunks as u64);
                let is_due = |every: usize| every > 0 && progress.done_chunks.is_multiple_of(every);
                if is_due(self.output_frequency) {
                    so_far.write(output, self.output_format.into())?;
                }
                if is_due(self.save_frequency) {
                    let copy = numbered(output, so_far.num_chunks());
                    so_far.write(&copy, self.output_format.into())?;
                }
                Ok(match interrupt.is_requested() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            },
        )?;
        Ok(interrupt.is_requested())
    }
}

/// Checks that there are no copies of `output` of another run, which this one would overwrite.
///
/// **Errors**: [`OutputError::Exists`].
fn ensure_no_copies(output: &Path) -> Result<(), Error> {
    let (Some(folder), Some(name)) = (output.parent(), output.file_name()) else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}.at_", name.to_string_lossy());
    let entries = fs::read_dir(folder).map_err(|error| Error::io(folder, error))?;
    let mut copies = entries.filter_map(Result::ok);
    match copies.find(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)) {
        Some(copy) => Err(Error::Output(OutputError::Exists { path: copy.path() })),
        None => Ok(()),
    }
}

/// Returns the name of a copy of `output` after this many chunks.
fn numbered(output: &Path, num_chunks: u64) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(format!(".at_{num_chunks}"));
    name.into()
}

/// Prints what was written, and which tensors have too little data.
fn report(matrix: &ImportanceMatrix, output: &Path) {
    let partial = matrix.entries().filter(|(_, entry)| entry.counts().contains(&0));
    let partial: Vec<_> = partial.collect();
    if let Some((tensor, entry)) = partial.first() {
        let unused = entry.counts().iter().filter(|&&count| count == 0).count();
        let others = match partial.len() - 1 {
            0 => String::new(),
            others => format!(", and {} like it", count(others, "other tensor")),
        };
        print_note(&format!(
            "note: no token used {unused} of {} experts of {}{others}; a longer text covers more",
            entry.counts().len(),
            printable(tensor),
        ));
    }
    print_note(&format!(
        "{} of {} tokens, {} -> {}",
        count(matrix.num_chunks() as usize, "chunk"),
        matrix.chunk_size(),
        count(matrix.entries().len(), "tensor"),
        printable(&output.display().to_string()),
    ));
}
