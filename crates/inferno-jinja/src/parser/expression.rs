//! Operators, by precedence from the loosest to the tightest.
//!
//! Each expression has the line that Jinja2 reports for it: that of its first token, or for a chain of
//! arithmetic or logical operators the one that its last operator begins on.

use super::Parser;
use crate::error::{Error, Result};
use crate::lexer::TokenKind;
use crate::syntax_tree::{Comparison, Expression, ExpressionKind, Operator};

impl Parser {
    /// An expression, or several separated by commas, which are a tuple; up to a name in `ends`.
    pub(super) fn tuple(
        &mut self,
        with_condition: bool,
        ends: &[&str],
        is_parenthesized: bool,
    ) -> Result<Expression> {
        let mut line = self.line();
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !self.is_end() && !self.is_operator(")") && !ends.iter().any(|end| self.is_name(end))
        {
            items.push(if with_condition { self.expression()? } else { self.or()? });
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
            line = self.line();
        }
        match items.pop() {
            None if is_parenthesized => Ok(expression(ExpressionKind::Tuple(items), line)),
            None => {
                let message = format!("Expected an expression, got '{}'", self.current());
                Err(Error::syntax(message, self.line()))
            }
            Some(item) if !is_tuple => Ok(item),
            Some(item) => {
                items.push(item);
                Ok(expression(ExpressionKind::Tuple(items), line))
            }
        }
    }

    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.nested(|parser| {
            let mut line = parser.line();
            let mut parsed = parser.or()?;
            while parser.skip_name("if") {
                parser.conditional_depth += 1;
                let condition = Box::new(parser.or()?);
                let otherwise = match parser.skip_name("else") {
                    true => Some(Box::new(parser.expression()?)),
                    false => None,
                };
                parser.conditional_depth -= 1;
                let then = Box::new(parsed);
                let kind = ExpressionKind::Conditional { then, condition, otherwise };
                parsed = expression(kind, line);
                line = parser.line();
            }
            Ok(parsed)
        })
    }

    fn or(&mut self) -> Result<Expression> {
        self.logical("or", Self::and, ExpressionKind::Or)
    }

    fn and(&mut self) -> Result<Expression> {
        self.logical("and", Self::not, ExpressionKind::And)
    }

    fn logical(
        &mut self,
        operator: &str,
        operand: fn(&mut Self) -> Result<Expression>,
        kind: fn(Vec<Expression>) -> ExpressionKind,
    ) -> Result<Expression> {
        let mut line = self.line();
        let first = operand(self)?;
        if !self.is_name(operator) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.is_name(operator) {
            if operands.len() > 1 {
                line = self.line();
            }
            self.at += 1;
            operands.push(operand(self)?);
        }
        Ok(expression(kind(operands), line))
    }

    fn not(&mut self) -> Result<Expression> {
        let line = self.line();
        let mut count = 0;
        while self.skip_name("not") {
            count += 1;
        }
        let mut parsed = self.comparison()?;
        // Two negations make a boolean; more change nothing but its sign.
        for _ in 0..if count > 2 { 2 - count % 2 } else { count } {
            parsed = expression(ExpressionKind::Not(Box::new(parsed)), line);
        }
        Ok(parsed)
    }

    fn comparison(&mut self) -> Result<Expression> {
        let first = self.sum()?;
        let mut comparisons = Vec::new();
        let mut line = first.line;
        while let Some(comparison) = self.skip_comparison() {
            comparisons.push((comparison, self.sum()?));
            line = self.line();
        }
        Ok(match comparisons.is_empty() {
            true => first,
            false => expression(ExpressionKind::Compare(Box::new(first), comparisons), line),
        })
    }

    fn skip_comparison(&mut self) -> Option<Comparison> {
        let comparison = match self.peek()? {
            TokenKind::Operator(symbol) => Comparison::from_symbol(symbol)?,
            TokenKind::Name(name) if name == "in" => Comparison::In,
            TokenKind::Name(name) if name == "not" => {
                let next = self.tag.tokens.get(self.at + 1).map(|token| &token.kind);
                if !matches!(next, Some(TokenKind::Name(name)) if name == "in") {
                    return None;
                }
                self.at += 1;
                Comparison::NotIn
            }
            _ => return None,
        };
        self.at += 1;
        Some(comparison)
    }

    fn sum(&mut self) -> Result<Expression> {
        let operators = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.binary(&operators, Self::concatenation)
    }

    fn concatenation(&mut self) -> Result<Expression> {
        let line = self.line();
        let first = self.product()?;
        if !self.is_operator("~") {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.skip_operator("~") {
            operands.push(self.product()?);
        }
        Ok(expression(ExpressionKind::Concatenate(operands), line))
    }

    fn product(&mut self) -> Result<Expression> {
        let operators = [
            ("*", Operator::Multiply),
            ("/", Operator::Divide),
            ("//", Operator::FloorDivide),
            ("%", Operator::Remainder),
        ];
        self.binary(&operators, Self::power)
    }

    fn power(&mut self) -> Result<Expression> {
        self.binary(&[("**", Operator::Power)], |parser| parser.unary(true))
    }

    fn binary(
        &mut self,
        operators: &[(&str, Operator)],
        operand: impl Fn(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        let mut line = self.line();
        let first = operand(self)?;
        let mut operands = Vec::new();
        while let Some((_, operator)) =
            operators.iter().find(|(symbol, _)| self.is_operator(symbol))
        {
            if !operands.is_empty() {
                line = self.line();
            }
            self.at += 1;
            operands.push((*operator, operand(self)?));
        }
        Ok(match operands.is_empty() {
            true => first,
            false => expression(ExpressionKind::Binary(Box::new(first), operands), line),
        })
    }
}

pub(super) fn expression(kind: ExpressionKind, line: usize) -> Expression {
    Expression { kind, line }
}
