//! Python's operators, which templates are given as filters.

use std::cmp::Ordering;

use minijinja::value::{Rest, Tuple};
use minijinja::{Environment, Error, State, Value};

use super::budget::{Text, nested, spend, spend_items, stored};
use super::methods::bound_method;
use super::percent::percent;
use super::refused;
use super::text::write_str;
use super::text_filters::escaped;
use super::types::{
    Type, equal, float_of, int, int_of, items_of, type_name, type_of, undefined_error,
};

/// Defines the filters that stand for operators.
pub(super) fn add_operators(environment: &mut Environment<'static>) {
    environment.add_filter("_add", add);
    environment.add_filter("_subtract", subtract);
    environment.add_filter("_multiply", multiply);
    environment.add_filter("_divide", divide);
    environment.add_filter("_floor_divide", floor_divide);
    environment.add_filter("_remainder", remainder);
    environment.add_filter("_power", power);
    environment.add_filter("_negative", negative);
    environment.add_filter("_positive", positive);
    environment.add_filter("_concat", concat);
    environment.add_filter("_compare", compare);
    environment.add_filter("_slice", slice);
    environment.add_filter("_attribute", attribute);
    environment.add_filter("_cycle", cycle);
    environment.add_filter("_iterated", iterated);
    environment.add_filter("_nested", nested);
    environment.add_filter("_stored", stored);
}

fn unsupported(operator: &str, a: &Value, b: &Value) -> Error {
    if let Some(undefined) = [a, b].into_iter().find(|value| value.is_undefined()) {
        return undefined_error(undefined);
    }
    let (a, b) = (type_name(a), type_name(b));
    refused(format!("unsupported operand type(s) for {operator}: '{a}' and '{b}'"))
}

fn too_large() -> Error {
    refused("the number is too large")
}

fn sequence(kind: Type, items: Vec<Value>) -> Value {
    match kind {
        Type::Tuple => Value::from(Tuple::from(items)),
        _ => Value::from(items),
    }
}

pub(super) fn add(state: &mut State<'_, '_>, a: &Value, b: &Value) -> Result<Value, Error> {
    match (type_of(a), type_of(b)) {
        (Type::Text, Type::Text) => concat_texts(state, [a, b]),
        (kind @ (Type::List | Type::Tuple), other) if kind == other => {
            let mut items = items_of(state, a)?;
            items.extend(items_of(state, b)?);
            Ok(sequence(kind, items))
        }
        (_, Type::Undefined) | (Type::Undefined, _) => Err(unsupported("+", a, b)),
        (Type::Text | Type::List | Type::Tuple, _) => {
            let (name, other) = (type_name(a), type_name(b));
            Err(refused(format!("can only concatenate {name} (not \"{other}\") to {name}")))
        }
        _ => arithmetic("+", a, b, i128::checked_add, |a, b| a + b),
    }
}

fn concat_texts(state: &mut State<'_, '_>, values: [&Value; 2]) -> Result<Value, Error> {
    let texts = values.map(|value| value.as_str().unwrap_or_default());
    spend(state, texts[0].len() + texts[1].len())?;
    if values.iter().any(|value| value.is_safe()) {
        // What is marked safe has what is added to it escaped.
        let parts = values.map(|value| {
            let text = value.as_str().unwrap_or_default();
            if value.is_safe() { text.to_owned() } else { escaped(text) }
        });
        return Ok(Value::from_safe_string(parts.concat()));
    }
    Ok(Value::from(texts.concat()))
}

fn arithmetic(
    operator: &str,
    a: &Value,
    b: &Value,
    of_ints: impl Fn(i128, i128) -> Option<i128>,
    of_floats: impl Fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    match (int_of(a), int_of(b), float_of(a), float_of(b)) {
        (Some(a), Some(b), ..) => of_ints(a, b).map(int).ok_or_else(too_large),
        (.., Some(a), Some(b)) => Ok(Value::from(of_floats(a, b))),
        _ => Err(unsupported(operator, a, b)),
    }
}

fn subtract(a: &Value, b: &Value) -> Result<Value, Error> {
    arithmetic("-", a, b, i128::checked_sub, |a, b| a - b)
}

fn multiply(state: &mut State<'_, '_>, a: &Value, b: &Value) -> Result<Value, Error> {
    let (repeated, count) = match (int_of(a), int_of(b)) {
        (None, Some(count)) => (a, count),
        (Some(count), None) => (b, count),
        _ if [a, b].iter().any(|value| matches!(type_of(value), Type::Text | Type::List)) => {
            let other = if type_of(a) == Type::Text || type_of(a) == Type::List { b } else { a };
            if other.is_undefined() {
                return Err(undefined_error(other));
            }
            let found = type_name(other);
            return Err(refused(format!("can't multiply sequence by non-int of type '{found}'")));
        }
        _ => return arithmetic("*", a, b, i128::checked_mul, |a, b| a * b),
    };
    let times = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    match type_of(repeated) {
        Type::Text => {
            let text = repeated.as_str().unwrap_or_default();
            spend(state, text.len().saturating_mul(times))?;
            Ok(Value::from(if text.is_empty() { String::new() } else { text.repeat(times) }))
        }
        kind @ (Type::List | Type::Tuple) => {
            let items = items_of(state, repeated)?;
            spend_items(state, items.len().saturating_mul(times))?;
            let times = if items.is_empty() { 0 } else { times };
            let repeated = std::iter::repeat_n(items, times).flatten();
            Ok(sequence(kind, repeated.collect()))
        }
        _ => arithmetic("*", a, b, i128::checked_mul, |a, b| a * b),
    }
}

/// Both as floats, the second one not zero.
fn divisible(operator: &str, a: &Value, b: &Value) -> Result<(f64, f64), Error> {
    match (float_of(a), float_of(b)) {
        (Some(_), Some(0.0)) => Err(refused("division by zero")),
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(unsupported(operator, a, b)),
    }
}

fn divide(a: &Value, b: &Value) -> Result<Value, Error> {
    let (a, b) = divisible("/", a, b)?;
    Ok(Value::from(a / b))
}

fn floor_divide(a: &Value, b: &Value) -> Result<Value, Error> {
    divisible("//", a, b)?;
    let of_ints = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
    };
    arithmetic("//", a, b, of_ints, |a, b| {
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

fn remainder(state: &mut State<'_, '_>, a: &Value, b: &Value) -> Result<Value, Error> {
    if let Some(format) = a.as_str() {
        return percent(state, format, b).map(Value::from);
    }
    divisible("%", a, b)?;
    let of_ints = |a: i128, b: i128| {
        let remainder = a.checked_rem(b)?;
        Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
    };
    arithmetic("%", a, b, of_ints, float_remainder)
}

fn power(a: &Value, b: &Value) -> Result<Value, Error> {
    match (int_of(a), int_of(b)) {
        (Some(a), Some(b)) if b >= 0 => {
            let exponent = u32::try_from(b).map_err(|_| too_large())?;
            a.checked_pow(exponent).map(int).ok_or_else(too_large)
        }
        _ => match (float_of(a), float_of(b)) {
            (Some(0.0), Some(b)) if b < 0.0 => Err(refused("zero to a negative power")),
            (Some(a), Some(b)) => Ok(Value::from(a.powf(b))),
            _ => Err(unsupported("** or pow()", a, b)),
        },
    }
}

fn sign(value: &Value, name: &str, factor: i128) -> Result<Value, Error> {
    match (int_of(value), float_of(value)) {
        (Some(value), _) => value.checked_mul(factor).map(int).ok_or_else(too_large),
        (None, Some(value)) => Ok(Value::from(value * factor as f64)),
        _ if value.is_undefined() => Err(undefined_error(value)),
        _ => {
            let found = type_name(value);
            Err(refused(format!("bad operand type for unary {name}: '{found}'")))
        }
    }
}

fn negative(value: &Value) -> Result<Value, Error> {
    sign(value, "-", -1)
}

fn positive(value: &Value) -> Result<Value, Error> {
    sign(value, "+", 1)
}

fn concat(state: &mut State<'_, '_>, first: &Value, others: Rest<Value>) -> Result<Value, Error> {
    let mut text = Text::new(state);
    write_str(first, &mut text)?;
    others.iter().try_for_each(|value| write_str(value, &mut text))?;
    text.finish(state).map(Value::from)
}

/// `a < b <= c`: operators and operands in turn.
fn compare(state: &mut State<'_, '_>, first: &Value, rest: Rest<Value>) -> Result<bool, Error> {
    let mut left = first;
    for pair in rest.chunks_exact(2) {
        let right = &pair[1];
        if !holds(state, left, pair[0].as_str().unwrap_or_default(), right)? {
            return Ok(false);
        }
        left = right;
    }
    Ok(true)
}

/// Whether a comparison holds.
///
/// **Errors**: values that have no order.
pub(super) fn holds(
    state: &mut State<'_, '_>,
    left: &Value,
    operator: &str,
    right: &Value,
) -> Result<bool, Error> {
    Ok(match operator {
        "==" => equal(state, left, right)?,
        "!=" => !equal(state, left, right)?,
        "in" => contains(state, right, left)?,
        "not in" => !contains(state, right, left)?,
        _ => match (order(state, operator, left, right)?, operator) {
            (Some(order), "<") => order.is_lt(),
            (Some(order), "<=") => order.is_le(),
            (Some(order), ">") => order.is_gt(),
            (Some(order), _) => order.is_ge(),
            (None, _) => false,
        },
    })
}

/// How two values stand in order; `None` where one is not a number.
///
/// **Errors**: values that have no order.
pub(super) fn order(
    state: &mut State<'_, '_>,
    operator: &str,
    left: &Value,
    right: &Value,
) -> Result<Option<Ordering>, Error> {
    spend(state, 1)?;
    if let (Some(a), Some(b)) = (int_of(left), int_of(right)) {
        return Ok(Some(a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (float_of(left), float_of(right)) {
        return Ok(a.partial_cmp(&b));
    }
    match (type_of(left), type_of(right)) {
        (Type::Text, Type::Text) => Ok(Some(left.as_str().cmp(&right.as_str()))),
        (Type::List, Type::List) | (Type::Tuple, Type::Tuple) => {
            for (a, b) in left.try_iter()?.zip(right.try_iter()?) {
                if !equal(state, &a, &b)? {
                    return order(state, operator, &a, &b);
                }
            }
            Ok(Some(left.len().cmp(&right.len())))
        }
        (Type::Undefined, _) => Err(undefined_error(left)),
        (_, Type::Undefined) => Err(undefined_error(right)),
        _ => {
            let (a, b) = (type_name(left), type_name(right));
            Err(refused(format!("'{operator}' not supported between instances of '{a}' and '{b}'")))
        }
    }
}

/// Whether a text, a list or a dict contains something.
pub(super) fn contains(
    state: &mut State<'_, '_>,
    container: &Value,
    item: &Value,
) -> Result<bool, Error> {
    match type_of(container) {
        Type::Text => match item.as_str() {
            Some(part) => Ok(container.as_str().unwrap_or_default().contains(part)),
            None => {
                let found = type_name(item);
                Err(refused(format!("'in <string>' requires string as left operand, not {found}")))
            }
        },
        Type::Dict => match type_of(item) {
            Type::List | Type::Dict => {
                Err(refused(format!("unhashable type: '{}'", type_name(item))))
            }
            _ => Ok(container.as_object().is_some_and(|dict| dict.get_value(item).is_some())),
        },
        Type::List | Type::Tuple | Type::Range | Type::Generator => {
            for other in container.try_iter()? {
                if equal(state, &other, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Type::Undefined => Ok(false),
        _ => {
            let found = type_name(container);
            Err(refused(format!("argument of type '{found}' is not a container or iterable")))
        }
    }
}

/// `value[start:stop:step]`
fn slice(
    state: &mut State<'_, '_>,
    value: &Value,
    start: &Value,
    stop: &Value,
    step: &Value,
) -> Result<Value, Error> {
    let bound = |value: &Value| match value.is_none() {
        true => Ok(None),
        false => int_of(value).map(Some).ok_or_else(|| {
            refused("slice indices must be integers or None or have an __index__ method")
        }),
    };
    let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
    if step == 0 {
        return Err(refused("slice step cannot be zero"));
    }
    match type_of(value) {
        Type::Text => {
            let text = value.as_str().unwrap_or_default();
            spend(state, text.len())?;
            let characters: Vec<char> = text.chars().collect();
            let picked = Positions::new(start, stop, step, characters.len());
            Ok(Value::from(picked.map(|at| characters[at]).collect::<String>()))
        }
        kind @ (Type::List | Type::Tuple | Type::Range) => {
            let items = items_of(state, value)?;
            let picked = Positions::new(start, stop, step, items.len());
            Ok(sequence(kind, picked.map(|at| items[at].clone()).collect()))
        }
        Type::Undefined => Err(undefined_error(value)),
        _ => Err(refused(format!("'{}' object is not subscriptable", type_name(value)))),
    }
}

/// The positions that a slice picks.
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

/// `value.name` where `name` is a method's.
fn attribute(value: &Value, name: &str) -> Result<Value, Error> {
    match bound_method(value, name) {
        Some(method) => Ok(method),
        None if value.is_undefined() => Err(undefined_error(value)),
        None => value.get_attr(name),
    }
}

/// `loop.cycle(…)`; minijinja's own divides by the number of values.
fn cycle(state: &mut State<'_, '_>, object: &Value, values: Rest<Value>) -> Result<Value, Error> {
    match values.is_empty() {
        true => Err(refused("no items for cycling given")),
        false => object.call_method(state, "cycle", &values),
    }
}

/// What a loop runs over.
fn iterated(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    match type_of(&value) {
        // Loops ask for the length of what they run over.
        Type::Generator | Type::Text | Type::Dict => items_of(state, &value).map(Value::from),
        Type::List | Type::Tuple | Type::Range | Type::Undefined => Ok(value),
        _ => Err(refused(format!("'{}' object is not iterable", type_name(&value)))),
    }
}
