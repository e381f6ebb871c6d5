//! `tojson` as transformers defines it: Python's `json.dumps`, characters beyond ASCII as they are.

use minijinja::{Error, State, Value};

use super::arguments::bind;
use super::budget::Text;
use super::refused;
use super::text::float;
use super::types::{Type, index_of, int_of, pairs_of, type_name, type_of};

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
pub(super) fn to_json(state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
    let parameters = ["x", "ensure_ascii", "indent", "separators", "sort_keys"];
    let [value, ensure_ascii, indent, separators, sort_keys] =
        bind("tojson", parameters, arguments)?;
    let is_set = |flag: Option<Value>| flag.is_some_and(|flag| flag.is_true());
    let (ensure_ascii, sort_keys) = (is_set(ensure_ascii), is_set(sort_keys));
    let indent = match indent.filter(|indent| !indent.is_none()) {
        None => None,
        Some(indent) => Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => {
                let mut spaces = Text::new(state);
                spaces.fill(' ', usize::try_from(index_of(&indent)?).unwrap_or(0))?;
                spaces.finish(state)?
            }
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
    let mut text = Text::new(state);
    layout.write(state, &value.unwrap_or_default(), 0, &mut text)?;
    text.finish(state).map(Value::from)
}

impl Layout {
    fn write(
        &self,
        state: &mut State<'_, '_>,
        value: &Value,
        depth: usize,
        text: &mut Text,
    ) -> Result<(), Error> {
        match type_of(value) {
            Type::Text => self.write_text(value.as_str().unwrap_or_default(), text),
            Type::List | Type::Tuple => {
                let items = value.try_iter()?;
                self.write_items(('[', ']'), items, depth, text, |item, text| {
                    self.write(state, &item, depth + 1, text)
                })
            }
            Type::Dict => {
                let mut entries = Vec::new();
                for (key, item) in pairs_of(state, value)? {
                    let Some(key) = scalar(&key).or_else(|| key.as_str().map(str::to_owned)) else {
                        let found = type_name(&key);
                        return Err(refused(format!(
                            "keys must be str, int, float, bool or None, not {found}"
                        )));
                    };
                    entries.push((key, item));
                }
                if self.sort_keys {
                    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                self.write_items(('{', '}'), entries.into_iter(), depth, text, |entry, text| {
                    let (key, item) = entry;
                    self.write_text(&key, text)?;
                    text.push(&self.key_separator)?;
                    self.write(state, &item, depth + 1, text)
                })
            }
            _ => match scalar(value) {
                Some(scalar) => text.push(&scalar),
                None => {
                    let found = type_name(value);
                    Err(refused(format!("Object of type {found} is not JSON serializable")))
                }
            },
        }
    }

    fn write_items<T>(
        &self,
        (open, close): (char, char),
        items: impl Iterator<Item = T>,
        depth: usize,
        text: &mut Text,
        mut write_item: impl FnMut(T, &mut Text) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let new_line = |depth, text: &mut Text| match &self.indent {
            Some(indent) => {
                text.fill('\n', 1)?;
                (0..depth).try_for_each(|_| text.push(indent))
            }
            None => Ok(()),
        };
        text.fill(open, 1)?;
        let mut is_empty = true;
        for item in items {
            if !is_empty {
                text.push(&self.item_separator)?;
            }
            is_empty = false;
            new_line(depth + 1, text)?;
            write_item(item, text)?;
        }
        if !is_empty {
            new_line(depth, text)?;
        }
        text.fill(close, 1)
    }

    fn write_text(&self, value: &str, text: &mut Text) -> Result<(), Error> {
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
                    let units = beyond.encode_utf16(&mut [0; 2]).to_vec();
                    units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
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
    match type_of(value) {
        Type::None => Some("null".to_owned()),
        Type::Bool => Some(if value.is_true() { "true" } else { "false" }.to_owned()),
        Type::Int => int_of(value).map(|number| number.to_string()),
        Type::Float => f64::try_from(value.clone()).ok().map(|number| match number {
            _ if number.is_nan() => "NaN".to_owned(),
            _ if number.is_infinite() => {
                if number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned()
            }
            _ => float(number),
        }),
        _ => None,
    }
}
