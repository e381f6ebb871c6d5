//! Conversations from files, and the templates that turn them into text.

use std::path::Path;

use inferno_gguf::Metadata;
use inferno_tokenizer::{ChatRequest, ChatTemplate, ChatTemplateError};
use serde_json::{Map, Value};

use crate::Error;
use crate::cli::input::{STDIN_PATH, read_file, read_json, read_stdin};

/// A conversation, with what only its rendering needs.
#[derive(Default)]
pub(crate) struct ChatInput {
    pub(crate) request: ChatRequest,
    special_tokens: Vec<(String, String)>,
    strftime_now: Option<String>,
}

impl ChatInput {
    /// Reads a JSON object: the request's fields, `special_tokens`, `strftime_now`. Where the file does not say whether
    /// the text is to end with the beginning of an answer, `add_generation_prompt` does.
    ///
    /// **Errors**: a file that cannot be read, is no JSON object, or has a field of another type.
    pub(crate) fn read(path: &Path, add_generation_prompt: bool) -> Result<Self, Error> {
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
    pub(crate) fn render(self, template: ChatTemplate) -> Result<String, Error> {
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

/// The template in a file, else that of a model's file, with the special tokens of the model; `None` where neither has one.
///
/// **Errors**: a file that cannot be read; a template that is malformed.
pub(crate) fn template_of(
    path: Option<&Path>,
    metadata: &Metadata,
) -> Result<Option<ChatTemplate>, Error> {
    Ok(match path {
        Some(path) => Some(template_from_file(path)?.with_special_tokens_of(metadata)?),
        None => ChatTemplate::from_metadata(metadata)?,
    })
}

/// The template in a file, which knows no model's special tokens.
///
/// **Errors**: a file that cannot be read; a template that is malformed.
pub(crate) fn template_from_file(path: &Path) -> Result<ChatTemplate, Error> {
    let source = if path.as_os_str() == STDIN_PATH { read_stdin()? } else { read_file(path)? };
    Ok(ChatTemplate::new(&source)?)
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
