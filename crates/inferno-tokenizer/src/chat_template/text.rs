//! Values as texts: Python's `str` and `repr`.

use minijinja::{Error, State, Value};
use unicode_general_category::{GeneralCategory, get_general_category};

use super::budget::Text;
use super::objects::Range;
use super::types::{Type, type_name, type_of};

/// Python's `str`; nothing for what is undefined.
pub(super) fn text_of(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let mut text = Text::new(state);
    write_str(value, &mut text)?;
    text.finish(state)
}

/// Python's `repr`.
pub(super) fn repr_of(state: &mut State<'_, '_>, value: &Value) -> Result<String, Error> {
    let mut text = Text::new(state);
    write_repr(value, &mut text)?;
    text.finish(state)
}

/// Writes Python's `str` of a value.
pub(super) fn write_str(value: &Value, text: &mut Text) -> Result<(), Error> {
    match value.as_str() {
        Some(value) => text.push(value),
        None if value.is_undefined() => Ok(()),
        None => write_repr(value, text),
    }
}

fn write_repr(value: &Value, text: &mut Text) -> Result<(), Error> {
    match type_of(value) {
        Type::Undefined => text.push("Undefined"),
        Type::None => text.push("None"),
        Type::Bool => text.push(if value.is_true() { "True" } else { "False" }),
        Type::Int => text.push(&value.to_string()),
        Type::Float => text.push(&float(f64::try_from(value.clone()).unwrap_or(f64::NAN))),
        Type::Text => text.push(&quoted(value.as_str().unwrap_or_default())),
        Type::List => write_items("[", "]", value, text),
        Type::Tuple if value.len() == Some(1) => write_items("(", ",)", value, text),
        Type::Tuple => write_items("(", ")", value, text),
        Type::Dict => {
            text.push("{")?;
            let pairs = value.as_object().and_then(|object| object.try_iter_pairs());
            for (index, (key, item)) in pairs.into_iter().flatten().enumerate() {
                text.push(if index > 0 { ", " } else { "" })?;
                write_repr(&key, text)?;
                text.push(": ")?;
                write_repr(&item, text)?;
            }
            text.push("}")
        }
        Type::Range => match value.downcast_object_ref::<Range>() {
            Some(range) => text.push(&range.to_string()),
            None => Ok(()),
        },
        Type::Generator => text.push("<generator object>"),
        Type::Other => match type_name(value) {
            "Namespace" => {
                text.push("<Namespace ")?;
                write_repr(&namespace_items(value), text)?;
                text.push(">")
            }
            "function" => text.push("<function>"),
            "Macro" => {
                let name = value.get_attr("name")?;
                text.push("<Macro ")?;
                write_repr(&name, text)?;
                text.push(">")
            }
            _ => text.push(&value.to_string()),
        },
    }
}

/// The variables of a namespace, as a dict.
fn namespace_items(namespace: &Value) -> Value {
    let pairs = namespace.as_object().and_then(|object| object.try_iter_pairs());
    Value::from_pairs(pairs.into_iter().flatten())
}

fn write_items(open: &str, close: &str, value: &Value, text: &mut Text) -> Result<(), Error> {
    text.push(open)?;
    for (index, item) in value.try_iter()?.enumerate() {
        text.push(if index > 0 { ", " } else { "" })?;
        write_repr(&item, text)?;
    }
    text.push(close)
}

/// Python's `repr` of a float: the shortest digits that read back, with an exponent where it is
/// below -4 or at least 16.
pub(super) fn float(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan".to_owned() } else { format!("{value}") };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => {
            let positional = value.to_string();
            if positional.contains('.') { positional } else { format!("{positional}.0") }
        }
    }
}

/// Python's `repr` of a text.
pub(super) fn quoted(value: &str) -> String {
    let quote = if value.contains('\'') && !value.contains('"') { '"' } else { '\'' };
    let mut text = String::with_capacity(value.len() + 2);
    text.push(quote);
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            mark if mark == quote => text.extend(['\\', mark]),
            other if is_printable(other) => text.push(other),
            other => {
                let number = u32::from(other);
                text.push_str(&match number {
                    0..0x100 => format!("\\x{number:02x}"),
                    0x100..0x1_0000 => format!("\\u{number:04x}"),
                    _ => format!("\\U{number:08x}"),
                });
            }
        }
    }
    text.push(quote);
    text
}

/// Whether Python's `repr` writes a character as it is.
pub(super) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    !matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
    )
}
