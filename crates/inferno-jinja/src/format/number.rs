//! Numbers in the presentation types of Python's format specifications.

use super::Spec;
use super::spec::Digits;
use crate::budget::TextBuilder;
use crate::error::{Error, Result};
use crate::text::float;
use crate::value::Value;

/// The most decimals of a float, or digits that an integer is extended to.
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

fn checked(precision: usize) -> Result<usize> {
    match precision > MAX_PRECISION {
        true => Err(Error::failed("the precision is too large")),
        false => Ok(precision),
    }
}

/// Writes an integer with at least as many digits as the precision.
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
    let zeros = checked(spec.precision.unwrap_or(0))?.saturating_sub(digits.len());
    let digits = "0".repeat(zeros) + &digits;
    let prefix = if spec.is_alternate { prefix } else { "" };
    spec.write_digits(
        Digits { is_negative: number < 0, prefix, whole: &digits, group, rest: "" },
        text,
    )
}

fn write_float(
    spec: &Spec,
    kind: char,
    number: f64,
    type_name: &str,
    text: &mut TextBuilder,
) -> Result<()> {
    let precision = checked(spec.precision.unwrap_or(6))?;
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
                let digits = general(magnitude, precision.max(1), false);
                let is_whole = !digits.contains(['.', 'e']);
                if is_whole { format!("{digits}.0") } else { digits }
            }
        },
        _ => return Err(unknown(kind, type_name)),
    };
    if kind.is_ascii_uppercase() {
        digits = digits.to_uppercase();
    }
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let is_negative = number.is_sign_negative() && !number.is_nan();
    spec.write_digits(Digits { is_negative, prefix: "", whole, group: 3, rest }, text)
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
