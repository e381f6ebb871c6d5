//! `tojson` as transformers defines it: Python's `json.dumps`, characters beyond ASCII as they are.

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use super::arguments::bind;
use super::refused;

/// How a value is written.
struct Layout {
    /// What one level of nesting is indented by; everything stands on one line without.
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
    ensure_ascii: bool,
}

/// `value|tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`
pub(super) fn to_json(arguments: &[Value]) -> Result<String, Error> {
    let parameters = ["x", "ensure_ascii", "indent", "separators", "sort_keys"];
    let [value, ensure_ascii, indent, separators, sort_keys] =
        bind("tojson", parameters, arguments)?;
    let is_set = |flag: Option<Value>| flag.is_some_and(|flag| flag.is_true());
    let (ensure_ascii, sort_keys) = (is_set(ensure_ascii), is_set(sort_keys));
    let indent = match indent.filter(|indent| !indent.is_none()) {
        None => None,
        Some(indent) => Some(match (indent.as_str(), indent.as_i64()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(width)) => " ".repeat(usize::try_from(width).unwrap_or(0).min(64)),
            (None, None) => return Err(refused("indent must be a number or a text")),
        }),
    };
    let (item_separator, key_separator) = match separators.filter(|pair| !pair.is_none()) {
        Some(pair) => {
            let text = |index| Ok::<_, Error>(pair.get_item_by_index(index)?.to_string());
            (text(0)?, text(1)?)
        }
        None if indent.is_some() => (",".to_owned(), ": ".to_owned()),
        None => (", ".to_owned(), ": ".to_owned()),
    };
    let layout = Layout { indent, item_separator, key_separator, sort_keys, ensure_ascii };
    let mut text = String::new();
    layout.write(&value.unwrap_or_default(), 0, &mut text)?;
    Ok(text)
}

impl Layout {
    fn write(&self, value: &Value, depth: usize, text: &mut String) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => text.push_str("null"),
            ValueKind::Bool => text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => text.push_str(&value.to_string()),
            ValueKind::String => self.write_text(value.as_str().unwrap_or_default(), text),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?;
                self.write_items('[', ']', items, depth, text, |item, text| {
                    self.write(&item, depth + 1, text)
                })?;
            }
            ValueKind::Map => {
                let mut entries = Vec::new();
                for key in value.try_iter()? {
                    entries.push((key_text(&key)?, value.get_item(&key)?));
                }
                if self.sort_keys {
                    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                self.write_items('{', '}', entries.into_iter(), depth, text, |entry, text| {
                    let (key, item) = entry;
                    self.write_text(&key, text);
                    text.push_str(&self.key_separator);
                    self.write(&item, depth + 1, text)
                })?;
            }
            kind => return Err(refused(format!("{kind} is not JSON serializable"))),
        }
        Ok(())
    }

    fn write_items<T>(
        &self,
        open: char,
        close: char,
        items: impl Iterator<Item = T>,
        depth: usize,
        text: &mut String,
        mut write_item: impl FnMut(T, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let new_line = |depth, text: &mut String| {
            if let Some(indent) = &self.indent {
                text.push('\n');
                text.extend(std::iter::repeat_n(indent.as_str(), depth));
            }
        };
        text.push(open);
        let mut is_empty = true;
        for item in items {
            if !is_empty {
                text.push_str(&self.item_separator);
            }
            is_empty = false;
            new_line(depth + 1, text);
            write_item(item, text)?;
        }
        if !is_empty {
            new_line(depth, text);
        }
        text.push(close);
        Ok(())
    }

    fn write_text(&self, value: &str, text: &mut String) {
        text.push('"');
        for character in value.chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                control if control < ' ' => text.push_str(&format!("\\u{:04x}", control as u32)),
                beyond if self.ensure_ascii && (!beyond.is_ascii() || beyond == '\u{7f}') => {
                    for unit in beyond.encode_utf16(&mut [0; 2]) {
                        text.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                other => text.push(other),
            }
        }
        text.push('"');
    }
}

/// A key of a JSON object: Python writes numbers, booleans and none as their JSON.
fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::Number => Ok(key.to_string()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_owned()),
        ValueKind::None => Ok("null".to_owned()),
        kind => Err(refused(format!("keys must be str, int, float, bool or None, not {kind}"))),
    }
}
