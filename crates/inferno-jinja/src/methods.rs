//! The methods of Python's types, each a table by name.

mod container;
mod string;

pub(crate) use string::{
    Alignment, capitalized, changed_case, is_lower, is_upper, lines, pad, replace, strip,
};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::object::Object;
use crate::runtime::Runtime;
use crate::value::Value;

/// A method: called with its receiver and arguments.
pub(crate) type Method = fn(&mut Runtime, &Value, Arguments) -> Result<Value>;

type Table = &'static [(&'static str, Method)];

/// The method of this name that a value has.
pub(crate) fn find(value: &Value, name: &str) -> Option<(&'static str, Method)> {
    let table: Table = match value {
        Value::Text(_) => string::METHODS,
        Value::Dict(_) => container::DICT_METHODS,
        Value::List(_) => container::LIST_METHODS,
        Value::Tuple(_) | Value::Range(_) => container::SEQUENCE_METHODS,
        Value::Object(object) => match **object {
            Object::Loop(_) => container::LOOP_METHODS,
            Object::Cycler { .. } => container::CYCLER_METHODS,
            Object::Function { name: "dict", .. } => container::DICT_TYPE_METHODS,
            _ => return None,
        },
        _ => return None,
    };
    table.iter().find(|(known, _)| *known == name).copied()
}

/// Whether a name is a method that modifies its receiver, or a private attribute of a namespace, both of
/// which Jinja2's sandbox forbids.
pub(crate) fn is_forbidden(value: &Value, name: &str) -> bool {
    const DICT: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
    const LIST: [&str; 8] =
        ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
    match value {
        Value::Dict(_) => DICT.contains(&name),
        Value::List(_) => LIST.contains(&name),
        Value::Namespace(_) => name.starts_with('_'),
        _ => false,
    }
}
