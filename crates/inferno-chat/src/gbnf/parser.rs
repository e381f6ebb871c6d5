//! The parser of GBNF.

use std::collections::HashMap;

use super::{CharacterClass, Expression, Rule};

/// Groups inside groups.
const MAX_DEPTH: usize = 100;
/// Most rules.
const MAX_RULES: usize = 1000;
/// Repetition operators after one item.
const MAX_OPERATORS: usize = 8;
/// The largest number of repetitions.
const MAX_REPETITIONS: u32 = 10_000;

/// Parses a grammar; its first rule is `root`.
///
/// **Errors**: what is wrong, with the line.
pub(super) fn parse(grammar: &str) -> Result<Vec<Rule>, String> {
    let mut parser = Parser {
        text: grammar,
        at: 0,
        depth: 0,
        names: vec!["root".to_owned()],
        indices: HashMap::from([("root".to_owned(), 0)]),
        rules: vec![None],
    };
    parser.grammar().map_err(|error| {
        let line = grammar[..parser.at].matches('\n').count() + 1;
        format!("line {line}: {error}")
    })?;
    let rules =
        parser.rules.into_iter().zip(parser.names).map(|(expression, name)| match expression {
            Some(expression) => Ok(Rule { name, expression }),
            None => Err(format!("the rule {name:?} is not defined")),
        });
    rules.collect()
}

/// Whether a character may be part of a rule's name.
pub(super) fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || character == '_'
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: Vec<String>,
    indices: HashMap<String, usize>,
    rules: Vec<Option<Expression>>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips `text` if it is next.
    fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        match self.skip(text) {
            true => Ok(()),
            false => Err(format!("expected {text:?}, but found {}", self.found())),
        }
    }

    /// What is next, for a message.
    fn found(&self) -> String {
        self.peek().map_or_else(|| "the end".to_owned(), |next| format!("{next:?}"))
    }

    /// Skips whitespace and comments.
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            let comment = match rest[space..].starts_with('#') {
                true => rest[space..].find('\n').unwrap_or(rest.len() - space),
                false => 0,
            };
            self.at += space + comment;
            if space + comment == 0 {
                return;
            }
        }
    }

    fn grammar(&mut self) -> Result<(), String> {
        self.skip_space();
        while self.peek().is_some() {
            let name = self
                .name()
                .ok_or_else(|| format!("expected a rule, but found {}", self.found()))?;
            self.skip_space();
            self.expect("::=")?;
            let expression = self.choice()?;
            let index = self.index(name);
            if self.rules.len() > MAX_RULES {
                return Err(format!("more than {MAX_RULES} rules"));
            }
            if self.rules[index].replace(expression).is_some() {
                return Err(format!("the rule {name:?} is defined twice"));
            }
        }
        Ok(())
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let len = rest.find(|character| !is_name_character(character)).unwrap_or(rest.len());
        self.at += len;
        (len > 0).then(|| &rest[..len])
    }

    /// The index of a rule, which may be defined later.
    fn index(&mut self, name: &str) -> usize {
        if let Some(&index) = self.indices.get(name) {
            return index;
        }
        let index = self.rules.len();
        self.indices.insert(name.to_owned(), index);
        self.names.push(name.to_owned());
        self.rules.push(None);
        index
    }

    /// Whether the next rule begins here.
    fn is_at_definition(&self) -> bool {
        let rest = self.rest().trim_start_matches(is_name_character);
        rest.len() < self.rest().len() && rest.trim_start().starts_with("::=")
    }

    fn choice(&mut self) -> Result<Expression, String> {
        let mut choices = vec![self.sequence()?];
        while self.skip("|") {
            choices.push(self.sequence()?);
        }
        Ok(if choices.len() == 1 { choices.remove(0) } else { Expression::Choice(choices) })
    }

    fn sequence(&mut self) -> Result<Expression, String> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.is_at_definition() {
                break;
            }
            let Some(item) = self.item()? else { break };
            items.push(self.repeated(item)?);
        }
        Ok(if items.len() == 1 { items.remove(0) } else { Expression::Sequence(items) })
    }

    /// One item of a sequence; `None` at its end.
    fn item(&mut self) -> Result<Option<Expression>, String> {
        Ok(Some(match self.peek() {
            None | Some('|' | ')') => return Ok(None),
            Some('"') => self.literal()?,
            Some('[') => self.class()?,
            Some('(') => self.group()?,
            Some('<' | '!') => self.token()?,
            Some('.') => {
                self.at += 1;
                Expression::Any
            }
            Some(next) if is_name_character(next) => {
                let name = self.name().unwrap_or_default();
                Expression::Rule(self.index(name))
            }
            Some(next) => return Err(format!("unexpected {next:?}")),
        }))
    }

    fn group(&mut self) -> Result<Expression, String> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("groups are nested more than {MAX_DEPTH} levels deep"));
        }
        let group = self.choice()?;
        self.expect(")")?;
        self.depth -= 1;
        Ok(group)
    }

    fn literal(&mut self) -> Result<Expression, String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(Expression::Literal(text));
                }
                None | Some('\n') => return Err("a string is not closed".to_owned()),
                Some(_) => text.push(self.character()?),
            }
        }
    }

    fn class(&mut self) -> Result<Expression, String> {
        self.at += 1;
        let is_negated = self.skip("^");
        let mut ranges = Vec::new();
        while !self.skip("]") {
            let first = self.class_character()?;
            let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            let last = match is_range {
                true => {
                    self.at += 1;
                    self.class_character()?
                }
                false => first,
            };
            if last < first {
                return Err(format!("the range {first:?}-{last:?} is empty"));
            }
            ranges.push((first, last));
        }
        match ranges.is_empty() && !is_negated {
            true => Err("a character class is empty".to_owned()),
            false => Ok(Expression::Class(CharacterClass { is_negated, ranges })),
        }
    }

    fn class_character(&mut self) -> Result<char, String> {
        match self.peek() {
            None | Some('\n') => Err("a character class is not closed".to_owned()),
            Some(_) => self.character(),
        }
    }

    /// One character of a string or class, which may be escaped.
    fn character(&mut self) -> Result<char, String> {
        let first = self.next().ok_or("the grammar ends in a string")?;
        if first != '\\' {
            return Ok(first);
        }
        let escaped = self.next().ok_or("the grammar ends in an escape")?;
        match escaped {
            't' => Ok('\t'),
            'r' => Ok('\r'),
            'n' => Ok('\n'),
            '\\' | '"' | '[' | ']' | '-' | '^' | '/' => Ok(escaped),
            'x' => self.hexadecimal(2),
            'u' => self.hexadecimal(4),
            'U' => self.hexadecimal(8),
            other => Err(format!("unknown escape \\{other}")),
        }
    }

    fn hexadecimal(&mut self, num_digits: usize) -> Result<char, String> {
        let digits = self.rest().get(..num_digits).unwrap_or_default();
        let is_number =
            digits.len() == num_digits && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let code = is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
        let character = code.and_then(char::from_u32);
        self.at += digits.len();
        character.ok_or_else(|| {
            format!("invalid escape: expected {num_digits} hexadecimal digits, found {digits:?}")
        })
    }

    /// A reference to a token by its id.
    fn token(&mut self) -> Result<Expression, String> {
        if !self.skip("<[") {
            return Err("tokens can only be referred to by their ids, as in <[123]>".to_owned());
        }
        let id = self.number()?.ok_or("expected the id of a token")?;
        self.expect("]>")?;
        Ok(Expression::Token(id))
    }

    fn number(&mut self) -> Result<Option<u32>, String> {
        let rest = self.rest();
        let len = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
        self.at += len;
        match &rest[..len] {
            "" => Ok(None),
            digits => {
                digits.parse().map(Some).map_err(|_| format!("the number {digits} is too large"))
            }
        }
    }

    /// The item with its repetition operators.
    fn repeated(&mut self, mut item: Expression) -> Result<Expression, String> {
        for _ in 0..=MAX_OPERATORS {
            let (min, max) = match self.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => self.counts()?,
                _ => return Ok(item),
            };
            self.at += 1;
            item = Expression::Repeat { expression: Box::new(item), min, max };
        }
        Err(format!("more than {MAX_OPERATORS} repetition operators in a row"))
    }

    /// The numbers in braces; stops before the closing one.
    fn counts(&mut self) -> Result<(u32, Option<u32>), String> {
        self.at += 1;
        self.skip_space();
        let min = self.number()?;
        self.skip_space();
        let max = match self.skip(",") {
            true => {
                self.skip_space();
                self.number()?
            }
            false => min,
        };
        self.skip_space();
        if !self.rest().starts_with('}') {
            return Err(format!("expected \"}}\", but found {}", self.found()));
        }
        let min = min.unwrap_or(0);
        let largest = max.unwrap_or(min).max(min);
        match largest > MAX_REPETITIONS || max.is_some_and(|max| max < min) {
            true => Err(format!(
                "invalid repetition {{{min},{}}}; expected ascending numbers up to {MAX_REPETITIONS}",
                max.map_or(String::new(), |it| it.to_string())
            )),
            false => Ok((min, max)),
        }
    }
}
