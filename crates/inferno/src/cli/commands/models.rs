//! `inferno list`, `inferno show` and `inferno rm`: the downloaded models.

use std::io::{IsTerminal, stdin};
use std::time::{Duration, SystemTime};

use indicatif::{DecimalBytes, HumanDuration};
use inferno_gguf::Gguf;
use serde_json::{Value, json};

use crate::cli::arguments::model::{hub_reference, model_source, open};
use crate::cli::commands::inspect;
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::hub::catalog::{CATALOG, short_name};
use crate::{CachedModel, Error, Hub, HubReference, ModelSource, embedded};

/// List the downloaded models
///
/// Lists the models in the Hugging Face cache (HF_HUB_CACHE, HF_HOME or ~/.cache/huggingface), which other programs
/// share.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno list
  inferno list --catalog
  inferno list --json | jq -r '.[].path'

Short names may be followed by a quantization (qwen3:4b:Q8_0). A name without a
size selects the largest model of the family of at most 3 GB, or its smallest
model if all are larger.")]
pub(crate) struct ListArgs {
    /// List the short names that -m, run and pull accept
    #[arg(long)]
    catalog: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Show a downloaded model or a model file
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno show qwen3:0.6b
  inferno show hf:Qwen/Qwen3-0.6B-GGUF
  inferno show model.gguf")]
pub(crate) struct ShowArgs {
    /// Model: hf:OWNER/REPO[:QUANTIZATION], a short name or a GGUF file
    #[arg(value_name = "MODEL", value_parser = model_source())]
    model: ModelSource,
}

/// Delete downloaded models
///
/// Deletes a model from the Hugging Face cache; without a quantization, deletes all models of the repository.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno rm qwen3:0.6b
  inferno rm --yes hf:Qwen/Qwen3-0.6B-GGUF:Q8_0")]
pub(crate) struct RmArgs {
    /// Models: hf:OWNER/REPO[:QUANTIZATION] or short names
    #[arg(value_name = "MODEL", value_parser = hub_reference, required = true)]
    references: Vec<HubReference>,
    /// Delete without asking
    #[arg(short, long)]
    yes: bool,
}

impl ListArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (json, rows) = match self.catalog {
            true => catalog(),
            false => downloaded()?,
        };
        let mut output = Output::new();
        if self.json {
            output.line(json)?;
        } else {
            let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
            let (first, second) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
            for [name, size, rest] in &rows {
                output.line(format_args!("{name:first$}  {size:>second$}  {rest}"))?;
            }
        }
        output.flush()?;
        if rows.len() == 1 && !self.catalog {
            print_note("note: no models in the cache; download one with inferno pull qwen3:0.6b");
        }
        Ok(())
    }
}

/// A table with its header in the first row.
type Rows = Vec<[String; 3]>;

fn catalog() -> (Value, Rows) {
    let mut rows = vec![["NAME", "SIZE", "MODEL"].map(str::to_owned)];
    let mut list = Vec::new();
    if let Ok(checkpoint) = embedded::checkpoint() {
        let gigabytes = format!("{:.3} GB", checkpoint.file_bytes() as f64 / 1e9);
        list.push(json!({"name": embedded::NAME, "model": embedded::NAME}));
        rows.push([embedded::NAME.to_owned(), gigabytes, "built in".to_owned()]);
    }
    for entry in CATALOG {
        let reference = entry.reference(None).to_string();
        list.push(json!({"name": entry.name, "model": reference}));
        rows.push([entry.name.to_owned(), format!("{} GB", entry.gigabytes), reference]);
    }
    (list.into(), rows)
}

fn downloaded() -> Result<(Value, Rows), Error> {
    let mut rows = vec![["MODEL", "SIZE", "DOWNLOADED"].map(str::to_owned)];
    let mut list = Vec::new();
    for model in Hub::from_env()?.models()? {
        let CachedModel { reference, files, num_bytes, downloaded } = &model;
        let seconds = downloaded.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        list.push(json!({
            "model": reference.to_string(),
            "name": short_name(reference),
            "bytes": num_bytes,
            "downloaded": seconds.map(|duration| duration.as_secs()),
            "path": files[0].display().to_string(),
        }));
        rows.push([title(reference), DecimalBytes(*num_bytes).to_string(), age(*downloaded)]);
    }
    Ok((list.into(), rows))
}

/// Returns a reference with its short name.
fn title(reference: &HubReference) -> String {
    match short_name(reference) {
        Some(name) => format!("{reference} ({name})"),
        None => reference.to_string(),
    }
}

fn age(time: Option<SystemTime>) -> String {
    let age = time.and_then(|time| SystemTime::now().duration_since(time).ok());
    match age {
        Some(age) if age < Duration::from_secs(60) => "just now".to_owned(),
        Some(age) => format!("{} ago", HumanDuration(age)),
        None => "unknown".to_owned(),
    }
}

impl ShowArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut output = Output::new();
        let ModelSource::Hub(reference) = &self.model else {
            inspect::write_summary(&open(Some(&self.model), "")?, &mut output)?;
            return Ok(output.flush()?);
        };
        let models = Hub::from_env()?.cached_models(reference)?;
        for (index, model) in models.iter().enumerate() {
            if index > 0 {
                output.line("")?;
            }
            output.line(format_args!("model              {}", title(&model.reference)))?;
            output.line(format_args!("downloaded         {}", age(model.downloaded)))?;
            inspect::write_summary(&Gguf::open(&model.files[0])?, &mut output)?;
        }
        output.flush()?;
        Ok(())
    }
}

impl RmArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let hub = Hub::from_env()?;
        let mut models: Vec<CachedModel> = Vec::new();
        for reference in &self.references {
            for model in hub.cached_models(reference)? {
                if !models.contains(&model) {
                    models.push(model);
                }
            }
        }
        let size = |model: &CachedModel| DecimalBytes(model.num_bytes).to_string();
        if !self.yes {
            if !stdin().is_terminal() {
                return Err(Failure::Usage(
                    "deleting models requires a confirmation; pass --yes".to_owned(),
                ));
            }
            for model in &models {
                print_note(&format!("{} ({})", title(&model.reference), size(model)));
            }
            print_note("Delete? [y/N]");
            let mut answer = String::new();
            stdin().read_line(&mut answer).map_err(Error::Stdin)?;
            if !matches!(answer.trim(), "y" | "Y" | "yes") {
                return Err(Failure::Error(Box::new(Error::Cancelled)));
            }
        }
        for model in &models {
            hub.remove(model)?;
            print_note(&format!("deleted {} ({})", title(&model.reference), size(model)));
        }
        Ok(())
    }
}
