//! The form that an answer must have.

use inferno_engine::TokenConstraint;
use serde_json::Value;

use super::Tool;
use super::grammar::{lark_of_arguments, lark_of_text};
use crate::generation::GrammarCompiler;

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

    /// What holds a text to this form, with nothing before it; `None` where any text has it.
    ///
    /// **Errors**: what is wrong with the schema, the expression or the grammar.
    pub fn compile(
        &self,
        grammars: &GrammarCompiler,
    ) -> Result<Option<Box<dyn TokenConstraint>>, String> {
        let compiled = lark_of_text(self).map(|lark| grammars.compile(lark)).transpose();
        compiled.map_err(|message| match self {
            Self::Lark(_) => message,
            _ => without_our_lines(&message).to_owned(),
        })
    }
}

/// Whether the schema of a tool's arguments compiles by itself.
///
/// **Errors**: what is wrong with it.
pub(super) fn check_arguments(tool: &Tool, grammars: &GrammarCompiler) -> Result<(), String> {
    match grammars.compile(lark_of_arguments(tool)) {
        Ok(_) => Ok(()),
        Err(message) => Err(without_our_lines(&message).to_owned()),
    }
}

/// What is wrong with something that the caller did not write as a grammar, without the lines of the one that it stands in.
fn without_our_lines(message: &str) -> &str {
    let message = message.split("\n   1 | ").next().unwrap_or(message);
    match message.split_once("failed to compile JSON schema: ") {
        Some((_, what)) => what,
        None => match message.split_once("): ") {
            Some((place, what)) if place.starts_with("at ") => what,
            _ => message,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::without_our_lines;

    #[test]
    fn what_we_wrote_around_it_is_left_out() {
        let schema = "at 2(12): failed to compile JSON schema: Invalid type: x\n   1 | start: y\n";
        assert_eq!(without_our_lines(schema), "Invalid type: x");
        let regex = "at 2(12): invalid regex \"((\": unclosed group\n   1 | start: y\n";
        assert_eq!(without_our_lines(regex), "invalid regex \"((\": unclosed group");
        assert_eq!(without_our_lines("too many items"), "too many items");
    }
}
