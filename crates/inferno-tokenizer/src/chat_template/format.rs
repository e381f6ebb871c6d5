//! Python's `str.format` and its format specifications.

use minijinja::{Error, State, Value};

use super::budget::Text;
use super::refused;
use super::text::{float, quoted, repr_of, text_of};
use super::types::{Type, float_of, int_of, type_name, type_of};

/// The most digits behind a point.
const MAX_PRECISION: usize = 1000;

/// A format specification: `[[fill]align][sign][#][0][width][,][.precision][type]`.
#[derive(Default)]
pub(super) struct Spec {
    pub(super) fill: char,
    pub(super) align: Option<char>,
    pub(super) sign: Option<char>,
    pub(super) alternate: bool,
    pub(super) zero: bool,
    pub(super) width: usize,
    pub(super) grouping: Option<char>,
    pub(super) precision: Option<usize>,
}

/// `format.format(*positional, **named)`
pub(super) fn format(
    state: &mut State<'_, '_>,
    format: &str,
    positional: &[Value],
    named: &Value,
) -> Result<String, Error> {
    let mut next = 0;
    format_fields(state, format, positional, named, &mut next, true)
}

fn format_fields(
    state: &mut State<'_, '_>,
    format: &str,
    positional: &[Value],
    named: &Value,
    next: &mut usize,
    can_nest: bool,
) -> Result<String, Error> {
    let mut text = Text::new(state);
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        text.push(&rest[..at])?;
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            text.push(brace)?;
            rest = behind;
            continue;
        }
        if brace == "}" {
            return Err(refused("Single '}' encountered in format string"));
        }
        let end = field_end(rest).ok_or_else(|| refused("expected '}' before end of string"))?;
        let field = &rest[..end];
        rest = &rest[end + 1..];
        let (name, spec) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = match name.split_once('!') {
            Some((name, conversion)) => (name, Some(conversion)),
            None => (name, None),
        };
        let value = look_up(name, positional, named, next)?;
        let spec = match can_nest && spec.contains('{') {
            true => format_fields(state, spec, positional, named, next, false)?,
            false => spec.to_owned(),
        };
        let value = match conversion {
            None => value,
            Some("s") => Value::from(text_of(state, &value)?),
            Some("r" | "a") => Value::from(repr_of(state, &value)?),
            Some(_) => return Err(refused("unknown conversion specifier")),
        };
        format_value(state, &value, &spec, &mut text)?;
    }
    text.push(rest)?;
    text.finish(state)
}

/// Where a field's closing brace stands.
fn field_end(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The value of a field's name, such as `0`, `name`, `name[key]`, `name.attribute`.
fn look_up(
    name: &str,
    positional: &[Value],
    named: &Value,
    next: &mut usize,
) -> Result<Value, Error> {
    let first_end = name.find(['.', '[']).unwrap_or(name.len());
    let (first, mut path) = name.split_at(first_end);
    let at = match first {
        "" => {
            *next += 1;
            Some(*next - 1)
        }
        _ => first.parse().ok(),
    };
    let mut value = match at {
        Some(at) => positional.get(at).cloned().ok_or_else(|| {
            refused(format!("Replacement index {at} out of range for positional args tuple"))
        })?,
        None => match named.get_attr(first) {
            Ok(value) if !value.is_undefined() => value,
            _ => return Err(refused(quoted(first))),
        },
    };
    while !path.is_empty() {
        let (key, behind) = match path.strip_prefix('[') {
            Some(inner) => {
                inner.split_once(']').ok_or_else(|| refused("Missing ']' in format string"))?
            }
            None => {
                let inner = &path[1..];
                inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()))
            }
        };
        path = behind;
        let key = key.parse::<i64>().map_or_else(|_| Value::from(key), Value::from);
        value = value.get_item(&key)?;
    }
    Ok(value)
}

fn format_value(
    state: &mut State<'_, '_>,
    value: &Value,
    spec: &str,
    text: &mut Text,
) -> Result<(), Error> {
    if spec.is_empty() {
        return text.push(&text_of(state, value)?);
    }
    let (mut parsed, kind) = Spec::parse(spec)?;
    match type_of(value) {
        Type::Text => {
            if parsed.zero && parsed.align.is_none() {
                parsed.align = Some('<');
            }
            match kind {
                None | Some('s') => parsed.write_text(value.as_str().unwrap_or_default(), text),
                Some(kind) => Err(unknown(kind, "str")),
            }
        }
        Type::Bool if kind.is_none() => {
            write_number(&mut parsed, 'd', &Value::from(int_of(value)), text)
        }
        Type::Int | Type::Bool => write_number(&mut parsed, kind.unwrap_or('d'), value, text),
        Type::Float => write_number(&mut parsed, kind.unwrap_or('\0'), value, text),
        _ => {
            let name = type_name(value);
            Err(refused(format!("unsupported format string passed to {name}.__format__")))
        }
    }
}

fn unknown(kind: char, name: &str) -> Error {
    refused(format!("Unknown format code '{kind}' for object of type '{name}'"))
}

impl Spec {
    fn parse(spec: &str) -> Result<(Self, Option<char>), Error> {
        let mut parsed = Self { fill: ' ', ..Self::default() };
        let mut rest: Vec<char> = spec.chars().rev().collect();
        let is_align = |c: Option<&char>| c.is_some_and(|c| "<>=^".contains(*c));
        if rest.len() > 1 && is_align(rest.get(rest.len() - 2)) {
            parsed.fill = rest.pop().unwrap_or(' ');
            parsed.align = rest.pop();
        } else if is_align(rest.last()) {
            parsed.align = rest.pop();
        }
        let mut take = |wanted: &str| match rest.last() {
            Some(c) if wanted.contains(*c) => rest.pop(),
            _ => None,
        };
        parsed.sign = take("+- ");
        parsed.alternate = take("#").is_some();
        if take("0").is_some() {
            parsed.zero = true;
            if parsed.align.is_none() {
                parsed.fill = '0';
            }
        }
        let number = |take: &mut dyn FnMut(&str) -> Option<char>| {
            let mut found = None;
            while let Some(digit) = take("0123456789").and_then(|digit| digit.to_digit(10)) {
                found = Some(found.unwrap_or(0_usize).saturating_mul(10) + digit as usize);
            }
            found
        };
        parsed.width = number(&mut take).unwrap_or(0);
        parsed.grouping = take(",_");
        if take(".").is_some() {
            let precision = number(&mut take);
            parsed.precision =
                Some(precision.ok_or_else(|| refused("Format specifier missing precision"))?);
        }
        let kind = rest.pop();
        match rest.is_empty() {
            true => Ok((parsed, kind)),
            false => Err(refused(format!("Invalid format specifier '{spec}'"))),
        }
    }

    /// Writes a text in its field.
    pub(super) fn write_text(&self, value: &str, text: &mut Text) -> Result<(), Error> {
        let cut = match self.precision {
            Some(most) => value.char_indices().nth(most).map_or(value.len(), |(at, _)| at),
            None => value.len(),
        };
        let value = &value[..cut];
        let missing = self.width.saturating_sub(value.chars().count());
        let (before, after) = match self.align.unwrap_or('<') {
            '>' => (missing, 0),
            '^' => (missing / 2, missing - missing / 2),
            '=' => return Err(refused("'=' alignment not allowed in string format specifier")),
            _ => (0, missing),
        };
        text.fill(self.fill, before)?;
        text.push(value)?;
        text.fill(self.fill, after)
    }

    /// Writes a number in its field: its sign, its prefix, its digits.
    pub(super) fn write_signed(
        &self,
        is_negative: bool,
        prefix: &str,
        digits: &str,
        text: &mut Text,
    ) -> Result<(), Error> {
        let sign = match (is_negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        };
        let missing = self.width.saturating_sub(sign.len() + prefix.len() + digits.chars().count());
        let default = if self.zero { '=' } else { '>' };
        let (before, inside, after) = match self.align.unwrap_or(default) {
            '<' => (0, 0, missing),
            '^' => (missing / 2, 0, missing - missing / 2),
            '=' => (0, missing, 0),
            _ => (missing, 0, 0),
        };
        text.fill(self.fill, before)?;
        text.push(sign)?;
        text.push(prefix)?;
        text.fill(self.fill, inside)?;
        text.push(digits)?;
        text.fill(self.fill, after)
    }
}

/// Writes a number as its type's letter says.
pub(super) fn write_number(
    spec: &mut Spec,
    kind: char,
    value: &Value,
    text: &mut Text,
) -> Result<(), Error> {
    let precision = spec.precision.unwrap_or(6).min(MAX_PRECISION);
    if let (Some(number), 'd' | 'n' | 'x' | 'X' | 'o' | 'b' | 'c') = (int_of(value), kind) {
        let magnitude = number.unsigned_abs();
        let (prefix, digits, group) = match kind {
            'x' => ("0x", format!("{magnitude:x}"), 4),
            'X' => ("0X", format!("{magnitude:X}"), 4),
            'o' => ("0o", format!("{magnitude:o}"), 4),
            'b' => ("0b", format!("{magnitude:b}"), 4),
            'c' => {
                let character = u32::try_from(number).ok().and_then(char::from_u32);
                let character =
                    character.ok_or_else(|| refused("%c arg not in range(0x110000)"))?;
                return spec.write_text(&character.to_string(), text);
            }
            _ => ("", magnitude.to_string(), 3),
        };
        if spec.precision.is_some() {
            return Err(refused("Precision not allowed in integer format specifier"));
        }
        let prefix = if spec.alternate { prefix } else { "" };
        return spec.write_signed(
            number < 0,
            prefix,
            &grouped(&digits, spec.grouping, group),
            text,
        );
    }
    let Some(number) = float_of(value) else {
        return Err(unknown(kind, type_name(value)));
    };
    let magnitude = number.abs();
    let mut digits = match kind {
        _ if !number.is_finite() => float(magnitude),
        'f' | 'F' => format!("{magnitude:.precision$}"),
        '%' => format!("{:.precision$}%", magnitude * 100.0),
        'e' | 'E' => exponential(magnitude, precision),
        'g' | 'G' | 'n' => general(magnitude, precision.max(1), spec.alternate),
        '\0' => match spec.precision {
            None => float(magnitude),
            Some(precision) => {
                let digits = general(magnitude, precision.clamp(1, MAX_PRECISION), false);
                let is_whole = !digits.contains(['.', 'e']);
                if is_whole { format!("{digits}.0") } else { digits }
            }
        },
        _ => return Err(unknown(kind, type_name(value))),
    };
    if kind.is_ascii_uppercase() {
        digits = digits.to_uppercase();
    }
    if spec.grouping.is_some() {
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits = grouped(&digits[..end], spec.grouping, 3) + &digits[end..];
    }
    spec.write_signed(number.is_sign_negative() && !number.is_nan(), "", &digits, text)
}

/// `1.5e+07`
fn exponential(value: f64, precision: usize) -> String {
    let written = format!("{value:.precision$e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The shorter of `f` and `e` with so many digits that count.
fn general(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |digits: &str| match digits.contains('.') && !keeps_zeros {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    match exponent >= -4 && exponent < precision as i32 {
        true => {
            let decimals = usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0);
            trimmed(&format!("{value:.decimals$}"))
        }
        false => format!("{}{}", trimmed(digits), &scientific[digits.len()..]),
    }
}

/// Digits in groups.
fn grouped(digits: &str, separator: Option<char>, size: usize) -> String {
    let Some(separator) = separator else {
        return digits.to_owned();
    };
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(size) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}
