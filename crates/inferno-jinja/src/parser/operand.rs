//! Operands: literals, names, and the subscripts, calls, filters and tests that follow them.

use std::sync::Arc;

use super::Parser;
use super::expression::expression;
use crate::error::{Error, Result};
use crate::lexer::TokenKind;
use crate::literal::Number;
use crate::syntax_tree::{ArgumentList, Expression, ExpressionKind, Link, SpecialNames};
use crate::{filters, predicates};

impl Parser {
    /// A sign, an operand and what follows it; filters and tests only `with_filters`.
    pub(super) fn unary(&mut self, with_filters: bool) -> Result<Expression> {
        let line = self.line();
        let is_negative = self.is_operator("-");
        let operand = match is_negative || self.is_operator("+") {
            true => {
                self.at += 1;
                let operand = Box::new(self.nested(|parser| parser.unary(false))?);
                expression(ExpressionKind::Signed(is_negative, operand), line)
            }
            false => self.primary()?,
        };
        let mut links = Vec::new();
        while self.postfix(&mut links)? {}
        while with_filters && self.filter_or_test(&mut links)? {}
        Ok(chain(operand, links))
    }

    fn primary(&mut self) -> Result<Expression> {
        let line = self.line();
        let Some(token) = self.peek() else {
            return Err(Error::syntax(format!("unexpected '{}'", self.end), line));
        };
        let kind = match token {
            TokenKind::Name(_) => self.named()?,
            TokenKind::Text(_) => self.adjacent_strings(),
            TokenKind::Number(Number::Float(value)) => ExpressionKind::Float(*value),
            TokenKind::Number(Number::Int(Some(value))) => ExpressionKind::Int(*value),
            TokenKind::Number(Number::Int(None)) => {
                return Err(Error::syntax("the number is too large", line));
            }
            TokenKind::Operator("(") => {
                self.at += 1;
                let inner = self.nested(|parser| parser.tuple(true, &[], true))?;
                self.expect(")")?;
                return Ok(inner);
            }
            TokenKind::Operator("[") => {
                self.at += 1;
                return Ok(expression(
                    ExpressionKind::List(self.items("]", Self::expression)?),
                    line,
                ));
            }
            TokenKind::Operator("{") => {
                self.at += 1;
                let entry = |parser: &mut Self| {
                    let key = parser.expression()?;
                    parser.expect(":")?;
                    Ok((key, parser.expression()?))
                };
                return Ok(expression(ExpressionKind::Dict(self.items("}", entry)?), line));
            }
            TokenKind::Operator(operator) => {
                return Err(Error::syntax(format!("unexpected '{operator}'"), line));
            }
        };
        if matches!(kind, ExpressionKind::Float(_) | ExpressionKind::Int(_)) {
            self.at += 1;
        }
        Ok(expression(kind, line))
    }

    fn named(&mut self) -> Result<ExpressionKind> {
        let name = self.name()?;
        let mut mentioned = SpecialNames::default();
        match &*name {
            "true" | "True" => return Ok(ExpressionKind::Bool(true)),
            "false" | "False" => return Ok(ExpressionKind::Bool(false)),
            "none" | "None" => return Ok(ExpressionKind::None),
            "caller" => mentioned.caller = true,
            "varargs" => mentioned.varargs = true,
            "kwargs" => mentioned.kwargs = true,
            "loop" => mentioned.loop_variable = true,
            _ => {}
        }
        self.mention(mentioned);
        Ok(ExpressionKind::Variable(name))
    }

    /// String literals next to each other, which are one.
    fn adjacent_strings(&mut self) -> ExpressionKind {
        let mut text = String::new();
        while let Some(TokenKind::Text(part)) = self.peek() {
            text.push_str(part);
            self.at += 1;
        }
        ExpressionKind::Text(text.into())
    }

    /// Items separated by commas up to a closing bracket; a comma may come last.
    fn items<T>(&mut self, closing: &str, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.is_operator(closing) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.is_operator(closing) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        self.expect(closing)?;
        Ok(items)
    }

    /// Parses a subscript or a call, if there is one.
    fn postfix(&mut self, links: &mut Vec<Link>) -> Result<bool> {
        if self.skip_operator(".") {
            let line = self.line();
            let link = match self.peek() {
                Some(TokenKind::Name(_)) => Link::Attribute(self.name()?),
                Some(TokenKind::Number(Number::Int(Some(index)))) => {
                    let index = ExpressionKind::Int(*index);
                    self.at += 1;
                    Link::Item(expression(index, line))
                }
                _ => return Err(Error::syntax("expected name or number", line)),
            };
            links.push(link);
        } else if self.skip_operator("[") {
            links.push(self.subscript()?);
        } else if self.is_operator("(") {
            links.push(Link::Call(self.arguments()?));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Parses a filter, a test, or a call of what they return, if there is one.
    fn filter_or_test(&mut self, links: &mut Vec<Link>) -> Result<bool> {
        if self.is_operator("(") {
            links.push(Link::Call(self.arguments()?));
        } else if self.skip_operator("|") {
            links.extend(self.filters(false)?);
        } else if self.skip_name("is") {
            links.push(self.test()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// An index or a slice, after the opening bracket.
    fn subscript(&mut self) -> Result<Link> {
        let line = self.line();
        if !self.is_operator(":") {
            let mut items = Vec::new();
            while !self.is_operator("]") && !self.is_operator(":") {
                if !items.is_empty() {
                    self.expect(",")?;
                }
                items.push(self.expression()?);
            }
            if !(items.len() == 1 && self.is_operator(":")) {
                self.expect("]")?;
                return Ok(Link::Item(match <[Expression; 1]>::try_from(items) {
                    Ok([item]) => item,
                    Err(items) => expression(ExpressionKind::Tuple(items), line),
                }));
            }
            let start = items.pop();
            return self.slice(start);
        }
        self.slice(None)
    }

    /// `:stop:step]`
    fn slice(&mut self, start: Option<Expression>) -> Result<Link> {
        let mut bounds = [start, None, None];
        for bound in &mut bounds[1..] {
            if !self.skip_operator(":") {
                break;
            }
            if !self.is_operator(":") && !self.is_operator("]") {
                *bound = Some(self.expression()?);
            }
        }
        self.expect("]")?;
        Ok(Link::Slice(bounds))
    }

    fn arguments(&mut self) -> Result<ArgumentList> {
        let line = self.line();
        let ensure = |is_valid: bool| match is_valid {
            true => Ok(()),
            false => Err(Error::syntax("invalid syntax for function call expression", line)),
        };
        let mut list = ArgumentList::default();
        self.expect("(")?;
        while !self.is_operator(")") {
            if self.skip_operator("*") {
                ensure(list.unpacked.is_none() && list.unpacked_named.is_none())?;
                list.unpacked = Some(Box::new(self.expression()?));
            } else if self.skip_operator("**") {
                ensure(list.unpacked_named.is_none())?;
                list.unpacked_named = Some(Box::new(self.expression()?));
            } else if self.is_keyword_argument() {
                ensure(list.unpacked_named.is_none())?;
                let name = self.name()?;
                if list.named.iter().any(|(known, _)| *known == name) {
                    let message = format!("keyword argument repeated: {name}");
                    return Err(Error::syntax(message, line));
                }
                self.expect("=")?;
                list.named.push((name, self.expression()?));
            } else {
                let is_first_kind = list.unpacked.is_none() && list.unpacked_named.is_none();
                ensure(is_first_kind && list.named.is_empty())?;
                list.positional.push(self.expression()?);
            }
            if !self.is_operator(")") {
                self.expect(",")?;
            }
        }
        self.expect(")")?;
        Ok(list)
    }

    fn is_keyword_argument(&self) -> bool {
        let next = self.tag.tokens.get(self.at + 1).map(|token| &token.kind);
        matches!(self.peek(), Some(TokenKind::Name(_)))
            && matches!(next, Some(TokenKind::Operator("=")))
    }

    /// Filters, after the first `|`; a chain of them if `all`.
    pub(super) fn filters(&mut self, all: bool) -> Result<Vec<Link>> {
        let mut filters = vec![self.filter()?];
        while all && self.skip_operator("|") {
            filters.push(self.filter()?);
        }
        Ok(filters)
    }

    fn filter(&mut self) -> Result<Link> {
        let line = self.line();
        let name = self.dotted_name()?;
        let arguments = match self.is_operator("(") {
            true => self.arguments()?,
            false => ArgumentList::default(),
        };
        let filter = filters::find(&name);
        if filter.is_none() && self.conditional_depth == 0 {
            return Err(Error::syntax(format!("No filter named '{name}'."), line));
        }
        Ok(Link::Filter(name, filter, arguments))
    }

    fn dotted_name(&mut self) -> Result<Arc<str>> {
        let mut name = self.name()?;
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.name()?).into();
        }
        Ok(name)
    }

    /// A test, after `is`.
    fn test(&mut self) -> Result<Link> {
        let line = self.line();
        let is_negated = self.skip_name("not");
        let name = self.dotted_name()?;
        let arguments = match self.peek() {
            Some(TokenKind::Operator("(")) => self.arguments()?,
            Some(TokenKind::Name(name)) if matches!(name.as_str(), "else" | "or" | "and") => {
                ArgumentList::default()
            }
            Some(TokenKind::Name(name)) if name == "is" => {
                let message = "You cannot chain multiple tests with is";
                return Err(Error::syntax(message, self.line()));
            }
            Some(
                TokenKind::Name(_)
                | TokenKind::Text(_)
                | TokenKind::Number(_)
                | TokenKind::Operator("[" | "{"),
            ) => {
                let argument = self.primary()?;
                let mut links = Vec::new();
                while self.postfix(&mut links)? {}
                ArgumentList { positional: vec![chain(argument, links)], ..ArgumentList::default() }
            }
            _ => ArgumentList::default(),
        };
        let predicate = predicates::find(&name);
        if predicate.is_none() && self.conditional_depth == 0 {
            return Err(Error::syntax(format!("No test named '{name}'."), line));
        }
        Ok(Link::Test { name, predicate, arguments, is_negated })
    }
}

fn chain(operand: Expression, links: Vec<Link>) -> Expression {
    if links.is_empty() {
        return operand;
    }
    let line = operand.line;
    expression(ExpressionKind::Chain(Box::new(operand), links), line)
}
