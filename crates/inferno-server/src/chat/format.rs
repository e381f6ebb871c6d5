//! The form that an answer must have.

use serde_json::Value;

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum OutputFormat {
    /// Any text.
    #[default]
    Text,
    /// A JSON value that fits a schema.
    JsonSchema(Value),
    /// A text that fits a regular expression as a whole.
    Regex(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// A text of this grammar, in llguidance's dialect of Lark.
    Lark(String),
}

impl OutputFormat {
    /// Any JSON object.
    pub fn json_object() -> Self {
        Self::JsonSchema(serde_json::json!({"type": "object"}))
    }
}
