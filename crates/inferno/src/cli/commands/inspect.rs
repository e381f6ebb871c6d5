//! `inferno inspect`: shows the contents of a GGUF file.

mod json;
mod summary;
mod table;
mod values;

use clap::Parser;
use inferno_gguf::{Gguf, MetadataValue};

use crate::cli::arguments::model::{model_source, open};
use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::printable::printable_lines;
use crate::{Error, ModelSource};
use summary::FileSummary;

/// Show the metadata, tokenizer and tensors of a GGUF file
///
/// Tensors of all GGUF types are listed, including types that inferno cannot compute with.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno inspect model.gguf
  inferno inspect model.gguf --tensors
  inferno inspect model.gguf --metadata tokenizer.chat_template
  inferno inspect model.gguf --tensor blk.0.attn_q.weight
  inferno inspect model.gguf --tensors --json | jq '.tensors[0]'")]
pub(crate) struct InspectArgs {
    /// GGUF file (any shard of a split model), a folder with a Hugging Face checkpoint, hf:OWNER/REPO[:QUANTIZATION] or a
    /// short name
    #[cfg_attr(feature = "embedded-model", doc = "[default: the built-in Ember]")]
    #[arg(value_parser = model_source())]
    model: Option<ModelSource>,
    /// Same as the argument
    #[arg(id = "model_option", short, long = "model", value_name = "MODEL", value_parser = model_source())]
    model_option: Option<ModelSource>,
    /// List the tensors
    #[arg(long)]
    tensors: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print only the full value of this metadata key; can be repeated. Control characters other than line breaks and
    /// tabs are escaped, unless --json is used
    #[arg(long, value_name = "KEY")]
    metadata: Vec<String>,
    /// Print only statistics of the values of this tensor; can be repeated
    #[arg(long, value_name = "NAME")]
    tensor: Vec<String>,
}

/// Show the metadata, tokenizer and tensors of a GGUF file
#[derive(Parser)]
#[command(name = "gguf-inspect", version, max_term_width = 80)]
#[command(after_help = "\
Example:
  gguf-inspect model.gguf")]
pub(crate) struct GgufInspect {
    /// GGUF file (any shard of a split model), a folder with a Hugging Face checkpoint, hf:OWNER/REPO[:QUANTIZATION] or a
    /// short name
    #[cfg_attr(feature = "embedded-model", doc = "[default: the built-in Ember]")]
    #[arg(value_name = "FILE", value_parser = model_source())]
    model: Option<ModelSource>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl GgufInspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { model, json } = self;
        let (metadata, tensor) = (Vec::new(), Vec::new());
        InspectArgs { model, model_option: None, json, tensors: true, metadata, tensor }.run()
    }
}

impl InspectArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let model = self.model.as_ref().or(self.model_option.as_ref());
        let gguf = open(model, "Pass FILE or hf:OWNER/REPO to use another.")?;
        let mut output = Output::new();
        if !self.metadata.is_empty() || !self.tensor.is_empty() {
            self.write_requested(&gguf, &mut output)?;
        } else if self.json {
            output.line(json::document(&gguf, &FileSummary::of(&gguf), self.tensors))?;
        } else {
            table::write(&gguf, &FileSummary::of(&gguf), self.tensors, &mut output)?;
        }
        output.flush()?;
        Ok(())
    }

    /// Prints the metadata values and tensor statistics requested by name.
    fn write_requested(&self, gguf: &Gguf, output: &mut Output) -> Result<(), Error> {
        for key in &self.metadata {
            let value = gguf.metadata().get(key).ok_or_else(|| Error::NoSuchKey {
                key: key.clone(),
                similar: similar(key, gguf),
            })?;
            match value {
                MetadataValue::String(text) if !self.json => output.line(printable_lines(text))?,
                value => output.line(json::value(value))?,
            }
        }
        let mut tensors = values::TensorReader::new(gguf);
        for name in &self.tensor {
            let statistics = tensors.statistics(name)?;
            match self.json {
                true => output.line(statistics.to_json())?,
                false => output.line(statistics)?,
            }
        }
        Ok(())
    }
}

/// Prints the summary of a model file.
///
/// **Errors**: a failed write.
pub(crate) fn write_summary(gguf: &Gguf, output: &mut Output) -> Result<(), Error> {
    table::write_summary(gguf, &FileSummary::of(gguf), output)
}

/// Returns the keys that contain `key`.
fn similar(key: &str, gguf: &Gguf) -> Vec<String> {
    let keys = gguf.metadata().iter().map(|(key, _)| key);
    keys.filter(|known| known.contains(key)).map(str::to_owned).collect()
}
