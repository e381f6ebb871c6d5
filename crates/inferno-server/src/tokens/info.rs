//! `/tokenizer_info`: what clients need to render and encode prompts themselves.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ServedModel;
use crate::errors::ApiError;
use crate::state::App;

/// The tokenizer, with the names of Hugging Face's `tokenizer_config.json`.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenizerInfo {
    tokenizer_class: &'static str,
    /// Text of the token at the beginning of a text.
    bos_token: Option<String>,
    /// Text of the token at the end of a text.
    eos_token: Option<String>,
    pad_token: Option<String>,
    unk_token: Option<String>,
    /// The chat template, in Jinja.
    chat_template: Option<String>,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    model_max_length: usize,
    vocab_size: usize,
}

impl TokenizerInfo {
    fn new(model: &ServedModel) -> Self {
        let special = model.tokenizer().special_tokens();
        Self {
            tokenizer_class: "PreTrainedTokenizerFast",
            bos_token: model.token_text(special.bos),
            eos_token: model.token_text(special.eos),
            pad_token: model.token_text(special.padding),
            unk_token: model.token_text(special.unknown),
            chat_template: model
                .info
                .template
                .as_ref()
                .map(|template| template.source().to_owned()),
            model_max_length: model.handle.context_length(),
            vocab_size: model.handle.vocab_size(),
        }
    }
}

/// Returns the special tokens and the chat template.
#[utoipa::path(get, path = "/tokenizer_info", tag = "tokens",
    responses((status = 200, body = TokenizerInfo)))]
pub(crate) async fn tokenizer_info(
    State(app): State<Arc<App>>,
) -> Result<Json<TokenizerInfo>, ApiError> {
    Ok(Json(TokenizerInfo::new(&*app.model()?)))
}
