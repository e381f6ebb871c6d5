//! Splitting strings.

use super::receiver;
use crate::arguments::{Arguments, flag, integer_or, not_none, string};
use crate::character::is_space;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::value::Value;

/// `split` and `rsplit`
pub(super) fn split(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    from_right: bool,
) -> Result<Value> {
    let [separator, most] = arguments.bind("split", ["sep", "maxsplit"])?;
    let text = receiver(value)?;
    let most = usize::try_from(integer_or(most, -1)?).unwrap_or(usize::MAX);
    runtime.budget.scan(text.len())?;
    let separator = not_none(separator);
    let mut parts = match &separator {
        None => words(runtime, text, most, from_right)?,
        Some(separator) => {
            let separator = string(separator)?;
            if separator.is_empty() {
                return Err(Error::failed("empty separator"));
            }
            runtime.budget.scan(separator.len())?;
            let most = most.saturating_add(1);
            match from_right {
                true => texts(runtime, text.rsplitn(most, separator))?,
                false => texts(runtime, text.splitn(most, separator))?,
            }
        }
    };
    if from_right {
        parts.reverse();
    }
    runtime.list(parts)
}

/// Parts of a text as values, each charged before the next one is found.
fn texts<'t>(runtime: &mut Runtime, parts: impl Iterator<Item = &'t str>) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    for part in parts {
        runtime.budget.allocate_items(1)?;
        values.push(runtime.budget.text(part)?);
    }
    Ok(values)
}

/// At most `most` words separated by whitespace, and then the rest.
fn words(runtime: &mut Runtime, text: &str, most: usize, from_right: bool) -> Result<Vec<Value>> {
    let trimmed = |text: &'_ str| -> std::ops::Range<usize> {
        match from_right {
            true => 0..text.trim_end_matches(is_space).len(),
            false => text.len() - text.trim_start_matches(is_space).len()..text.len(),
        }
    };
    let mut rest = &text[trimmed(text)];
    let mut found = 0;
    let parts = std::iter::from_fn(|| {
        if rest.is_empty() {
            return None;
        }
        let space = if from_right { rest.rfind(is_space) } else { rest.find(is_space) };
        let Some(at) = space.filter(|_| found < most) else {
            return Some(std::mem::take(&mut rest));
        };
        found += 1;
        let after = at + rest[at..].chars().next().map_or(0, char::len_utf8);
        let (part, other) = match from_right {
            true => (&rest[after..], &rest[..at]),
            false => (&rest[..at], &rest[after..]),
        };
        rest = &other[trimmed(other)];
        Some(part)
    });
    texts(runtime, parts)
}

/// `partition` and `rpartition`
pub(super) fn partition(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    from_right: bool,
) -> Result<Value> {
    let [separator] = arguments.bind_all("str.partition", [""])?;
    let (text, separator) = (receiver(value)?, string(&separator)?);
    if separator.is_empty() {
        return Err(Error::failed("empty separator"));
    }
    runtime.budget.scan(text.len().saturating_add(separator.len()))?;
    let found = match from_right {
        true => text.rsplit_once(separator),
        false => text.split_once(separator),
    };
    let parts = match found {
        Some((before, after)) => [before, separator, after],
        None if from_right => ["", "", text],
        None => [text, "", ""],
    };
    let parts = texts(runtime, parts.into_iter())?;
    runtime.tuple(parts)
}

pub(super) fn split_lines(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
) -> Result<Value> {
    let [keeps_ends] = arguments.bind("str.splitlines", ["keepends"])?;
    let text = receiver(value)?;
    runtime.budget.scan(text.len())?;
    let lines = texts(runtime, lines(text, flag(keeps_ends)))?;
    runtime.list(lines)
}

/// The lines of a text, as Python separates them.
pub(crate) fn lines(text: &str, keeps_ends: bool) -> impl Iterator<Item = &str> {
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(at) = rest.find(is_end) else {
            return Some(std::mem::take(&mut rest));
        };
        let length = match rest[at..].starts_with("\r\n") {
            true => 2,
            false => rest[at..].chars().next().map_or(1, char::len_utf8),
        };
        let line = &rest[..if keeps_ends { at + length } else { at }];
        rest = &rest[at + length..];
        Some(line)
    })
}
