//! `/props`: properties of the server and its model.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_engine::GenerationParams;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::completion::settings;
use super::slots::num_slots;
use crate::errors::ApiError;
use crate::operation::version::BUILD_INFO;
use crate::state::App;

/// Properties of the server and its model.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaProps {
    default_generation_settings: LlamaDefaults,
    /// Maximum number of sequences that are computed together.
    total_slots: usize,
    /// Name of the model.
    model_alias: String,
    /// Path of the model's file; `NAME.gguf` if it is part of the program.
    model_path: String,
    modalities: LlamaModalities,
    /// The chat template, in Jinja.
    chat_template: String,
    bos_token: String,
    eos_token: String,
    build_info: &'static str,
    /// Always false: the model stays loaded.
    is_sleeping: bool,
}

/// Defaults of requests.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaDefaults {
    /// Context length: the maximum number of tokens of a prompt and its answer.
    n_ctx: usize,
    /// Sampling parameters and limits.
    params: Map<String, Value>,
}

/// What the model reads in addition to text.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaModalities {
    /// Always false.
    vision: bool,
    /// Always false.
    audio: bool,
}

/// Returns properties of the server and its model.
#[utoipa::path(get, path = "/props", tag = "llama-server", responses((status = 200, body = LlamaProps)))]
pub(crate) async fn props(State(app): State<Arc<App>>) -> Result<Json<LlamaProps>, ApiError> {
    let model = app.model()?;
    let params =
        GenerationParams { sampling: model.info.sampling.clone(), ..GenerationParams::default() };
    Ok(Json(LlamaProps {
        default_generation_settings: LlamaDefaults {
            n_ctx: model.handle.context_length(),
            params: settings(&params, &model),
        },
        total_slots: num_slots(&model),
        model_alias: model.info.name().to_owned(),
        model_path: match model.info.file.path.as_str() {
            "" => format!("{}.gguf", model.info.name()),
            path => path.to_owned(),
        },
        modalities: LlamaModalities { vision: false, audio: false },
        chat_template: model.info.file.chat_template.clone(),
        bos_token: model.token_text(model.tokenizer().bos()).unwrap_or_default(),
        eos_token: model.token_text(model.tokenizer().eos()).unwrap_or_default(),
        build_info: BUILD_INFO,
        is_sleeping: false,
    }))
}
