//! Equality, order and membership.

use std::cmp::Ordering;

use crate::dict::{Dict, equal_scalars};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::syntax_tree::Comparison;
use crate::value::{Value, ViewKind};

impl Runtime {
    /// Whether a comparison holds.
    ///
    /// **Errors**: values without an order, a container that has no members.
    pub(crate) fn holds(
        &mut self,
        left: &Value,
        comparison: Comparison,
        right: &Value,
    ) -> Result<bool> {
        let holds: fn(Ordering) -> bool = match comparison {
            Comparison::Equal => return self.equal(left, right),
            Comparison::NotEqual => return Ok(!self.equal(left, right)?),
            Comparison::In => return self.contains(right, left),
            Comparison::NotIn => return Ok(!self.contains(right, left)?),
            Comparison::Less => Ordering::is_lt,
            Comparison::LessOrEqual => Ordering::is_le,
            Comparison::Greater => Ordering::is_gt,
            Comparison::GreaterOrEqual => Ordering::is_ge,
        };
        Ok(self.order(left, comparison, right)?.is_some_and(holds))
    }

    /// Whether two values are equal.
    pub(crate) fn equal(&mut self, a: &Value, b: &Value) -> Result<bool> {
        self.budget.work(1)?;
        match (a, b) {
            (Value::Text(a), Value::Text(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.budget.scan(a.len())?;
                Ok(**a == **b)
            }
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                if a.items.len() != b.items.len() {
                    return Ok(false);
                }
                for (a, b) in a.items.iter().zip(&b.items) {
                    if !self.equal(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Dict(a), Value::Dict(b))
            | (Value::View(ViewKind::Items, a), Value::View(ViewKind::Items, b)) => {
                self.equal_dicts(a, b, true)
            }
            (Value::View(ViewKind::Keys, a), Value::View(ViewKind::Keys, b)) => {
                self.equal_dicts(a, b, false)
            }
            _ => Ok(equal_scalars(a, b)),
        }
    }

    /// Whether two dicts have the same keys, and the same values if `with_values`.
    fn equal_dicts(&mut self, a: &Dict, b: &Dict, with_values: bool) -> Result<bool> {
        if a.len() != b.len() {
            return Ok(false);
        }
        for (key, value) in a.entries() {
            self.charge_hash(key.value())?;
            match b.get(key) {
                Some(other) if !with_values || self.equal(value, other)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// How two values compare; `None` if one is not a number. `comparison` is for the message.
    ///
    /// **Errors**: values without an order.
    pub(crate) fn order(
        &mut self,
        left: &Value,
        comparison: Comparison,
        right: &Value,
    ) -> Result<Option<Ordering>> {
        self.budget.work(1)?;
        if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
            return Ok(Some(a.cmp(&b)));
        }
        if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
            return Ok(a.partial_cmp(&b));
        }
        match (left, right) {
            (Value::Text(a), Value::Text(b)) => {
                self.budget.scan(a.len().min(b.len()))?;
                Ok(Some(a.cmp(b)))
            }
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                for (a, b) in a.items.iter().zip(&b.items) {
                    if !self.equal(a, b)? {
                        return self.order(a, comparison, b);
                    }
                }
                Ok(Some(a.items.len().cmp(&b.items.len())))
            }
            _ => {
                let undefined = if left.is_undefined() { left } else { right };
                let (left, right) = (left.type_name(), right.type_name());
                let operator = comparison.symbol();
                Err(undefined.misuse(|_| {
                    format!(
                        "'{operator}' not supported between instances of '{left}' and '{right}'"
                    )
                }))
            }
        }
    }

    /// Python's `in`.
    ///
    /// **Errors**: a container that has no members, an unhashable item of a dict.
    pub(crate) fn contains(&mut self, container: &Value, item: &Value) -> Result<bool> {
        match container {
            Value::Text(text) => match item {
                Value::Text(part) => {
                    self.budget.scan(text.len())?;
                    Ok(text.contains(&**part))
                }
                _ => {
                    let found = item.type_name();
                    Err(Error::failed(format!(
                        "'in <string>' requires string as left operand, not {found}"
                    )))
                }
            },
            Value::Dict(dict) | Value::View(ViewKind::Keys, dict) => {
                let key = self.key(item)?;
                Ok(dict.get(&key).is_some())
            }
            Value::List(sequence) | Value::Tuple(sequence) => {
                for other in &sequence.items {
                    if self.equal(other, item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Value::Undefined(_) | Value::Range(_) | Value::View(..) => {
                let items = self.items(container)?;
                self.contains(&Value::list(items), item)
            }
            Value::Generator(generator) => loop {
                let Some(other) = generator.items.borrow_mut().pop_front() else {
                    return Ok(false);
                };
                if self.equal(&other, item)? {
                    return Ok(true);
                }
            },
            _ => {
                let found = container.type_name();
                Err(Error::failed(format!("argument of type '{found}' is not iterable")))
            }
        }
    }
}
