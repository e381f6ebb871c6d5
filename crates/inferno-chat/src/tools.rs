//! Tools that a model may call.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::ChatRequest;

/// A function that the model may call.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// What the function does, for the model.
    pub description: Option<String>,
    /// The JSON schema of the arguments.
    pub parameters: Value,
    /// Whether unsupported keywords in the schema are an error; otherwise they are ignored.
    pub strict: bool,
}

impl Tool {
    /// A function as APIs describe it: without a schema it has no arguments, and it is strict if that is requested.
    pub fn function(
        name: String,
        description: Option<String>,
        schema: Option<Map<String, Value>>,
        strict: Option<bool>,
    ) -> Self {
        let parameters = Self::arguments_schema(schema);
        Self { name, description, parameters, strict: strict == Some(true) }
    }

    /// Returns the schema of a function's arguments; without one, it has none.
    pub fn arguments_schema(schema: Option<Map<String, Value>>) -> Value {
        let none = || json!({"type": "object", "properties": {}, "additionalProperties": false});
        schema.map_or_else(none, Value::Object)
    }

    /// Returns the tool in OpenAI's format, which templates read.
    pub fn for_template(&self) -> Value {
        let mut function = json!({"name": self.name});
        if let Some(description) = &self.description {
            function["description"] = json!(description);
        }
        function["parameters"] = self.parameters.clone();
        json!({"type": "function", "function": function})
    }
}

/// Returns the request with empty descriptions for tools that have none; `None` if all have one.
pub(crate) fn with_descriptions(request: &ChatRequest) -> Option<ChatRequest> {
    let mut described = request.clone();
    for tool in described.tools.iter_mut().flatten() {
        let function = if tool["function"].is_object() { &mut tool["function"] } else { tool };
        if function["description"].is_null()
            && let Some(fields) = function.as_object_mut()
        {
            fields.insert("description".to_owned(), json!(""));
        }
    }
    (described.tools != request.tools).then_some(described)
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// No call.
    None,
    /// Any number of calls.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
}

impl ToolChoice {
    /// The choice with this name in APIs: `auto`, `none` or `required`.
    pub fn from_mode(mode: &str) -> Option<Self> {
        match mode {
            "auto" => Some(Self::Auto),
            "none" => Some(Self::None),
            "required" => Some(Self::Required),
            _ => None,
        }
    }
}

/// Why the tools of a request are invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolsError {
    /// A tool without a name.
    #[error("tools[{index}]: a tool must have a name")]
    Unnamed {
        /// Index of the tool.
        index: usize,
    },
    /// Two tools with the same name.
    #[error("duplicate tool name {name:?}")]
    Duplicate {
        /// Index of the second one.
        index: usize,
        /// The name.
        name: String,
    },
    /// A choice of a tool that does not exist.
    #[error("tool_choice names {name:?}, which is not one of the tools")]
    UnknownChoice {
        /// The name.
        name: String,
    },
    /// A required call without tools.
    #[error("tool_choice is \"required\", but tools is empty")]
    NothingToCall,
}

impl ToolsError {
    /// Returns the request field that is invalid.
    pub fn field(&self) -> String {
        match self {
            Self::Unnamed { index } | Self::Duplicate { index, .. } => format!("tools[{index}]"),
            Self::UnknownChoice { .. } | Self::NothingToCall => "tool_choice".to_owned(),
        }
    }
}

/// The tools of a request.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// All tools, in template order.
    pub list: Vec<Tool>,
    /// Whether the model may or must call them.
    pub choice: ToolChoice,
    /// Whether at most one call is allowed.
    pub single: bool,
}

impl Tools {
    /// Checks names and the choice.
    ///
    /// **Errors**: [`ToolsError`].
    pub fn checked(self) -> Result<Self, ToolsError> {
        let mut names = HashSet::new();
        for (index, tool) in self.list.iter().enumerate() {
            if tool.name.is_empty() {
                return Err(ToolsError::Unnamed { index });
            }
            if !names.insert(tool.name.as_str()) {
                return Err(ToolsError::Duplicate { index, name: tool.name.clone() });
            }
        }
        match &self.choice {
            ToolChoice::Named(name) if !names.contains(name.as_str()) => {
                Err(ToolsError::UnknownChoice { name: name.clone() })
            }
            ToolChoice::Required if self.list.is_empty() => Err(ToolsError::NothingToCall),
            _ => Ok(self),
        }
    }

    /// Whether the model may call a tool.
    pub fn are_available(&self) -> bool {
        !self.list.is_empty() && self.choice != ToolChoice::None
    }

    /// The tools that may be called.
    pub fn callable(&self) -> impl Iterator<Item = &Tool> {
        self.list.iter().filter(|tool| match &self.choice {
            ToolChoice::Named(name) => tool.name == *name,
            _ => true,
        })
    }
}
