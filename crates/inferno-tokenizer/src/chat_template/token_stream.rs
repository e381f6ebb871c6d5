//! The tokens of a tag, read one after the other.

use super::lexer::{Tag, Token, TokenKind};
use super::syntax::{MalformedTemplate, VariadicMacros, malformed};

/// How deep expressions may nest; Python's own parser stops at about 100.
const MAX_DEPTH: usize = 64;

impl Token {
    /// The name that the token is, if it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// The tokens of a tag that are still to be read.
pub(super) struct Expressions<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    /// What Jinja2 calls the end of the tag.
    pub(super) end: &'static str,
    last_line: usize,
    pub(super) variadic: &'a VariadicMacros,
    pub(super) depth: usize,
}

impl<'a> Expressions<'a> {
    pub(super) fn of(tag: &'a Tag, end: &'static str, variadic: &'a VariadicMacros) -> Self {
        Self { tokens: &tag.tokens, at: 0, end, last_line: tag.last_line, variadic, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'a TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(self.last_line, |token| token.line)
    }

    pub(super) fn current(&self) -> &str {
        match self.peek() {
            None => self.end,
            Some(TokenKind::Name(name)) => name,
            Some(TokenKind::Text(_)) => "string",
            Some(TokenKind::Integer(_)) => "integer",
            Some(TokenKind::Float(_)) => "float",
            Some(TokenKind::Operator(operator)) => operator,
        }
    }

    /// The error of finding something else than `expected`.
    pub(super) fn unexpected(&self, expected: &str) -> MalformedTemplate {
        let message = format!("expected token '{expected}', got '{}'", self.current());
        malformed(message, self.line())
    }

    /// Counts one more level of nesting.
    pub(super) fn descend(&mut self) -> Result<(), MalformedTemplate> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(malformed("too many nested expressions", self.line())),
            false => Ok(()),
        }
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Operator(found)) if *found == operator)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Name(found)) if found == name)
    }

    pub(super) fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip_any_name(&mut self) -> Option<String> {
        let name = self.tokens.get(self.at)?.name()?;
        self.at += 1;
        Some(name.to_owned())
    }

    pub(super) fn skip_all(&mut self) {
        self.at = self.tokens.len();
    }

    pub(super) fn expect(&mut self, operator: &str) -> Result<(), MalformedTemplate> {
        match self.skip_operator(operator) {
            true => Ok(()),
            false => Err(self.unexpected(operator)),
        }
    }

    pub(super) fn name(&mut self) -> Result<String, MalformedTemplate> {
        self.skip_any_name().ok_or_else(|| self.unexpected("name"))
    }

    /// Checks that the tag ends here.
    pub(super) fn finish(&self) -> Result<(), MalformedTemplate> {
        match self.is_end() {
            true => Ok(()),
            false => Err(self.unexpected(self.end)),
        }
    }
}
