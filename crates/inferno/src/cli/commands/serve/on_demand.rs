//! `--on-demand`: the models of this machine, each of which is loaded when a request names it.

use std::collections::{HashMap, HashSet};
use std::error::Error as StdError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use inferno_engine::EngineOptions;
use inferno_gguf::ShardName;
use inferno_server::{
    ModelCatalog, ModelInfo, ModelLoadError, OnDemandOptions, ServedModel, print_line,
};

use crate::cli::arguments::model::SourceArgs;
use crate::cli::arguments::served_model::ServedModelArgs;
use crate::cli::arguments::values::{number_in, whole};
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
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
    /// Maximum number of models loaded on demand; the one that has not been used for the longest time is unloaded first; 0 sets
    /// no limit [default: 3]
    #[arg(long, value_name = "N", value_parser = whole::<usize>, visible_alias = "models-max")]
    max_loaded_models: Option<usize>,
    /// Unload a model that was loaded on demand after this many seconds without a request; 0 never does [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = number_in(0..=MAX_SECONDS), visible_alias = "sleep-idle-seconds")]
    unload_after: Option<usize>,
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
/// How deep the folders of models may be.
const MAX_DEPTH: usize = 3;

impl OnDemandArgs {
    /// Whether models are loaded on demand. Warns of options without effect if not.
    ///
    /// **Errors**: if a model is specified, too.
    pub(super) fn is_enabled(&self, model: &ServedModelArgs) -> Result<bool, Failure> {
        let is_enabled = self.on_demand || self.models_dir.is_some();
        if is_enabled && model.is_specified() {
            return Err(Failure::Usage(
                "--model serves one model, and --on-demand and --models-dir several; use one of them"
                    .to_owned(),
            ));
        }
        let options = [
            ("--max-loaded-models", self.max_loaded_models),
            ("--unload-after", self.unload_after),
        ];
        for (option, _) in options.iter().filter(|(_, value)| value.is_some() && !is_enabled) {
            print_note(&format!(
                "warning: {option} has no effect: one model is served, which stays loaded; see --on-demand"
            ));
        }
        Ok(is_enabled)
    }

    /// Which models stay loaded.
    pub(super) fn options(&self) -> OnDemandOptions {
        let default = OnDemandOptions::default();
        OnDemandOptions {
            max_num_loaded: match self.max_loaded_models {
                Some(0) => usize::MAX,
                Some(number) => number,
                None => default.max_num_loaded,
            },
            idle_timeout: match self.unload_after {
                Some(0) => None,
                Some(seconds) => Some(Duration::from_secs(seconds as u64)),
                None => default.idle_timeout,
            },
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
        let models = LocalModels {
            has_downloaded: self.on_demand,
            folder: self.models_dir.clone(),
            model: model.clone(),
            target_itl,
            engine,
            described: Mutex::default(),
        };
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
    described: Mutex<Described>,
}

/// What is known of models that were found earlier, by their names.
#[derive(Default)]
struct Described {
    models: HashMap<String, (Option<SystemTime>, Arc<ModelInfo>)>,
    /// Models that cannot be served, which were reported.
    reported: HashSet<String>,
}

/// A model of this machine.
struct FoundModel {
    /// Names for requests; the first is listed.
    names: Vec<String>,
    source: ModelSource,
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
                let source = ModelSource::Hub(model.reference);
                found.push(FoundModel { names, source, modified: model.downloaded });
            }
            if embedded::IS_BUILT_IN {
                let source = ModelSource::File(PathBuf::from(embedded::NAME));
                let names = vec![embedded::NAME.to_owned()];
                found.push(FoundModel { names, source, modified: None });
            }
        }
        Ok(with_unique_names(found))
    }

    /// Describes a model, unless it was described before and has not changed since. One that cannot be served is reported once;
    /// it may be a file that is being written.
    fn describe(&self, described: &mut Described, found: &FoundModel) -> Option<Arc<ModelInfo>> {
        let name = &found.names[0];
        if let Some((modified, info)) = described.models.get(name)
            && *modified == found.modified
        {
            return Some(Arc::clone(info));
        }
        match self.options_of(found).describe() {
            Ok(info) => {
                let info = Arc::new(info);
                described.models.insert(name.clone(), (found.modified, Arc::clone(&info)));
                Some(info)
            }
            Err(error) => {
                if described.reported.insert(name.clone()) {
                    print_line(&format!("warning: {name} cannot be served: {error}"));
                }
                None
            }
        }
    }

    fn options_of(&self, found: &FoundModel) -> ServedModelArgs {
        self.model.of_model(SourceArgs::from(found.source.clone()), &found.names)
    }

    /// Loads a model. If it `is_alone`, it may run on another device than planned.
    fn load_found(&self, found: &FoundModel, is_alone: bool) -> Result<ServedModel, Error> {
        let options = self.options_of(found);
        let model = options.open(self.target_itl)?;
        let needed_bytes = model.estimate()?.footprint.total_bytes() as u64;
        let free_bytes = free_bytes();
        if needed_bytes > free_bytes {
            return Err(Error::MemoryTooSmall { needed_bytes, free_bytes });
        }
        let prepared = options.prepare(model)?;
        let prepared = if is_alone { prepared } else { prepared.without_fallback() };
        options.load(prepared, self.engine)
    }
}

impl ModelCatalog for LocalModels {
    fn models(&self) -> Result<Vec<Arc<ModelInfo>>, Box<dyn StdError + Send + Sync>> {
        let found = self.found()?;
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        described.models.retain(|name, _| found.iter().any(|it| it.names[0] == *name));
        Ok(found.iter().filter_map(|found| self.describe(&mut described, found)).collect())
    }

    fn load(&self, model: &ModelInfo, is_alone: bool) -> Result<ServedModel, ModelLoadError> {
        let found = self.found().map_err(|error| ModelLoadError::Other(error.into()))?;
        let found = found.iter().find(|found| found.names[0] == model.name());
        let found = found.ok_or_else(|| ModelLoadError::Other("the model was deleted".into()))?;
        self.load_found(found, is_alone).map_err(|error| match error.is_lack_of_memory() {
            true => ModelLoadError::NoMemory(error.into()),
            false => ModelLoadError::Other(error.into()),
        })
    }
}

/// Keeps each name for the first model that has it, and leaves out models without a name of their own.
fn with_unique_names(found: Vec<FoundModel>) -> Vec<FoundModel> {
    let mut known = HashSet::new();
    let unique = found.into_iter().filter_map(|mut model| {
        model.names.retain(|name| known.insert(name.clone()));
        (!model.names.is_empty()).then_some(model)
    });
    unique.collect()
}

/// The names of a downloaded model: its short name, if it has one, and its reference with and without the prefix.
fn names_of(reference: &HubReference) -> Vec<String> {
    let whole = reference.to_string();
    let without_prefix = whole.strip_prefix(HubReference::PREFIX).unwrap_or(&whole).to_owned();
    let short = short_name(reference).map(str::to_owned);
    short.into_iter().chain([without_prefix, whole]).collect()
}

/// The models in a folder and the folders in it, sorted by their names: those of files without the ending, and of folders, unless
/// another model has the name; their paths are names as well.
///
/// **Errors**: a folder that cannot be read.
fn models_in(folder: &Path) -> Result<Vec<FoundModel>, Error> {
    let mut paths = Vec::new();
    collect_models(folder, MAX_DEPTH, &mut paths)?;
    // Those that are less deep keep their names.
    paths.sort_by_cached_key(|path| (path.components().count(), path.clone()));
    let names: Vec<_> = paths.iter().map(|path| name_of(path)).collect();
    let found = paths.into_iter().enumerate().filter_map(|(index, path)| {
        let relative = path.strip_prefix(folder).ok()?.to_str()?.to_owned();
        let name =
            names[index].clone().filter(|name| !names[..index].contains(&Some(name.clone())));
        let names = name.into_iter().chain([relative]).collect();
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
        Some(FoundModel { names, source: ModelSource::File(path), modified })
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|a, b| a.names.cmp(&b.names));
    Ok(found)
}

/// Adds the paths of models: files, of which the first shard stands for all, and folders of checkpoints.
fn collect_models(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error| Error::io(folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            match checkpoint::is_folder_of_checkpoint(&path) {
                true => paths.push(path),
                false if depth > 1 => collect_models(&path, depth - 1, paths)?,
                false => {}
            }
        } else if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
            && !file.starts_with('.')
            && !file.starts_with("mmproj")
            && ShardName::parse(file).is_none_or(|shard| shard.number() == 1)
        {
            paths.push(path);
        }
    }
    Ok(())
}

/// The name of a model by its path.
fn name_of(path: &Path) -> Option<String> {
    let shard = path.file_name()?.to_str().and_then(ShardName::parse);
    let name = shard.map(|shard| shard.prefix().to_owned());
    name.or_else(|| ModelSource::File(path.to_owned()).name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_and_equal_names_become_paths() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("owner/repo")).unwrap();
        fs::create_dir(path("small")).unwrap();
        let files = [
            "small.gguf",
            "small/config.json",
            "small/model.safetensors",
            "big-00001-of-00002.gguf",
            "big-00002-of-00002.gguf",
            "notes.txt",
            "owner/repo/mmproj-F16.gguf",
            "owner/repo/inner.gguf",
        ];
        for file in files {
            fs::write(path(file), "").unwrap();
        }
        let found = models_in(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|model| model.names.join(" ")).collect();
        let expected = [
            "big big-00001-of-00002.gguf",
            "inner owner/repo/inner.gguf",
            "small small",
            "small.gguf",
        ];
        assert_eq!(names, expected);
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
}
