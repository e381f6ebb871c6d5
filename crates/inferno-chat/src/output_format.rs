//! The format that an answer must have.

use inferno_tokenizer::TokenConstraint;
use serde_json::Value;

use crate::answer_grammar::{lark_of_arguments, lark_of_text};
use crate::enforcement::compile_enforceable;
use crate::{AnswerOptions, GrammarCompiler, GrammarError, Tool};

/// The format that an answer must have.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum OutputFormat {
    /// Any text.
    #[default]
    Text,
    /// A JSON value that matches a schema, as far as a grammar can enforce it.
    JsonSchema(Value),
    /// A JSON value that matches a schema. Keywords that cannot be enforced are an error.
    StrictJsonSchema(Value),
    /// Text that fully matches a regular expression.
    Regex(String),
    /// One of these strings.
    Choice(Vec<String>),
    /// Text that matches a grammar in llguidance's dialect of Lark or in GBNF, llama.cpp's grammar language: a grammar
    /// that defines rules with `::=` is GBNF.
    Lark(String),
}

/// The compiled format of an output.
pub struct CompiledFormat {
    /// Restricts the tokens of an output; `None` if it is unconstrained.
    pub constraint: Option<Box<dyn TokenConstraint>>,
    /// The parts of a schema that are not enforced, such as `response schema: "not" at /properties/a`.
    pub unenforced: Vec<String>,
}

impl OutputFormat {
    /// Any JSON object.
    pub fn json_object() -> Self {
        Self::JsonSchema(serde_json::json!({"type": "object"}))
    }

    /// Compiles the format of a complete output.
    ///
    /// **Errors**: an invalid or too complex schema, expression or grammar.
    pub fn compile(&self, grammars: &GrammarCompiler) -> Result<CompiledFormat, GrammarError> {
        let options = AnswerOptions { format: self.clone(), ..AnswerOptions::default() };
        let compiled = compile_enforceable(&options, grammars, |options| {
            lark_of_text(&options.format).map(|lark| grammars.compile(lark)).transpose()
        });
        let compiled = compiled.map(|format| CompiledFormat {
            constraint: format.compiled,
            unenforced: format.unenforced,
        });
        compiled.map_err(|failed| match self {
            Self::Lark(_) => failed.error,
            _ => without_generated_lines(&failed.error),
        })
    }
}

/// Checks that the schema of a tool's arguments compiles by itself.
///
/// **Errors**: an invalid or too complex schema.
pub(crate) fn check_arguments(tool: &Tool, grammars: &GrammarCompiler) -> Result<(), GrammarError> {
    match grammars.compile(lark_of_arguments(tool)) {
        Ok(_) => Ok(()),
        Err(error) => Err(without_generated_lines(&error)),
    }
}

/// The error without the lines of the generated grammar, which the caller has not written.
fn without_generated_lines(error: &GrammarError) -> GrammarError {
    GrammarError(cause(&error.0).to_owned())
}

fn cause(message: &str) -> &str {
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
    use super::cause;

    #[test]
    fn generated_lines_are_removed() {
        let schema = "at 2(12): failed to compile JSON schema: Invalid type: x\n   1 | start: y\n";
        assert_eq!(cause(schema), "Invalid type: x");
        let regex = "at 2(12): invalid regex \"((\": unclosed group\n   1 | start: y\n";
        assert_eq!(cause(regex), "invalid regex \"((\": unclosed group");
        assert_eq!(cause("too many items"), "too many items");
    }
}
