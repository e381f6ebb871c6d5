//! `tojson` as transformers defines it: Python's `json.dumps` without escaping beyond ASCII.

use crate::arguments::{Arguments, flag, integer, not_none};
use crate::budget::TextBuilder;
use crate::dict::Dict;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::text::float;
use crate::value::Value;

/// How values are laid out.
struct Layout {
    /// The indentation per level; `None` puts everything on one line.
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
    ensure_ascii: bool,
}

/// `value|tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`
pub(crate) fn to_json(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let parameters = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let (value, [ensure_ascii, indent, separators, sort_keys]) =
        arguments.bind_filter("tojson", parameters)?;
    let indent = match not_none(indent) {
        None => None,
        Some(Value::Text(text)) => Some(text.to_string()),
        Some(width) => {
            let mut spaces = runtime.budget.builder();
            spaces.fill(' ', usize::try_from(integer(&width)?).unwrap_or(0))?;
            Some(spaces.into_string(&mut runtime.budget)?)
        }
    };
    let (item_separator, key_separator) = match not_none(separators) {
        Some(pair) => match runtime.items(&pair)?.as_slice() {
            [item, key] => (runtime.text_of(item)?.to_string(), runtime.text_of(key)?.to_string()),
            _ => return Err(Error::failed("separators must be a pair of strings")),
        },
        None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
    };
    let layout = Layout {
        indent,
        item_separator,
        key_separator,
        sort_keys: flag(sort_keys),
        ensure_ascii: flag(ensure_ascii),
    };
    let mut text = runtime.budget.builder();
    layout.write(runtime, &value, 0, &mut text)?;
    text.finish(&mut runtime.budget)
}

impl Layout {
    fn write(
        &self,
        runtime: &mut Runtime,
        value: &Value,
        depth: usize,
        text: &mut TextBuilder,
    ) -> Result<()> {
        runtime.budget.work(1)?;
        match value {
            Value::Text(value) => self.write_text(value, text),
            Value::List(list) | Value::Tuple(list) => {
                self.write_items(('[', ']'), &list.items, depth, text, |item, text| {
                    self.write(runtime, item, depth + 1, text)
                })
            }
            Value::Dict(dict) => self.write_dict(runtime, dict, depth, text),
            _ => match scalar(value) {
                Some(scalar) => text.push(&scalar),
                None => {
                    let found = value.type_name();
                    let message = format!("Object of type {found} is not JSON serializable");
                    Err(Error::failed(message))
                }
            },
        }
    }

    fn write_dict(
        &self,
        runtime: &mut Runtime,
        dict: &Dict,
        depth: usize,
        text: &mut TextBuilder,
    ) -> Result<()> {
        runtime.budget.allocate_items(dict.len().saturating_mul(2))?;
        let mut keys: Vec<Value> = dict.keys().cloned().collect();
        if self.sort_keys {
            let keyed = keys.into_iter().map(|key| (key.clone(), key)).collect();
            keys = runtime.sorted(keyed, false)?;
        }
        self.write_items(('{', '}'), &keys, depth, text, |key, text| {
            match (key, scalar(key)) {
                (Value::Text(name), _) => self.write_text(name, text)?,
                (_, Some(name)) => self.write_text(&name, text)?,
                _ => {
                    let found = key.type_name();
                    return Err(Error::failed(format!(
                        "keys must be str, int, float, bool or None, not {found}"
                    )));
                }
            }
            text.push(&self.key_separator)?;
            let key = runtime.key(key)?;
            self.write(runtime, dict.get(&key).unwrap_or(&Value::None), depth + 1, text)
        })
    }

    fn write_items(
        &self,
        (open, close): (char, char),
        items: &[Value],
        depth: usize,
        text: &mut TextBuilder,
        mut write_item: impl FnMut(&Value, &mut TextBuilder) -> Result<()>,
    ) -> Result<()> {
        let new_line = |depth, text: &mut TextBuilder| match &self.indent {
            Some(indent) => {
                text.fill('\n', 1)?;
                let depth = if indent.is_empty() { 0 } else { depth };
                (0..depth).try_for_each(|_| text.push(indent))
            }
            None => Ok(()),
        };
        text.fill(open, 1)?;
        for (index, item) in items.iter().enumerate() {
            text.push(if index > 0 { &self.item_separator } else { "" })?;
            new_line(depth + 1, text)?;
            write_item(item, text)?;
        }
        if !items.is_empty() {
            new_line(depth, text)?;
        }
        text.fill(close, 1)
    }

    fn write_text(&self, value: &str, text: &mut TextBuilder) -> Result<()> {
        text.fill('"', 1)?;
        let mut copied = 0;
        for (at, character) in value.char_indices() {
            let escape = match character {
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\n' => "\\n".to_owned(),
                '\r' => "\\r".to_owned(),
                '\t' => "\\t".to_owned(),
                '\u{8}' => "\\b".to_owned(),
                '\u{c}' => "\\f".to_owned(),
                control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
                beyond if self.ensure_ascii && !(' '..='~').contains(&beyond) => {
                    let mut units = [0; 2];
                    let units = beyond.encode_utf16(&mut units).iter();
                    units.map(|unit| format!("\\u{unit:04x}")).collect()
                }
                _ => continue,
            };
            text.push(&value[copied..at])?;
            text.push(&escape)?;
            copied = at + character.len_utf8();
        }
        text.push(&value[copied..])?;
        text.fill('"', 1)
    }
}

/// The JSON of a number, a boolean or none.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::None => Some("null".to_owned()),
        Value::Bool(value) => Some(if *value { "true" } else { "false" }.to_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(match number {
            _ if number.is_nan() => "NaN".to_owned(),
            _ if number.is_infinite() => {
                if *number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned()
            }
            _ => float(*number),
        }),
        _ => None,
    }
}
