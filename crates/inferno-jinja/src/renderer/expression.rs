//! Expressions.

use std::rc::Rc;
use std::sync::Arc;

use super::Renderer;
use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::functions;
use crate::object::Object;
use crate::operators::signed;
use crate::syntax_tree::{Comparison, Expression, ExpressionKind, Link, Operator};
use crate::value::{Text, Undefined, Value};

impl Renderer<'_> {
    /// Evaluates an expression.
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Value> {
        self.runtime.budget.work(1)?;
        match &expression.kind {
            ExpressionKind::None => Ok(Value::None),
            ExpressionKind::Bool(value) => Ok(Value::Bool(*value)),
            ExpressionKind::Int(value) => Ok(Value::Int(*value)),
            ExpressionKind::Float(value) => Ok(Value::Float(*value)),
            ExpressionKind::Text(text) => Ok(Value::Text(Text::new(Arc::clone(text)))),
            ExpressionKind::Variable(name) => self.variable(name),
            _ => self.nested(|renderer| renderer.compound(expression)),
        }
    }

    fn compound(&mut self, expression: &Expression) -> Result<Value> {
        match &expression.kind {
            ExpressionKind::List(items) => {
                let items = self.evaluate_all(items)?;
                self.runtime.list(items)
            }
            ExpressionKind::Tuple(items) => {
                let items = self.evaluate_all(items)?;
                self.runtime.tuple(items)
            }
            ExpressionKind::Dict(entries) => self.dict(entries),
            ExpressionKind::Conditional { then, condition, otherwise } => {
                match (self.evaluate(condition)?.is_true(), otherwise) {
                    (true, _) => self.evaluate(then),
                    (false, Some(otherwise)) => self.evaluate(otherwise),
                    (false, None) => Ok(Value::undefined(format!(
                        "the inline if-expression on line {} evaluated to false and no else section \
                         was defined.",
                        expression.line
                    ))),
                }
            }
            ExpressionKind::And(operands) => self.first_operand(operands, false),
            ExpressionKind::Or(operands) => self.first_operand(operands, true),
            ExpressionKind::Not(operand) => Ok(Value::Bool(!self.evaluate(operand)?.is_true())),
            ExpressionKind::Compare(first, comparisons) => self.compare(first, comparisons),
            ExpressionKind::Binary(first, operands) => self.binary(first, operands),
            ExpressionKind::Concatenate(operands) => {
                let values = self.evaluate_all(operands)?;
                self.runtime.concatenate(&values)
            }
            ExpressionKind::Signed(is_negative, operand) => {
                signed(&self.evaluate(operand)?, *is_negative)
            }
            ExpressionKind::Chain(operand, links) => {
                let mut value = self.evaluate(operand)?;
                for link in links {
                    value = self.link(value, link)?;
                }
                Ok(value)
            }
            _ => self.evaluate(expression),
        }
    }

    fn evaluate_all(&mut self, expressions: &[Expression]) -> Result<Vec<Value>> {
        expressions.iter().map(|expression| self.evaluate(expression)).collect()
    }

    fn variable(&mut self, name: &Arc<str>) -> Result<Value> {
        self.runtime.budget.scan(name.len())?;
        if let Some(value) = self.scopes.get(name) {
            return Ok(value.clone());
        }
        Ok(match functions::find(name) {
            Some((name, function)) => Value::object(Object::Function { name, function }),
            None if &**name == "self" => self.blocks(),
            None => Value::Undefined(Rc::new(Undefined::Variable(Arc::clone(name)))),
        })
    }

    fn dict(&mut self, entries: &[(Expression, Expression)]) -> Result<Value> {
        let mut evaluated = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.evaluate(key)?;
            let key = self.runtime.key(&key)?;
            evaluated.push((key, self.evaluate(value)?));
        }
        self.runtime.dict(evaluated)
    }

    /// The first operand that is true, or false, as `wanted`; the last one if there is none.
    fn first_operand(&mut self, operands: &[Expression], wanted: bool) -> Result<Value> {
        let mut value = Value::None;
        for operand in operands {
            value = self.evaluate(operand)?;
            if value.is_true() == wanted {
                break;
            }
        }
        Ok(value)
    }

    fn compare(
        &mut self,
        first: &Expression,
        comparisons: &[(Comparison, Expression)],
    ) -> Result<Value> {
        let mut left = self.evaluate(first)?;
        for (comparison, right) in comparisons {
            let right = self.evaluate(right)?;
            if !self.runtime.holds(&left, *comparison, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn binary(&mut self, first: &Expression, operands: &[(Operator, Expression)]) -> Result<Value> {
        let mut left = self.evaluate(first)?;
        for (operator, right) in operands {
            let right = self.evaluate(right)?;
            left = self.runtime.binary(&left, *operator, &right)?;
        }
        Ok(left)
    }

    /// What follows an operand, applied to its value.
    pub(super) fn link(&mut self, value: Value, link: &Link) -> Result<Value> {
        self.runtime.budget.work(1)?;
        match link {
            Link::Attribute(name) => self.runtime.attribute(&value, name),
            Link::Item(key) => {
                let key = self.evaluate(key)?;
                self.runtime.item(&value, &key)
            }
            Link::Slice(bounds) => self.slice(&value, bounds),
            Link::Call(arguments) => {
                let arguments = self.arguments(Vec::new(), arguments)?;
                self.call(&value, arguments)
            }
            Link::Filter(name, filter, arguments) => {
                let filter =
                    filter.ok_or_else(|| Error::failed(format!("No filter named '{name}'.")))?;
                let arguments = self.arguments(vec![value], arguments)?;
                filter(&mut self.runtime, arguments)
            }
            Link::Test { name, predicate, arguments, is_negated } => {
                let predicate =
                    predicate.ok_or_else(|| Error::failed(format!("No test named '{name}'.")))?;
                let arguments: Arguments = self.arguments(vec![value], arguments)?;
                Ok(Value::Bool(predicate(&mut self.runtime, arguments)? != *is_negated))
            }
        }
    }

    fn slice(&mut self, value: &Value, bounds: &[Option<Expression>; 3]) -> Result<Value> {
        let mut evaluated = [Value::None, Value::None, Value::None];
        for (slot, bound) in evaluated.iter_mut().zip(bounds) {
            if let Some(bound) = bound {
                *slot = self.evaluate(bound)?;
            }
        }
        self.runtime.slice(value, evaluated.each_ref())
    }
}
