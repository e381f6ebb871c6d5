//! The grammar of an answer: its format, its tool calls, and the reasoning before them.

use serde_json::{Value, json};

use crate::reasoning::{REASONING_CLOSE, REASONING_OPEN, Reasoning};
use crate::{OutputFormat, Tool, ToolCallFormat, ToolChoice, Tools};

/// The grammar of an answer in llguidance's dialect of Lark; `None` if any text is an answer.
///
/// `token_id` returns the id of a control token.
pub(crate) fn lark(
    format: &OutputFormat,
    tools: Option<(&Tools, ToolCallFormat)>,
    reasoning: Reasoning,
    token_id: impl Fn(&str) -> Option<u32>,
) -> Option<String> {
    if let (OutputFormat::Lark(own), Reasoning::None, None) = (format, reasoning, tools) {
        // By itself, so that errors name its own lines.
        return Some(own.clone());
    }
    let mut rules = Rules::default();
    let formatted = rules.format(format);
    let answer = match tools {
        None => formatted?,
        Some((tools, form)) => {
            let calls = rules.calls(tools, form, &token_id);
            match (formatted, &tools.choice) {
                (Some(formatted), ToolChoice::Auto) => format!("{calls} | {formatted}"),
                (None, ToolChoice::Auto) => {
                    let start = rules.free_text_with(tools, form, &calls, reasoning);
                    return Some(rules.finish(&start));
                }
                _ => calls,
            }
        }
    };
    let start = match reasoning {
        Reasoning::None => answer,
        Reasoning::Optional => {
            let open = literal(REASONING_OPEN);
            format!("({open} reasoning (\"\\n\\n\" | \"\\n\")?)? ({answer})")
        }
        Reasoning::Open => format!("reasoning (\"\\n\\n\" | \"\\n\")? ({answer})"),
    };
    if reasoning != Reasoning::None {
        rules.reasoning();
    }
    Some(rules.finish(&start))
}

/// The grammar of a complete output in this format; `None` if the output is unconstrained.
pub(crate) fn lark_of_text(format: &OutputFormat) -> Option<String> {
    lark(format, None, Reasoning::None, |_| None)
}

/// The grammar of a tool's arguments.
pub(crate) fn lark_of_arguments(tool: &Tool) -> String {
    format!("start: {}", json(&tool.parameters, tool.strict))
}

/// The rules of a grammar, added as they are needed.
#[derive(Default)]
struct Rules {
    text: String,
    needs_text: bool,
}

impl Rules {
    fn add(&mut self, rule: &str) {
        self.text.push_str(rule);
        self.text.push('\n');
    }

    fn finish(mut self, start: &str) -> String {
        if self.needs_text {
            self.add("TEXT: /(.|\\n)*/");
        }
        format!("start: {start}\n{}", self.text)
    }

    /// The rule of an answer in this format, if it needs one.
    fn format(&mut self, format: &OutputFormat) -> Option<String> {
        let body = match format {
            OutputFormat::Text => return None,
            OutputFormat::JsonSchema(schema) => json(schema, false),
            OutputFormat::StrictJsonSchema(schema) => json(schema, true),
            OutputFormat::Regex(regex) => regex_literal(regex),
            OutputFormat::Choice(texts) => {
                // One terminal: as many rules would exceed the limits of the parser.
                let texts: Vec<_> = texts.iter().map(|text| literal(text)).collect();
                self.add(&format!("CHOICE: {}", texts.join(" | ")));
                "CHOICE".to_owned()
            }
            OutputFormat::Lark(grammar) => format!("%lark {{\n{grammar}\n}}"),
        };
        self.add(&format!("formatted: {body}"));
        Some("formatted".to_owned())
    }

    /// The rule of one or more calls with their delimiters.
    fn calls(
        &mut self,
        tools: &Tools,
        form: ToolCallFormat,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> String {
        let mark = |text: &str| match token_id(text) {
            Some(id) => format!("<[{id}]>"),
            None => literal(text),
        };
        let mut names = Vec::new();
        for (index, tool) in tools.callable().enumerate() {
            let call = match form {
                ToolCallFormat::MistralArgs => {
                    let args = mark(ToolCallFormat::MISTRAL_ARGUMENTS);
                    format!("{} {args} arguments_{index}", literal(&tool.name))
                }
                _ => {
                    let name = Value::from(tool.name.as_str());
                    let key = form.arguments_key();
                    let head = literal(&format!("{{\"name\": {name}, \"{key}\": "));
                    format!("{head} arguments_{index} \"}}\"")
                }
            };
            self.add(&format!("call_{index}: {call}"));
            self.add(&format!("arguments_{index}: {}", json(&tool.parameters, tool.strict)));
            names.push(format!("call_{index}"));
        }
        self.add(&format!("call: {}", names.join(" | ")));
        let more =
            |separated: &str| if tools.single { String::new() } else { separated.to_owned() };
        let calls = match form {
            ToolCallFormat::Hermes => {
                let (open, close) = (literal("<tool_call>\n"), literal("\n</tool_call>"));
                self.add(&format!("call_body: call {close}"));
                format!("{open} call_body{}", more(&format!(" (\"\\n\" {open} call_body)*")))
            }
            ToolCallFormat::Llama => {
                let before =
                    token_id(ToolCallFormat::LLAMA_OPENING).map(|id| format!("<[{id}]>? "));
                format!("{}call{}", before.unwrap_or_default(), more(" (\"; \" call)*"))
            }
            ToolCallFormat::Mistral => {
                let mark = mark(ToolCallFormat::MISTRAL_OPENING);
                format!("{mark} \" \"? \"[\" call{} \"]\"", more(" (\", \" call)*"))
            }
            ToolCallFormat::MistralArgs => {
                let mark = mark(ToolCallFormat::MISTRAL_OPENING);
                format!("{mark} call{}", more(&format!(" ({mark} call)*")))
            }
        };
        self.add(&format!("calls: {calls}"));
        "calls".to_owned()
    }

    /// The rule of reasoning after its opening delimiter.
    fn reasoning(&mut self) {
        self.needs_text = true;
        self.add(&format!("reasoning[lazy]: TEXT {}", literal(REASONING_CLOSE)));
    }

    /// The rule of any text in which calls, once begun, match their schema; reasoning is not restricted.
    ///
    /// Reasoning and calls begin here exactly where [`AnswerParser`](crate::AnswerParser) recognizes them, which includes
    /// whitespace before them and reasoning that the template does not mention. So every parsed call matches its schema.
    fn free_text_with(
        &mut self,
        tools: &Tools,
        form: ToolCallFormat,
        calls: &str,
        reasoning: Reasoning,
    ) -> String {
        let (barred, answer) = match form {
            ToolCallFormat::Hermes => {
                let repeat = if tools.single { "?" } else { "*" };
                self.add(&format!(
                    "begin[lazy]: ANSWER {}",
                    literal(ToolCallFormat::HERMES_OPENING)
                ));
                ("", format!("(begin \"\\n\" call_body){repeat} ANSWER"))
            }
            // The delimiter is a token of its own, but may also be spelled out.
            ToolCallFormat::Mistral | ToolCallFormat::MistralArgs => {
                (r"|(.|\n)*\[TOOL_CALLS\]", format!("ANSWER {calls}?"))
            }
            ToolCallFormat::Llama => {
                self.add(r"BLANKS: /\s+/");
                (r"|\s*(<\|python_tag\|>|\{)", format!("BLANKS? {calls} | ANSWER"))
            }
        };
        self.add(&format!(r"ANSWER: TEXT & ~/(\s*{REASONING_OPEN}{barred})(.|\n)*/"));
        self.add(&format!("answer: {answer}"));
        self.reasoning();
        // Reasoning that is not closed extends to the end.
        match reasoning {
            Reasoning::Open => "reasoning answer | TEXT".to_owned(),
            Reasoning::None | Reasoning::Optional => {
                self.add(&format!(r"THINK: /\s*{REASONING_OPEN}/"));
                "THINK (reasoning answer | TEXT) | answer".to_owned()
            }
        }
    }
}

/// A string literal in a grammar. Lark's escapes are JSON's.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whitespace in JSON: a space, or a line end and indentation. It is bounded, since a model could otherwise write whitespace
/// forever.
const WHITESPACE: &str = r"[ ]|\r?\n[ \t]{0,64}";

/// JSON that matches a schema; unsupported keywords are ignored unless `strict`.
fn json(schema: &Value, strict: bool) -> String {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        let options = json!({"whitespace_pattern": WHITESPACE, "lenient": !strict});
        fields.entry("x-guidance").or_insert(options);
    }
    format!("%json {schema}")
}

fn regex_literal(regex: &str) -> String {
    let mut text = String::from("/");
    let mut is_escaped = false;
    for character in regex.chars() {
        match character {
            '/' if !is_escaped => text.push_str("\\/"),
            '\n' => text.push_str("\\n"),
            character => text.push(character),
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    text.push('/');
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use llguidance::api::TopLevelGrammar;
    use llguidance::{Matcher, ParserFactory};
    use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

    use super::*;
    use crate::Tool;

    fn tools(single: bool) -> Tools {
        let parameters = json!({
            "type": "object", "properties": {"sides": {"enum": [6, 20]}}, "required": ["sides"],
            "additionalProperties": false,
        });
        let roll = Tool { name: "roll".to_owned(), description: None, parameters, strict: false };
        Tools { list: vec![roll], choice: ToolChoice::Auto, single }
    }

    /// Represents a control token in a text.
    const MARK: char = '\u{1}';
    const MARK_ID: u32 = 256;
    const END_ID: u32 = 257;

    /// Whether the whole text matches the grammar; each byte is a token, except for the control token.
    fn admits(lark: &str, text: &str) -> bool {
        let bytes = (0..=255).map(|byte| vec![byte]);
        let control = ["mark", "end"].map(|name| [&[0xff], name.as_bytes()].concat());
        let words: Vec<_> = bytes.chain(control).collect();
        let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, END_ID), &words);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment).unwrap();
        factory.quiet();
        let grammar = TopLevelGrammar::from_lark(lark.to_owned());
        let mut matcher = Matcher::new(factory.create_parser(grammar));
        let id = |byte| if byte == MARK as u8 { MARK_ID } else { u32::from(byte) };
        let tokens: Vec<_> = text.bytes().map(id).collect();
        let num_consumed = matcher.try_consume_tokens(&tokens).expect("the grammar compiles");
        num_consumed == tokens.len() && matcher.is_accepting().unwrap()
    }

    /// Checks texts that match the grammar of free text with calls, and texts that do not.
    fn check_free_text(
        form: ToolCallFormat,
        single: bool,
        reasoning: Reasoning,
        fitting: &[String],
        others: &[String],
    ) {
        let tools = tools(single);
        let lark = lark(&OutputFormat::Text, Some((&tools, form)), reasoning, |_| Some(MARK_ID));
        let lark = lark.unwrap();
        for text in fitting {
            assert!(admits(&lark, text), "{text:?} fits\n{lark}");
        }
        for text in others {
            assert!(!admits(&lark, text), "{text:?} does not fit\n{lark}");
        }
    }

    #[test]
    fn llama_calls_match_their_schema_wherever_they_are_parsed() {
        let call =
            |sides: u32| format!(r#"{{"name": "roll", "parameters": {{"sides": {sides}}}}}"#);
        let (good, bad) = (call(6), call(7));
        let mut fitting = ["", "\n", "<think>x", "<think></think>"].map(str::to_owned).to_vec();
        let mut others = ["{", " {\"x\": 1}", "<|python_tag|>x"].map(str::to_owned).to_vec();
        for before in ["", " ", "\n\n", "\u{a0}", "<think>\nx\n</think>\n\n", "\n<think>x</think> "]
        {
            fitting.extend([format!("{before}{good}"), format!("{before}Hello {bad}")]);
            others.push(format!("{before}{bad}"));
        }
        fitting.push(format!("{good}; {good}"));
        others.push(format!("{good}; {bad}"));
        for reasoning in [Reasoning::None, Reasoning::Optional] {
            check_free_text(ToolCallFormat::Llama, false, reasoning, &fitting, &others);
        }
        let fitting = [format!("x</think>\n{good}"), "x</think>Hello".to_owned(), bad.clone()];
        let others = [format!("x</think>\n{bad}")];
        check_free_text(ToolCallFormat::Llama, false, Reasoning::Open, &fitting, &others);
    }

    #[test]
    fn hermes_calls_match_their_schema_after_reasoning_that_mentions_the_delimiter() {
        let call = |name: &str| {
            let call = format!(r#"{{"name": "{name}", "arguments": {{"sides": 20}}}}"#);
            format!("<tool_call>\n{call}\n</tool_call>")
        };
        let (good, bad) = (call("roll"), call("walk"));
        let reasoning = "<think>\nA <tool_call> is due.\n</think>\n\n";
        let fitting = [format!("So. {good}"), format!("{reasoning}{good}"), reasoning.to_owned()];
        let others = [format!("So. {bad}"), format!("{reasoning}{bad}")];
        for single in [false, true] {
            check_free_text(ToolCallFormat::Hermes, single, Reasoning::Optional, &fitting, &others);
        }
    }

    #[test]
    fn calls_begin_with_the_token_of_their_delimiter_and_not_with_its_letters() {
        let call = |name: &str| format!(r#"[{{"name": "{name}", "arguments": {{"sides": 6}}}}]"#);
        let (good, bad) = (call("roll"), call("walk"));
        let fitting = [
            "So.".to_owned(),
            format!("So. {MARK}{good}"),
            format!("<think>[TOOL_CALLS]{bad}</think>{MARK}{good}"),
        ];
        let others = [
            format!("So. {MARK}{bad}"),
            format!("So. [TOOL_CALLS]{bad}"),
            format!("<think></think>{MARK}{bad}"),
        ];
        check_free_text(ToolCallFormat::Mistral, false, Reasoning::Optional, &fitting, &others);

        let call =
            |sides| format!(r#"{MARK}{{"name": "roll", "parameters": {{"sides": {sides}}}}}"#);
        let fitting = [call(6), format!(" {}", call(6)), format!("<think></think>\n{}", call(6))];
        let others = [call(7), format!("{MARK}So.")];
        check_free_text(ToolCallFormat::Llama, false, Reasoning::None, &fitting, &others);
    }

    #[test]
    fn slashes_in_a_regular_expression_are_escaped_once() {
        assert_eq!(regex_literal("a/b"), "/a\\/b/");
        assert_eq!(regex_literal("a\\/b"), "/a\\/b/");
        assert_eq!(regex_literal("a\\\\/b"), "/a\\\\\\/b/");
    }
}
