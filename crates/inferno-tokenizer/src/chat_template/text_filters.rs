//! Jinja2's filters of texts and numbers.

use minijinja::value::{Kwargs, from_args};
use minijinja::{Environment, Error, State, Value};

use super::arguments::{add_filters, bind};
use super::budget::{Text, spend};
use super::json::to_json;
use super::lexer::is_space;
use super::numbers;
use super::percent::percent;
use super::refused;
use super::text::text_of;
use super::text_methods::{changed, lines, pad, replace as replace_text, strip};
use super::types::{Type, index_of, items_of, pairs_of, type_name, type_of, undefined_error};

type Answer = Result<Value, Error>;

/// Defines the filters of texts and numbers.
pub(super) fn add_text_filters(environment: &mut Environment<'static>) {
    add_filters(
        environment,
        &[
            ("abs", numbers::abs),
            ("capitalize", capitalize),
            ("center", center),
            ("d", default),
            ("default", default),
            ("e", escape),
            ("escape", escape),
            ("filesizeformat", numbers::filesizeformat),
            ("float", numbers::float),
            ("forceescape", force_escape),
            ("format", format),
            ("indent", indent),
            ("int", numbers::int_filter),
            ("lower", lower),
            ("replace", replace),
            ("round", numbers::round),
            ("safe", safe),
            ("string", string),
            ("striptags", striptags),
            ("title", title),
            ("tojson", to_json),
            ("trim", trim),
            ("truncate", truncate),
            ("upper", upper),
            ("urlencode", urlencode),
            ("wordcount", wordcount),
            ("xmlattr", xmlattr),
        ],
    );
}

/// The text of a filter's only argument.
fn only(state: &mut State<'_, '_>, name: &str, arguments: &[Value]) -> Result<String, Error> {
    let [value] = bind(name, ["s"], arguments)?;
    text_of(state, &value.unwrap_or_default())
}

/// A text that a filter works on without turning it into one.
fn text_itself(value: Option<Value>) -> Result<Value, Error> {
    let value = value.unwrap_or_default();
    match type_of(&value) {
        Type::Text => Ok(value),
        Type::Undefined => Err(undefined_error(&value)),
        _ => Err(refused(format!("expected a str, found '{}'", type_name(&value)))),
    }
}

fn capitalize(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let text = only(state, "capitalize", arguments)?;
    Ok(changed(&text, "capitalize").unwrap_or(text).into())
}

fn lower(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    Ok(only(state, "lower", arguments)?.to_lowercase().into())
}

fn upper(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    Ok(only(state, "upper", arguments)?.to_uppercase().into())
}

fn string(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("string", ["object"], arguments)?;
    let value = value.unwrap_or_default();
    match type_of(&value) {
        Type::Text => Ok(value),
        _ => text_of(state, &value).map(Value::from),
    }
}

/// Every word in small letters but for its first; words begin behind spaces, hyphens and brackets.
fn title(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let text = only(state, "title", arguments)?;
    let mut titled = String::with_capacity(text.len());
    let mut is_start = true;
    for character in text.chars() {
        match is_start {
            true => titled.extend(character.to_uppercase()),
            false => titled.extend(character.to_lowercase()),
        }
        is_start = is_space(character) || "-({[<".contains(character);
    }
    Ok(titled.into())
}

fn center(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, width] = bind("center", ["value", "width"], arguments)?;
    let text = text_of(state, &value.unwrap_or_default())?;
    let width = width.map_or(Ok(80), |width| index_of(&width))?;
    pad(state, &text, "center", width, ' ').map(Value::from)
}

fn default(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let parameters = ["value", "default_value", "boolean"];
    let [value, default, boolean] = bind("default", parameters, arguments)?;
    let value = value.unwrap_or_default();
    let is_empty = boolean.is_some_and(|boolean| boolean.is_true()) && !value.is_true();
    Ok(match value.is_undefined() || is_empty {
        true => default.unwrap_or_else(|| Value::from("")),
        false => value,
    })
}

/// A text with HTML's characters escaped.
pub(super) fn escaped(text: &str) -> String {
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

fn escape(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("escape", ["s"], arguments)?;
    let value = value.unwrap_or_default();
    if value.is_safe() {
        return Ok(value);
    }
    force_escape(state, &[value])
}

fn force_escape(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let text = only(state, "forceescape", arguments)?;
    spend(state, text.len())?;
    Ok(Value::from_safe_string(escaped(&text)))
}

fn safe(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    only(state, "safe", arguments).map(Value::from_safe_string)
}

fn format(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let (positional, named): (&[Value], Kwargs) = from_args(arguments)?;
    let (format, values) =
        positional.split_first().ok_or_else(|| refused("format wants a text"))?;
    let mut pairs = Vec::new();
    for name in named.args() {
        pairs.push((name, named.peek::<Value>(name)?));
    }
    let values = match (values.is_empty(), pairs.is_empty()) {
        (false, false) => {
            return Err(refused("can't handle positional and keyword arguments at the same time"));
        }
        (_, false) => Value::from_pairs(pairs),
        (_, true) => Value::from(minijinja::value::Tuple::from(values)),
    };
    let format = text_of(state, format)?;
    percent(state, &format, &values).map(Value::from)
}

fn indent(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let parameters = ["s", "width", "first", "blank"];
    let [value, width, first, blank] = bind("indent", parameters, arguments)?;
    let value = text_itself(value)?;
    let is_set = |flag: Option<Value>| flag.is_some_and(|flag| flag.is_true());
    let (first, blank) = (is_set(first), is_set(blank));
    let indentation = match width.as_ref().map(|width| (width, width.as_str())) {
        None => "    ".to_owned(),
        Some((_, Some(text))) => text.to_owned(),
        Some((width, None)) => {
            let mut spaces = Text::new(state);
            spaces.fill(' ', usize::try_from(index_of(width)?).unwrap_or(0))?;
            spaces.finish(state)?
        }
    };
    // A line end more, so that one at the end of the text counts as an empty line.
    let source = format!("{}\n", value.as_str().unwrap_or_default());
    let mut text = Text::new(state);
    for (index, line) in lines(&source, false).into_iter().enumerate() {
        text.push(if index > 0 { "\n" } else { "" })?;
        let is_indented = if index == 0 { first } else { blank || !line.is_empty() };
        text.push(if is_indented { &indentation } else { "" })?;
        text.push(line)?;
    }
    text.finish(state).map(Value::from)
}

fn replace(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, old, new, count] = bind("replace", ["s", "old", "new", "count"], arguments)?;
    let (Some(old), Some(new)) = (old, new) else {
        return Err(refused("do_replace() missing required positional arguments: 'old' and 'new'"));
    };
    let count = match count.filter(|count| !count.is_none()) {
        None => -1,
        Some(count) => index_of(&count)?,
    };
    let text = text_of(state, &value.unwrap_or_default())?;
    let (old, new) = (text_of(state, &old)?, text_of(state, &new)?);
    replace_text(state, &text, &old, &new, count).map(Value::from)
}

fn trim(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, characters] = bind("trim", ["value", "chars"], arguments)?;
    let text = text_of(state, &value.unwrap_or_default())?;
    Ok(strip(&text, "strip", characters.as_ref())?.into())
}

fn truncate(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let parameters = ["s", "length", "killwords", "end", "leeway"];
    let [value, length, cuts_words, end, leeway] = bind("truncate", parameters, arguments)?;
    let value = value.unwrap_or_default();
    if value.is_undefined() {
        // Its length is zero.
        return Ok(value);
    }
    let value = text_itself(Some(value))?;
    let text = value.as_str().unwrap_or_default();
    let end = end.unwrap_or_else(|| Value::from("..."));
    let end = end.as_str().unwrap_or_default();
    let length = length.map_or(Ok(255), |length| index_of(&length))?;
    let leeway = match leeway.filter(|leeway| !leeway.is_none()) {
        None => 5,
        Some(leeway) => index_of(&leeway)?,
    };
    let kept = length - end.chars().count() as i128;
    if kept < 0 || leeway < 0 {
        return Err(refused(format!("expected length >= {}, got {length}", end.chars().count())));
    }
    if text.chars().count() as i128 <= length + leeway {
        return Ok(value);
    }
    let cut: String = text.chars().take(usize::try_from(kept).unwrap_or(usize::MAX)).collect();
    let kept = match cuts_words.is_some_and(|cuts| cuts.is_true()) {
        true => cut.as_str(),
        false => cut.rsplit_once(' ').map_or(cut.as_str(), |(before, _)| before),
    };
    Ok(format!("{kept}{end}").into())
}

fn wordcount(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let text = only(state, "wordcount", arguments)?;
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    Ok(text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count().into())
}

fn striptags(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let mut text = only(state, "striptags", arguments)?;
    for (open, close) in [("<!--", "-->"), ("<", ">")] {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, tag)) = rest.split_once(open) {
            let Some((_, behind)) = tag.split_once(close) else { break };
            kept.push_str(before);
            rest = behind;
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
    let text = entities
        .iter()
        .fold(words.join(" "), |text, (entity, character)| text.replace(entity, character));
    Ok(text.into())
}

/// A text with all but letters, digits and `_.-~` in percent signs, and but for `/` where kept.
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

fn urlencode(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("urlencode", ["value"], arguments)?;
    let value = value.unwrap_or_default();
    let pairs = match type_of(&value) {
        Type::Dict => pairs_of(state, &value)?,
        Type::List | Type::Tuple | Type::Generator => {
            let mut pairs = Vec::new();
            for pair in items_of(state, &value)? {
                match items_of(state, &pair)?.as_slice() {
                    [key, value] => pairs.push((key.clone(), value.clone())),
                    _ => return Err(refused("expected pairs of a key and a value")),
                }
            }
            pairs
        }
        _ => {
            let text = text_of(state, &value)?;
            spend(state, text.len().saturating_mul(3))?;
            return Ok(percent_encoded(&text, true).into());
        }
    };
    let mut fields = Vec::new();
    for (key, value) in pairs {
        let (key, value) = (text_of(state, &key)?, text_of(state, &value)?);
        spend(state, (key.len() + value.len()).saturating_mul(3))?;
        let quoted = |text: &str| percent_encoded(text, false).replace("%20", "+");
        fields.push(format!("{}={}", quoted(&key), quoted(&value)));
    }
    Ok(fields.join("&").into())
}

fn xmlattr(state: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, autospace] = bind("xmlattr", ["d", "autospace"], arguments)?;
    let value = value.unwrap_or_default();
    if type_of(&value) != Type::Dict {
        return Err(refused(format!("'{}' object has no attribute 'items'", type_name(&value))));
    }
    let mut text = Text::new(state);
    let has_space = autospace.is_none_or(|autospace| autospace.is_true());
    let mut is_first = true;
    for (key, value) in pairs_of(state, &value)? {
        if value.is_none() || value.is_undefined() {
            continue;
        }
        let (key, value) = (text_of(state, &key)?, text_of(state, &value)?);
        if key.contains(|c: char| c.is_ascii_whitespace() || "/>=".contains(c)) {
            return Err(refused(format!(
                "Invalid character in attribute name: {}",
                super::text::quoted(&key)
            )));
        }
        text.push(if has_space || !is_first { " " } else { "" })?;
        is_first = false;
        text.push(&format!("{}=\"{}\"", escaped(&key), escaped(&value)))?;
    }
    text.finish(state).map(Value::from)
}
