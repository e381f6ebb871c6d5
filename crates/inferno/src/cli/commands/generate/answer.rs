//! Constrained answers: compiling what an answer may contain, and printing tool calls.

use std::sync::Arc;

use inferno_chat::{
    AnswerDelta, AnswerOptions, AnswerParser, AnswerSetup, AnswerSetupError, ChatTemplate,
    GrammarCompiler, OutputFormat, REASONING_CLOSE, REASONING_OPEN,
};
use inferno_engine::{Session, TokenConstraint};
use serde_json::{Value, json};

use crate::Error;
use crate::constraint::with_grammars;

/// How the output is constrained and printed.
#[derive(Default)]
pub(super) struct Answer {
    /// Restricts the tokens; `None` if any text is an answer.
    pub(super) constraint: Option<Box<dyn TokenConstraint>>,
    /// Present if the answer may call tools.
    pub(super) printer: Option<AnswerPrinter>,
    /// Whether control tokens must not be skipped in the text.
    pub(super) needs_control_tokens: bool,
}

impl Answer {
    /// Compiles the format of plain text.
    ///
    /// **Errors**: [`Error::AnswerSetup`].
    pub(super) fn plain(format: &OutputFormat, session: &Session) -> Result<Self, Error> {
        let constraint = with_grammars(&grammars_of(session), |grammars| {
            let compiled = format.compile(grammars).map_err(AnswerSetupError::Format)?;
            Ok(compiled.constraint)
        })?;
        Ok(Self { constraint, ..Self::default() })
    }

    /// Compiles the format and the tool calls of a chat answer to `prompt`.
    ///
    /// **Errors**: [`Error::AnswerSetup`].
    pub(super) fn chat(
        template: &ChatTemplate,
        prompt: &str,
        options: &AnswerOptions,
        session: &Session,
    ) -> Result<Self, Error> {
        let setup = with_grammars(&grammars_of(session), |grammars| {
            AnswerSetup::new(template, prompt, session.tokenizer(), grammars, options)
        })?;
        let has_tools = options.tools.are_available();
        Ok(Self {
            printer: has_tools.then(|| AnswerPrinter::new(setup.parser())),
            needs_control_tokens: setup.needs_control_tokens(),
            constraint: setup.constraint,
        })
    }
}

/// The compiler of grammars for a session's vocabulary.
fn grammars_of(session: &Session) -> GrammarCompiler {
    GrammarCompiler::new(Arc::clone(session.tokenizer()), session.vocab_size())
}

/// Prints an answer that may call tools: reasoning and content as text, each call as one line of JSON.
pub(super) struct AnswerPrinter {
    parser: AnswerParser,
    /// Name and arguments of the call that is being received.
    call: Option<(String, String)>,
    in_reasoning: bool,
    ends_line: bool,
}

impl AnswerPrinter {
    fn new(parser: AnswerParser) -> Self {
        Self { parser, call: None, in_reasoning: false, ends_line: true }
    }

    /// Returns what to print for more text of the model.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut deltas = Vec::new();
        self.parser.push(text, &mut deltas);
        self.print(deltas)
    }

    /// Returns what to print at the end.
    pub(super) fn finish(&mut self) -> String {
        let mut deltas = Vec::new();
        self.parser.finish(&mut deltas);
        let mut output = self.print(deltas);
        self.finish_call(&mut output);
        output
    }

    fn print(&mut self, deltas: Vec<AnswerDelta>) -> String {
        let mut output = String::new();
        for delta in deltas {
            match delta {
                AnswerDelta::Reasoning(text) => {
                    if !std::mem::replace(&mut self.in_reasoning, true) {
                        self.write(&format!("{REASONING_OPEN}\n"), &mut output);
                    }
                    self.write(&text, &mut output);
                }
                AnswerDelta::Content(text) => {
                    self.finish_reasoning(&mut output);
                    self.write(&text, &mut output);
                }
                AnswerDelta::ToolCall { name, .. } => {
                    self.finish_reasoning(&mut output);
                    self.finish_call(&mut output);
                    self.call = Some((name, String::new()));
                }
                AnswerDelta::Arguments { text, .. } => {
                    if let Some((_, arguments)) = &mut self.call {
                        arguments.push_str(&text);
                    }
                }
            }
        }
        output
    }

    fn finish_reasoning(&mut self, output: &mut String) {
        if std::mem::replace(&mut self.in_reasoning, false) {
            self.write(&format!("\n{REASONING_CLOSE}\n\n"), output);
        }
    }

    fn finish_call(&mut self, output: &mut String) {
        if let Some((name, arguments)) = self.call.take() {
            let line_end = if self.ends_line { "" } else { "\n" };
            // Arguments that generation cut off are not JSON.
            let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
            let call = json!({"name": name, "arguments": arguments});
            self.write(&format!("{line_end}{call}\n"), output);
        }
    }

    fn write(&mut self, text: &str, output: &mut String) {
        output.push_str(text);
        self.ends_line = text.ends_with('\n');
    }
}

#[cfg(test)]
mod tests {
    use inferno_chat::{AnswerForm, Tool, ToolChoice, Tools};

    use super::*;

    /// What is printed for an answer, split at every position.
    fn check(text: &str, expected: &str) {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            description: None,
            parameters: json!({}),
            strict: false,
        };
        let list = vec![tool("roll"), tool("walk")];
        let tools = Tools { list, choice: ToolChoice::Auto, single: false };
        for (at, _) in text.char_indices() {
            let parser = AnswerParser::new(&AnswerForm::default(), Some(&tools), false);
            let mut printer = AnswerPrinter::new(parser);
            let mut printed = printer.push(&text[..at]);
            printed += &printer.push(&text[at..]);
            printed += &printer.finish();
            assert_eq!(printed, expected, "split at {at}");
        }
    }

    #[test]
    fn each_call_is_printed_on_a_line_of_its_own() {
        let call = |name: &str| {
            let call =
                format!("{{\"name\": \"{name}\", \"arguments\": {{\"b\": [1, 2], \"a\": 0}}}}");
            format!("<tool_call>\n{call}\n</tool_call>")
        };
        let text =
            format!("<think>\nHm.\n</think>\n\nRolling.\n{}\n{}", call("roll"), call("walk"));
        let printed =
            |name: &str| format!("{{\"name\":\"{name}\",\"arguments\":{{\"b\":[1,2],\"a\":0}}}}\n");
        let expected =
            format!("<think>\nHm.\n</think>\n\nRolling.\n{}{}", printed("roll"), printed("walk"));
        check(&text, &expected);
        check("No call.", "No call.");
    }

    #[test]
    fn arguments_that_are_cut_off_are_printed_as_a_string() {
        check(
            "<tool_call>{\"name\": \"roll\", \"arguments\": {\"a\": 1",
            "{\"name\":\"roll\",\"arguments\":\"{\\\"a\\\": 1\"}\n",
        );
    }
}
