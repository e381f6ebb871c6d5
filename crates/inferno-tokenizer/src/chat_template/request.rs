//! What a chat template is given.

use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::ChatTemplateError;
use super::values::from_json;

/// A conversation, and what is asked about it.
///
/// Messages and tools are kept as the JSON that a client sent, in its order: templates read
/// whatever their model was trained on.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The messages, oldest first; each an object with a `role`.
    pub messages: Vec<Json>,
    /// The tools on offer; templates tell none from an empty list.
    pub tools: Option<Vec<Json>>,
    /// Whether the text ends with the beginning of an answer.
    pub add_generation_prompt: bool,
    /// Every further variable of the template, such as `enable_thinking`.
    pub variables: Map<String, Json>,
}

impl ChatRequest {
    /// A request for an answer to these messages.
    pub fn new(messages: impl IntoIterator<Item = Json>) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            add_generation_prompt: true,
            ..Self::default()
        }
    }

    /// Reads a request from the JSON object that has its fields and variables side by side:
    /// `messages`, `tools`, `add_generation_prompt` (false where it is missing), and any other.
    ///
    /// **Errors**: [`ChatTemplateError::Request`].
    pub fn from_json(fields: Map<String, Json>) -> Result<Self, ChatTemplateError> {
        let mut variables = fields;
        let messages = objects("messages", variables.shift_remove("messages"))?;
        let Some(messages) = messages else {
            return Err(mismatch("messages", "a list of objects", &Json::Null));
        };
        let tools = objects("tools", variables.shift_remove("tools"))?;
        let add_generation_prompt = match variables.shift_remove("add_generation_prompt") {
            None => false,
            Some(Json::Bool(flag)) => flag,
            Some(other) => return Err(mismatch("add_generation_prompt", "true or false", &other)),
        };
        Ok(Self { messages, tools, add_generation_prompt, variables })
    }

    /// Sets one variable of the template.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.variables.insert(name.into(), value.into());
    }

    /// The variables of the template; `tools` and `documents` are none where they are not given,
    /// as in transformers.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, Value)> {
        let list = |items: &[Json]| items.iter().map(from_json).collect::<Value>();
        let tools = self.tools.as_deref().map_or(Value::from(()), list);
        [
            ("messages", list(&self.messages)),
            ("tools", tools),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(self.add_generation_prompt)),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .chain(self.variables.iter().map(|(name, value)| (name.clone(), from_json(value))))
    }
}

/// A list of objects; `None` where it is null or missing.
fn objects(field: &str, value: Option<Json>) -> Result<Option<Vec<Json>>, ChatTemplateError> {
    let items = match value {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Array(items)) => items,
        Some(other) => return Err(mismatch(field, "a list of objects", &other)),
    };
    match items.iter().enumerate().find(|(_, item)| !item.is_object()) {
        Some((index, item)) => Err(mismatch(&format!("{field}[{index}]"), "an object", item)),
        None => Ok(Some(items)),
    }
}

fn mismatch(field: &str, expected: &'static str, found: &Json) -> ChatTemplateError {
    let found = match found {
        Json::Null => "nothing",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    ChatTemplateError::Request { field: field.to_owned(), expected, found }
}
