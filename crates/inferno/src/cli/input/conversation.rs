//! Conversations from JSON files, and chat templates from files.

use std::path::Path;

use inferno_chat::{ChatRequest, ChatTemplate, ChatTemplateError, Tool, ToolChoice, Tools};
use inferno_gguf::Metadata;
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use serde_json::{Map, Value};

use crate::cli::input::{STDIN_PATH, read_conversation, read_file};
use crate::{Error, InputError};

/// The roles of messages.
const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];

/// Fields of chat requests that do not describe the conversation, with the options that have the same effect.
const SERVER_FIELDS: [(&str, &str); 14] = [
    ("max_tokens", "--max-tokens"),
    ("max_completion_tokens", "--max-tokens"),
    ("temperature", "--temperature"),
    ("top_p", "--top-p"),
    ("top_k", "--top-k"),
    ("min_p", "--min-p"),
    ("repetition_penalty", "--repetition-penalty"),
    ("frequency_penalty", "--frequency-penalty"),
    ("presence_penalty", "--presence-penalty"),
    ("logit_bias", "--logit-bias"),
    ("seed", "--seed"),
    ("stop", "--stop"),
    ("response_format", "--json-schema"),
    ("structured_outputs", "--json-schema, --regex or --grammar"),
];

/// A conversation, with the overrides for its rendering.
#[derive(Default)]
pub(crate) struct ChatInput {
    pub(crate) request: ChatRequest,
    special_tokens: Vec<(String, String)>,
    strftime_now: Option<String>,
}

/// A conversation rendered as a prompt.
pub(crate) struct RenderedConversation {
    pub(crate) text: String,
    pub(crate) template: ChatTemplate,
    request: ChatRequest,
}

impl RenderedConversation {
    /// Returns the tools that the answer may call.
    ///
    /// **Errors**: an invalid tool or choice of tools. Templates may render such tools regardless.
    pub(crate) fn tools(&self) -> Result<Tools, Error> {
        tools(&self.request)
    }

    /// Encodes the prompt, with control tokens in messages as text.
    ///
    /// **Errors**: see [`ChatTemplate::render_prompt`].
    pub(crate) fn encode(&self, tokenizer: &Tokenizer) -> Result<Vec<u32>, Error> {
        let render = |request: &ChatRequest| self.template.render_prompt(request);
        let prompt = self.template.render_with_plain_contents(&self.request, tokenizer, render)?;
        Ok(match prompt.text().is_empty() {
            true => tokenizer.encode_prompt("", EncodeOptions::default()),
            false => prompt.encode(tokenizer),
        })
    }
}

impl ChatInput {
    /// Reads a JSON object with the fields of the request, `special_tokens` and `strftime_now`, or a list of messages.
    /// Variables of the template are fields, or fields of `chat_template_kwargs`, as in requests to servers.
    /// The field `add_generation_prompt` is true by default; after a message of the assistant, it is `after_reply`.
    ///
    /// **Errors**: an unreadable file; a file that is not a JSON object; a field of the wrong type.
    pub(crate) fn read(path: &Path, after_reply: bool) -> Result<Self, Error> {
        let mut fields: Map<String, Value> = read_conversation(path)?;
        let special_tokens = match fields.shift_remove("special_tokens") {
            None | Some(Value::Null) => Vec::new(),
            Some(tokens) => special_tokens(tokens)?,
        };
        let strftime_now = match fields.shift_remove("strftime_now") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => return Err(mismatch("strftime_now", "a string")),
        };
        match fields.shift_remove("chat_template_kwargs") {
            None | Some(Value::Null) => {}
            Some(Value::Object(variables)) => {
                for (name, value) in variables {
                    fields.entry(name).or_insert(value);
                }
            }
            Some(_) => return Err(mismatch("chat_template_kwargs", "an object")),
        }
        let messages = fields.get("messages").and_then(Value::as_array);
        let last = messages.and_then(|messages| messages.last());
        let is_reply = last.is_some_and(|message| message["role"] == "assistant");
        fields.entry("add_generation_prompt").or_insert((!is_reply || after_reply).into());
        Ok(Self { request: ChatRequest::from_json(fields)?, special_tokens, strftime_now })
    }

    /// Checks that the messages are ones that models are trained with, so that the template cannot ignore one.
    ///
    /// **Errors**: [`InputError::NoMessages`]; [`InputError::UnknownRole`].
    pub(crate) fn check_messages(&self) -> Result<(), Error> {
        if self.request.messages.is_empty() {
            return Err(Error::Input(InputError::NoMessages));
        }
        for (index, message) in self.request.messages.iter().enumerate() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            if !ROLES.contains(&role) {
                return Err(Error::Input(InputError::UnknownRole { index, role: role.to_owned() }));
            }
        }
        Ok(())
    }

    /// Returns the fields of the request that only servers read, each with the option that does the same.
    pub(crate) fn server_fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let is_set = |name: &str| self.request.variables.get(name).is_some_and(|it| !it.is_null());
        SERVER_FIELDS.into_iter().filter(move |(name, _)| is_set(name))
    }

    /// Renders the conversation exactly as the template does.
    ///
    /// **Errors**: see [`ChatTemplate::render`].
    pub(crate) fn render(self, template: ChatTemplate) -> Result<RenderedConversation, Error> {
        self.render_with(template, ChatTemplate::render)
    }

    /// Renders the conversation as a prompt, with tools that the template does not support.
    ///
    /// **Errors**: see [`ChatTemplate::render_prompt`].
    pub(crate) fn render_prompt(
        self,
        template: ChatTemplate,
    ) -> Result<RenderedConversation, Error> {
        self.render_with(template, ChatTemplate::render_prompt)
    }

    fn render_with(
        self,
        template: ChatTemplate,
        render: fn(&ChatTemplate, &ChatRequest) -> Result<String, ChatTemplateError>,
    ) -> Result<RenderedConversation, Error> {
        let mut template = template.with_special_tokens(self.special_tokens);
        if let Some(text) = self.strftime_now {
            template = template.with_fixed_time(text);
        }
        let text = render(&template, &self.request)?;
        Ok(RenderedConversation { text, template, request: self.request })
    }
}

impl From<ChatRequest> for ChatInput {
    fn from(request: ChatRequest) -> Self {
        Self { request, ..Self::default() }
    }
}

/// Returns the template in a file, or the one in the model file, with the special tokens of the model; `None` if there
/// is neither.
///
/// **Errors**: an unreadable file; a malformed template.
pub(crate) fn template_of(
    path: Option<&Path>,
    metadata: &Metadata,
) -> Result<Option<ChatTemplate>, Error> {
    Ok(match path {
        Some(path) => Some(template_from_file(path)?.with_special_tokens_of(metadata)?),
        None => ChatTemplate::from_metadata(metadata)?,
    })
}

/// The built-in chat template, for models without one. No file needs to exist for this name.
const CHATML: (&str, &str) = (
    "chatml",
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}\
     {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
);

/// Returns the template in a file, or a built-in one by its name, without the special tokens of a model.
///
/// **Errors**: [`Error::UnknownTemplate`]; an unreadable file; a malformed template.
pub(crate) fn template_from_file(path: &Path) -> Result<ChatTemplate, Error> {
    // Names in a configuration file have become paths in its folder.
    let is_name = path.extension().is_none() && path.as_os_str() != STDIN_PATH && !path.exists();
    let source = match is_name {
        true if path.file_name().is_some_and(|name| name == CHATML.0) => CHATML.1.to_owned(),
        true => return Err(Error::UnknownTemplate { name: path.display().to_string() }),
        false => read_file(path)?,
    };
    Ok(ChatTemplate::new(&source)?)
}

/// Returns the special tokens that are not null.
fn special_tokens(tokens: Value) -> Result<Vec<(String, String)>, Error> {
    let Value::Object(tokens) = tokens else {
        return Err(mismatch("special_tokens", "an object of strings"));
    };
    let mut texts = Vec::new();
    for (name, text) in tokens {
        match text {
            Value::Null => {}
            Value::String(text) => texts.push((name, text)),
            _ => return Err(mismatch(&format!("special_tokens.{name}"), "a string")),
        }
    }
    Ok(texts)
}

/// Returns the tools of a request, and which of them may be called.
fn tools(request: &ChatRequest) -> Result<Tools, Error> {
    let mut list = Vec::new();
    for (index, tool) in request.tools.iter().flatten().enumerate() {
        let function = tool.get("function").unwrap_or(tool);
        let field = |name: &str| format!("tools[{index}].function.{name}");
        let Some(name) = function.get("name").and_then(Value::as_str) else {
            return Err(mismatch(&field("name"), "a string"));
        };
        let description = function.get("description").and_then(Value::as_str).map(str::to_owned);
        let parameters = match function.get("parameters") {
            None | Some(Value::Null) => None,
            Some(Value::Object(schema)) => Some(schema.clone()),
            Some(_) => return Err(mismatch(&field("parameters"), "an object")),
        };
        let strict = function.get("strict").and_then(Value::as_bool);
        list.push(Tool::function(name.to_owned(), description, parameters, strict));
    }
    let choice = match request.variables.get("tool_choice") {
        None | Some(Value::Null) => Some(ToolChoice::Auto),
        Some(Value::String(mode)) => ToolChoice::from_mode(mode),
        Some(choice) => {
            let name = choice.pointer("/function/name").and_then(Value::as_str);
            name.map(|name| ToolChoice::Named(name.to_owned()))
        }
    };
    let expected = "\"auto\", \"none\", \"required\" or one of the tools";
    let choice = choice.ok_or_else(|| mismatch("tool_choice", expected))?;
    let single = request.variables.get("parallel_tool_calls") == Some(&Value::Bool(false));
    Ok(Tools { list, choice, single }.checked()?)
}

fn mismatch(field: &str, expected: &'static str) -> Error {
    ChatTemplateError::Request { field: field.to_owned(), expected, found: "something else" }.into()
}
