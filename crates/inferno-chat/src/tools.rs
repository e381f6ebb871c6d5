//! Tools that a model may call.

use serde_json::{Value, json};

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
