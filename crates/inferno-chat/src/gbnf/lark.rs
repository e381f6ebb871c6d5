//! Writes a parsed grammar in llguidance's dialect of Lark.

use super::lexemes::Lexemes;
use super::{CharacterClass, Expression, Rule};
use crate::answer_grammar::literal;

/// Writes the rules, of which the first is the start.
///
/// Each regular rule is written as a terminal (`T` and its index), and each rule that the lexer does not match as a whole
/// everywhere as a rule (`r` and its index).
pub(super) fn write(rules: &[Rule]) -> String {
    let root = Expression::Rule(0);
    let lexemes = Lexemes::of(rules, &root);
    let mut writer = Writer { lexemes, text: String::new(), num_parts: 0, used: Vec::new() };
    let start = writer.item(&root);
    writer.text = format!("start: {start}\n");
    for (index, Rule { name, expression }) in rules.iter().enumerate() {
        if writer.lexemes.is_regular_rule(index) {
            let body = terminal(expression);
            writer.define(&format!("T{index}"), &body, name);
        }
    }
    let mut num_written = 0;
    while let Some(&index) = writer.used.get(num_written) {
        let Rule { name, expression } = &rules[index];
        let body = writer.rule(expression);
        writer.define(&format!("r{index}"), &body, name);
        num_written += 1;
    }
    writer.text
}

struct Writer {
    lexemes: Lexemes,
    text: String,
    /// Terminals for parts of rules.
    num_parts: usize,
    /// Rules that are used as rules.
    used: Vec<usize>,
}

impl Writer {
    fn define(&mut self, name: &str, body: &str, comment: &str) {
        self.text.push_str(&format!("{name}: {body} // {comment}\n"));
    }

    /// The body of a rule.
    fn rule(&mut self, expression: &Expression) -> String {
        match expression {
            Expression::Choice(choices) if !self.lexemes.is_lexeme(expression) => {
                let choices: Vec<_> = choices.iter().map(|choice| self.rule(choice)).collect();
                choices.join(" | ")
            }
            Expression::Sequence(items) if items.is_empty() => "\"\"".to_owned(),
            Expression::Sequence(items) if !self.lexemes.is_lexeme(expression) => {
                let items: Vec<_> = items.iter().map(|item| self.item(item)).collect();
                items.join(" ")
            }
            item => self.item(item),
        }
    }

    fn item(&mut self, expression: &Expression) -> String {
        let is_lexeme = self.lexemes.is_lexeme(expression);
        match expression {
            Expression::Rule(index) if !is_lexeme => {
                if !self.used.contains(index) {
                    self.used.push(*index);
                }
                format!("r{index}")
            }
            Expression::Literal(text) if !is_lexeme => {
                let characters = text.chars().map(|character| literal(&character.to_string()));
                characters.collect::<Vec<_>>().join(" ")
            }
            Expression::Rule(_)
            | Expression::Literal(_)
            | Expression::Class(_)
            | Expression::Any
            | Expression::Token(_) => terminal(expression),
            group if is_lexeme => {
                let name = format!("PART{}", self.num_parts);
                self.num_parts += 1;
                let body = terminal(group);
                self.text.push_str(&format!("{name}: {body}\n"));
                name
            }
            Expression::Repeat { expression, min, max } => {
                format!("({}){}", self.rule(expression), repetition(*min, *max))
            }
            group => format!("({})", self.rule(group)),
        }
    }
}

/// An expression inside a terminal.
fn terminal(expression: &Expression) -> String {
    match expression {
        Expression::Literal(text) => literal(text),
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
