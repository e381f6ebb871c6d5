//! Python's `text % values`.

use minijinja::{Error, State, Value};

use super::budget::Text;
use super::format::{Spec, write_number};
use super::refused;
use super::text::{quoted, repr_of, text_of};
use super::types::{Type, float_of, int_of, type_name, type_of};

/// `format % values`: a tuple's items one by one, a dict's by name, anything else alone.
pub(super) fn percent(
    state: &mut State<'_, '_>,
    format: &str,
    values: &Value,
) -> Result<String, Error> {
    let mut positional = match type_of(values) {
        Type::Tuple => values.try_iter()?.collect(),
        _ => vec![values.clone()],
    }
    .into_iter();
    let is_dict = type_of(values) == Type::Dict;
    // What has items by key may have more of them than are asked for.
    let has_keys =
        matches!(type_of(values), Type::Dict | Type::List | Type::Range | Type::Undefined);
    let mut text = Text::new(state);
    let mut rest = format;
    while let Some((before, behind)) = rest.split_once('%') {
        text.push(before)?;
        rest = behind;
        let mut directive = Directive::default();
        let named = match rest.strip_prefix('(').and_then(|name| name.split_once(')')) {
            Some((name, behind)) => {
                rest = behind;
                Some(name)
            }
            None => None,
        };
        let mut next =
            || positional.next().ok_or_else(|| refused("not enough arguments for format string"));
        let mut star = || {
            let value = next()?;
            int_of(&value).ok_or_else(|| refused("* wants int"))
        };
        rest = directive.read(rest, &mut star)?;
        let Some(kind) = rest.chars().next() else {
            return Err(refused("incomplete format"));
        };
        rest = &rest[kind.len_utf8()..];
        if kind == '%' {
            text.push("%")?;
            continue;
        }
        let value = match named {
            Some(name) if is_dict => {
                let value = values.as_object().and_then(|dict| dict.get_value(&name.into()));
                value.ok_or_else(|| refused(quoted(name)))?
            }
            Some(_) => return Err(refused("format requires a mapping")),
            None => next()?,
        };
        directive.write(state, kind, &value, &mut text)?;
    }
    text.push(rest)?;
    if !has_keys && positional.next().is_some() {
        return Err(refused("not all arguments converted during string formatting"));
    }
    text.finish(state)
}

/// What stands between `%` and the letter.
#[derive(Default)]
struct Directive {
    spec: Spec,
}

impl Directive {
    fn read<'a>(
        &mut self,
        mut rest: &'a str,
        star: &mut impl FnMut() -> Result<i128, Error>,
    ) -> Result<&'a str, Error> {
        while let Some(flag) = rest.chars().next().filter(|flag| "-+ 0#".contains(*flag)) {
            match flag {
                '-' => self.spec.align = Some('<'),
                '0' => self.spec.zero = true,
                '#' => self.spec.alternate = true,
                ' ' if self.spec.sign == Some('+') => {}
                sign => self.spec.sign = Some(sign),
            }
            rest = &rest[1..];
        }
        let (width, behind) = count(rest, star)?;
        rest = behind;
        if let Some(width) = width {
            if width < 0 {
                self.spec.align = Some('<');
            }
            self.spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        }
        if let Some(behind) = rest.strip_prefix('.') {
            let (precision, behind) = count(behind, star)?;
            let precision = precision.unwrap_or(0).max(0);
            self.spec.precision = Some(usize::try_from(precision).unwrap_or(usize::MAX));
            rest = behind;
        }
        Ok(rest.trim_start_matches(['h', 'l', 'L']))
    }

    fn write(
        &mut self,
        state: &mut State<'_, '_>,
        kind: char,
        value: &Value,
        text: &mut Text,
    ) -> Result<(), Error> {
        let spec = &mut self.spec;
        // Numbers and texts alike stand to the right; a minus wins over a zero.
        if spec.align == Some('<') {
            spec.zero = false;
        }
        spec.align = spec.align.or(Some(if spec.zero { '=' } else { '>' }));
        spec.fill = if spec.zero { '0' } else { ' ' };
        match kind {
            's' | 'r' | 'a' => {
                spec.fill = ' ';
                if spec.align == Some('=') {
                    spec.align = Some('>');
                }
                let written =
                    if kind == 's' { text_of(state, value) } else { repr_of(state, value) };
                spec.write_text(&written?, text)
            }
            'd' | 'i' | 'u' => {
                let number = match float_of(value) {
                    Some(number) if int_of(value).is_none() => Some(number.trunc() as i128),
                    _ => int_of(value),
                };
                let number = number.ok_or_else(|| wrong(kind, "a real number", value))?;
                let digits = number.unsigned_abs().to_string();
                let zeros = spec.precision.take().unwrap_or(0).saturating_sub(digits.len());
                let digits = "0".repeat(zeros.min(1000)) + &digits;
                spec.write_signed(number < 0, "", &digits, text)
            }
            'x' | 'X' | 'o' => {
                let number = int_of(value).ok_or_else(|| wrong(kind, "an integer", value))?;
                spec.precision = None;
                write_number(spec, kind, &Value::from(number), text)
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                let number = float_of(value).ok_or_else(|| {
                    refused(format!("must be real number, not {}", type_name(value)))
                })?;
                write_number(spec, kind, &Value::from(number), text)
            }
            'c' => {
                let character = match (int_of(value), value.as_str()) {
                    (Some(number), _) => u32::try_from(number).ok().and_then(char::from_u32),
                    (None, Some(value)) => {
                        let mut characters = value.chars();
                        characters.next().filter(|_| characters.next().is_none())
                    }
                    _ => None,
                };
                let character = character
                    .ok_or_else(|| refused("%c requires an int or a unicode character"))?;
                spec.write_text(&character.to_string(), text)
            }
            other => Err(refused(format!("unsupported format character '{other}'"))),
        }
    }
}

fn wrong(kind: char, expected: &str, value: &Value) -> Error {
    let found = type_name(value);
    refused(format!("%{kind} format: {expected} is required, not {found}"))
}

/// A width or a precision: digits, or `*` for the next value.
fn count<'a>(
    rest: &'a str,
    star: &mut impl FnMut() -> Result<i128, Error>,
) -> Result<(Option<i128>, &'a str), Error> {
    if let Some(rest) = rest.strip_prefix('*') {
        return Ok((Some(star()?), rest));
    }
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &rest[..rest.len() - behind.len()];
    match digits.is_empty() {
        true => Ok((None, behind)),
        false => {
            digits.parse().map(|count| (Some(count), behind)).map_err(|_| refused("width too big"))
        }
    }
}
