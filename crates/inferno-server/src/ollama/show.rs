//! `/api/show`: details of a model.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::models::{OllamaDetails, modified_at};
use crate::ModelInfo;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// The name of a model.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaModelName {
    /// Name of the model (default: the only one).
    pub model: Option<String>,
    /// The older name of `model`.
    pub name: Option<String>,
    /// Streams the status of a download, one JSON object per line (default: true).
    pub stream: Option<bool>,
}

/// Details of a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct OllamaModelInfo {
    /// The file, in the format of Ollama's model definitions.
    modelfile: String,
    /// Sampling defaults, one per line.
    parameters: String,
    /// The chat template, in Jinja.
    template: String,
    license: String,
    details: OllamaDetails,
    /// The metadata of the file. Arrays are null.
    model_info: Map<String, Value>,
    /// `completion` and those of `tools`, `thinking` and `insert` that apply, or `embedding`.
    capabilities: Vec<&'static str>,
    /// Time of the last change of the file, in RFC 3339.
    modified_at: String,
}

impl RequestBody for OllamaModelName {
    const UNIMPLEMENTED: &'static [FieldTable] = &[fields::ollama::MODEL];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

fn capabilities(info: &ModelInfo) -> Vec<&'static str> {
    let template = info.template.as_ref();
    let has_tools = template.is_some_and(|it| it.supports_tools());
    let thinks = template.is_some_and(|it| it.supports_reasoning());
    let all = [
        ("completion", info.generates_text),
        ("embedding", !info.generates_text),
        ("tools", has_tools),
        ("thinking", thinks),
        ("insert", info.fills_gaps),
    ];
    all.into_iter().filter_map(|(name, applies)| applies.then_some(name)).collect()
}

fn parameters(info: &ModelInfo) -> String {
    let sampling = &info.sampling;
    [
        format!("temperature {}", sampling.temperature),
        format!("top_k {}", sampling.top_k),
        format!("top_p {}", sampling.top_p),
        format!("min_p {}", sampling.min_p),
        format!("repeat_penalty {}", sampling.repetition_penalty),
        format!("num_ctx {}", info.context_length),
    ]
    .join("\n")
}

/// Returns the details of a model.
#[utoipa::path(post, path = "/api/show", tag = "ollama", request_body = OllamaModelName,
    responses((status = 200, body = OllamaModelInfo)))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Body { request, .. }: Body<OllamaModelName>,
) -> Result<Json<OllamaModelInfo>, ApiError> {
    let info = match request.model.or(request.name) {
        Some(name) => app.described_model(&name).await?,
        None => app.only_model().await?,
    };
    let parameters = parameters(&info);
    let lines: String = parameters.lines().map(|line| format!("PARAMETER {line}\n")).collect();
    // A model that is built in has no file.
    let source = if info.file.path.is_empty() { &info.names[0] } else { &info.file.path };
    Ok(Json(OllamaModelInfo {
        modelfile: format!("FROM {source}\n{lines}"),
        parameters,
        template: info.file.chat_template.clone(),
        license: info.file.license.clone(),
        details: OllamaDetails::of(&info.file),
        model_info: info.file.metadata.clone(),
        capabilities: capabilities(&info),
        modified_at: modified_at(&info),
    }))
}
