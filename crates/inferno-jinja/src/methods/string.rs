//! Methods of strings.

mod case;
mod search;
mod split;

pub(crate) use case::{capitalized, is_lower, is_upper};
pub(crate) use search::replace;
pub(crate) use split::lines;

use std::collections::HashSet;

use super::Method;
use crate::arguments::{Arguments, integer, integer_or, not_none, string};
use crate::character::{
    continues_identifier, is_alphanumeric, is_decimal, is_digit, is_letter, is_numeric,
    is_printable, is_space, starts_identifier,
};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::value::{Text, Value};

pub(super) const METHODS: &[(&str, Method)] = &[
    ("capitalize", |r, s, a| in_case(r, s, a, capitalized)),
    ("casefold", |r, s, a| in_case(r, s, a, case::casefolded)),
    ("center", |r, s, a| padded(r, s, a, Alignment::Center)),
    ("count", |r, s, a| search::search(r, s, a, "count")),
    ("endswith", |r, s, a| search::affix(r, s, a, "endswith", |text, end| text.ends_with(end))),
    ("expandtabs", expand_tabs),
    ("find", |r, s, a| search::search(r, s, a, "find")),
    ("format", |r, s, a| r.format(receiver(s)?, &a)),
    ("index", |r, s, a| search::search(r, s, a, "index")),
    ("isalnum", |r, s, a| all(r, s, a, is_alphanumeric)),
    ("isalpha", |r, s, a| all(r, s, a, is_letter)),
    ("isascii", |r, s, a| whether(r, s, a, str::is_ascii)),
    ("isdecimal", |r, s, a| all(r, s, a, is_decimal)),
    ("isdigit", |r, s, a| all(r, s, a, is_digit)),
    ("isidentifier", |r, s, a| whether(r, s, a, is_identifier)),
    ("islower", |r, s, a| whether(r, s, a, is_lower)),
    ("isnumeric", |r, s, a| all(r, s, a, is_numeric)),
    ("isprintable", |r, s, a| whether(r, s, a, |text| text.chars().all(is_printable))),
    ("isspace", |r, s, a| all(r, s, a, is_space)),
    ("istitle", |r, s, a| whether(r, s, a, case::is_title)),
    ("isupper", |r, s, a| whether(r, s, a, is_upper)),
    ("join", join),
    ("ljust", |r, s, a| padded(r, s, a, Alignment::Left)),
    ("lower", |r, s, a| in_case(r, s, a, str::to_lowercase)),
    ("lstrip", |r, s, a| stripped(r, s, a, (true, false))),
    ("partition", |r, s, a| split::partition(r, s, a, false)),
    ("removeprefix", |r, s, a| without(r, s, a, |text, affix| text.strip_prefix(affix))),
    ("removesuffix", |r, s, a| without(r, s, a, |text, affix| text.strip_suffix(affix))),
    ("replace", search::replace_method),
    ("rfind", |r, s, a| search::search(r, s, a, "rfind")),
    ("rindex", |r, s, a| search::search(r, s, a, "rindex")),
    ("rjust", |r, s, a| padded(r, s, a, Alignment::Right)),
    ("rpartition", |r, s, a| split::partition(r, s, a, true)),
    ("rsplit", |r, s, a| split::split(r, s, a, true)),
    ("rstrip", |r, s, a| stripped(r, s, a, (false, true))),
    ("split", |r, s, a| split::split(r, s, a, false)),
    ("splitlines", split::split_lines),
    ("startswith", |r, s, a| {
        search::affix(r, s, a, "startswith", |text, start| text.starts_with(start))
    }),
    ("strip", |r, s, a| stripped(r, s, a, (true, true))),
    ("swapcase", |r, s, a| in_case(r, s, a, case::swapped)),
    ("title", |r, s, a| in_case(r, s, a, case::titled)),
    ("upper", |r, s, a| in_case(r, s, a, str::to_uppercase)),
    ("zfill", zero_fill),
];

fn receiver(value: &Value) -> Result<&Text> {
    value.as_text().ok_or_else(|| Error::failed("descriptor requires a 'str' object"))
}

/// The receiver of a method without arguments, charged for being read.
fn read<'v>(runtime: &mut Runtime, value: &'v Value, arguments: Arguments) -> Result<&'v Text> {
    let [] = arguments.bind("str method", [])?;
    let text = receiver(value)?;
    runtime.budget.scan(text.len())?;
    Ok(text)
}

fn in_case(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    change: fn(&str) -> String,
) -> Result<Value> {
    let text = read(runtime, value, arguments)?;
    changed_case(runtime, text, change)
}

/// A string with its case converted.
pub(crate) fn changed_case(
    runtime: &mut Runtime,
    text: &str,
    change: impl Fn(&str) -> String,
) -> Result<Value> {
    runtime.budget.scan(text.len())?;
    // No character grows by more than this when its case changes.
    runtime.budget.allocate(text.len().saturating_mul(3))?;
    runtime.budget.text(change(text))
}

fn all(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    holds: fn(char) -> bool,
) -> Result<Value> {
    let text = read(runtime, value, arguments)?;
    Ok(Value::Bool(!text.is_empty() && text.chars().all(holds)))
}

fn whether(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    holds: fn(&str) -> bool,
) -> Result<Value> {
    let text = read(runtime, value, arguments)?;
    Ok(Value::Bool(holds(text)))
}

fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(starts_identifier) && characters.all(continues_identifier)
}

fn stripped(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    sides: (bool, bool),
) -> Result<Value> {
    let [characters] = arguments.bind("strip", [""])?;
    strip(runtime, receiver(value)?, not_none(characters), sides)
}

/// A text without the whitespace, or the given characters, at its start and its end.
pub(crate) fn strip(
    runtime: &mut Runtime,
    text: &str,
    characters: Option<Value>,
    (start, end): (bool, bool),
) -> Result<Value> {
    runtime.budget.scan(text.len())?;
    let set: Option<HashSet<char>> = match &characters {
        None => None,
        Some(characters) => {
            let characters = string(characters)?;
            runtime.budget.scan(characters.len())?;
            Some(characters.chars().collect())
        }
    };
    let is_stripped = |c: char| set.as_ref().map_or_else(|| is_space(c), |set| set.contains(&c));
    let text = if start { text.trim_start_matches(is_stripped) } else { text };
    let text = if end { text.trim_end_matches(is_stripped) } else { text };
    runtime.budget.text(text)
}

fn without(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    strip: for<'t> fn(&'t str, &str) -> Option<&'t str>,
) -> Result<Value> {
    let [affix] = arguments.bind_all("str.removeprefix", [""])?;
    let text = receiver(value)?;
    runtime.budget.scan(text.len())?;
    runtime.budget.text(strip(text, string(&affix)?).unwrap_or(text))
}

fn join(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [items] = arguments.bind_all("str.join", [""])?;
    let separator = receiver(value)?;
    let items = match items {
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            return Err(Error::failed("can only join an iterable"));
        }
        _ => runtime.items(&items)?,
    };
    let mut joined = runtime.budget.builder();
    for (index, item) in items.iter().enumerate() {
        let Value::Text(item) = item else {
            let found = item.type_name();
            let message = format!("sequence item {index}: expected str instance, {found} found");
            return Err(Error::failed(message));
        };
        joined.push(if index > 0 { separator } else { "" })?;
        joined.push(item)?;
    }
    joined.finish(&mut runtime.budget)
}

/// The position of a text in its field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Center,
    Right,
}

fn padded(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    alignment: Alignment,
) -> Result<Value> {
    let [width, fill] = arguments.bind("str.center", ["", ""])?;
    let width = width.ok_or_else(|| Error::failed("expected at least 1 argument, got 0"))?;
    let fill = match &fill {
        None => ' ',
        Some(fill) => {
            let mut characters = string(fill)?.chars();
            let message = "The fill character must be exactly one character long";
            match (characters.next(), characters.next()) {
                (Some(character), None) => character,
                _ => return Err(Error::failed(message)),
            }
        }
    };
    pad(runtime, receiver(value)?, integer(&width)?, fill, alignment)
}

/// A text in a field of `width` characters.
pub(crate) fn pad(
    runtime: &mut Runtime,
    text: &str,
    width: i128,
    fill: char,
    alignment: Alignment,
) -> Result<Value> {
    runtime.budget.scan(text.len())?;
    let width = usize::try_from(width.max(0)).unwrap_or(usize::MAX);
    let missing = width.saturating_sub(text.chars().count());
    let before = match alignment {
        Alignment::Left => 0,
        Alignment::Right => missing,
        // CPython adds the odd one before the text if the width is odd.
        Alignment::Center => missing / 2 + (missing & width & 1),
    };
    let mut padded = runtime.budget.builder();
    padded.fill(fill, before)?;
    padded.push(text)?;
    padded.fill(fill, missing - before)?;
    padded.finish(&mut runtime.budget)
}

fn zero_fill(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [width] = arguments.bind_all("str.zfill", [""])?;
    let text = receiver(value)?;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = &text[..text.len() - digits.len()];
    let width = integer(&width)?.saturating_sub(sign.len() as i128);
    let padded = pad(runtime, digits, width, '0', Alignment::Right)?;
    runtime.concatenate(&[Value::from(sign), padded])
}

fn expand_tabs(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [size] = arguments.bind("str.expandtabs", ["tabsize"])?;
    let size = usize::try_from(integer_or(size, 8)?.max(0)).unwrap_or(usize::MAX);
    let text = receiver(value)?;
    runtime.budget.scan(text.len())?;
    let mut expanded = runtime.budget.builder();
    let mut column = 0_usize;
    for character in text.chars() {
        match character {
            '\t' if size > 0 => {
                let count = size - column % size;
                expanded.fill(' ', count)?;
                column += count;
            }
            '\t' => {}
            other => {
                expanded.fill(other, 1)?;
                column = if matches!(other, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    expanded.finish(&mut runtime.budget)
}
