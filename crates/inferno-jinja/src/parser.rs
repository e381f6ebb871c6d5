//! Parses segments into a syntax tree, as Jinja2's parser does.
//!
//! Recursion is bounded: by the nesting of statements, by the nesting of expressions, and by the number
//! of tokens in a tag.

mod expression;
mod operand;
mod statement;

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::lexer::{Segment, Tag, TokenKind, segments};
use crate::syntax_tree::{Block, Expression, SpecialNames, Statement, StatementKind};

/// How deep expressions may nest; Python's own parser stops at about 100.
const MAX_EXPRESSION_DEPTH: usize = 100;
/// How deep statements may nest; Python's own parser stops at about 100.
const MAX_STATEMENT_DEPTH: usize = 100;
/// The most tokens in one tag.
const MAX_TOKENS: usize = 2000;

/// A parsed template.
pub(crate) struct ParsedTemplate {
    pub(crate) body: Vec<Statement>,
    pub(crate) blocks: Arc<HashMap<Arc<str>, Arc<Block>>>,
}

/// Parses a template.
///
/// **Errors**: [`Error::Syntax`].
pub(crate) fn parse(source: &str) -> Result<ParsedTemplate> {
    let mut parser = Parser {
        segments: segments(source)?.into_iter(),
        tag: Tag::default(),
        at: 0,
        end: "",
        line: 1,
        statement_depth: 0,
        expression_depth: 0,
        loop_depth: 0,
        enclosing_loops: 0,
        conditional_depth: 0,
        special_names: Vec::new(),
        blocks: HashMap::new(),
    };
    let (body, _) = parser.body(&[])?;
    Ok(ParsedTemplate { body, blocks: Arc::new(parser.blocks) })
}

struct Parser {
    segments: std::vec::IntoIter<Segment>,
    /// The tag that is being parsed, and the index of its next token.
    tag: Tag,
    at: usize,
    /// Jinja2's name for the end of this tag.
    end: &'static str,
    /// The line of the last tag.
    line: usize,
    statement_depth: usize,
    expression_depth: usize,
    /// How many loops are open in the current macro or block.
    loop_depth: usize,
    /// How many loops are open, including those around the current macro or block and those whose `else` is being parsed.
    enclosing_loops: usize,
    /// How many conditions the current expression depends on. Unknown filters and tests are a syntax
    /// error outside of conditions only.
    conditional_depth: usize,
    /// The special names that each open macro and loop mentions, innermost last.
    special_names: Vec<SpecialNames>,
    blocks: HashMap<Arc<str>, Arc<Block>>,
}

impl Parser {
    /// Parses statements up to a tag with one of the names in `ends`, and returns that name; up to the
    /// end of the template if `ends` is empty.
    fn body(&mut self, ends: &[&'static str]) -> Result<(Vec<Statement>, &'static str), Error> {
        let mut statements = Vec::new();
        while let Some(segment) = self.segments.next() {
            let (kind, line) = match segment {
                Segment::Text(text) => (StatementKind::Text(text), self.line),
                Segment::Print(tag) => {
                    self.open(tag, "end of print statement")?;
                    let expression = self.print()?;
                    let line = expression.line;
                    (StatementKind::Print(expression), line)
                }
                Segment::Statement(tag) => {
                    self.open(tag, "end of statement block")?;
                    let line = self.line();
                    let Some(name) = self.skip_any_name() else {
                        return Err(Error::syntax("tag name expected", line));
                    };
                    if let Some(end) = ends.iter().find(|end| **end == name) {
                        return Ok((statements, end));
                    }
                    self.statement(&name, line, &mut statements)?;
                    continue;
                }
            };
            statements.push(Statement { kind, line });
        }
        match ends.is_empty() {
            true => Ok((statements, "")),
            false => {
                let expected = ends.join("' or '");
                Err(Error::syntax(
                    format!(
                        "Unexpected end of template. Jinja was looking for the following tags: \
                         '{expected}'."
                    ),
                    self.line,
                ))
            }
        }
    }

    fn print(&mut self) -> Result<Expression> {
        let expression = self.tuple(true, &[], false)?;
        self.close()?;
        Ok(expression)
    }

    /// Makes `tag` the one that is being parsed.
    fn open(&mut self, tag: Tag, end: &'static str) -> Result<()> {
        if tag.tokens.len() > MAX_TOKENS {
            return Err(Error::syntax("too long an expression", tag.line));
        }
        (self.line, self.at, self.end, self.tag) = (tag.line, 0, end, tag);
        Ok(())
    }

    /// Checks that the tag ends here.
    fn close(&mut self) -> Result<()> {
        match self.is_end() {
            true => Ok(()),
            false => Err(self.unexpected(self.end)),
        }
    }

    /// Checks that a statement's opening tag ends here, and parses its body.
    fn body_of_tag(
        &mut self,
        ends: &[&'static str],
    ) -> Result<(Vec<Statement>, &'static str), Error> {
        self.skip_operator(":");
        self.close()?;
        self.statement_depth += 1;
        if self.statement_depth > MAX_STATEMENT_DEPTH {
            return Err(Error::syntax("too many nested statements", self.line));
        }
        let body = self.body(ends);
        self.statement_depth -= 1;
        body
    }

    /// A statement's body up to its closing tag.
    fn only_body(&mut self, end: &'static str) -> Result<Vec<Statement>> {
        let (body, _) = self.body_of_tag(&[end])?;
        Ok(body)
    }

    fn peek(&self) -> Option<&TokenKind> {
        self.tag.tokens.get(self.at).map(|token| &token.kind)
    }

    /// The line of the next token.
    fn line(&self) -> usize {
        self.tag.tokens.get(self.at).map_or(self.tag.last_line, |token| token.line)
    }

    /// Jinja2's description of the next token.
    fn current(&self) -> &str {
        match self.peek() {
            None => self.end,
            Some(TokenKind::Name(name)) => name,
            Some(TokenKind::Text(_)) => "string",
            Some(TokenKind::Number(_)) => "number",
            Some(TokenKind::Operator(operator)) => operator,
        }
    }

    fn unexpected(&self, expected: &str) -> Error {
        let message = format!("expected token '{expected}', got '{}'", self.current());
        Error::syntax(message, self.line())
    }

    fn is_end(&self) -> bool {
        self.at >= self.tag.tokens.len()
    }

    fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Operator(found)) if *found == operator)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Name(found)) if found == name)
    }

    fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        self.at += usize::from(found);
        found
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        self.at += usize::from(found);
        found
    }

    fn skip_any_name(&mut self) -> Option<String> {
        match self.tag.tokens.get_mut(self.at).map(|token| &mut token.kind) {
            Some(TokenKind::Name(name)) => {
                self.at += 1;
                Some(std::mem::take(name))
            }
            _ => None,
        }
    }

    fn expect(&mut self, operator: &str) -> Result<()> {
        match self.skip_operator(operator) {
            true => Ok(()),
            false => Err(self.unexpected(operator)),
        }
    }

    fn name(&mut self) -> Result<Arc<str>> {
        match self.skip_any_name() {
            Some(name) => Ok(name.into()),
            None => Err(self.unexpected("name")),
        }
    }

    /// Parses one more level of nesting.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.expression_depth += 1;
        if self.expression_depth > MAX_EXPRESSION_DEPTH {
            return Err(Error::syntax("too many nested expressions", self.line()));
        }
        let parsed = parse(self)?;
        self.expression_depth -= 1;
        Ok(parsed)
    }
}
