//! Values as Python sees them.

use minijinja::value::{ObjectRepr, ValueKind};
use minijinja::{Error, State, Value};

use super::budget::{spend, spend_items};
use super::objects::{BoundMethod, Generator, Range};
use super::refused;

/// The Python type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Undefined,
    None,
    Bool,
    Int,
    Float,
    Text,
    List,
    Tuple,
    Dict,
    Range,
    Generator,
    /// Functions, macros, loops, namespaces.
    Other,
}

/// The type of a value.
pub(super) fn type_of(value: &Value) -> Type {
    match value.kind() {
        ValueKind::Undefined => Type::Undefined,
        ValueKind::None => Type::None,
        ValueKind::Bool => Type::Bool,
        ValueKind::Number if value.is_integer() => Type::Int,
        ValueKind::Number => Type::Float,
        ValueKind::String => Type::Text,
        _ if value.is_tuple() => Type::Tuple,
        _ => match value.as_object() {
            Some(object) if object.is::<Range>() => Type::Range,
            Some(object) if object.is::<Generator>() => Type::Generator,
            Some(object) => match object.repr() {
                ObjectRepr::Seq | ObjectRepr::Iterable => Type::List,
                ObjectRepr::Map if !is_engine_object(object.type_name()) => Type::Dict,
                _ => Type::Other,
            },
            None => Type::Other,
        },
    }
}

/// Whether an object is the engine's, and no mapping to Python.
fn is_engine_object(type_name: &str) -> bool {
    ["::Namespace", "::Loop", "::Macro"].iter().any(|name| type_name.ends_with(name))
}

/// The name of a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match type_of(value) {
        Type::Undefined => "Undefined",
        Type::None => "NoneType",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Float => "float",
        Type::Text => "str",
        Type::List => "list",
        Type::Tuple => "tuple",
        Type::Dict => "dict",
        Type::Range => "range",
        Type::Generator => "generator",
        Type::Other => match value.as_object() {
            Some(object) if object.is::<BoundMethod>() => "builtin_function_or_method",
            Some(object) if object.type_name().ends_with("::Namespace") => "Namespace",
            Some(object) if object.type_name().ends_with("::Loop") => "LoopContext",
            Some(object) if object.type_name().ends_with("::Macro") => "Macro",
            _ => "function",
        },
    }
}

/// The error of using an undefined value, which names what is undefined.
pub(super) fn undefined_error(value: &Value) -> Error {
    value.get_item(&Value::from(0)).err().unwrap_or_else(|| refused("undefined value"))
}

/// A whole number, booleans with it.
pub(super) fn int_of(value: &Value) -> Option<i128> {
    match type_of(value) {
        Type::Int => i128::try_from(value.clone()).ok(),
        Type::Bool => Some(i128::from(value.is_true())),
        _ => None,
    }
}

/// A whole number that an operation asks for.
pub(super) fn index_of(value: &Value) -> Result<i128, Error> {
    int_of(value).ok_or_else(|| match value.is_undefined() {
        true => undefined_error(value),
        false => {
            let name = type_name(value);
            refused(format!("'{name}' object cannot be interpreted as an integer"))
        }
    })
}

/// Any number.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match type_of(value) {
        Type::Float => f64::try_from(value.clone()).ok(),
        Type::Int | Type::Bool => int_of(value).map(|value| value as f64),
        _ => None,
    }
}

/// A value of a whole number.
pub(super) fn int(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value), Value::from)
}

/// What a value consists of: a list's items, a dict's keys, a text's characters.
///
/// **Errors**: a value that cannot be iterated.
pub(super) fn items_of(state: &mut State<'_, '_>, value: &Value) -> Result<Vec<Value>, Error> {
    match type_of(value) {
        Type::None | Type::Bool | Type::Int | Type::Float | Type::Other => {
            Err(refused(format!("'{}' object is not iterable", type_name(value))))
        }
        Type::Text => spend_items(state, value.as_str().unwrap_or_default().chars().count()),
        _ => spend_items(state, value.len().unwrap_or(0)),
    }?;
    Ok(value.try_iter()?.collect())
}

/// The keys and values of a dict.
pub(super) fn pairs_of(
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<Vec<(Value, Value)>, Error> {
    spend_items(state, value.len().unwrap_or(0).saturating_mul(2))?;
    Ok(value.as_object().and_then(|object| object.try_iter_pairs()).into_iter().flatten().collect())
}

/// Whether two values are equal to Python.
pub(super) fn equal(state: &mut State<'_, '_>, a: &Value, b: &Value) -> Result<bool, Error> {
    spend(state, 1)?;
    Ok(match (type_of(a), type_of(b)) {
        (Type::List, Type::List) | (Type::Tuple, Type::Tuple) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.try_iter()?.zip(b.try_iter()?) {
                if !equal(state, &a, &b)? {
                    return Ok(false);
                }
            }
            true
        }
        (Type::Dict, Type::Dict) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, value) in pairs_of(state, a)? {
                match b.as_object().and_then(|object| object.get_value(&key)) {
                    Some(other) if equal(state, &value, &other)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        _ => match (int_of(a), int_of(b)) {
            (Some(a), Some(b)) => a == b,
            _ => match (float_of(a), float_of(b)) {
                (Some(a), Some(b)) => a == b,
                (None, None) => a == b,
                _ => false,
            },
        },
    })
}
