//! Filters for HTML and URLs.

use super::text::only_text;
use crate::arguments::{Arguments, flag};
use crate::character::is_space;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::text::quoted;
use crate::value::Value;

/// A text with HTML's special characters escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&#34;"),
            other => escaped.push(other),
        }
    }
    escaped
}

pub(super) fn escape(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    match arguments.positional.as_slice() {
        [Value::Text(text)] if text.is_safe => Ok(Value::Text(text.clone())),
        _ => force_escape(runtime, arguments),
    }
}

pub(super) fn force_escape(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "escape", arguments)?;
    // The longest escape has five bytes.
    runtime.budget.allocate(text.len().saturating_mul(5))?;
    runtime.budget.safe_text(escaped(&text))
}

pub(super) fn safe(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "safe", arguments)?;
    runtime.budget.safe_text(text.to_string())
}

pub(super) fn striptags(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "striptags", arguments)?;
    runtime.budget.allocate(text.len().saturating_mul(2))?;
    runtime.budget.scan(text.len().saturating_mul(8))?;
    let mut text = text.to_string();
    for (open, close) in [("<!--", "-->"), ("<", ">")] {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, tag)) = rest.split_once(open) {
            let Some((_, after)) = tag.split_once(close) else { break };
            kept.push_str(before);
            rest = after;
        }
        kept.push_str(rest);
        text = kept;
    }
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let replace = |text: String, (entity, character)| text.replace(entity, character);
    runtime.budget.text(entities.into_iter().fold(words.join(" "), replace))
}

/// A text with all but letters, digits and `_.-~` percent-encoded; slashes too unless `keeps_slash`.
fn percent_encoded(text: &str, keeps_slash: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'/' if keeps_slash => encoded.push('/'),
            b'_' | b'.' | b'-' | b'~' => encoded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

pub(super) fn urlencode(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("urlencode", ["value"])?;
    let mut encoded = runtime.budget.builder();
    let pairs = match &value {
        Value::Dict(dict) => dict.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        Value::List(_) | Value::Tuple(_) | Value::Generator(_) | Value::View(..) => {
            let mut pairs = Vec::new();
            for pair in runtime.items(&value)? {
                match runtime.items(&pair)?.as_slice() {
                    [key, value] => pairs.push((key.clone(), value.clone())),
                    _ => return Err(Error::failed("expected pairs of a key and a value")),
                }
            }
            pairs
        }
        _ => {
            let text = runtime.text_of(&value)?;
            runtime.budget.allocate(text.len().saturating_mul(3))?;
            return runtime.budget.text(percent_encoded(&text, true));
        }
    };
    for (index, (key, value)) in pairs.into_iter().enumerate() {
        encoded.push(if index > 0 { "&" } else { "" })?;
        for (part, end) in [(key, "="), (value, "")] {
            let part = runtime.text_of(&part)?;
            runtime.budget.allocate(part.len().saturating_mul(3))?;
            encoded.push(&percent_encoded(&part, false).replace("%20", "+"))?;
            encoded.push(end)?;
        }
    }
    encoded.finish(&mut runtime.budget)
}

pub(super) fn xmlattr(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [autospace]) = arguments.bind_filter("xmlattr", ["autospace"])?;
    let Value::Dict(attributes) = value else {
        let found = value.type_name();
        return Err(Error::failed(format!("'{found}' object has no attribute 'items'")));
    };
    let mut text = runtime.budget.builder();
    let mut needs_space = autospace.is_none() || flag(autospace);
    for (key, value) in attributes.iter() {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let (key, value) = (runtime.text_of(key)?, runtime.text_of(value)?);
        runtime.budget.scan(key.len() + value.len())?;
        if key.contains(|c: char| c.is_ascii_whitespace() || "/>=".contains(c)) {
            let message = format!("Invalid character in attribute name: {}", quoted(&key));
            return Err(Error::failed(message));
        }
        text.push(if needs_space { " " } else { "" })?;
        needs_space = true;
        text.push(&format!("{}=\"{}\"", escaped(&key), escaped(&value)))?;
    }
    text.finish(&mut runtime.budget)
}
