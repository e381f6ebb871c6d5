//! `inferno convert`: converts a Hugging Face checkpoint to a GGUF file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use inferno_convert::supported_classes;
use inferno_gguf::{GgmlType, Gguf};
use inferno_model::{ModelError, ModelSpec};
use inferno_tokenizer::pre_tokenizers;

use super::quantize::{open_matrix, write_quantized};
use crate::checkpoint::folder_of_part;
use crate::cli::arguments::values::{MAX_THREADS, number_in, one_of};
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::output_file::ensure_named;
use crate::{
    Conversion, ConvertOptions, Error, QuantizeOptions, QuantizedWeights, Recipe, WeightType,
};

/// Convert a Hugging Face checkpoint to a GGUF file
///
/// DIR is a folder with config.json, weights in safetensors files, and the files of the tokenizer. The output has the
/// tensors, metadata and tokenizer that llama.cpp's convert_hf_to_gguf.py writes. Only a few rows are in memory at a
/// time.
///
/// auto stores weights in the type of the checkpoint; other types convert or quantize them on the way, as inferno
/// quantize does. Weights that are quantized in the checkpoint (AWQ, GPTQ, compressed-tensors, ...) keep their codes if
/// a format of GGUF files holds them, unless --type is f32, f16 or bf16.
///
/// All commands also run a checkpoint without converting it first: pass the folder with -m.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno convert Qwen3-0.6B qwen3-0.6b.gguf
  inferno convert Qwen3-0.6B qwen3-0.6b-q4_k_m.gguf --type q4_k_m
  inferno convert Qwen3-0.6B qwen3-0.6b-iq3_m.gguf --type iq3_m \\
    --imatrix imatrix.gguf
  inferno convert Qwen3-0.6B --outfile qwen3-0.6b-f16.gguf --outtype f16
  inferno generate -m Qwen3-0.6B --requantize q8_0 \"The sky is\"")]
pub(crate) struct ConvertArgs {
    /// Folder of the checkpoint, or its config.json or a file of its weights
    #[arg(value_name = "DIR", required_unless_present = "list")]
    folder: Option<PathBuf>,
    /// File to write
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,
    /// Same as the argument OUT
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    outfile: Option<PathBuf>,
    /// Type of the weights
    #[arg(
        long = "type",
        alias = "outtype",
        value_name = "TYPE",
        ignore_case = true,
        default_value = "auto"
    )]
    #[arg(value_parser = output_type())]
    output_type: OutputType,
    /// Name of the pre-tokenizer (tokenizer.ggml.pre) [default: found by comparison with tokenizer.json]
    #[arg(long, value_name = "NAME")]
    pre: Option<String>,
    /// Importance matrix for the quantization, written by inferno imatrix or by llama.cpp
    #[arg(long, value_name = "FILE")]
    imatrix: Option<PathBuf>,
    /// Use the same format for all weights
    #[arg(long)]
    pure: bool,
    /// Overwrite OUT if it exists
    #[arg(long)]
    force: bool,
    /// Print the classes of models that can be converted, and the names of pre-tokenizers
    #[arg(long, exclusive = true)]
    list: bool,
    /// Number of threads to use [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = number_in(1..=MAX_THREADS))]
    threads: Option<usize>,
}

/// The type of weights in the output.
#[derive(Debug, Clone, Copy)]
enum OutputType {
    /// That of the checkpoint.
    Auto,
    Recipe(Recipe),
}

impl FromStr for OutputType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.eq_ignore_ascii_case("auto") {
            true => Ok(Self::Auto),
            false => text.parse().map(Self::Recipe),
        }
    }
}

impl fmt::Display for OutputType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Recipe(recipe) => recipe.fmt(f),
        }
    }
}

fn output_type() -> impl TypedValueParser<Value = OutputType> {
    one_of::<OutputType>(["auto"].into_iter().chain(Recipe::names()))
}

impl OutputType {
    /// The type of weights before they are quantized.
    fn weight_type(self) -> WeightType {
        match self {
            Self::Auto => WeightType::Auto,
            Self::Recipe(Recipe::F32) => WeightType::F32,
            Self::Recipe(Recipe::F16) => WeightType::F16,
            Self::Recipe(Recipe::Bf16) => WeightType::Bf16,
            Self::Recipe(_) => WeightType::Exact,
        }
    }

    /// The recipe for `gguf`, whose weights have the [type](Self::weight_type) of this one.
    fn recipe(self, gguf: &Gguf) -> Recipe {
        let has = |wanted| gguf.tensors().iter().any(|info| info.ggml_type() == wanted);
        match self {
            Self::Recipe(recipe) => recipe,
            Self::Auto if has(GgmlType::BF16) => Recipe::Bf16,
            Self::Auto if has(GgmlType::F16) => Recipe::F16,
            Self::Auto => Recipe::F32,
        }
    }
}

impl ConvertArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.list {
            return Ok(print_supported()?);
        }
        let path = self.folder.unwrap_or_default();
        let folder = folder_of_part(&path).unwrap_or(&path);
        let Some(output) = self.output.or(self.outfile) else {
            let message =
                "no output specified; expected DIR OUT, for example Qwen3-0.6B qwen3-0.6b.gguf";
            return Err(Failure::Usage(message.to_owned()));
        };
        ensure_named(&output)?;
        let options =
            ConvertOptions { weight_type: self.output_type.weight_type(), pre_tokenizer: self.pre };
        let conversion = Conversion::open(folder, &options)?;
        conversion.notes().iter().for_each(|note| print_note(&format!("note: {note}")));
        let gguf = conversion.into_gguf()?;
        ModelSpec::from_checkpoint(&gguf).map_err(|error| match error {
            ModelError::MissingTensor { .. }
            | ModelError::TensorShape { .. }
            | ModelError::UnusedTensors { .. } => {
                Error::InconsistentCheckpoint { path: folder.to_owned(), source: Box::new(error) }
            }
            error => error.into(),
        })?;
        let recipe = self.output_type.recipe(&gguf);
        let matrix = open_matrix(self.imatrix.as_deref(), recipe, &self.output_type)?;
        let options = QuantizeOptions {
            recipe,
            importance: matrix.as_ref(),
            is_pure: self.pure,
            quantized: QuantizedWeights::Keep,
            overwrite: self.force,
            num_threads: self.threads,
        };
        write_quantized(&gguf, &output, options, "converting")
    }
}

/// Prints the classes of models that can be converted, and the names of pre-tokenizers.
fn print_supported() -> Result<(), Error> {
    let mut names: Vec<_> = pre_tokenizers().flat_map(|it| it.names().iter().copied()).collect();
    names.sort_unstable();
    let mut output = Output::new();
    output.line("Classes of models (architectures in config.json):")?;
    for class in supported_classes() {
        output.line(format_args!("  {class}"))?;
    }
    output.line("\nPre-tokenizers of byte-level vocabularies (--pre):")?;
    for name in names {
        output.line(format_args!("  {name}"))?;
    }
    output.flush()
}
