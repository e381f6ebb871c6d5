//! Finds the form of arguments that are parameters in what a template writes.

use serde_json::json;

use super::align::{leading_tag, split_between};
use super::probe::{KEYS, Probe, VALUES};
use super::{ARGUMENTS, Delimiters, KEY, LiteralForm, NAME, ParameterForm};
use crate::ChatTemplate;

/// Replaces arguments that are parameters, and finds their form.
pub(super) fn with_parameters(
    template: &ChatTemplate,
    probe: &Probe,
    text: &str,
) -> Option<(String, ParameterForm)> {
    let text = with_repeated_keys(text);
    let last = text.rsplit(NAME).next()?;
    let [first, before_value, between, same, end] = around(last)?;
    if before_value != same {
        return None;
    }
    let before_number = before_number(template, probe).unwrap_or_else(|| before_value.to_owned());
    let quote = quote(before_value, between, end, &before_number);
    let before_value = before_value.strip_suffix(quote)?;
    let before_other = if quote.is_empty() { before_number } else { before_value.to_owned() };
    let (between, end) = (between.strip_prefix(quote)?, end.strip_prefix(quote)?);
    let (after_value, separator, before_key) = split_between(first, between, end);
    let open = first.strip_suffix(before_key)?;
    let rest = end.strip_prefix(after_value)?.trim_start();
    let close = leading_tag(rest)
        .or_else(|| end_of_elements(rest, before_key))
        .or_else(|| rest.get(..rest.chars().next()?.len_utf8()))?;
    let literals = (!quote.is_empty()).then(|| literals(template, probe, quote));
    let enclosure = match &literals {
        Some(_) => None,
        None => enclosure(template, probe, before_value, after_value),
    };
    let [open, before_key, before_value] = [open, before_key, before_value].map(str::to_owned);
    let [after_value, separator, close] = [after_value, separator, close].map(str::to_owned);
    let form = ParameterForm {
        open,
        before_key,
        before_value,
        before_other,
        after_value,
        separator,
        close,
        literals,
        enclosure,
    };
    let (before, calls) = text.split_once(NAME)?;
    let mut replaced = before.to_owned();
    for call in calls.split(NAME) {
        let [_, _, _, _, end] = around(call)?;
        let end = end.strip_prefix(quote)?.strip_prefix(form.after_value.as_str())?;
        replaced.extend([NAME, ARGUMENTS]);
        replaced.push_str(end.trim_start().strip_prefix(form.close.as_str())?);
    }
    Some((replaced, form))
}

/// The closing tag after the last of several elements, with the text that all tags begin with.
fn end_of_elements<'a>(text: &'a str, before_key: &str) -> Option<&'a str> {
    let start = text.find("</").filter(|&start| before_key.trim().starts_with(&text[..start]))?;
    let end = text[start..].find('>')?;
    Some(&text[..=start + end])
}

/// The text in which keys after their values, as in `</key>`, are placeholders.
fn with_repeated_keys(text: &str) -> String {
    let mut replaced = text.to_owned();
    for (key, value) in KEYS.into_iter().zip(VALUES) {
        let mut parts = replaced.split(value).map(str::to_owned).collect::<Vec<_>>();
        for part in parts.iter_mut().skip(1) {
            // The next value has a key of its own before it.
            let own = part.find(NAME).unwrap_or(part.len());
            if part[..own].contains(key) {
                *part = part.replacen(key, &KEY.to_string(), 1);
            }
        }
        replaced = parts.join(value);
    }
    replaced
}

/// The text between a key and a value that is a number.
fn before_number(template: &ChatTemplate, probe: &Probe) -> Option<String> {
    const NUMBER: u32 = 73_519;
    let text = probe.call_with(template, json!(NUMBER))?;
    let (_, after) = text.split_once(KEYS[0])?;
    let (before, _) = after.split_once(&NUMBER.to_string())?;
    Some(before.to_owned())
}

/// What encloses a string with markup and a line end, and no other string.
fn enclosure(
    template: &ChatTemplate,
    probe: &Probe,
    before_value: &str,
    after_value: &str,
) -> Option<Delimiters> {
    let value = format!("{}\n<&", VALUES[0]);
    let text = probe.call_with(template, json!(value))?;
    let (_, after_key) = text.split_once(KEYS[0])?;
    let (before, after) = after_key.split_once(&value)?;
    let open = before.strip_prefix(before_value).filter(|open| !open.trim().is_empty())?;
    let (close, _) = after.split_once(after_value).filter(|(close, _)| !close.trim().is_empty())?;
    Some(Delimiters::new(open.trim(), close.trim()))
}

/// The texts around the keys and values of a call.
fn around(call: &str) -> Option<[&str; 5]> {
    let (first, rest) = call.split_once(KEYS[0])?;
    let (before_value, rest) = rest.split_once(VALUES[0])?;
    let (between, rest) = rest.split_once(KEYS[1])?;
    let (same, end) = rest.split_once(VALUES[1])?;
    Some([first, before_value, between, same, end])
}

/// The quotation mark on both sides of a string, which numbers do not have; empty if there is none.
fn quote<'a>(before: &'a str, between: &str, end: &str, before_number: &str) -> &'a str {
    let is_around = |text: &&str| between.starts_with(*text) && end.starts_with(*text);
    if let Some(quote) = before.strip_prefix(before_number).filter(is_around) {
        return quote;
    }
    let is_quote = |text: &&str| text.contains(['"', '\'']) && is_around(text);
    let mut suffixes = before.char_indices().map(|(at, _)| &before[at..]);
    suffixes.find(is_quote).unwrap_or_default()
}

fn literals(template: &ChatTemplate, probe: &Probe, quote: &str) -> LiteralForm {
    let nested = json!({VALUES[0]: true});
    let text = probe.call_with(template, nested).unwrap_or_default();
    let before_key = text.split_once(VALUES[0]).map_or("", |(before, _)| before);
    LiteralForm {
        quote: quote.to_owned(),
        is_python: text.contains("True"),
        quotes_keys: before_key.ends_with(['"', '\'']) || before_key.ends_with(quote),
    }
}
