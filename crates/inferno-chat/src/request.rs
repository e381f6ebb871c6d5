//! The input of a chat template.

use serde_json::{Map, Value};

use crate::ChatTemplateError;

/// A conversation, the tools that the model may call, and further template variables.
///
/// Messages and tools are the JSON that a client sent, in its order: each template reads the fields that its
/// model was trained with.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The messages, oldest first; each an object with a `role`.
    pub messages: Vec<Value>,
    /// The available tools. Templates may distinguish an empty list from none.
    pub tools: Option<Vec<Value>>,
    /// Whether the prompt ends with the beginning of an assistant message.
    pub add_generation_prompt: bool,
    /// All other template variables, such as `enable_thinking`.
    pub variables: Map<String, Value>,
}

impl ChatRequest {
    /// A request for an answer to these messages.
    pub fn new(messages: impl IntoIterator<Item = Value>) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            add_generation_prompt: true,
            ..Self::default()
        }
    }

    /// Reads a request from a JSON object with the fields `messages`, `tools` and
    /// `add_generation_prompt` (default: false); all other fields are template variables.
    ///
    /// **Errors**: [`ChatTemplateError::Request`].
    pub fn from_json(fields: Map<String, Value>) -> Result<Self, ChatTemplateError> {
        let mut variables = fields;
        let messages = objects("messages", variables.shift_remove("messages"))?
            .ok_or_else(|| mismatch("messages", "a list of objects", &Value::Null))?;
        let tools = objects("tools", variables.shift_remove("tools"))?;
        let add_generation_prompt = match variables.shift_remove("add_generation_prompt") {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => return Err(mismatch("add_generation_prompt", "true or false", &other)),
        };
        Ok(Self { messages, tools, add_generation_prompt, variables })
    }

    /// Sets a template variable.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.variables.insert(name.into(), value.into());
    }
}

/// A list of objects; `None` if it is null or missing.
fn objects(field: &str, value: Option<Value>) -> Result<Option<Vec<Value>>, ChatTemplateError> {
    let items = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(mismatch(field, "a list of objects", &other)),
    };
    match items.iter().enumerate().find(|(_, item)| !item.is_object()) {
        Some((index, item)) => Err(mismatch(&format!("{field}[{index}]"), "an object", item)),
        None => Ok(Some(items)),
    }
}

fn mismatch(field: &str, expected: &'static str, found: &Value) -> ChatTemplateError {
    let found = match found {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ChatTemplateError::Request { field: field.to_owned(), expected, found }
}
