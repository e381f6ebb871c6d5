//! Splits a template into text and tags, and tags into tokens, as Jinja2's lexer does.
//!
//! Whitespace control is resolved here, with `trim_blocks` and `lstrip_blocks` on, so that every text
//! segment is exactly what is printed.

use crate::character::{continues_identifier, is_space, starts_identifier};
use crate::error::{Error, Result};
use crate::literal::{Number, number, string_length, unescape};

/// A part of a template.
pub(crate) enum Segment {
    /// Text that is printed unchanged.
    Text(String),
    /// `{{ … }}`
    Print(Tag),
    /// `{% … %}`
    Statement(Tag),
}

/// The contents of a tag.
#[derive(Default)]
pub(crate) struct Tag {
    pub(crate) tokens: Vec<Token>,
    /// The line that the tag begins on, from 1.
    pub(crate) line: usize,
    /// The line that it ends on.
    pub(crate) last_line: usize,
}

pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) line: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Name(String),
    /// A string literal, its escapes resolved.
    Text(String),
    Number(Number),
    Operator(&'static str),
}

/// Longer operators first.
const OPERATORS: [&str; 26] = [
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

/// Splits a template into segments.
///
/// **Errors**: [`Error::Syntax`]: an unclosed tag, unbalanced brackets, an invalid character.
pub(crate) fn segments(source: &str) -> Result<Vec<Segment>> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer = Lexer { source, at: 0, line: 1, is_line_start: true, segments: Vec::new() };
    lexer.run()?;
    Ok(lexer.segments)
}

struct Lexer<'a> {
    source: &'a str,
    /// The position in `source`, in bytes.
    at: usize,
    line: usize,
    /// Whether the previous tag removed the end of its line.
    is_line_start: bool,
    segments: Vec<Segment>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<()> {
        while let Some(opening) = self.next_opening() {
            let delimiter = &self.source[opening..opening + 2];
            let sign = sign_of(&self.source[opening + 2..]);
            self.push_text(opening, sign, delimiter == "{{");
            self.at += 2 + sign.map_or(0, char::len_utf8);
            match delimiter {
                "{#" => self.comment()?,
                "{{" => {
                    let tag = self.tag("}}")?;
                    self.segments.push(Segment::Print(tag));
                }
                _ => match self.raw_begin() {
                    Some(end) => self.raw(end)?,
                    None => {
                        let tag = self.tag("%}")?;
                        self.segments.push(Segment::Statement(tag));
                    }
                },
            }
        }
        if !self.rest().is_empty() {
            self.segments.push(Segment::Text(self.rest().to_owned()));
        }
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn next_opening(&self) -> Option<usize> {
        let bytes = self.source.as_bytes();
        (self.at..bytes.len().saturating_sub(1))
            .find(|&at| bytes[at] == b'{' && matches!(bytes[at + 1], b'{' | b'%' | b'#'))
    }

    /// Moves to the position `to`, counting lines.
    fn advance(&mut self, to: usize) {
        let passed = &self.source[self.at..to];
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.is_line_start = passed.ends_with('\n');
        self.at = to;
    }

    /// Adds the text before a tag that opens at `opening`, without what the tag strips.
    fn push_text(&mut self, opening: usize, sign: Option<char>, is_print: bool) {
        let text = &self.source[self.at..opening];
        let line_start = text.rfind('\n').map(|at| at + 1);
        let stripped = match (sign, line_start.or(self.is_line_start.then_some(0))) {
            (Some('-'), _) => text.trim_end_matches(is_space),
            (None, Some(start)) if !is_print && text[start..].chars().all(is_space) => {
                &text[..start]
            }
            _ => text,
        };
        if !stripped.is_empty() {
            self.segments.push(Segment::Text(stripped.to_owned()));
        }
        self.advance(opening);
        self.is_line_start = false;
    }

    /// The end of the closing of a tag at the current position, with the whitespace that it strips:
    /// all of it after `-%}`, one line end after `%}`, none after `+%}` and `}}`.
    fn closing_end(&self, closing: &str) -> Option<usize> {
        let rest = self.rest();
        let is_print = closing == "}}";
        let sign = sign_of(rest).filter(|sign| !(is_print && *sign == '+'));
        let after = rest[sign.map_or(0, char::len_utf8)..].strip_prefix(closing)?;
        let after = match sign {
            Some('-') => after.trim_start_matches(is_space),
            None if !is_print => after.strip_prefix('\n').unwrap_or(after),
            _ => after,
        };
        Some(self.source.len() - after.len())
    }

    fn comment(&mut self) -> Result<()> {
        let Some(length) = self.rest().find("#}") else {
            // Jinja2 accepts an opening at the very end.
            return match self.rest().is_empty() {
                true => Ok(()),
                false => Err(Error::syntax("Missing end of comment tag", self.line)),
            };
        };
        let has_sign = self.rest()[..length].ends_with(['-', '+']);
        self.advance(self.at + length - usize::from(has_sign));
        if let Some(end) = self.closing_end("#}") {
            self.advance(end);
        }
        Ok(())
    }

    /// The start of the text of a raw section, if this tag opens one.
    fn raw_begin(&self) -> Option<usize> {
        let tag = self.rest().trim_start_matches(is_space).strip_prefix("raw")?;
        let tag = tag.trim_start_matches(is_space);
        let after = match tag.strip_prefix("-%}") {
            Some(after) => after.trim_start_matches(is_space),
            None => tag.strip_prefix("%}")?,
        };
        Some(self.source.len() - after.len())
    }

    fn raw(&mut self, start: usize) -> Result<()> {
        let opened = self.line;
        self.advance(start);
        let mut from = start;
        while let Some(found) = self.source[from..].find("{%") {
            let opening = from + found;
            let tag = &self.source[opening + 2..];
            let sign = sign_of(tag);
            let name = tag[sign.map_or(0, char::len_utf8)..].trim_start_matches(is_space);
            if let Some(tail) = name.strip_prefix("endraw") {
                let closing = self.source.len() - tail.trim_start_matches(is_space).len();
                let at_closing = Lexer { at: closing, segments: Vec::new(), ..*self };
                if let Some(end) = at_closing.closing_end("%}") {
                    self.push_text(opening, sign, false);
                    self.advance(end);
                    return Ok(());
                }
            }
            from = opening + 2;
        }
        match self.rest().is_empty() {
            true => Ok(()),
            false => Err(Error::syntax("Missing end of raw directive", opened)),
        }
    }

    fn tag(&mut self, closing: &str) -> Result<Tag> {
        let mut tag = Tag { tokens: Vec::new(), line: self.line, last_line: self.line };
        let mut open_brackets = Vec::new();
        loop {
            let blank = self.rest().len() - self.rest().trim_start_matches(is_space).len();
            self.advance(self.at + blank);
            tag.last_line = self.line;
            if open_brackets.is_empty()
                && let Some(end) = self.closing_end(closing)
            {
                self.advance(end);
                return Ok(tag);
            }
            if self.rest().is_empty() {
                return Err(Error::syntax("unexpected end of template", self.line));
            }
            let kind = self.token()?;
            if let TokenKind::Operator(operator) = kind {
                balance(&mut open_brackets, operator)
                    .map_err(|message| Error::syntax(message, self.line))?;
            }
            tag.tokens.push(Token { kind, line: tag.last_line });
        }
    }

    fn token(&mut self) -> Result<TokenKind> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or_default();
        if first.is_ascii_digit() {
            let (length, number) = number(rest, !self.source[..self.at].ends_with('.'));
            self.at += length;
            return Ok(TokenKind::Number(number));
        }
        if starts_identifier(first) {
            let length = rest.find(|c| !continues_identifier(c)).unwrap_or(rest.len());
            self.at += length;
            return Ok(TokenKind::Name(rest[..length].to_owned()));
        }
        if matches!(first, '"' | '\'')
            && let Some(length) = string_length(rest, first)
        {
            let text = unescape(&rest[1..length - 1])
                .map_err(|message| Error::syntax(message, self.line))?;
            self.advance(self.at + length);
            return Ok(TokenKind::Text(text));
        }
        match OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
            Some(operator) => {
                self.at += operator.len();
                Ok(TokenKind::Operator(operator))
            }
            None => {
                let at = self.source[..self.at].chars().count();
                Err(Error::syntax(format!("unexpected char {first:?} at {at}"), self.line))
            }
        }
    }
}

/// The whitespace control sign that `source` begins with.
fn sign_of(source: &str) -> Option<char> {
    source.chars().next().filter(|c| matches!(c, '-' | '+'))
}

/// Tracks the brackets that are open, and what closes each.
fn balance(open_brackets: &mut Vec<&'static str>, operator: &str) -> Result<(), String> {
    match operator {
        "{" => open_brackets.push("}"),
        "(" => open_brackets.push(")"),
        "[" => open_brackets.push("]"),
        "}" | ")" | "]" => match open_brackets.pop() {
            None => return Err(format!("unexpected '{operator}'")),
            Some(expected) if expected != operator => {
                return Err(format!("unexpected '{operator}', expected '{expected}'"));
            }
            Some(_) => {}
        },
        _ => {}
    }
    Ok(())
}
