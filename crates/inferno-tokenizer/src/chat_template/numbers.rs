//! Jinja2's filters of numbers.

use minijinja::{Error, State, Value};

use super::arguments::bind;
use super::lexer::is_space;
use super::refused;
use super::types::{Type, float_of, index_of, int, int_of, type_name, type_of, undefined_error};

type Answer = Result<Value, Error>;

pub(super) fn abs(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value] = bind("abs", ["x"], arguments)?;
    let value = value.unwrap_or_default();
    match (int_of(&value), float_of(&value)) {
        (Some(number), _) => number.checked_abs().map(int).ok_or_else(|| refused("too large")),
        (None, Some(number)) => Ok(number.abs().into()),
        _ if value.is_undefined() => Err(undefined_error(&value)),
        _ => Err(refused(format!("bad operand type for abs(): '{}'", type_name(&value)))),
    }
}

/// The whole number that a text writes, with Python's underscores, prefixes and spaces.
fn parse_int(text: &str, base: i128) -> Option<i128> {
    let text = text.trim_matches(is_space).to_ascii_lowercase();
    let (is_negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text.as_str()),
    };
    let prefixed =
        |prefix| digits.strip_prefix(prefix).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
    let (radix, digits) = match base {
        0 | 16 if digits.starts_with("0x") => (16, prefixed("0x")?),
        0 | 8 if digits.starts_with("0o") => (8, prefixed("0o")?),
        0 | 2 if digits.starts_with("0b") => (2, prefixed("0b")?),
        0 => (10, digits),
        base => (u32::try_from(base).ok().filter(|base| (2..=36).contains(base))?, digits),
    };
    if digits.starts_with(['_', '-', '+']) || digits.ends_with('_') || digits.contains("__") {
        return None;
    }
    let magnitude = i128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    Some(if is_negative { -magnitude } else { magnitude })
}

/// The number that a text writes, as Python's `float` reads it.
fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let has_bare_underscore = text.starts_with('_')
        || text.ends_with('_')
        || text.as_bytes().windows(3).any(|window| {
            window[1] == b'_' && !(window[0].is_ascii_digit() && window[2].is_ascii_digit())
        });
    if has_bare_underscore { None } else { text.replace('_', "").parse().ok() }
}

/// A float without what is behind its point.
fn truncated(number: f64) -> Result<Option<i128>, Error> {
    match number {
        _ if number.is_nan() => Ok(None),
        _ if number.abs() >= i128::MAX as f64 => {
            Err(refused("cannot convert float infinity to integer"))
        }
        _ => Ok(Some(number.trunc() as i128)),
    }
}

pub(super) fn int_filter(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, default, base] = bind("int", ["value", "default", "base"], arguments)?;
    let value = value.unwrap_or_default();
    let default = default.unwrap_or_else(|| Value::from(0));
    let base = base.map_or(Ok(10), |base| index_of(&base))?;
    let number = match type_of(&value) {
        Type::Undefined => return Err(undefined_error(&value)),
        Type::Text => {
            let text = value.as_str().unwrap_or_default();
            match parse_int(text, base) {
                Some(number) => Some(number),
                None => parse_float(text).and_then(|number| truncated(number).ok().flatten()),
            }
        }
        _ => match (int_of(&value), float_of(&value)) {
            (Some(number), _) => Some(number),
            (None, Some(number)) => truncated(number)?,
            (None, None) => None,
        },
    };
    Ok(number.map_or(default, int))
}

pub(super) fn float(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, default] = bind("float", ["value", "default"], arguments)?;
    let value = value.unwrap_or_default();
    let number = match type_of(&value) {
        Type::Undefined => return Err(undefined_error(&value)),
        Type::Text => parse_float(value.as_str().unwrap_or_default()),
        _ => float_of(&value),
    };
    Ok(number.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from))
}

pub(super) fn round(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, precision, method] = bind("round", ["value", "precision", "method"], arguments)?;
    let value = value.unwrap_or_default();
    let precision = precision.map_or(Ok(0), |precision| index_of(&precision))?;
    let precision = i32::try_from(precision.clamp(-400, 400)).unwrap_or(0);
    let Some(number) = float_of(&value) else {
        return Err(match value.is_undefined() {
            true => undefined_error(&value),
            false => {
                let found = type_name(&value);
                refused(format!("type {found} doesn't define __round__ method"))
            }
        });
    };
    let scale = 10_f64.powi(precision);
    match method.as_ref().map(|method| method.as_str()) {
        None | Some(Some("common")) => match (int_of(&value), usize::try_from(precision)) {
            (Some(number), Ok(_)) => Ok(int(number)),
            (Some(number), Err(_)) => {
                let step = 10_i128.checked_pow(precision.unsigned_abs());
                Ok(int(step.map_or(0, |step| round_half_even(number, step))))
            }
            // The decimals of a float are exact here, and halves go to the even digit.
            (None, Ok(decimals)) if number.is_finite() => {
                Ok(format!("{number:.decimals$}").parse().unwrap_or(number).into())
            }
            (None, Err(_)) if number.is_finite() => {
                Ok(((number * scale).round_ties_even() / scale).into())
            }
            _ => Ok(number.into()),
        },
        Some(Some("ceil")) => Ok(((number * scale).ceil() / scale).into()),
        Some(Some("floor")) => Ok(((number * scale).floor() / scale).into()),
        _ => Err(refused("method must be common, ceil or floor")),
    }
}

fn round_half_even(number: i128, step: i128) -> i128 {
    let (below, rest) = (number.div_euclid(step), number.rem_euclid(step));
    let is_up = rest * 2 > step || (rest * 2 == step && below % 2 != 0);
    (below + i128::from(is_up)) * step
}

pub(super) fn filesizeformat(_: &mut State<'_, '_>, arguments: &[Value]) -> Answer {
    let [value, binary] = bind("filesizeformat", ["value", "binary"], arguments)?;
    let value = value.unwrap_or_default();
    let bytes = match value.as_str() {
        Some(text) => parse_float(text),
        None => float_of(&value),
    };
    let bytes = bytes.ok_or_else(|| refused("filesizeformat wants a number"))?;
    let is_binary = binary.is_some_and(|binary| binary.is_true());
    let (base, suffix) = if is_binary { (1024.0_f64, "iB") } else { (1000.0, "B") };
    if bytes == 1.0 {
        return Ok("1 Byte".into());
    }
    if bytes < base {
        return Ok(format!("{} Bytes", bytes.trunc()).into());
    }
    let prefixes = [if is_binary { "K" } else { "k" }, "M", "G", "T", "P", "E", "Z", "Y"];
    let mut unit = base;
    let mut prefix = prefixes[0];
    for (index, candidate) in prefixes.into_iter().enumerate() {
        prefix = candidate;
        unit = base.powi(index as i32 + 2);
        if bytes < unit {
            break;
        }
    }
    Ok(format!("{:.1} {prefix}{suffix}", base * bytes / unit).into())
}
