//! Writes a parsed grammar in llguidance's dialect of Lark.

use serde_json::Value;

use super::analysis::Analysis;
use super::characters::CharacterSet;
use super::{CharacterClass, Expression, Rule};

/// Writes the rules, of which the first is the start.
///
/// Each regular rule is written as a terminal (`T` and its index), and each rule that the lexer may not match as a whole
/// as a rule (`r` and its index).
pub(super) fn write(rules: &[Rule]) -> String {
    let mut writer = Writer { analysis: Analysis::of(rules), text: String::new(), num_parts: 0 };
    writer.text = format!("start: {}\n", writer.name(0));
    for (index, Rule { name, expression }) in rules.iter().enumerate() {
        if writer.analysis.is_regular[index] {
            let body = terminal(expression);
            writer.define(&format!("T{index}"), &body, name);
        }
        if !writer.analysis.is_terminal(index) {
            let after = writer.analysis.following[index].clone();
            let body = writer.rule(expression, &after);
            writer.define(&format!("r{index}"), &body, name);
        }
    }
    writer.text
}

struct Writer {
    analysis: Analysis,
    text: String,
    /// Terminals for parts of rules.
    num_parts: usize,
}

impl Writer {
    fn define(&mut self, name: &str, body: &str, comment: &str) {
        self.text.push_str(&format!("{name}: {body} // {comment}\n"));
    }

    /// The name of a rule where the lexer need not match it as a whole.
    fn name(&self, index: usize) -> String {
        format!("{}{index}", if self.analysis.is_terminal(index) { 'T' } else { 'r' })
    }

    /// The body of a rule, after which one of `after` may come.
    fn rule(&mut self, expression: &Expression, after: &CharacterSet) -> String {
        match expression {
            Expression::Choice(choices) => {
                let choices: Vec<_> = choices.iter().map(|it| self.rule(it, after)).collect();
                choices.join(" | ")
            }
            Expression::Sequence(items) if items.is_empty() => "\"\"".to_owned(),
            Expression::Sequence(items) => {
                let mut after = after.clone();
                let mut written = Vec::with_capacity(items.len());
                for item in items.iter().rev() {
                    written.push(self.item(item, &after));
                    after = self.analysis.before(item, &after);
                }
                written.reverse();
                written.join(" ")
            }
            item => self.item(item, after),
        }
    }

    fn item(&mut self, expression: &Expression, after: &CharacterSet) -> String {
        match expression {
            Expression::Rule(index) => self.name(*index),
            Expression::Literal(_)
            | Expression::Class(_)
            | Expression::Any
            | Expression::Token(_) => terminal(expression),
            group if self.analysis.is_lexeme(group, after) => {
                let name = format!("PART{}", self.num_parts);
                self.num_parts += 1;
                let body = terminal(group);
                self.text.push_str(&format!("{name}: {body}\n"));
                name
            }
            Expression::Repeat { expression, min, max } => {
                let after = self.analysis.after_repetition(expression, *max, after);
                format!("({}){}", self.rule(expression, &after), repetition(*min, *max))
            }
            group => format!("({})", self.rule(group, after)),
        }
    }
}

/// An expression inside a terminal.
fn terminal(expression: &Expression) -> String {
    match expression {
        Expression::Literal(text) => Value::from(text.as_str()).to_string(),
        Expression::Class(class) => format!("/{}/", regex(class)),
        Expression::Any => "/(?s:.)/".to_owned(),
        Expression::Token(id) => format!("<[{id}]>"),
        Expression::Rule(index) => format!("T{index}"),
        Expression::Sequence(items) if items.is_empty() => "\"\"".to_owned(),
        Expression::Sequence(items) => {
            let items: Vec<_> = items.iter().map(terminal).collect();
            format!("({})", items.join(" "))
        }
        Expression::Choice(choices) => {
            let choices: Vec<_> = choices.iter().map(terminal).collect();
            format!("({})", choices.join(" | "))
        }
        Expression::Repeat { expression, min, max } => {
            format!("({}){}", terminal(expression), repetition(*min, *max))
        }
    }
}

fn repetition(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    }
}

/// A character class as a regular expression. Every character is written by its number, so that none is special.
fn regex(class: &CharacterClass) -> String {
    let code = |character: char| format!("\\u{{{:X}}}", u32::from(character));
    let range = |&(first, last): &(char, char)| match first == last {
        true => code(first),
        false => format!("{}-{}", code(first), code(last)),
    };
    if class.ranges.is_empty() {
        return "(?s:.)".to_owned();
    }
    let ranges: String = class.ranges.iter().map(range).collect();
    format!("[{}{ranges}]", if class.is_negated { "^" } else { "" })
}
