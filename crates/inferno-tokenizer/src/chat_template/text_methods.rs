//! The methods of Python's texts.

use minijinja::value::{Kwargs, from_args};
use minijinja::{Error, ErrorKind, State, Value};
use unicode_general_category::{GeneralCategory, get_general_category};

use super::arguments::bind;
use super::budget::{Text, spend, spend_items};
use super::lexer::is_space;
use super::refused;
use super::types::{Type, index_of, items_of, type_name, type_of};

/// The methods that texts have.
pub(super) const TEXT_METHODS: [&str; 43] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// Calls a method of a text.
pub(super) fn call_text_method(
    state: &mut State<'_, '_>,
    text: &str,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    spend(state, text.len())?;
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let [characters] = bind(method, ["chars"], arguments)?;
            Ok(Value::from(strip(text, method, characters.as_ref())?))
        }
        "split" | "rsplit" => {
            let [separator, most] = bind(method, ["sep", "maxsplit"], arguments)?;
            split(state, text, separator, most, method == "rsplit")
        }
        "splitlines" => {
            let [keeps_ends] = bind(method, ["keepends"], arguments)?;
            let keeps_ends = keeps_ends.is_some_and(|keeps| keeps.is_true());
            let lines: Vec<Value> = lines(text, keeps_ends).into_iter().map(Value::from).collect();
            spend_items(state, lines.len())?;
            Ok(Value::from(lines))
        }
        "partition" | "rpartition" => {
            let [separator] = required(method, ["sep"], arguments)?;
            let separator = text_argument(&separator)?;
            if separator.is_empty() {
                return Err(refused("empty separator"));
            }
            let last = method == "rpartition";
            let found = if last { text.rsplit_once(separator) } else { text.split_once(separator) };
            Ok(match found {
                Some((before, after)) => Value::from((before, separator, after)),
                None if last => Value::from(("", "", text)),
                None => Value::from((text, "", "")),
            })
        }
        "startswith" | "endswith" => {
            let [affix, start, end] = bind(method, ["prefix", "start", "end"], arguments)?;
            let affix =
                affix.ok_or_else(|| refused(format!("{method} takes at least 1 argument")))?;
            let Some((part, _)) = part(text, start, end)? else { return Ok(Value::from(false)) };
            let holds = |affix: &str| match method {
                "startswith" => part.starts_with(affix),
                _ => part.ends_with(affix),
            };
            match type_of(&affix) {
                Type::Tuple => {
                    for affix in affix.try_iter()? {
                        if holds(text_argument(&affix)?) {
                            return Ok(Value::from(true));
                        }
                    }
                    Ok(Value::from(false))
                }
                Type::Text => Ok(Value::from(holds(affix.as_str().unwrap_or_default()))),
                _ => {
                    let found = type_name(&affix);
                    Err(refused(format!(
                        "{method} first arg must be str or a tuple of str, not {found}"
                    )))
                }
            }
        }
        "find" | "rfind" | "index" | "rindex" | "count" => {
            let [wanted, start, end] = bind(method, ["sub", "start", "end"], arguments)?;
            let wanted =
                wanted.ok_or_else(|| refused(format!("{method} takes at least 1 argument")))?;
            search(text, method, text_argument(&wanted)?, start, end)
        }
        "replace" => {
            let [old, new, count] = bind(method, ["old", "new", "count"], arguments)?;
            let (Some(old), Some(new)) = (old, new) else {
                return Err(refused("replace expected at least 2 arguments"));
            };
            let count = count.map_or(Ok(-1), |count| index_of(&count))?;
            replace(state, text, text_argument(&old)?, text_argument(&new)?, count).map(Value::from)
        }
        "removeprefix" | "removesuffix" => {
            let [affix] = required(method, ["affix"], arguments)?;
            let affix = text_argument(&affix)?;
            let rest = match method {
                "removeprefix" => text.strip_prefix(affix),
                _ => text.strip_suffix(affix),
            };
            Ok(Value::from(rest.unwrap_or(text)))
        }
        "join" => {
            let [items] = required(method, ["iterable"], arguments)?;
            let mut joined = Text::new(state);
            for (index, item) in items_of(state, &items)?.iter().enumerate() {
                let Some(item) = item.as_str() else {
                    let found = type_name(item);
                    return Err(refused(format!(
                        "sequence item {index}: expected str instance, {found} found"
                    )));
                };
                joined.push(if index > 0 { text } else { "" })?;
                joined.push(item)?;
            }
            joined.finish(state).map(Value::from)
        }
        "center" | "ljust" | "rjust" => {
            let [width, fill] = bind(method, ["width", "fillchar"], arguments)?;
            let width =
                width.ok_or_else(|| refused(format!("{method} expected at least 1 argument")))?;
            let fill = match &fill {
                None => ' ',
                Some(fill) => one_character(text_argument(fill)?)?,
            };
            pad(state, text, method, index_of(&width)?, fill).map(Value::from)
        }
        "zfill" => {
            let [width] = required(method, ["width"], arguments)?;
            let (sign, digits) = match text.strip_prefix(['-', '+']) {
                Some(digits) => text.split_at(text.len() - digits.len()),
                None => ("", text),
            };
            let width = index_of(&width)? - sign.len() as i128;
            let padded = pad(state, digits, "rjust", width, '0')?;
            Ok(Value::from(format!("{sign}{padded}")))
        }
        "format" => {
            let (positional, named): (&[Value], Kwargs) = from_args(arguments)?;
            let mut pairs = Vec::new();
            for name in named.args() {
                pairs.push((name, named.peek::<Value>(name)?));
            }
            super::format::format(state, text, positional, &Value::from_pairs(pairs))
                .map(Value::from)
        }
        "expandtabs" => {
            let [size] = bind(method, ["tabsize"], arguments)?;
            let size = size.map_or(Ok(8), |size| index_of(&size))?;
            expand_tabs(state, text, usize::try_from(size).unwrap_or(0)).map(Value::from)
        }
        _ => {
            let [] = bind(method, [], arguments)?;
            changed(text, method)
                .map(Value::from)
                .or_else(|| is(text, method).map(Value::from))
                .ok_or_else(|| ErrorKind::UnknownMethod.into())
        }
    }
}

fn required<const N: usize>(
    method: &str,
    parameters: [&str; N],
    arguments: &[Value],
) -> Result<[Value; N], Error> {
    let bound = bind(method, parameters, arguments)?;
    match bound.iter().all(Option::is_some) {
        true => Ok(bound.map(Option::unwrap_or_default)),
        false => Err(refused(format!("{method}() takes exactly {N} arguments"))),
    }
}

fn text_argument(value: &Value) -> Result<&str, Error> {
    value.as_str().ok_or_else(|| refused(format!("argument must be str, not {}", type_name(value))))
}

fn one_character(text: &str) -> Result<char, Error> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(refused("The fill character must be exactly one character long")),
    }
}

/// `strip`, `lstrip` or `rstrip`, of whitespace or of the characters given.
pub(super) fn strip<'t>(
    text: &'t str,
    method: &str,
    characters: Option<&Value>,
) -> Result<&'t str, Error> {
    let characters = match characters.filter(|characters| !characters.is_none()) {
        None => None,
        Some(characters) => Some(text_argument(characters)?),
    };
    let is_stripped = |c: char| characters.map_or_else(|| is_space(c), |set| set.contains(c));
    let text = if method == "rstrip" { text } else { text.trim_start_matches(is_stripped) };
    Ok(if method == "lstrip" { text } else { text.trim_end_matches(is_stripped) })
}

fn split(
    state: &mut State<'_, '_>,
    text: &str,
    separator: Option<Value>,
    most: Option<Value>,
    from_right: bool,
) -> Result<Value, Error> {
    let most = most.map_or(Ok(-1), |most| index_of(&most))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let separator = separator.filter(|separator| !separator.is_none());
    let mut parts = Vec::new();
    let mut rest = text;
    let Some(separator) = separator else {
        while parts.len() < most {
            rest = if from_right {
                rest.trim_end_matches(is_space)
            } else {
                rest.trim_start_matches(is_space)
            };
            let found = if from_right { rest.rfind(is_space) } else { rest.find(is_space) };
            let Some(at) = found else { break };
            spend_items(state, 1)?;
            let behind = at + rest[at..].chars().next().map_or(0, char::len_utf8);
            let (part, other) = match from_right {
                true => (&rest[behind..], &rest[..at]),
                false => (&rest[..at], &rest[behind..]),
            };
            parts.push(Value::from(part));
            rest = other;
        }
        rest = if from_right {
            rest.trim_end_matches(is_space)
        } else {
            rest.trim_start_matches(is_space)
        };
        if !rest.is_empty() {
            parts.push(Value::from(rest));
        }
        if from_right {
            parts.reverse();
        }
        return Ok(Value::from(parts));
    };
    let separator = text_argument(&separator)?;
    if separator.is_empty() {
        return Err(refused("empty separator"));
    }
    while parts.len() < most {
        let found =
            if from_right { rest.rsplit_once(separator) } else { rest.split_once(separator) };
        let Some((before, after)) = found else { break };
        spend_items(state, 1)?;
        let (part, other) = if from_right { (after, before) } else { (before, after) };
        parts.push(Value::from(part));
        rest = other;
    }
    parts.push(Value::from(rest));
    if from_right {
        parts.reverse();
    }
    Ok(Value::from(parts))
}

/// The lines of a text, as Python tells them.
pub(super) fn lines(text: &str, keeps_ends: bool) -> Vec<&str> {
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_end) {
        let length = match rest[at..].starts_with("\r\n") {
            true => 2,
            false => rest[at..].chars().next().map_or(1, char::len_utf8),
        };
        lines.push(&rest[..if keeps_ends { at + length } else { at }]);
        rest = &rest[at + length..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// `text[start:end]` and the characters before it; `None` where `start` lies behind the text.
fn part(
    text: &str,
    start: Option<Value>,
    end: Option<Value>,
) -> Result<Option<(&str, usize)>, Error> {
    if start.is_none() && end.is_none() {
        return Ok(Some((text, 0)));
    }
    let len = text.chars().count() as i128;
    let bound = |value: Option<Value>, default: i128| match value.filter(|value| !value.is_none()) {
        None => Ok::<_, Error>(default),
        Some(value) => {
            let index = index_of(&value)?;
            Ok(if index < 0 { (index + len).max(0) } else { index })
        }
    };
    let (start, end) = (bound(start, 0)?, bound(end, len)?.min(len));
    if start > end {
        return Ok(None);
    }
    let offset = |at: i128| {
        let at = usize::try_from(at).unwrap_or(0);
        text.char_indices().nth(at).map_or(text.len(), |(offset, _)| offset)
    };
    Ok(Some((&text[offset(start)..offset(end)], usize::try_from(start).unwrap_or(0))))
}

fn search(
    text: &str,
    method: &str,
    wanted: &str,
    start: Option<Value>,
    end: Option<Value>,
) -> Result<Value, Error> {
    let part = part(text, start, end)?;
    if method == "count" {
        return Ok(Value::from(part.map_or(0, |(part, _)| match wanted.is_empty() {
            true => part.chars().count() + 1,
            false => part.matches(wanted).count(),
        })));
    }
    let found = part.and_then(|(part, before)| {
        let at = if method.starts_with('r') { part.rfind(wanted) } else { part.find(wanted) };
        at.map(|at| before + part[..at].chars().count())
    });
    match found {
        Some(at) => Ok(Value::from(at)),
        None if method.ends_with("find") => Ok(Value::from(-1)),
        None => Err(refused("substring not found")),
    }
}

/// `replace(old, new, count)`; every one where `count` is below zero.
pub(super) fn replace(
    state: &mut State<'_, '_>,
    text: &str,
    old: &str,
    new: &str,
    count: i128,
) -> Result<String, Error> {
    let mut most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut replaced = Text::new(state);
    let mut copied = 0;
    for (at, _) in text.match_indices(old) {
        if most == 0 {
            break;
        }
        most -= 1;
        replaced.push(&text[copied..at])?;
        replaced.push(new)?;
        copied = at + old.len();
    }
    replaced.push(&text[copied..])?;
    replaced.finish(state)
}

/// `center`, `ljust` or `rjust`.
pub(super) fn pad(
    state: &mut State<'_, '_>,
    text: &str,
    method: &str,
    width: i128,
    fill: char,
) -> Result<String, Error> {
    let len = text.chars().count();
    let width = usize::try_from(width).unwrap_or(0);
    let missing = width.saturating_sub(len);
    let before = match method {
        "ljust" => 0,
        "rjust" => missing,
        // The odd one stands before the text where the width is odd.
        _ => missing / 2 + (missing & width & 1),
    };
    let mut padded = Text::new(state);
    padded.fill(fill, before)?;
    padded.push(text)?;
    padded.fill(fill, missing - before)?;
    padded.finish(state)
}

fn expand_tabs(state: &mut State<'_, '_>, text: &str, size: usize) -> Result<String, Error> {
    let mut expanded = Text::new(state);
    let mut column = 0;
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
    expanded.finish(state)
}

/// Methods that give the text in other letters.
pub(super) fn changed(text: &str, method: &str) -> Option<String> {
    Some(match method {
        "upper" => text.to_uppercase(),
        "lower" | "casefold" => text.to_lowercase(),
        "capitalize" => {
            let mut characters = text.chars();
            let first = characters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(characters.as_str().to_lowercase().chars()).collect()
        }
        "swapcase" => text
            .chars()
            .map(|c| match c.is_uppercase() {
                true => c.to_lowercase().to_string(),
                false => c.to_uppercase().to_string(),
            })
            .collect(),
        "title" => {
            let mut is_inside = false;
            let mut titled = String::with_capacity(text.len());
            for character in text.chars() {
                match is_inside {
                    true => titled.extend(character.to_lowercase()),
                    false => titled.extend(character.to_uppercase()),
                }
                is_inside = character.is_lowercase() || character.is_uppercase();
            }
            titled
        }
        _ => return None,
    })
}

/// Methods that ask something of a text.
pub(super) fn is(text: &str, method: &str) -> Option<bool> {
    let all = |holds: fn(char) -> bool| !text.is_empty() && text.chars().all(holds);
    Some(match method {
        "isalpha" => all(is_letter),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(is_digit),
        "isnumeric" => all(char::is_numeric),
        "isalnum" => all(|c| is_letter(c) || c.is_numeric()),
        "isspace" => all(is_space),
        "isascii" => text.is_ascii(),
        "islower" => text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase),
        "isupper" => text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase),
        "istitle" => {
            text.chars().any(|c| c.is_uppercase() || c.is_lowercase())
                && changed(text, "title").as_deref() == Some(text)
        }
        "isprintable" => text.chars().all(super::text::is_printable),
        "isidentifier" => {
            let mut characters = text.chars();
            characters.next().is_some_and(|c| c == '_' || c.is_alphabetic())
                && characters.all(|c| c == '_' || c.is_alphanumeric())
        }
        _ => return None,
    })
}

fn is_letter(character: char) -> bool {
    matches!(
        get_general_category(character),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
    )
}

fn is_decimal(character: char) -> bool {
    get_general_category(character) == GeneralCategory::DecimalNumber
}

fn is_digit(character: char) -> bool {
    // Superscripts and subscripts, and digits in circles, are digits too.
    is_decimal(character)
        || matches!(character, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉' | '①'..='⑨')
}
