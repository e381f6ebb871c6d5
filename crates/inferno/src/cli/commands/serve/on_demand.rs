//! `--on-demand`: the models of this machine, each of which is loaded when a request names it.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use inferno_engine::EngineOptions;
use inferno_gguf::ShardName;
use inferno_server::{ModelCatalog, ModelInfo, OnDemandOptions, ServedModel, print_line};

use crate::cli::arguments::model::SourceArgs;
use crate::cli::arguments::served_model::ServedModelArgs;
use crate::cli::arguments::values::{number_in, positive};
use crate::cli::failure::Failure;
use crate::free_memory::free_bytes;
use crate::hub::catalog::short_name;
use crate::{Error, Hub, HubReference, ModelSource, checkpoint, embedded};

/// Options of a server with several models.
#[derive(clap::Args)]
pub(super) struct OnDemandArgs {
    /// Serve all downloaded models (see inferno list) and the built-in one; each is loaded when a request names it
    #[arg(long, conflicts_with_all = OF_ONE_MODEL)]
    on_demand: bool,
    /// Serve the models in this folder (GGUF files, and folders with Hugging Face checkpoints), each loaded when a request
    /// names it; with --on-demand, downloaded models as well
    #[arg(long, value_name = "DIR", conflicts_with_all = OF_ONE_MODEL)]
    models_dir: Option<PathBuf>,
    /// Maximum number of models loaded on demand; the one that has not been used for the longest time is unloaded first
    #[arg(long, value_name = "N", value_parser = positive, visible_alias = "models-max")]
    #[arg(default_value_t = OnDemandOptions::default().max_num_loaded)]
    max_loaded_models: usize,
    /// Unload a model that was loaded on demand after this many seconds without a request; 0 never does
    #[arg(long, value_name = "SECONDS", value_parser = number_in(0..=MAX_SECONDS), visible_alias = "sleep-idle-seconds")]
    #[arg(default_value_t = DEFAULT_SECONDS)]
    unload_after: usize,
}

/// Options that are about one model, in addition to the model itself.
const OF_ONE_MODEL: [&str; 7] = [
    "served_model_name",
    "chat_template",
    "draft_model",
    "draft_head",
    "prefix_cache_file",
    "kv_events_config",
    "dry_run",
];

/// The longest time without a request, a year.
const MAX_SECONDS: usize = 365 * 24 * 3600;
/// The default of [`OnDemandOptions`].
const DEFAULT_SECONDS: usize = 300;

impl OnDemandArgs {
    /// Whether models are loaded on demand.
    ///
    /// **Errors**: if a model is specified, too.
    pub(super) fn is_enabled(&self, model: &ServedModelArgs) -> Result<bool, Failure> {
        let is_enabled = self.on_demand || self.models_dir.is_some();
        match is_enabled && model.is_specified() {
            true => Err(Failure::Usage(
                "--model serves one model, and --on-demand and --models-dir several; use one of them".to_owned(),
            )),
            false => Ok(is_enabled),
        }
    }

    /// Which models stay loaded.
    pub(super) fn options(&self) -> OnDemandOptions {
        let idle_timeout = Duration::from_secs(self.unload_after as u64);
        OnDemandOptions {
            max_num_loaded: self.max_loaded_models,
            idle_timeout: Some(idle_timeout).filter(|timeout| !timeout.is_zero()),
        }
    }

    /// The models of this machine, loaded with these options.
    ///
    /// **Errors**: a folder that cannot be read.
    pub(super) fn catalog(
        &self,
        model: &ServedModelArgs,
        target_itl: Option<Duration>,
        engine: EngineOptions,
    ) -> Result<LocalModels, Error> {
        let (has_downloaded, folder) = (self.on_demand, self.models_dir.clone());
        let model = model.clone();
        let described = Mutex::default();
        let models = LocalModels { has_downloaded, folder, model, target_itl, engine, described };
        models.found()?;
        Ok(models)
    }
}

/// The models of this machine.
pub(super) struct LocalModels {
    /// Whether downloaded models and the built-in one are among them.
    has_downloaded: bool,
    folder: Option<PathBuf>,
    /// Options of every model.
    model: ServedModelArgs,
    target_itl: Option<Duration>,
    engine: EngineOptions,
    /// Models by their names, as they were when they were described; `None` for one that cannot be served.
    described: Mutex<HashMap<String, (Option<SystemTime>, Option<Arc<ModelInfo>>)>>,
}

/// A model of this machine.
struct FoundModel {
    /// Names for requests; the first is listed.
    names: Vec<String>,
    /// The model; `None` for the built-in one.
    source: Option<ModelSource>,
    /// When its first file was written.
    modified: Option<SystemTime>,
}

impl LocalModels {
    /// Looks for models.
    ///
    /// **Errors**: a folder or cache that cannot be read.
    fn found(&self) -> Result<Vec<FoundModel>, Error> {
        let mut found = Vec::new();
        if let Some(folder) = &self.folder {
            found.extend(models_in(folder)?);
        }
        if self.has_downloaded {
            for model in Hub::from_env()?.models()? {
                let names = names_of(&model.reference);
                let source = Some(ModelSource::Hub(model.reference));
                found.push(FoundModel { names, source, modified: model.downloaded });
            }
            if embedded::IS_BUILT_IN {
                let names = vec![embedded::NAME.to_owned()];
                found.push(FoundModel { names, source: None, modified: None });
            }
        }
        Ok(found)
    }

    /// Describes a model, unless it was described before and has not changed since. One that cannot be served is reported once.
    fn describe(&self, found: &FoundModel) -> Option<Arc<ModelInfo>> {
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        let name = &found.names[0];
        if let Some((modified, info)) = described.get(name)
            && *modified == found.modified
        {
            return info.clone();
        }
        let info = match self.options_of(found).describe() {
            Ok(info) => Some(Arc::new(info)),
            Err(error) => {
                print_line(&format!("warning: {name} cannot be served: {error}"));
                None
            }
        };
        described.insert(name.clone(), (found.modified, info.clone()));
        info
    }

    fn options_of(&self, found: &FoundModel) -> ServedModelArgs {
        self.model.of_model(SourceArgs::from(found.source.clone()), &found.names)
    }

    fn load_found(&self, found: &FoundModel) -> Result<ServedModel, Error> {
        let options = self.options_of(found);
        let model = options.open(self.target_itl)?;
        let needed_bytes = model.estimate()?.footprint.total_bytes() as u64;
        let free_bytes = free_bytes();
        if needed_bytes > free_bytes {
            return Err(Error::MemoryTooSmall { needed_bytes, free_bytes });
        }
        let prepared = options.prepare(model)?;
        options.load(prepared, self.engine)
    }
}

impl ModelCatalog for LocalModels {
    fn models(&self) -> Result<Vec<Arc<ModelInfo>>, Box<dyn StdError + Send + Sync>> {
        Ok(self.found()?.iter().filter_map(|found| self.describe(found)).collect())
    }

    fn load(&self, model: &ModelInfo) -> Result<ServedModel, Box<dyn StdError + Send + Sync>> {
        let found = self.found()?;
        let found = found.iter().find(|found| found.names[0] == model.name());
        let found = found.ok_or("the model was deleted")?;
        Ok(self.load_found(found)?)
    }
}

/// The names of a downloaded model: its short name, if it has one, and its reference with and without the prefix.
fn names_of(reference: &HubReference) -> Vec<String> {
    let whole = reference.to_string();
    let without_prefix = whole.strip_prefix(HubReference::PREFIX).unwrap_or(&whole).to_owned();
    let short = short_name(reference).map(str::to_owned);
    short.into_iter().chain([without_prefix, whole]).collect()
}

/// The models in a folder, by the names of their files, sorted.
///
/// **Errors**: a folder that cannot be read.
fn models_in(folder: &Path) -> Result<Vec<FoundModel>, Error> {
    let failed = |error| Error::io(folder, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_file = path.extension().is_some_and(|ending| ending == "gguf") && path.is_file();
        if !is_file && !checkpoint::is_folder_of_checkpoint(&path) {
            continue;
        }
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
        let file = path.file_name().and_then(|name| name.to_str());
        let shard = file.and_then(ShardName::parse);
        if shard.is_some_and(|shard| shard.number() > 1) {
            continue;
        }
        let name = shard.map(|shard| shard.prefix().to_owned());
        let source = ModelSource::File(path);
        let Some(name) = name.or_else(|| source.name()) else { continue };
        found.push(FoundModel { names: vec![name], source: Some(source), modified });
    }
    found.sort_by(|a, b| a.names.cmp(&b.names));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_one_model_and_other_files_none() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ["small.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "notes.txt"];
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let found = models_in(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|model| model.names.join(" ")).collect();
        assert_eq!(names, ["big", "small"]);
    }

    #[test]
    fn downloaded_models_have_their_short_names_and_references() {
        let names = |text: &str| names_of(&text.parse().unwrap());
        assert_eq!(
            names("hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"),
            ["qwen3:0.6b", "Qwen/Qwen3-0.6B-GGUF:Q8_0", "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"]
        );
        assert_eq!(names("hf:owner/model:Q4_0"), ["owner/model:Q4_0", "hf:owner/model:Q4_0"]);
    }

    #[test]
    fn the_default_is_that_of_the_server() {
        let default = OnDemandOptions::default().idle_timeout;
        assert_eq!(default, Some(Duration::from_secs(DEFAULT_SECONDS as u64)));
    }
}
