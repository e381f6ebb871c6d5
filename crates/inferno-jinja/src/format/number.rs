//! Numbers in the presentation types of Python's format specifications.

use super::Spec;
use crate::budget::TextBuilder;
use crate::error::{Error, Result};
use crate::text::float;
use crate::value::Value;

/// The most decimals that are written.
const MAX_PRECISION: usize = 1000;

pub(super) fn unknown(kind: char, name: &str) -> Error {
    Error::failed(format!("Unknown format code '{kind}' for object of type '{name}'"))
}

/// Writes a number in the presentation type `kind`; `\0` is the default of floats.
///
/// **Errors**: a type that does not suit the number.
pub(crate) fn write_number(
    spec: &Spec,
    kind: char,
    value: &Value,
    text: &mut TextBuilder,
) -> Result<()> {
    match (value.as_int(), kind) {
        (Some(number), 'd' | 'n' | 'x' | 'X' | 'o' | 'b' | 'c') => {
            write_integer(spec, kind, number, text)
        }
        _ => match value.as_float() {
            Some(number) => write_float(spec, kind, number, value.type_name(), text),
            None => Err(unknown(kind, value.type_name())),
        },
    }
}

fn write_integer(spec: &Spec, kind: char, number: i128, text: &mut TextBuilder) -> Result<()> {
    let magnitude = number.unsigned_abs();
    let (prefix, digits, group) = match kind {
        'x' => ("0x", format!("{magnitude:x}"), 4),
        'X' => ("0X", format!("{magnitude:X}"), 4),
        'o' => ("0o", format!("{magnitude:o}"), 4),
        'b' => ("0b", format!("{magnitude:b}"), 4),
        'c' => {
            let character = u32::try_from(number).ok().and_then(char::from_u32);
            let character =
                character.ok_or_else(|| Error::failed("%c arg not in range(0x110000)"))?;
            return spec.write_text(&character.to_string(), text);
        }
        _ => ("", magnitude.to_string(), 3),
    };
    if spec.precision.is_some() {
        return Err(Error::failed("Precision not allowed in integer format specifier"));
    }
    let prefix = if spec.is_alternate { prefix } else { "" };
    spec.write_signed(number < 0, prefix, &grouped(&digits, spec.grouping, group), text)
}

fn write_float(
    spec: &Spec,
    kind: char,
    number: f64,
    type_name: &str,
    text: &mut TextBuilder,
) -> Result<()> {
    let precision = spec.precision.unwrap_or(6).min(MAX_PRECISION);
    let magnitude = number.abs();
    let mut digits = match kind {
        _ if !number.is_finite() => float(magnitude),
        'f' | 'F' => format!("{magnitude:.precision$}"),
        '%' => format!("{:.precision$}%", magnitude * 100.0),
        'e' | 'E' => exponential(magnitude, precision),
        'g' | 'G' | 'n' => general(magnitude, precision.max(1), spec.is_alternate),
        '\0' => match spec.precision {
            None => float(magnitude),
            Some(precision) => {
                let digits = general(magnitude, precision.clamp(1, MAX_PRECISION), false);
                let is_whole = !digits.contains(['.', 'e']);
                if is_whole { format!("{digits}.0") } else { digits }
            }
        },
        _ => return Err(unknown(kind, type_name)),
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
    let scientific = format!("{value:.precision$e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The shorter of the types `f` and `e`, with `precision` significant digits.
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

/// Digits in groups of `size`.
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
