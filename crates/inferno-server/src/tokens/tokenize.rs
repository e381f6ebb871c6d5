//! `/tokenize`: a text or a conversation to tokens.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use inferno_tokenizer::EncodeOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::ServedModel;
use crate::chat::ChatJob;
use crate::errors::ApiError;
use crate::openai::chat::template_variables;
use crate::openai::messages::{self, MessageField};
use crate::openai::tools::{self, ToolField};
use crate::request::{Body, Reader, RequestBody, UnknownFields};
use crate::state::App;

/// A text or a conversation: exactly one of `prompt` and `messages`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TokenizeRequest {
    /// The model's name; where it is missing, the only one.
    model: Option<String>,
    /// A text.
    prompt: Option<String>,
    /// A conversation, which the chat template makes a text of.
    messages: Option<Vec<MessageField>>,
    /// Adds the tokens that the model wants before a text; true for a prompt. A chat template writes them itself.
    add_special_tokens: Option<bool>,
    /// Tells each token's text too.
    return_token_strs: Option<bool>,
    /// With messages: whether an answer is begun; true unless it is said otherwise.
    add_generation_prompt: Option<bool>,
    /// With messages: whether the last one goes on.
    continue_final_message: Option<bool>,
    /// With messages: further variables of the chat template.
    chat_template_kwargs: Option<Map<String, Value>>,
    /// With messages: functions that the model may call.
    tools: Option<Vec<ToolField>>,
}

/// Tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenizeResponse {
    count: usize,
    /// Tokens that a prompt and its answer may have together.
    max_model_len: usize,
    tokens: Vec<u32>,
    /// Their texts, where they are asked for.
    token_strs: Option<Vec<String>>,
}

impl RequestBody for TokenizeRequest {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ApiError> {
        reader.part()
    }
}

impl TokenizeRequest {
    fn tokens(self, model: &ServedModel, unknown: UnknownFields) -> Result<Vec<u32>, ApiError> {
        match (self.prompt, self.messages) {
            (Some(prompt), None) => {
                let why = "it is about messages; leave it out with a prompt";
                ApiError::refuse_given([
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
                let why = "a chat template writes them itself";
                Err(ApiError::unsupported("add_special_tokens", why))
            }
            (None, Some(messages)) => {
                let job = ChatJob {
                    messages: messages::for_template(messages, unknown)?,
                    messages_field: "messages",
                    tools: tools::tools(self.tools, None, None, unknown)?,
                    variables: template_variables(self.chat_template_kwargs)?,
                    add_generation_prompt: self.add_generation_prompt.unwrap_or(true),
                    continue_final_message: self.continue_final_message.unwrap_or(false),
                    ..ChatJob::default()
                };
                Ok(job.render(model)?.tokens)
            }
            _ => Err(ApiError::invalid("prompt", "give exactly one of prompt and messages")),
        }
    }
}

/// The tokens of a text or a conversation.
#[utoipa::path(post, path = "/tokenize", tag = "tokens", request_body = TokenizeRequest,
    responses((status = 200, body = TokenizeResponse)))]
pub(crate) async fn tokenize(
    State(app): State<Arc<App>>,
    Body { request, preparation }: Body<TokenizeRequest>,
) -> Result<Json<TokenizeResponse>, ApiError> {
    let model = app.model_named(request.model.as_deref())?;
    let unknown = app.options.unknown_fields();
    let tells_texts = request.return_token_strs == Some(true);
    let encoding = preparation.run(move || {
        let tokens = request.tokens(&model, unknown)?;
        let text = |&id: &u32| {
            let bytes = model.tokenizer().token_bytes(id).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(TokenizeResponse {
            count: tokens.len(),
            max_model_len: model.handle.context_length(),
            token_strs: tells_texts.then(|| tokens.iter().map(text).collect()),
            tokens,
        })
    });
    encoding.await.map(Json)
}
