//! Python's arithmetic operators, `~` and slices.

use crate::arguments::integer;
use crate::error::{Error, Result};
use crate::filters::escaped;
use crate::runtime::Runtime;
use crate::syntax_tree::Operator;
use crate::value::{Range, Value};

fn too_large() -> Error {
    Error::failed("the number is too large")
}

fn unsupported(operator: &str, a: &Value, b: &Value) -> Error {
    let undefined = if a.is_undefined() { a } else { b };
    let (a, b) = (a.type_name(), b.type_name());
    undefined.misuse(|_| format!("unsupported operand type(s) for {operator}: '{a}' and '{b}'"))
}

impl Runtime {
    /// `a operator b`
    ///
    /// **Errors**: operands of the wrong types, an integer beyond 128 bits, a division by zero.
    pub(crate) fn binary(&mut self, a: &Value, operator: Operator, b: &Value) -> Result<Value> {
        match operator {
            Operator::Add => self.add(a, b),
            Operator::Subtract => arithmetic("-", a, b, i128::checked_sub, |a, b| a - b),
            Operator::Multiply => self.multiply(a, b),
            Operator::Divide => divisible("/", a, b).map(|(a, b)| Value::Float(a / b)),
            Operator::FloorDivide => floor_divide(a, b),
            Operator::Remainder => match a {
                Value::Text(format) => self.percent(format, b),
                _ => remainder(a, b),
            },
            Operator::Power => power(a, b),
        }
    }

    pub(crate) fn add(&mut self, a: &Value, b: &Value) -> Result<Value> {
        match (a, b) {
            (Value::Text(a), Value::Text(b)) if a.is_safe || b.is_safe => {
                let parts = [a, b].map(|part| match part.is_safe {
                    true => part.to_string(),
                    false => escaped(part),
                });
                self.budget.safe_text(parts.concat())
            }
            (Value::Text(a), Value::Text(b)) => {
                self.budget.allocate(a.len() + b.len())?;
                self.budget.text([&**a, &**b].concat())
            }
            (Value::List(a), Value::List(b)) => self.list([&a.items[..], &b.items[..]].concat()),
            (Value::Tuple(a), Value::Tuple(b)) => self.tuple([&a.items[..], &b.items[..]].concat()),
            (_, Value::Undefined(_)) => Err(unsupported("+", a, b)),
            (Value::Text(_) | Value::List(_) | Value::Tuple(_), _) => {
                let (name, other) = (a.type_name(), b.type_name());
                let message = format!("can only concatenate {name} (not \"{other}\") to {name}");
                Err(Error::failed(message))
            }
            _ => arithmetic("+", a, b, i128::checked_add, |a, b| a + b),
        }
    }

    fn multiply(&mut self, a: &Value, b: &Value) -> Result<Value> {
        let is_repeatable =
            |value: &Value| matches!(value, Value::Text(_) | Value::List(_) | Value::Tuple(_));
        let (repeated, count) = match (is_repeatable(a), is_repeatable(b)) {
            (false, false) => return arithmetic("*", a, b, i128::checked_mul, |a, b| a * b),
            (true, _) => (a, b),
            (false, true) => (b, a),
        };
        let count = count.as_int().ok_or_else(|| {
            count.misuse(|found| format!("can't multiply sequence by non-int of type '{found}'"))
        })?;
        let times = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
        match repeated {
            Value::Text(text) => {
                let times = if text.is_empty() { 0 } else { times };
                self.budget.allocate(text.len().saturating_mul(times))?;
                self.budget.text(text.repeat(times))
            }
            Value::List(list) => {
                let items = self.repeated(&list.items, times)?;
                self.list(items)
            }
            Value::Tuple(tuple) => {
                let items = self.repeated(&tuple.items, times)?;
                self.tuple(items)
            }
            _ => Err(unsupported("*", a, b)),
        }
    }

    fn repeated(&mut self, items: &[Value], times: usize) -> Result<Vec<Value>> {
        let times = if items.is_empty() { 0 } else { times };
        self.budget.allocate_items(items.len().saturating_mul(times))?;
        Ok(std::iter::repeat_n(items, times).flatten().cloned().collect())
    }

    /// `a ~ b ~ …`: the text forms, concatenated.
    pub(crate) fn concatenate(&mut self, values: &[Value]) -> Result<Value> {
        let mut text = self.budget.builder();
        values.iter().try_for_each(|value| self.write_str(value, &mut text))?;
        text.finish(&mut self.budget)
    }

    /// `value[start:stop:step]`
    pub(crate) fn slice(&mut self, value: &Value, bounds: [&Value; 3]) -> Result<Value> {
        let bound = |value: &Value| match value {
            Value::None => Ok(None),
            _ => value.as_int().map(Some).ok_or_else(|| {
                Error::failed("slice indices must be integers or None or have an __index__ method")
            }),
        };
        let (start, stop) = (bound(bounds[0])?, bound(bounds[1])?);
        let step = bound(bounds[2])?.unwrap_or(1);
        if step == 0 {
            return Err(Error::failed("slice step cannot be zero"));
        }
        let positions = |len| Positions::new(start, stop, step, len);
        match value {
            Value::Text(text) => {
                self.budget.allocate(text.len().saturating_mul(size_of::<char>()))?;
                self.budget.scan(text.len())?;
                let characters: Vec<char> = text.chars().collect();
                let slice: String = positions(characters.len()).map(|at| characters[at]).collect();
                self.budget.text(slice)
            }
            Value::List(list) => {
                let slice = positions(list.items.len()).map(|at| list.items[at].clone()).collect();
                self.list(slice)
            }
            Value::Tuple(tuple) => {
                let slice =
                    positions(tuple.items.len()).map(|at| tuple.items[at].clone()).collect();
                self.tuple(slice)
            }
            Value::Range(range) => {
                let Positions { next, stop, step } = positions(range.len());
                let [start, stop, step] = [next, stop, step]
                    .map(|at| i64::try_from(at).unwrap_or(i64::MAX).saturating_mul(range.step));
                let [start, stop] = [start, stop].map(|at| range.start.saturating_add(at));
                Ok(Value::Range(Range { start, stop, step }))
            }
            _ => Err(value.misuse(|found| format!("'{found}' object is not subscriptable"))),
        }
    }
}

fn arithmetic(
    operator: &str,
    a: &Value,
    b: &Value,
    of_integers: impl Fn(i128, i128) -> Option<i128>,
    of_floats: impl Fn(f64, f64) -> f64,
) -> Result<Value> {
    match (a.as_int(), b.as_int(), a.as_float(), b.as_float()) {
        (Some(a), Some(b), ..) => of_integers(a, b).map(Value::Int).ok_or_else(too_large),
        (.., Some(a), Some(b)) => Ok(Value::Float(of_floats(a, b))),
        _ => Err(unsupported(operator, a, b)),
    }
}

/// Both operands as floats, if the second is not zero.
fn divisible(operator: &str, a: &Value, b: &Value) -> Result<(f64, f64), Error> {
    match (a.as_float(), b.as_float()) {
        (Some(_), Some(0.0)) => Err(Error::failed("division by zero")),
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(unsupported(operator, a, b)),
    }
}

fn floor_divide(a: &Value, b: &Value) -> Result<Value> {
    divisible("//", a, b)?;
    let of_integers = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
    };
    arithmetic("//", a, b, of_integers, |a, b| {
        let quotient = (a - float_remainder(a, b)) / b;
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    })
}

fn float_remainder(a: f64, b: f64) -> f64 {
    let remainder = a % b;
    match remainder != 0.0 {
        true if (remainder < 0.0) != (b < 0.0) => remainder + b,
        true => remainder,
        false => 0.0_f64.copysign(b),
    }
}

/// `a % b` of numbers.
pub(crate) fn remainder(a: &Value, b: &Value) -> Result<Value> {
    divisible("%", a, b)?;
    let of_integers = |a: i128, b: i128| {
        let remainder = a.checked_rem(b)?;
        Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
    };
    arithmetic("%", a, b, of_integers, float_remainder)
}

fn power(a: &Value, b: &Value) -> Result<Value> {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) if b >= 0 => {
            let exponent = match u32::try_from(b) {
                Ok(exponent) => exponent,
                // Only these bases have powers that fit.
                Err(_) if (-1..=1).contains(&a) => (b % 2) as u32 + 2,
                Err(_) => return Err(too_large()),
            };
            a.checked_pow(exponent).map(Value::Int).ok_or_else(too_large)
        }
        _ => match (a.as_float(), b.as_float()) {
            (Some(0.0), Some(b)) if b < 0.0 => Err(Error::failed("zero to a negative power")),
            (Some(a), Some(b)) => Ok(Value::Float(a.powf(b))),
            _ => Err(unsupported("** or pow()", a, b)),
        },
    }
}

/// `-value` or `+value`
pub(crate) fn signed(value: &Value, is_negative: bool) -> Result<Value> {
    let factor = if is_negative { -1 } else { 1 };
    match value {
        Value::Float(number) => Ok(Value::Float(number * factor as f64)),
        _ => match value.as_int() {
            Some(number) => number.checked_mul(factor).map(Value::Int).ok_or_else(too_large),
            None => Err(value.misuse(|found| {
                let sign = if is_negative { '-' } else { '+' };
                format!("bad operand type for unary {sign}: '{found}'")
            })),
        },
    }
}

/// The index of an item in a sequence of `len`; `None` out of range.
pub(crate) fn position(index: i128, len: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(len as i128)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < len)
}

/// Python's bounds of a search in a sequence of `len`: negative ones count from the end.
pub(crate) fn search_bounds(
    start: Option<Value>,
    stop: Option<Value>,
    len: usize,
) -> Result<(i128, i128), Error> {
    let len = len as i128;
    let bound = |value: Option<Value>, default| match value.filter(|value| !value.is_none()) {
        None => Ok::<_, Error>(default),
        Some(value) => {
            let index = integer(&value)?;
            Ok(if index < 0 { index.saturating_add(len).max(0) } else { index })
        }
    };
    Ok((bound(start, 0)?, bound(stop, len)?.min(len)))
}

/// The positions that a slice selects.
struct Positions {
    next: i128,
    stop: i128,
    step: i128,
}

impl Positions {
    fn new(start: Option<i128>, stop: Option<i128>, step: i128, len: usize) -> Self {
        let len = len as i128;
        let (lowest, highest) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let clamped = |bound: i128| {
            let bound = if bound < 0 { bound.saturating_add(len) } else { bound };
            bound.clamp(lowest, highest)
        };
        let (first, last) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
        Self { next: start.map_or(first, clamped), stop: stop.map_or(last, clamped), step }
    }
}

impl Iterator for Positions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let is_past = if self.step > 0 { self.next >= self.stop } else { self.next <= self.stop };
        let at = (!is_past).then(|| usize::try_from(self.next).ok()).flatten()?;
        self.next = self.next.saturating_add(self.step);
        Some(at)
    }
}
