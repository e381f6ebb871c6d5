//! `/tokenize`: encodes text or a conversation.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_tokenizer::EncodeOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::content::{ContentTokens, content_tokens};
use crate::ServedModel;
use crate::chat::ChatJob;
use crate::errors::ApiError;
use crate::fields::UnknownFields;
use crate::openai::chat::{prompt_end, template_variables};
use crate::openai::messages::{self, MessageField};
use crate::openai::tools::{self, ToolField};
use crate::request::{Body, Reader, RequestBody};
use crate::state::App;

/// Text or a conversation: exactly one of `prompt`, `messages` and `content`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TokenizeRequest {
    /// Name of the model (default: the served model).
    model: Option<String>,
    /// Text to encode.
    prompt: Option<String>,
    /// llama-server's name of `prompt`, to which it adds no special tokens by default.
    content: Option<String>,
    /// With `content`: adds the special tokens that the model expects before text (default: false).
    add_special: Option<bool>,
    /// With `content`: encodes control tokens in the text as such (default: true).
    parse_special: Option<bool>,
    /// With `content`: returns the text of each token along with its id.
    with_pieces: Option<bool>,
    /// A conversation, which the chat template renders.
    messages: Option<Vec<MessageField>>,
    /// Adds the special tokens that the model expects before text (default: true). Only for `prompt`; chat templates write them.
    add_special_tokens: Option<bool>,
    /// Also returns the text of each token.
    return_token_strs: Option<bool>,
    /// With messages: appends the start of an answer (default: true).
    add_generation_prompt: Option<bool>,
    /// With messages: continues the last message instead.
    continue_final_message: Option<bool>,
    /// With messages: additional variables of the chat template.
    chat_template_kwargs: Option<Map<String, Value>>,
    /// With messages: functions that the model may call.
    tools: Option<Vec<ToolField>>,
}

/// The encoded tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenizeResponse {
    count: usize,
    /// Context length: the maximum number of tokens of a prompt and its answer.
    max_model_len: usize,
    tokens: Vec<u32>,
    /// The text of each token, if requested.
    token_strs: Option<Vec<String>>,
}

/// The encoded tokens; for `content`, in the format of llama-server.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum TokenizeAnswer {
    Prompt(TokenizeResponse),
    Content(ContentTokens),
}

/// Maximum number of tokens whose texts are returned: each takes many times as much memory as its id.
const MAX_TEXTS: usize = 1_000_000;

/// **Errors**: more tokens than their texts are returned for.
fn check_texts(returns_texts: bool, tokens: &[u32], field: &str) -> Result<(), ApiError> {
    if !returns_texts || tokens.len() <= MAX_TEXTS {
        return Ok(());
    }
    let message = format!(
        "there are {} tokens, but the texts of at most {MAX_TEXTS} are returned; send a shorter text, or omit {field}",
        tokens.len()
    );
    Err(ApiError::invalid(field, message))
}

impl RequestBody for TokenizeRequest {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

impl TokenizeRequest {
    /// Encodes `content`, if the request has it.
    ///
    /// **Errors**: a prompt or messages in addition.
    fn content(&self, model: &ServedModel) -> Result<Option<ContentTokens>, ApiError> {
        let Some(text) = &self.content else {
            return Ok(None);
        };
        if self.prompt.is_some() || self.messages.is_some() {
            let message = "send exactly one of prompt, messages and content";
            return Err(ApiError::invalid("content", message));
        }
        let options = EncodeOptions {
            add_special: self.add_special == Some(true),
            parse_special: self.parse_special.unwrap_or(true),
        };
        let tokens = model.tokenizer().encode(text, options);
        let with_pieces = self.with_pieces == Some(true);
        check_texts(with_pieces, &tokens, "with_pieces")?;
        Ok(Some(content_tokens(tokens, with_pieces, model)))
    }

    fn tokens(self, model: &ServedModel, unknown: &UnknownFields) -> Result<Vec<u32>, ApiError> {
        match (self.prompt, self.messages) {
            (Some(prompt), None) => {
                let why = "it only applies to messages; remove it";
                ApiError::reject_given([
                    ("add_generation_prompt", self.add_generation_prompt.is_some(), why),
                    ("continue_final_message", self.continue_final_message.is_some(), why),
                    ("chat_template_kwargs", self.chat_template_kwargs.is_some(), why),
                    ("tools", self.tools.is_some(), why),
                ])?;
                let add_special = self.add_special_tokens.unwrap_or(true);
                let options = EncodeOptions { add_special, parse_special: true };
                Ok(model.tokenizer().encode(&prompt, options))
            }
            (None, Some(_)) if self.add_special_tokens == Some(true) => {
                let why = "chat templates write special tokens themselves";
                Err(ApiError::unsupported("add_special_tokens", why))
            }
            (None, Some(messages)) => {
                let (add_generation_prompt, continue_final_message) =
                    prompt_end(self.add_generation_prompt, self.continue_final_message)?;
                let job = ChatJob {
                    messages: messages::for_template(messages, unknown)?,
                    messages_field: "messages",
                    tools: tools::tools(self.tools, None, None, unknown)?,
                    variables: template_variables(self.chat_template_kwargs)?,
                    add_generation_prompt,
                    continue_final_message,
                    ..ChatJob::default()
                };
                Ok(job.render(model)?.tokens)
            }
            _ => {
                Err(ApiError::invalid("prompt", "send exactly one of prompt, messages and content"))
            }
        }
    }
}

/// Encodes text or a conversation.
#[utoipa::path(post, path = "/tokenize", tag = "tokens", request_body = TokenizeRequest,
    responses((status = 200, body = TokenizeAnswer)))]
pub(crate) async fn tokenize(
    State(app): State<Arc<App>>,
    Body { request, unknown, preparation }: Body<TokenizeRequest>,
) -> Result<Json<TokenizeAnswer>, ApiError> {
    let model = app.model_named(request.model.as_deref())?;
    let returns_texts = request.return_token_strs == Some(true);
    let encoding = preparation.run(move || {
        if let Some(encoded) = request.content(&model)? {
            return Ok(TokenizeAnswer::Content(encoded));
        }
        let tokens = request.tokens(&model, &unknown)?;
        check_texts(returns_texts, &tokens, "return_token_strs")?;
        let text = |&id: &u32| {
            let bytes = model.tokenizer().token_bytes(id).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(TokenizeAnswer::Prompt(TokenizeResponse {
            count: tokens.len(),
            max_model_len: model.handle.context_length(),
            token_strs: returns_texts.then(|| tokens.iter().map(text).collect()),
            tokens,
        }))
    });
    encoding.await.map(Json)
}
