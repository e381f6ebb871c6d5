//! Conversations from files, and the templates that turn them into text.

use std::path::Path;

use inferno_gguf::Metadata;
use inferno_tokenizer::{ChatRequest, ChatTemplate, ChatTemplateError};
use serde_json::{Map, Value};

use crate::Error;
use crate::cli::input::{STDIN_PATH, read_file, read_json, read_stdin};

/// A conversation, with what only its rendering needs.
#[derive(Default)]
pub(super) struct ChatInput {
    pub(super) request: ChatRequest,
    special_tokens: Vec<(String, String)>,
    strftime_now: Option<String>,
}

impl ChatInput {
    /// Reads a JSON object: the request's fields, `special_tokens`, `strftime_now`. Where the file does not say whether
    /// the text is to end with the beginning of an answer, `add_generation_prompt` does.
    ///
    /// **Errors**: a file that cannot be read, is no JSON object, or has a field of another type.
    pub(super) fn read(path: &Path, add_generation_prompt: bool) -> Result<Self, Error> {
        let mut fields: Map<String, Value> = read_json(path)?;
        let special_tokens = match fields.shift_remove("special_tokens") {
            None | Some(Value::Null) => Vec::new(),
            Some(tokens) => special_tokens(tokens)?,
        };
        let strftime_now = match fields.shift_remove("strftime_now") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => return Err(mismatch("strftime_now", "a text")),
        };
        let name = "add_generation_prompt";
        fields.entry(name).or_insert(add_generation_prompt.into());
        Ok(Self { request: ChatRequest::from_json(fields)?, special_tokens, strftime_now })
    }

    /// The text of the conversation.
    ///
    /// **Errors**: as [`ChatTemplate::render`].
    pub(super) fn render(self, template: ChatTemplate) -> Result<String, Error> {
        let mut template = template.with_special_tokens(self.special_tokens);
        if let Some(text) = self.strftime_now {
            template = template.with_fixed_time(text);
        }
        Ok(template.render(&self.request)?)
    }
}

impl From<ChatRequest> for ChatInput {
    fn from(request: ChatRequest) -> Self {
        Self { request, ..Self::default() }
    }
}

/// The template in a file, with the special tokens of the model, if there is one.
///
/// **Errors**: a file that cannot be read; a template that is malformed.
pub(super) fn template_from_file(
    path: &Path,
    metadata: Option<&Metadata>,
) -> Result<ChatTemplate, Error> {
    let source = if path.as_os_str() == STDIN_PATH { read_stdin()? } else { read_file(path)? };
    let template = ChatTemplate::new(&source)?;
    Ok(match metadata {
        Some(metadata) => template.with_special_tokens_of(metadata)?,
        None => template,
    })
}

/// The template in a file, else that in a model's metadata, with its source; `None` where there is neither.
///
/// **Errors**: a file that cannot be read; a template that is malformed.
pub(super) fn template_source(
    path: Option<&Path>,
    metadata: &Metadata,
) -> Result<Option<(ChatTemplate, String)>, Error> {
    if let Some(path) = path {
        let source = read_file(path)?;
        let template = ChatTemplate::new(&source)?.with_special_tokens_of(metadata)?;
        return Ok(Some((template, source)));
    }
    let template = ChatTemplate::from_metadata(metadata)?;
    let keys = ["tokenizer.chat_template", "tokenizer.chat_template.tool_use"];
    let sources = keys.map(|key| metadata.optional::<&str>(key).ok().flatten().unwrap_or_default());
    Ok(template.map(|template| (template, sources.concat())))
}

/// The template in a model's metadata.
///
/// **Errors**: [`Error::NoChatTemplate`]; a template that is malformed.
pub(super) fn template_from_model(metadata: &Metadata) -> Result<ChatTemplate, Error> {
    ChatTemplate::from_metadata(metadata)?.ok_or(Error::NoChatTemplate)
}

/// The texts of the tokens that are not null.
fn special_tokens(tokens: Value) -> Result<Vec<(String, String)>, Error> {
    let Value::Object(tokens) = tokens else {
        return Err(mismatch("special_tokens", "an object of texts"));
    };
    let mut texts = Vec::new();
    for (name, text) in tokens {
        match text {
            Value::Null => {}
            Value::String(text) => texts.push((name, text)),
            _ => return Err(mismatch(&format!("special_tokens.{name}"), "a text")),
        }
    }
    Ok(texts)
}

fn mismatch(field: &str, expected: &'static str) -> Error {
    ChatTemplateError::Request { field: field.to_owned(), expected, found: "something else" }.into()
}
