//! The grammar of an answer: its form, its tool calls, and the reasoning before them.

use serde_json::{Value, json};

use super::{OutputFormat, THINK_CLOSE, THINK_OPEN, ToolChoice, ToolForm, Tools};

/// What may stand before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// Nothing.
    None,
    /// Thoughts between marks, if the model likes.
    MayCome,
    /// Thoughts, which the prompt has begun, and their second mark.
    HasBegun,
}

/// The grammar of an answer in llguidance's dialect of Lark; `None` where any text is an answer.
///
/// `token_id` finds a control token by its text.
pub(super) fn lark(
    format: &OutputFormat,
    tools: Option<(&Tools, ToolForm)>,
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
                // What is free text holds any reasoning already.
                (None, ToolChoice::Auto) => {
                    let start = rules.free_text_with(tools, form, &calls);
                    return Some(rules.finish(&start));
                }
                _ => calls,
            }
        }
    };
    let start = match reasoning {
        Reasoning::None => answer,
        Reasoning::MayCome => {
            let open = literal(THINK_OPEN);
            format!("({open} thoughts (\"\\n\\n\" | \"\\n\")?)? ({answer})")
        }
        Reasoning::HasBegun => format!("thoughts (\"\\n\\n\" | \"\\n\")? ({answer})"),
    };
    if reasoning != Reasoning::None {
        rules.add(&format!("thoughts[lazy]: TEXT {}", literal(THINK_CLOSE)));
        rules.needs_text = true;
    }
    Some(rules.finish(&start))
}

/// The grammar of a text in this form, with nothing before it; `None` where any text has it.
pub(super) fn lark_of_text(format: &OutputFormat) -> Option<String> {
    lark(format, None, Reasoning::None, |_| None)
}

/// The rules of a grammar, as they are needed.
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

    /// The rule of an answer in this form, if it has one.
    fn format(&mut self, format: &OutputFormat) -> Option<String> {
        let body = match format {
            OutputFormat::Text => return None,
            OutputFormat::JsonSchema(schema) => json(schema),
            OutputFormat::Regex(regex) => regex_literal(regex),
            OutputFormat::Choice(texts) => {
                // A terminal, as so many rules would be more than a parser keeps in mind.
                let texts: Vec<_> = texts.iter().map(|text| literal(text)).collect();
                self.add(&format!("CHOICE: {}", texts.join(" | ")));
                "CHOICE".to_owned()
            }
            OutputFormat::Lark(grammar) => format!("%lark {{\n{grammar}\n}}"),
        };
        self.add(&format!("formatted: {body}"));
        Some("formatted".to_owned())
    }

    /// A rule of one or more calls, from their first mark on.
    fn calls(
        &mut self,
        tools: &Tools,
        form: ToolForm,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> String {
        let mark = |text: &str| match token_id(text) {
            Some(id) => format!("<[{id}]>"),
            None => literal(text),
        };
        let mut names = Vec::new();
        for (index, tool) in tools.callable().enumerate() {
            let call = match form {
                ToolForm::MistralArgs => {
                    let args = mark(ToolForm::MISTRAL_ARGS);
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
            self.add(&format!("arguments_{index}: {}", json(&tool.parameters)));
            names.push(format!("call_{index}"));
        }
        self.add(&format!("call: {}", names.join(" | ")));
        let more =
            |separated: &str| if tools.single { String::new() } else { separated.to_owned() };
        let calls = match form {
            ToolForm::Hermes => {
                let (open, close) = (literal("<tool_call>\n"), literal("\n</tool_call>"));
                self.add(&format!("call_body: call {close}"));
                format!("{open} call_body{}", more(&format!(" (\"\\n\" {open} call_body)*")))
            }
            ToolForm::Llama => {
                let before = token_id(ToolForm::LLAMA_MARK).map(|id| format!("<[{id}]>? "));
                format!("{}call{}", before.unwrap_or_default(), more(" (\"; \" call)*"))
            }
            ToolForm::Mistral => {
                let mark = mark(ToolForm::MISTRAL_MARK);
                format!("{mark} \" \"? \"[\" call{} \"]\"", more(" (\", \" call)*"))
            }
            ToolForm::MistralArgs => {
                let mark = mark(ToolForm::MISTRAL_MARK);
                format!("{mark} call{}", more(&format!(" ({mark} call)*")))
            }
        };
        self.add(&format!("calls: {calls}"));
        "calls".to_owned()
    }

    /// Any text, in which a call once begun is held to its form.
    fn free_text_with(&mut self, tools: &Tools, form: ToolForm, calls: &str) -> String {
        self.needs_text = form != ToolForm::Llama;
        match form {
            ToolForm::Hermes => {
                let repeat = if tools.single { "?" } else { "*" };
                let open = literal(ToolForm::HERMES_OPEN);
                self.add(&format!("begin[lazy]: TEXT {open}"));
                format!("(begin \"\\n\" call_body){repeat} TEXT")
            }
            // The mark is a token of its own, which no text holds.
            ToolForm::Mistral | ToolForm::MistralArgs => format!("TEXT {calls}?"),
            ToolForm::Llama => {
                self.add("OTHER: /[^{](.|\\n)*/");
                format!("{calls} | OTHER")
            }
        }
    }
}

/// A text in a grammar. Lark's escapes are JSON's.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// What may stand between the parts of JSON: a blank, or a line's end and indentation. Without a bound, a model that
/// writes one blank after another is never made to go on.
const WHITESPACE: &str = r"[ ]|\r?\n[ \t]{0,64}";

fn json(schema: &Value) -> String {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("x-guidance").or_insert_with(|| json!({"whitespace_pattern": WHITESPACE}));
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
    use super::*;

    #[test]
    fn slashes_in_a_regular_expression_are_escaped_once() {
        assert_eq!(regex_literal("a/b"), "/a\\/b/");
        assert_eq!(regex_literal("a\\/b"), "/a\\/b/");
        assert_eq!(regex_literal("a\\\\/b"), "/a\\\\\\/b/");
    }
}
