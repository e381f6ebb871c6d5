//! Jinja2's tests, used after `is`, as a table by name.

use crate::arguments::Arguments;
use crate::dict::equal_scalars;
use crate::error::Result;
use crate::filters;
use crate::methods::{is_lower, is_upper};
use crate::operators::remainder;
use crate::runtime::Runtime;
use crate::syntax_tree::Comparison;
use crate::value::Value;

/// A test: called with its value and arguments.
pub(crate) type Predicate = fn(&mut Runtime, Arguments) -> Result<bool>;

/// The test of this name.
pub(crate) fn find(name: &str) -> Option<Predicate> {
    PREDICATES.iter().find(|(known, _)| *known == name).map(|(_, predicate)| *predicate)
}

const PREDICATES: &[(&str, Predicate)] = &[
    ("!=", |r, a| compare(r, a, Comparison::NotEqual)),
    ("<", |r, a| compare(r, a, Comparison::Less)),
    ("<=", |r, a| compare(r, a, Comparison::LessOrEqual)),
    ("==", |r, a| compare(r, a, Comparison::Equal)),
    (">", |r, a| compare(r, a, Comparison::Greater)),
    (">=", |r, a| compare(r, a, Comparison::GreaterOrEqual)),
    ("boolean", |_, a| only(a, |value| matches!(value, Value::Bool(_)))),
    ("callable", |_, a| only(a, is_callable)),
    ("defined", |_, a| only(a, |value| !value.is_undefined())),
    ("divisibleby", |_, a| divisible(a.bind_all("divisibleby", ["value", "num"])?)),
    ("eq", |r, a| compare(r, a, Comparison::Equal)),
    ("equalto", |r, a| compare(r, a, Comparison::Equal)),
    ("escaped", |_, a| only(a, |value| value.as_text().is_some_and(|text| text.is_safe))),
    ("even", |_, a| Ok(parity(a)? == 0.0)),
    ("false", |_, a| only(a, |value| matches!(value, Value::Bool(false)))),
    ("filter", |_, a| {
        only(a, |value| value.as_text().is_some_and(|name| filters::find(name).is_some()))
    }),
    ("float", |_, a| only(a, |value| matches!(value, Value::Float(_)))),
    ("ge", |r, a| compare(r, a, Comparison::GreaterOrEqual)),
    ("greaterthan", |r, a| compare(r, a, Comparison::Greater)),
    ("gt", |r, a| compare(r, a, Comparison::Greater)),
    ("in", |r, a| compare(r, a, Comparison::In)),
    ("integer", |_, a| only(a, |value| matches!(value, Value::Int(_)))),
    ("iterable", |_, a| only(a, is_iterable)),
    ("le", |r, a| compare(r, a, Comparison::LessOrEqual)),
    ("lessthan", |r, a| compare(r, a, Comparison::Less)),
    ("lower", |r, a| in_case(r, a, is_lower)),
    ("lt", |r, a| compare(r, a, Comparison::Less)),
    ("mapping", |_, a| only(a, |value| matches!(value, Value::Dict(_)))),
    ("ne", |r, a| compare(r, a, Comparison::NotEqual)),
    ("none", |_, a| only(a, Value::is_none)),
    ("number", |_, a| only(a, |value| value.as_float().is_some())),
    ("odd", |_, a| Ok(parity(a)? == 1.0)),
    ("sameas", |_, a| same(a.bind_all("sameas", ["value", "other"])?)),
    ("sequence", |_, a| only(a, is_sequence)),
    ("string", |_, a| only(a, |value| matches!(value, Value::Text(_)))),
    ("test", |_, a| only(a, |value| value.as_text().is_some_and(|name| find(name).is_some()))),
    ("true", |_, a| only(a, |value| matches!(value, Value::Bool(true)))),
    ("undefined", |_, a| only(a, Value::is_undefined)),
    ("upper", |r, a| in_case(r, a, is_upper)),
];

fn only(arguments: Arguments, holds: impl Fn(&Value) -> bool) -> Result<bool> {
    let [value] = arguments.bind_all("test", ["value"])?;
    Ok(holds(&value))
}

fn compare(runtime: &mut Runtime, arguments: Arguments, comparison: Comparison) -> Result<bool> {
    let [left, right] = arguments.bind_all(comparison.symbol(), ["a", "b"])?;
    runtime.holds(&left, comparison, &right)
}

fn in_case(runtime: &mut Runtime, arguments: Arguments, holds: fn(&str) -> bool) -> Result<bool> {
    let [value] = arguments.bind_all("test", ["value"])?;
    let text = runtime.text_of(&value)?;
    runtime.budget.scan(text.len())?;
    Ok(holds(&text))
}

/// `value % 2`
fn parity(arguments: Arguments) -> Result<f64> {
    let [value] = arguments.bind_all("test", ["value"])?;
    Ok(remainder(&value, &Value::Int(2))?.as_float().unwrap_or(f64::NAN))
}

fn divisible([value, number]: [Value; 2]) -> Result<bool> {
    Ok(remainder(&value, &number)?.as_float() == Some(0.0))
}

/// Python's `is`, with equal numbers and strings of one type being the same object.
fn same([value, other]: [Value; 2]) -> Result<bool> {
    Ok(match (&value, &other) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            std::rc::Rc::ptr_eq(a, b)
        }
        (Value::Dict(a), Value::Dict(b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::Undefined(a), Value::Undefined(b)) => std::rc::Rc::ptr_eq(a, b),
        _ => value.type_name() == other.type_name() && equal_scalars(&value, &other),
    })
}

fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Text(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::Range(_)
            | Value::Undefined(_)
    )
}

fn is_iterable(value: &Value) -> bool {
    is_sequence(value) || matches!(value, Value::Generator(_) | Value::View(..))
}

/// An undefined value is callable too, only to fail.
fn is_callable(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.is_callable(),
        _ => value.is_undefined(),
    }
}
