//! Cuts a template into data, expressions and statements, as Jinja2's lexer does.
//!
//! Whitespace around tags is dealt with here, with `trim_blocks` and `lstrip_blocks` on, so that
//! what is left of the data is what is printed.

use super::syntax::{MalformedTemplate, malformed};

/// A piece of a template.
pub(super) enum Piece {
    /// Text that is printed as it is.
    Data(String),
    /// `{{ … }}`
    Print(Tag),
    /// `{% … %}`
    Statement(Tag),
}

/// What stands in a tag.
pub(super) struct Tag {
    pub tokens: Vec<Token>,
    /// The line that it begins on, from 1.
    pub line: usize,
    /// The line that it ends on.
    pub last_line: usize,
}

/// A token, and the line that it stands on.
pub(super) struct Token {
    pub kind: TokenKind,
    pub line: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    /// A literal text, its escapes resolved.
    Text(String),
    /// The decimal digits of a whole number.
    Integer(String),
    Float(f64),
    Operator(&'static str),
}

/// Operators, the longer ones first.
const OPERATORS: [&str; 26] = [
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

/// Cuts a template into its pieces.
///
/// **Errors**: a tag that does not end, brackets that do not match, a character of no token.
pub(super) fn pieces(source: &str) -> Result<Vec<Piece>, MalformedTemplate> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer = Lexer { source, at: 0, line: 1, is_line_start: true, pieces: Vec::new() };
    lexer.run()?;
    Ok(lexer.pieces)
}

/// Whether Python takes a character for whitespace.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    /// Whether the last tag took the end of its line with it.
    is_line_start: bool,
    pieces: Vec<Piece>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), MalformedTemplate> {
        while let Some(opening) = self.next_opening() {
            let tag = &self.source[opening..opening + 2];
            let sign = self.source[opening + 2..].chars().next().filter(|c| matches!(c, '-' | '+'));
            self.push_data(opening, sign, tag == "{{");
            self.at += 2 + sign.map_or(0, char::len_utf8);
            match tag {
                "{#" => self.comment()?,
                "{{" => {
                    let tag = self.tag("}}")?;
                    self.pieces.push(Piece::Print(tag));
                }
                _ => match self.raw_begin() {
                    Some(end) => self.raw(end)?,
                    None => {
                        let tag = self.tag("%}")?;
                        self.pieces.push(Piece::Statement(tag));
                    }
                },
            }
        }
        let rest = &self.source[self.at..];
        if !rest.is_empty() {
            self.pieces.push(Piece::Data(rest.to_owned()));
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

    /// Goes on to `to`, counting lines.
    fn advance(&mut self, to: usize) {
        let passed = &self.source[self.at..to];
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.is_line_start = passed.ends_with('\n');
        self.at = to;
    }

    /// Keeps the data before a tag that opens at `opening`, less what the tag strips.
    fn push_data(&mut self, opening: usize, sign: Option<char>, is_print: bool) {
        let text = &self.source[self.at..opening];
        let line_start = text.rfind('\n').map(|at| at + 1);
        let kept = match (sign, line_start.or(self.is_line_start.then_some(0))) {
            (Some('-'), _) => text.trim_end_matches(is_space),
            (None, Some(start)) if !is_print && text[start..].chars().all(is_space) => {
                &text[..start]
            }
            _ => text,
        };
        if !kept.is_empty() {
            self.pieces.push(Piece::Data(kept.to_owned()));
        }
        self.advance(opening);
        self.is_line_start = false;
    }

    /// Passes the end of a tag, if it stands here: `+%}`, `-%}` with the whitespace behind it, or
    /// `%}` with the end of its line where it is no expression's.
    fn end(&mut self, closing: &str) -> bool {
        let rest = self.rest();
        let sign = rest.chars().next().filter(|c| matches!(c, '-' | '+'));
        let is_print = closing == "}}";
        if sign == Some('+') && is_print {
            return false;
        }
        let Some(behind) = rest[sign.map_or(0, char::len_utf8)..].strip_prefix(closing) else {
            return false;
        };
        let behind = match sign {
            Some('-') => behind.trim_start_matches(is_space),
            None if !is_print => behind.strip_prefix('\n').unwrap_or(behind),
            _ => behind,
        };
        self.advance(self.source.len() - behind.len());
        true
    }

    fn comment(&mut self) -> Result<(), MalformedTemplate> {
        let start = self.at;
        let Some(end) = self.rest().find("#}") else {
            // Nothing behind the opening is no error to Jinja2.
            if self.rest().is_empty() {
                return Ok(());
            }
            return Err(malformed("Missing end of comment tag", self.line));
        };
        let end = start + end;
        let has_sign = self.source[start..end].ends_with(['-', '+']);
        self.advance(if has_sign { end - 1 } else { end });
        self.end("#}");
        Ok(())
    }

    /// Where the data of a raw section begins, if this statement opens one.
    fn raw_begin(&self) -> Option<usize> {
        let tag = self.rest().trim_start_matches(is_space).strip_prefix("raw")?;
        let tag = tag.trim_start_matches(is_space);
        let behind = match tag.strip_prefix("-%}") {
            Some(behind) => behind.trim_start_matches(is_space),
            None => tag.strip_prefix("%}")?,
        };
        Some(self.source.len() - behind.len())
    }

    fn raw(&mut self, start: usize) -> Result<(), MalformedTemplate> {
        let opened = self.line;
        self.advance(start);
        let mut from = start;
        while let Some(found) = self.source[from..].find("{%") {
            let opening = from + found;
            let tag = &self.source[opening + 2..];
            let sign = tag.chars().next().filter(|c| matches!(c, '-' | '+'));
            let name = tag[sign.map_or(0, char::len_utf8)..].trim_start_matches(is_space);
            if let Some(tail) = name.strip_prefix("endraw") {
                let end = self.source.len() - tail.trim_start_matches(is_space).len();
                let (at, line) = (self.at, self.line);
                let is_line_start = self.is_line_start;
                self.at = end;
                if self.end("%}") {
                    let behind = self.at;
                    (self.at, self.line, self.is_line_start) = (at, line, is_line_start);
                    self.push_data(opening, sign, false);
                    self.advance(behind);
                    return Ok(());
                }
                (self.at, self.line, self.is_line_start) = (at, line, is_line_start);
            }
            from = opening + 2;
        }
        match self.rest().is_empty() {
            true => Ok(()),
            false => Err(malformed("Missing end of raw directive", opened)),
        }
    }

    fn tag(&mut self, closing: &str) -> Result<Tag, MalformedTemplate> {
        let line = self.line;
        let mut tokens = Vec::new();
        let mut expected = Vec::new();
        loop {
            let blank = self.rest().len() - self.rest().trim_start_matches(is_space).len();
            self.advance(self.at + blank);
            let last_line = self.line;
            if expected.is_empty() && self.end(closing) {
                return Ok(Tag { tokens, line, last_line });
            }
            if self.rest().is_empty() {
                return Err(malformed("unexpected end of template", self.line));
            }
            let kind = self.token()?;
            if let TokenKind::Operator(operator) = kind {
                match operator {
                    "{" => expected.push("}"),
                    "(" => expected.push(")"),
                    "[" => expected.push("]"),
                    "}" | ")" | "]" => match expected.pop() {
                        None => {
                            let message = format!("unexpected '{operator}'");
                            return Err(malformed(message, self.line));
                        }
                        Some(pair) if pair != operator => {
                            let message = format!("unexpected '{operator}', expected '{pair}'");
                            return Err(malformed(message, self.line));
                        }
                        Some(_) => {}
                    },
                    _ => {}
                }
            }
            tokens.push(Token { kind, line: last_line });
        }
    }

    fn token(&mut self) -> Result<TokenKind, MalformedTemplate> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or_default();
        if first.is_ascii_digit() {
            let (length, kind) = number(rest, !self.source[..self.at].ends_with('.'));
            self.at += length;
            return Ok(kind);
        }
        if first == '_' || first.is_alphabetic() {
            let is_part = |c: char| c == '_' || c.is_alphanumeric();
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            self.at += length;
            return Ok(TokenKind::Name(rest[..length].to_owned()));
        }
        if matches!(first, '"' | '\'')
            && let Some(length) = text_length(rest, first)
        {
            let literal = &rest[1..length - 1];
            let text = unescape(literal).map_err(|message| malformed(message, self.line))?;
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
                Err(malformed(format!("unexpected char {first:?} at {at}"), self.line))
            }
        }
    }
}

/// The bytes of a literal text, its quotes with it; `None` where it does not end.
fn text_length(rest: &str, quote: char) -> Option<usize> {
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            other if other == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The number that `rest` begins with, and its bytes.
fn number(rest: &str, can_be_float: bool) -> (usize, TokenKind) {
    let bytes = rest.as_bytes();
    let digits_end = |from: usize, is_digit: fn(&u8) -> bool| {
        let mut at = from;
        while bytes.get(at).is_some_and(is_digit)
            || (bytes.get(at) == Some(&b'_') && bytes.get(at + 1).is_some_and(is_digit))
        {
            at += 1;
        }
        at
    };
    let without = |end: usize| rest[..end].replace('_', "");
    let whole = digits_end(0, u8::is_ascii_digit);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits_end(end + 1, u8::is_ascii_digit);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits_end(end + 1 + sign, u8::is_ascii_digit);
        }
    }
    if can_be_float && end > whole {
        return (end, TokenKind::Float(without(end).parse().unwrap_or(f64::INFINITY)));
    }
    let radix = match bytes.get(1) {
        _ if bytes[0] != b'0' => None,
        Some(b'x' | b'X') => Some((16, u8::is_ascii_hexdigit as fn(&u8) -> bool)),
        Some(b'o' | b'O') => Some((8, (|byte| matches!(byte, b'0'..=b'7')) as fn(&u8) -> bool)),
        Some(b'b' | b'B') => Some((2, (|byte| matches!(byte, b'0' | b'1')) as fn(&u8) -> bool)),
        _ => None,
    };
    if let Some((radix, is_digit)) = radix {
        let end = digits_end(2, is_digit);
        if let Ok(value) = i128::from_str_radix(&without(end)[2..], radix) {
            return (end, TokenKind::Integer(value.to_string()));
        }
    }
    // Python has no decimal numbers with leading zeros, but zeros alone.
    let end = if bytes[0] == b'0' { digits_end(0, |byte| *byte == b'0') } else { whole };
    let digits = without(end);
    let digits = digits.trim_start_matches('0');
    (end, TokenKind::Integer(if digits.is_empty() { "0" } else { digits }.to_owned()))
}

/// Resolves Python's escapes.
fn unescape(literal: &str) -> Result<String, &'static str> {
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let before = rest.clone();
        match rest.next() {
            Some('\n') => {}
            Some(mark @ ('\\' | '\'' | '"')) => text.push(mark),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('v') => text.push('\u{b}'),
            Some('a') => text.push('\u{7}'),
            Some('x') => text.push(numbered(&mut rest, 2, 16).ok_or("truncated \\xXX escape")?),
            Some('u') => text.push(numbered(&mut rest, 4, 16).ok_or("truncated \\uXXXX escape")?),
            Some('U') => {
                text.push(numbered(&mut rest, 8, 16).ok_or("truncated \\UXXXXXXXX escape")?);
            }
            Some('0'..='7') => {
                rest = before;
                let count = rest.clone().take(3).take_while(|c| c.is_digit(8)).count();
                text.push(numbered(&mut rest, count, 8).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // What is no escape stays as it is.
            Some(other) => text.extend(['\\', other]),
            None => return Err("\\ at end of string"),
        }
    }
    Ok(text)
}

/// The character whose number the next `count` digits are.
fn numbered(rest: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<char> {
    let mut number = 0_u32;
    for _ in 0..count {
        number = number.checked_mul(radix)? + rest.next()?.to_digit(radix)?;
    }
    char::from_u32(number)
}
