//! The grammar of an answer: its format, its tool calls, and the reasoning before them.

mod calls;
mod channels;
mod free_text;
mod literals;
mod parameters;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::form::AnswerForm;
use crate::json_schema::closed;
use crate::reasoning::Reasoning;
use crate::{OutputFormat, Tool, ToolChoice, Tools};

/// The grammar of an answer in llguidance's dialect of Lark; `None` if any text is an answer.
///
/// `token_id` returns the id of a control token.
pub(crate) fn lark(
    format: &OutputFormat,
    form: &AnswerForm,
    tools: Option<&Tools>,
    reasoning: Reasoning,
    token_id: impl Fn(&str) -> Option<u32>,
) -> Option<String> {
    let mut rules = Rules::new(form, &token_id);
    if form.has_channels {
        return rules.messages(format, tools, reasoning);
    }
    if let (OutputFormat::Lark(own), Reasoning::None, None) = (format, reasoning, tools) {
        // By itself, so that errors name its own lines.
        return Some(own.clone());
    }
    let formatted = rules.format(format).map(|rule| rules.content(&rule));
    let answer = match tools {
        None => formatted?,
        Some(tools) => {
            let calls = rules.calls(tools);
            match (formatted, &tools.choice) {
                (Some(formatted), ToolChoice::Auto) => format!("{calls} | {formatted}"),
                (None, ToolChoice::Auto) => {
                    let start = rules.free_text_with(tools, &calls, reasoning);
                    return Some(rules.finish(&start));
                }
                _ => calls,
            }
        }
    };
    let start = match reasoning {
        Reasoning::None => answer,
        Reasoning::Optional | Reasoning::Open => {
            rules.reasoning();
            rules.add(&format!("answer: {answer}"));
            let calls = tools.and_then(|_| rules.calls_in_reasoning());
            let calls = calls.map_or(String::new(), |calls| format!(" | {calls} more_calls"));
            let reasoned = format!("(reasoning (\"\\n\\n\" | \"\\n\")? answer{calls})");
            match reasoning {
                Reasoning::Optional => {
                    let open = rules.marked(&form.reasoning.open);
                    format!("{open} {reasoned} | answer")
                }
                Reasoning::None | Reasoning::Open => reasoned,
            }
        }
    };
    Some(rules.finish(&start))
}

/// The grammar of a complete output in this format; `None` if the output is unconstrained.
pub(crate) fn lark_of_text(format: &OutputFormat) -> Option<String> {
    lark(format, &AnswerForm::default(), None, Reasoning::None, |_| None)
}

/// The grammar of a tool's arguments.
pub(crate) fn lark_of_arguments(tool: &Tool) -> String {
    format!("start: {}", json(&tool.parameters, tool.strict))
}

/// The rules of a grammar, added as they are needed.
struct Rules<'a> {
    form: &'a AnswerForm,
    token_id: &'a dyn Fn(&str) -> Option<u32>,
    text: String,
    num_rules: usize,
    needs_text: bool,
    /// Values of schemas that were written as literals.
    num_values: usize,
    /// The rule of any literal.
    any_literal: Option<String>,
    /// The tools' names in calls, and what follows them.
    after_names: Vec<(String, String)>,
    /// The rule of calls after their opening.
    opened_calls: Option<String>,
    /// Whether there is the terminal of text that is not enclosed.
    has_plain: bool,
}

impl<'a> Rules<'a> {
    fn new(form: &'a AnswerForm, token_id: &'a dyn Fn(&str) -> Option<u32>) -> Self {
        Self {
            form,
            token_id,
            text: String::new(),
            num_rules: 0,
            needs_text: false,
            num_values: 0,
            any_literal: None,
            after_names: Vec::new(),
            opened_calls: None,
            has_plain: false,
        }
    }

    fn add(&mut self, rule: &str) {
        self.text.push_str(rule);
        self.text.push('\n');
    }

    /// Adds a rule with a name of its own, and returns the name.
    fn named(&mut self, stem: &str, body: &str) -> String {
        let name = format!("{stem}_{}", self.num_rules);
        self.num_rules += 1;
        self.add(&format!("{name}: {body}"));
        name
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

    /// Content with its delimiters, if there are any.
    fn content(&self, content: &str) -> String {
        let [open, close] =
            [&self.form.content.open, &self.form.content.close].map(|text| self.marked(text));
        match (open.is_empty(), close.is_empty()) {
            (true, _) => content.to_owned(),
            (false, true) => format!("({open})? {content}"),
            (false, false) => format!("{open} {content} ({close})?"),
        }
    }

    /// A text in which control tokens are tokens; empty for the empty text.
    fn marked(&self, text: &str) -> String {
        let mut parts = Vec::new();
        let (mut start, mut at) = (0, 0);
        while let Some(found) = text[at..].find(['<', '[']) {
            let open = at + found;
            let end = if text[open..].starts_with('<') { '>' } else { ']' };
            at = open + 1;
            let tag = text[open..].find(end).map(|len| &text[open..=open + len]);
            if let Some((tag, id)) = tag.and_then(|tag| Some((tag, (self.token_id)(tag)?))) {
                parts.extend((start < open).then(|| literal(&text[start..open])));
                parts.push(format!("<[{id}]>"));
                at = open + tag.len();
                start = at;
            }
        }
        parts.extend((start < text.len()).then(|| literal(&text[start..])));
        parts.join(" ")
    }

    /// Whether a text is or begins with a control token.
    fn is_control(&self, text: &str) -> bool {
        self.marked(text).starts_with("<[")
    }

    /// Adds a rule of a terminal's text up to the first occurrence of `end`, and returns its name.
    fn up_to(&mut self, stem: &str, terminal: &str, end: &str) -> String {
        self.needs_text |= terminal == "TEXT";
        let marked = self.marked(end);
        match self.is_control(end) {
            true => self.named(stem, &format!("{terminal} {marked}")),
            false => {
                let name = format!("{stem}_{}", self.num_rules);
                self.num_rules += 1;
                self.add(&format!("{name}[lazy]: {terminal} {}", literal(end)));
                name
            }
        }
    }

    /// Adds the rule of reasoning after its opening delimiter.
    fn reasoning(&mut self) {
        let body = self.up_to("thought", "TEXT", &self.form.reasoning.close);
        self.add(&format!("reasoning: {body}"));
    }
}

/// A string literal in a grammar. Lark's escapes are JSON's; it has no control characters.
pub(crate) fn literal(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Whitespace in JSON: a space, or a line end and indentation. It is bounded, since a model could otherwise write whitespace
/// forever.
const WHITESPACE: &str = r"[ ]|\r?\n[ \t]{0,64}";

/// JSON that matches a schema, without undeclared properties; unsupported keywords are ignored unless `strict`.
fn json(schema: &Value, strict: bool) -> String {
    let mut schema = closed(schema);
    if let Some(fields) = schema.as_object_mut() {
        let options = json!({"whitespace_pattern": WHITESPACE, "lenient": !strict});
        fields.insert("x-guidance".to_owned(), options);
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

/// A regular expression that matches a text.
fn regex_of(text: &str) -> String {
    let escape = |character: char| match character {
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$'
        | '/' => {
            format!("\\{character}")
        }
        '\n' => "\\n".to_owned(),
        character => character.to_string(),
    };
    text.chars().map(escape).collect()
}
