//! Filters of strings.

use crate::arguments::{Arguments, flag, integer, integer_or, not_none};
use crate::character::{is_alphanumeric, is_space};
use crate::dict::Key;
use crate::error::{Error, Result};
use crate::methods::{self, Alignment, capitalized, changed_case, lines, pad, strip};
use crate::runtime::Runtime;
use crate::value::{Text, Value};

/// The text form of a filter's only argument.
pub(super) fn only_text(runtime: &mut Runtime, name: &str, arguments: Arguments) -> Result<Text> {
    let [value] = arguments.bind_all(name, ["s"])?;
    runtime.text_of(&value)
}

/// A string, without conversion from other types.
fn only_string(value: &Value) -> Result<&Text> {
    value.as_text().ok_or_else(|| value.misuse(|found| format!("expected a str, found '{found}'")))
}

pub(super) fn capitalize(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "capitalize", arguments)?;
    changed_case(runtime, &text, capitalized)
}

pub(super) fn lower(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "lower", arguments)?;
    changed_case(runtime, &text, str::to_lowercase)
}

pub(super) fn upper(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "upper", arguments)?;
    changed_case(runtime, &text, str::to_uppercase)
}

/// Words in lower case with their first character in upper case; they begin after spaces, hyphens and opening brackets.
pub(super) fn title(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "title", arguments)?;
    let separates = |c: char| is_space(c) || "-({[<".contains(c);
    changed_case(runtime, &text, |text| {
        let mut titled = String::with_capacity(text.len());
        for word in text.split_inclusive(separates) {
            let mut characters = word.chars();
            titled.extend(characters.next().into_iter().flat_map(char::to_uppercase));
            titled.push_str(&characters.as_str().to_lowercase());
        }
        titled
    })
}

pub(super) fn string(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    only_text(runtime, "string", arguments).map(Value::Text)
}

pub(super) fn center(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [width]) = arguments.bind_filter("center", ["width"])?;
    let text = runtime.text_of(&value)?;
    pad(runtime, &text, integer_or(width, 80)?, ' ', Alignment::Center)
}

pub(super) fn default(_: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [default, boolean]) =
        arguments.bind_filter("default", ["default_value", "boolean"])?;
    let replaces = value.is_undefined() || (flag(boolean) && !value.is_true());
    Ok(if replaces { default.unwrap_or_else(|| Value::from("")) } else { value })
}

/// `format|format(…)`: the `%` operator.
pub(super) fn format(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (format, others) = arguments.split_first()?;
    let values = match (others.positional.is_empty(), others.named.is_empty()) {
        (false, false) => {
            let message = "can't handle positional and keyword arguments at the same time";
            return Err(Error::failed(message));
        }
        (true, false) => {
            let entries = others.named.into_iter().map(|(name, value)| (Key::from(name), value));
            runtime.dict(entries.collect())?
        }
        (_, true) => runtime.tuple(others.positional)?,
    };
    let format = runtime.text_of(&format)?;
    runtime.percent(&format, &values)
}

pub(super) fn indent(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [width, first, blank]) =
        arguments.bind_filter("indent", ["width", "first", "blank"])?;
    let (value, first, blank) = (only_string(&value)?, flag(first), flag(blank));
    runtime.budget.scan(value.len())?;
    let mut indentation = runtime.budget.builder();
    match &width {
        None => indentation.push("    ")?,
        Some(Value::Text(text)) => indentation.push(text)?,
        Some(width) => indentation.fill(' ', usize::try_from(integer(width)?).unwrap_or(0))?,
    }
    let indentation = indentation.into_string(&mut runtime.budget)?;
    // One more line end, so that a line end at the end of the text begins an empty line.
    let source = format!("{}\n", &**value);
    let mut text = runtime.budget.builder();
    for (index, line) in lines(&source, false).enumerate() {
        text.push(if index > 0 { "\n" } else { "" })?;
        let is_indented = if index == 0 { first } else { blank || !line.is_empty() };
        text.push(if is_indented { &indentation } else { "" })?;
        text.push(line)?;
    }
    text.finish(&mut runtime.budget)
}

pub(super) fn replace(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [old, new, count]) = arguments.bind_filter("replace", ["old", "new", "count"])?;
    let (Some(old), Some(new)) = (old, new) else {
        return Err(Error::failed("replace() missing required arguments: 'old' and 'new'"));
    };
    let count = integer_or(not_none(count), -1)?;
    let text = runtime.text_of(&value)?;
    let (old, new) = (runtime.text_of(&old)?, runtime.text_of(&new)?);
    methods::replace(runtime, &text, &old, &new, count)
}

pub(super) fn trim(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [characters]) = arguments.bind_filter("trim", ["chars"])?;
    let text = runtime.text_of(&value)?;
    strip(runtime, &text, not_none(characters), (true, true))
}

pub(super) fn truncate(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let parameters = ["length", "killwords", "end", "leeway"];
    let (value, [length, cuts_words, end, leeway]) =
        arguments.bind_filter("truncate", parameters)?;
    let end = end.unwrap_or_else(|| Value::from("..."));
    let end = end.as_text().map_or("", |end| end);
    let (length, leeway) = (integer_or(length, 255)?, integer_or(not_none(leeway), 5)?);
    let num_end = end.chars().count() as i128;
    let num_kept = length.saturating_sub(num_end);
    if num_kept < 0 || leeway < 0 {
        return Err(Error::failed(format!("expected length >= {num_end}, got {length}")));
    }
    runtime.budget.scan(value.as_text().map_or(0, |text| text.len()))?;
    let len = value.num_items().ok_or_else(|| {
        Error::failed(format!("object of type '{}' has no len()", value.type_name()))
    })?;
    if len as i128 <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let text = only_string(&value)?;
    let num_kept = usize::try_from(num_kept).unwrap_or(usize::MAX);
    let cut = text.char_indices().nth(num_kept).map_or(text.len(), |(at, _)| at);
    let kept = match flag(cuts_words) {
        true => &text[..cut],
        false => text[..cut].rsplit_once(' ').map_or(&text[..cut], |(before, _)| before),
    };
    let kept = Value::from(kept);
    runtime.concatenate(&[kept, Value::from(end)])
}

pub(super) fn wordcount(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let text = only_text(runtime, "wordcount", arguments)?;
    runtime.budget.scan(text.len())?;
    let is_word = |c: char| c == '_' || is_alphanumeric(c);
    let count = text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count();
    Ok(Value::Int(count as i128))
}
