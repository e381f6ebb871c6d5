//! The text forms of values: Python's `str` and `repr`.

use crate::budget::TextBuilder;
use crate::character::is_printable;
use crate::error::{Error, Result};
use crate::object::Object;
use crate::runtime::Runtime;
use crate::value::{Range, Text, Value, ViewKind};

/// How deep values may nest to be printed.
const MAX_DEPTH: usize = 250;

impl Runtime {
    /// Python's `str`; empty for an undefined value. A string is returned as it is.
    pub(crate) fn text_of(&mut self, value: &Value) -> Result<Text> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            _ => {
                let mut text = self.budget.builder();
                self.write_str(value, &mut text)?;
                Ok(Text::new(text.into_string(&mut self.budget)?))
            }
        }
    }

    /// Python's `repr`.
    pub(crate) fn repr_of(&mut self, value: &Value) -> Result<String> {
        let mut text = self.budget.builder();
        self.write_repr(value, 0, &mut text)?;
        text.into_string(&mut self.budget)
    }

    /// Python's `ascii`: the `repr` with characters beyond ASCII escaped.
    pub(crate) fn ascii_of(&mut self, value: &Value) -> Result<String> {
        let repr = self.repr_of(value)?;
        self.budget.scan(repr.len())?;
        let mut text = self.budget.builder();
        for character in repr.chars() {
            match character.is_ascii() {
                true => text.fill(character, 1)?,
                false => text.push(&escape(character))?,
            }
        }
        text.into_string(&mut self.budget)
    }

    /// Writes Python's `str` of a value.
    pub(crate) fn write_str(&self, value: &Value, text: &mut TextBuilder) -> Result<()> {
        match value {
            Value::Text(value) => text.push(value),
            Value::Undefined(_) => Ok(()),
            _ => self.write_repr(value, 0, text),
        }
    }

    fn write_repr(&self, value: &Value, depth: usize, text: &mut TextBuilder) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::failed("maximum recursion depth exceeded while printing"));
        }
        match value {
            Value::Undefined(_) => text.push("Undefined"),
            Value::None => text.push("None"),
            Value::Bool(value) => text.push(if *value { "True" } else { "False" }),
            Value::Int(value) => text.push(&value.to_string()),
            Value::Float(value) => text.push(&float(*value)),
            Value::Text(value) if value.is_safe => text.push(&format!("Markup({})", quoted(value))),
            Value::Text(value) => text.push(&quoted(value)),
            Value::List(list) => self.write_items("[", &list.items, "]", depth, text),
            Value::Tuple(tuple) if tuple.items.len() == 1 => {
                self.write_items("(", &tuple.items, ",)", depth, text)
            }
            Value::Tuple(tuple) => self.write_items("(", &tuple.items, ")", depth, text),
            Value::Dict(dict) => self.write_entries(dict.iter(), depth, text),
            Value::View(kind, dict) => {
                text.push(value.type_name())?;
                let items: Vec<Value> = dict.iter().map(|entry| view_item(*kind, entry)).collect();
                self.write_items("([", &items, "])", depth, text)
            }
            Value::Range(Range { start, stop, step: 1 }) => {
                text.push(&format!("range({start}, {stop})"))
            }
            Value::Range(Range { start, stop, step }) => {
                text.push(&format!("range({start}, {stop}, {step})"))
            }
            Value::Generator(_) => text.push("<generator object>"),
            Value::Namespace(index) => {
                text.push("<Namespace ")?;
                self.write_entries(self.namespaces[*index].iter(), depth, text)?;
                text.push(">")
            }
            Value::Object(object) => text.push(&object_repr(object)),
        }
    }

    fn write_items(
        &self,
        open: &str,
        items: &[Value],
        close: &str,
        depth: usize,
        text: &mut TextBuilder,
    ) -> Result<()> {
        text.push(open)?;
        for (index, item) in items.iter().enumerate() {
            text.push(if index > 0 { ", " } else { "" })?;
            self.write_repr(item, depth + 1, text)?;
        }
        text.push(close)
    }

    fn write_entries<'v>(
        &self,
        entries: impl Iterator<Item = (&'v Value, &'v Value)>,
        depth: usize,
        text: &mut TextBuilder,
    ) -> Result<()> {
        text.push("{")?;
        for (index, (key, value)) in entries.enumerate() {
            text.push(if index > 0 { ", " } else { "" })?;
            self.write_repr(key, depth + 1, text)?;
            text.push(": ")?;
            self.write_repr(value, depth + 1, text)?;
        }
        text.push("}")
    }
}

fn view_item(kind: ViewKind, (key, value): (&Value, &Value)) -> Value {
    match kind {
        ViewKind::Keys => key.clone(),
        ViewKind::Values => value.clone(),
        ViewKind::Items => Value::tuple(vec![key.clone(), value.clone()]),
    }
}

fn object_repr(object: &Object) -> String {
    match object {
        Object::Macro(called) => format!("<Macro {}>", quoted(&called.definition.name)),
        Object::Method { receiver, name, .. } => {
            format!("<built-in method {name} of {} object>", receiver.type_name())
        }
        Object::Loop(current) => {
            format!("<LoopContext {}/{}>", current.index.get() + 1, current.items.items.len())
        }
        _ => format!("<{}>", object.type_name()),
    }
}

/// Python's `repr` of a float: the shortest digits that read back, with an exponent below -4 and from
/// 16 on.
pub(crate) fn float(value: f64) -> String {
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

/// Python's `repr` of a string.
pub(crate) fn quoted(value: &str) -> String {
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
            other => text.push_str(&escape(other)),
        }
    }
    text.push(quote);
    text
}

/// The escape sequence with the number of a character.
pub(crate) fn escape(character: char) -> String {
    let number = u32::from(character);
    match number {
        0..0x100 => format!("\\x{number:02x}"),
        0x100..0x1_0000 => format!("\\u{number:04x}"),
        _ => format!("\\U{number:08x}"),
    }
}
