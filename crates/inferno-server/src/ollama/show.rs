//! `/api/show`: details of the served model.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::model_named;
use super::models::{OllamaDetails, modified_at};
use crate::ServedModel;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::fill_in_the_middle;
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// The name of a model.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct OllamaModelName {
    /// Name of the model (default: the served model).
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
    /// `completion`, and those of `tools`, `thinking` and `insert` that apply.
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

fn capabilities(model: &ServedModel) -> Vec<&'static str> {
    let template = model.template.as_ref();
    let has_tools = template.is_some_and(|it| it.supports_tools());
    let thinks = template.is_some_and(|it| it.supports_reasoning());
    let all = [
        ("completion", true),
        ("tools", has_tools),
        ("thinking", thinks),
        ("insert", fill_in_the_middle::is_supported(model)),
    ];
    all.into_iter().filter_map(|(name, applies)| applies.then_some(name)).collect()
}

fn parameters(model: &ServedModel) -> String {
    let sampling = &model.sampling;
    [
        format!("temperature {}", sampling.temperature),
        format!("top_k {}", sampling.top_k),
        format!("top_p {}", sampling.top_p),
        format!("min_p {}", sampling.min_p),
        format!("repeat_penalty {}", sampling.repetition_penalty),
        format!("num_ctx {}", model.handle.context_length()),
    ]
    .join("\n")
}

/// Returns the details of the served model.
#[utoipa::path(post, path = "/api/show", tag = "ollama", request_body = OllamaModelName,
    responses((status = 200, body = OllamaModelInfo)))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Body { request, .. }: Body<OllamaModelName>,
) -> Result<Json<OllamaModelInfo>, ApiError> {
    let model = model_named(&app, request.model.or(request.name).as_deref())?;
    let parameters = parameters(&model);
    let lines: String = parameters.lines().map(|line| format!("PARAMETER {line}\n")).collect();
    Ok(Json(OllamaModelInfo {
        modelfile: format!("FROM {}\n{lines}", model.file.path),
        parameters,
        template: model.file.chat_template.clone(),
        license: model.file.license.clone(),
        details: OllamaDetails::of(&model.file),
        model_info: model.file.metadata.clone(),
        capabilities: capabilities(&model),
        modified_at: modified_at(&model),
    }))
}
