//! `/api/tags`, `/api/ps` and `/api/version`: the models of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::errors::ApiError;
use crate::state::App;
use crate::{ModelFile, ModelInfo};

/// The version of Ollama whose API this is: clients compare it with the one that introduced a feature.
const OLLAMA_VERSION: &str = "0.13.0";

/// The models of this server.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaModels {
    models: Vec<OllamaModel>,
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaModel {
    name: String,
    /// The same name.
    model: String,
    /// Time of the last change of the file, in RFC 3339.
    modified_at: String,
    /// Size of the file in bytes.
    size: u64,
    /// Identifies the model.
    digest: String,
    details: OllamaDetails,
}

/// The loaded models.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaRunningModels {
    models: Vec<OllamaRunningModel>,
}

/// A loaded model.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaRunningModel {
    #[serde(flatten)]
    model: OllamaModel,
    /// When the model is unloaded unless it is used, in RFC 3339; a century from now if it stays loaded.
    expires_at: String,
    /// Estimated memory of GPUs that the model occupies, in bytes; 0 on a processor.
    size_vram: u64,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    context_length: usize,
}

/// Details of a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaDetails {
    /// Always empty.
    parent_model: &'static str,
    /// Always `gguf`.
    format: &'static str,
    /// The architecture.
    family: String,
    families: Vec<String>,
    /// Number of parameters, such as `596.0M`.
    parameter_size: String,
    /// The type of most weights.
    quantization_level: &'static str,
}

/// The version.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaVersion {
    /// The version of Ollama whose API this is.
    version: &'static str,
}

impl OllamaModel {
    fn new(info: &ModelInfo, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            model: name.to_owned(),
            modified_at: modified_at(info),
            size: info.file.num_bytes,
            digest: info.file.digest.clone(),
            details: OllamaDetails::of(&info.file),
        }
    }
}

impl OllamaDetails {
    pub(super) fn of(file: &ModelFile) -> Self {
        Self {
            parent_model: "",
            format: "gguf",
            family: file.architecture.clone(),
            families: vec![file.architecture.clone()],
            parameter_size: parameter_size(file.num_parameters),
            quantization_level: file.weight_type,
        }
    }
}

/// When the file was modified, or when it was loaded if that is unknown.
pub(super) fn modified_at(info: &ModelInfo) -> String {
    let modified = info.file.modified.and_then(|time| Timestamp::try_from(time).ok());
    let loaded = || Timestamp::from_second(i64::try_from(info.created).unwrap_or_default());
    modified.or_else(|| loaded().ok()).unwrap_or_default().to_string()
}

fn parameter_size(count: u64) -> String {
    let count = count as f64;
    match count {
        1e9.. => format!("{:.1}B", count / 1e9),
        1e6.. => format!("{:.1}M", count / 1e6),
        _ => format!("{:.1}K", count / 1e3),
    }
}

/// Lists the models under each of their names.
#[utoipa::path(get, path = "/api/tags", tag = "ollama", responses((status = 200, body = OllamaModels)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<OllamaModels>, ApiError> {
    let listed = app.listed().await?;
    let models =
        listed.iter().flat_map(|info| info.names.iter().map(|name| OllamaModel::new(info, name)));
    Ok(Json(OllamaModels { models: models.collect() }))
}

/// Lists the loaded models.
#[utoipa::path(get, path = "/api/ps", tag = "ollama", responses((status = 200, body = OllamaRunningModels)))]
pub(crate) async fn running(
    State(app): State<Arc<App>>,
) -> Result<Json<OllamaRunningModels>, ApiError> {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let models = app.running()?.into_iter().map(|model| {
        let left = app.pool().and_then(|pool| pool.time_left(&model)).unwrap_or(CENTURY);
        OllamaRunningModel {
            model: OllamaModel::new(&model.info, model.info.name()),
            expires_at: Timestamp::now().checked_add(left).unwrap_or(Timestamp::MAX).to_string(),
            size_vram: model.gpu_bytes,
            context_length: model.handle.context_length(),
        }
    });
    Ok(Json(OllamaRunningModels { models: models.collect() }))
}

/// Returns the version of Ollama whose API this is.
#[utoipa::path(get, path = "/api/version", tag = "ollama", responses((status = 200, body = OllamaVersion)))]
pub(crate) async fn version() -> Json<OllamaVersion> {
    Json(OllamaVersion { version: OLLAMA_VERSION })
}

#[cfg(test)]
mod tests {
    use super::parameter_size;

    #[test]
    fn sizes_have_one_decimal() {
        assert_eq!(parameter_size(596_049_920), "596.0M");
        assert_eq!(parameter_size(7_615_616_512), "7.6B");
        assert_eq!(parameter_size(292_800), "292.8K");
    }
}
