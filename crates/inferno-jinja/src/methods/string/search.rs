//! Searching and replacing in strings.

use super::receiver;
use crate::arguments::{Arguments, integer_or, string};
use crate::error::{Error, Result};
use crate::operators::search_bounds;
use crate::runtime::Runtime;
use crate::value::Value;

/// `text[start:end]`, and the number of characters before it; `None` if `start` is after the text.
fn part(text: &str, start: Option<Value>, end: Option<Value>) -> Result<Option<(&str, usize)>> {
    if start.is_none() && end.is_none() {
        return Ok(Some((text, 0)));
    }
    let (start, end) = search_bounds(start, end, text.chars().count())?;
    if start > end {
        return Ok(None);
    }
    let [start, end] = [start, end].map(|at| usize::try_from(at).unwrap_or(0));
    let offset = |at| text.char_indices().nth(at).map_or(text.len(), |(offset, _)| offset);
    Ok(Some((&text[offset(start)..offset(end)], start)))
}

/// `find`, `rfind`, `index`, `rindex` and `count`
pub(super) fn search(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    method: &str,
) -> Result<Value> {
    let [wanted, start, end] = arguments.bind(method, ["", "", ""])?;
    let wanted = wanted
        .ok_or_else(|| Error::failed(format!("{method} expected at least 1 argument, got 0")))?;
    let (text, wanted) = (receiver(value)?, string(&wanted)?);
    runtime.budget.scan(text.len().saturating_add(wanted.len()))?;
    let part = part(text, start, end)?;
    if method == "count" {
        let count = part.map_or(0, |(part, _)| match wanted.is_empty() {
            true => part.chars().count() + 1,
            false => part.matches(wanted).count(),
        });
        return Ok(Value::Int(count as i128));
    }
    let found = part.and_then(|(part, before)| {
        let at = if method.starts_with('r') { part.rfind(wanted) } else { part.find(wanted) };
        at.map(|at| before + part[..at].chars().count())
    });
    match found {
        Some(at) => Ok(Value::Int(at as i128)),
        None if method.ends_with("find") => Ok(Value::Int(-1)),
        None => Err(Error::failed("substring not found")),
    }
}

/// `startswith` and `endswith`, of a string or any of a tuple of strings.
pub(super) fn affix(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
    method: &str,
    holds: fn(&str, &str) -> bool,
) -> Result<Value> {
    let [affix, start, end] = arguments.bind(method, ["", "", ""])?;
    let affix = affix
        .ok_or_else(|| Error::failed(format!("{method} expected at least 1 argument, got 0")))?;
    let text = receiver(value)?;
    if start.is_some() || end.is_some() {
        runtime.budget.scan(text.len())?;
    }
    let part = part(text, start, end)?;
    let mut holds = |affix: &str| {
        runtime.budget.scan(affix.len())?;
        Ok::<_, Error>(part.is_some_and(|(part, _)| holds(part, affix)))
    };
    match &affix {
        Value::Text(affix) => Ok(Value::Bool(holds(affix)?)),
        Value::Tuple(affixes) => {
            for affix in &affixes.items {
                if holds(string(affix)?)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        _ => {
            let found = affix.type_name();
            let message = format!("{method} first arg must be str or a tuple of str, not {found}");
            Err(Error::failed(message))
        }
    }
}

pub(super) fn replace_method(
    runtime: &mut Runtime,
    value: &Value,
    arguments: Arguments,
) -> Result<Value> {
    let [old, new, count] = arguments.bind("replace", ["", "", "count"])?;
    let (Some(old), Some(new)) = (old, new) else {
        return Err(Error::failed("replace expected at least 2 arguments"));
    };
    let count = integer_or(count, -1)?;
    replace(runtime, receiver(value)?, string(&old)?, string(&new)?, count)
}

/// A text with the first `count` occurrences of `old` replaced; all of them if `count` is negative.
pub(crate) fn replace(
    runtime: &mut Runtime,
    text: &str,
    old: &str,
    new: &str,
    count: i128,
) -> Result<Value> {
    runtime.budget.scan(text.len().saturating_add(old.len()))?;
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut replaced = runtime.budget.builder();
    let mut copied = 0;
    for (at, _) in text.match_indices(old).take(most) {
        replaced.push(&text[copied..at])?;
        replaced.push(new)?;
        copied = at + old.len();
    }
    replaced.push(&text[copied..])?;
    replaced.finish(&mut runtime.budget)
}
