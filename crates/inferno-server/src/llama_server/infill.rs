//! `/infill`: completes the gap between two texts.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use inferno_tokenizer::EncodeOptions;
use serde::Deserialize;
use utoipa::ToSchema;

use super::completion::{LlamaAnswerFields, LlamaCompletion, Prompts, complete};
use crate::ServedModel;
use crate::errors::ApiError;
use crate::fields::{self, FieldTable};
use crate::fill_in_the_middle::fill_in_the_middle;
use crate::llama_sampling::LlamaSampling;
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// A gap, and how to fill it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct LlamaInfillRequest {
    #[serde(flatten)]
    gap: LlamaGap,
    #[serde(flatten)]
    answer: LlamaAnswerFields,
    #[serde(flatten)]
    sampling: LlamaSampling,
}

/// The text around a gap.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct LlamaGap {
    /// The text before the gap.
    input_prefix: String,
    /// The text after the gap.
    input_suffix: String,
    /// The beginning of the text in the gap.
    prompt: Option<String>,
    /// Further files of the project.
    input_extra: Option<Vec<LlamaFile>>,
}

/// A file of a project.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct LlamaFile {
    filename: Option<String>,
    text: String,
}

impl RequestBody for LlamaInfillRequest {
    const UNIMPLEMENTED: &'static [FieldTable] =
        &[fields::llama_server::COMPLETION, fields::llama_server::SAMPLERS];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        Ok(Self { gap: reader.part()?, answer: reader.part()?, sampling: reader.part()? })
    }
}

impl LlamaGap {
    /// The other files, then the gap, in the format that the model was trained with.
    fn tokens(&self, model: &ServedModel) -> Result<Vec<u32>, ApiError> {
        let tokenizer = model.tokenizer();
        let before = &self.input_prefix;
        let gap = fill_in_the_middle(before, &self.input_suffix, true, "input_suffix", model)?;
        let files = self.input_extra.as_deref().unwrap_or_default();
        let separator = tokenizer.special_tokens().fim_separator;
        let plain = |text: &str| tokenizer.encode(text, EncodeOptions::default());
        // The token at the beginning of a text precedes all files.
        let num_first = usize::from(!gap.is_empty() && gap.first() == tokenizer.bos().as_ref());
        let (mut tokens, gap) = (gap[..num_first].to_vec(), &gap[num_first..]);
        for file in files {
            let name = file.filename.as_deref().unwrap_or("tmp");
            match separator {
                Some(separator) => {
                    tokens.push(separator);
                    tokens.extend(plain(&format!("{name}\n")));
                }
                None => tokens.extend(plain(&format!("\n\n--- {name} ---\n\n"))),
            }
            tokens.extend(plain(&file.text));
        }
        if let Some(separator) = separator.filter(|_| !files.is_empty()) {
            tokens.push(separator);
            tokens.extend(plain("filename\n"));
        }
        tokens.extend(gap);
        tokens.extend(plain(self.prompt.as_deref().unwrap_or_default()));
        Ok(tokens)
    }
}

/// Fills the gap between two texts, for models trained to do so.
#[utoipa::path(post, path = "/infill", tag = "llama-server", request_body = LlamaInfillRequest,
    responses(
        (status = 200, description = "The completion; with `stream`, parts of it as server-sent events.", content(
            (LlamaCompletion = "application/json"), (LlamaCompletion = "text/event-stream")))))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body { request, preparation, .. }: Body<LlamaInfillRequest>,
) -> Result<Response, ApiError> {
    let model = app.model_named(request.answer.model.as_deref())?;
    let LlamaInfillRequest { gap, answer, sampling } = request;
    let read = move |model: &ServedModel| {
        Ok(Prompts { tokens: vec![gap.tokens(model)?], are_many: false })
    };
    complete(&app, &model, preparation, read, answer, sampling).await
}
