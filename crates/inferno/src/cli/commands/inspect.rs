//! `inferno inspect`: what a GGUF file holds.

mod json;
mod summary;
mod table;
mod values;

use clap::Parser;
use inferno_gguf::{Gguf, MetadataValue};

use crate::cli::arguments::model::open;
use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::printable::printable_lines;
use crate::{Error, ModelSource, embedded};
use summary::Summary;

/// Show what a GGUF file holds: size, types, tokenizer, metadata, tensors.
///
/// Tensors of every type are listed, also of those that cannot be computed with.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno inspect model.gguf
  inferno inspect model.gguf --tensors
  inferno inspect model.gguf --metadata tokenizer.chat_template
  inferno inspect model.gguf --tensor blk.0.attn_q.weight
  inferno inspect model.gguf --tensors --json | jq '.tensors[0]'")]
pub(crate) struct InspectArgs {
    /// A GGUF file (any shard of a split one), or hf:owner/repo[:quantization]
    #[cfg_attr(feature = "embedded-model", doc = "[default: ember, the small model inside]")]
    #[arg(required = !embedded::IS_BUILT_IN)]
    model: Option<ModelSource>,
    /// List the tensors.
    #[arg(long)]
    tensors: bool,
    /// Print one JSON object instead of text for people.
    #[arg(long)]
    json: bool,
    /// Print the whole value of this key, and nothing else; may be repeated. Control characters other than line
    /// breaks and tabs are spelled out; with --json, texts are exact.
    #[arg(long, value_name = "KEY")]
    metadata: Vec<String>,
    /// Print statistics of this tensor's values, and nothing else; may be repeated.
    #[arg(long, value_name = "NAME")]
    tensor: Vec<String>,
}

/// Show what a GGUF file holds: size, types, tokenizer, metadata, tensors.
#[derive(Parser)]
#[command(name = "gguf-inspect", version, max_term_width = 100)]
#[command(after_help = "\
Example:
  gguf-inspect model.gguf")]
pub(crate) struct GgufInspect {
    /// A GGUF file (any shard of a split one), or hf:owner/repo[:quantization]
    #[cfg_attr(feature = "embedded-model", doc = "[default: ember, the small model inside]")]
    #[arg(value_name = "FILE", required = !embedded::IS_BUILT_IN)]
    model: Option<ModelSource>,
    /// Print one JSON object instead of text for people.
    #[arg(long)]
    json: bool,
}

impl GgufInspect {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { model, json } = self;
        InspectArgs { model, json, tensors: true, metadata: Vec::new(), tensor: Vec::new() }.run()
    }
}

impl InspectArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let gguf = open(self.model.as_ref(), "FILE or hf:owner/repo as an argument")?;
        let mut output = Output::new();
        if !self.metadata.is_empty() || !self.tensor.is_empty() {
            self.write_parts(&gguf, &mut output)?;
        } else if self.json {
            output.line(json::document(&gguf, &Summary::of(&gguf), self.tensors))?;
        } else {
            table::write(&gguf, &Summary::of(&gguf), self.tensors, &mut output)?;
        }
        output.flush()?;
        Ok(())
    }

    /// The values and tensors that were asked for by name.
    fn write_parts(&self, gguf: &Gguf, output: &mut Output) -> Result<(), Error> {
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
        let mut tensors = values::TensorValues::new(gguf);
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

/// The keys that hold `key` as a part, for an error.
fn similar(key: &str, gguf: &Gguf) -> Vec<String> {
    let keys = gguf.metadata().iter().map(|(key, _)| key);
    keys.filter(|known| known.contains(key)).map(str::to_owned).collect()
}
