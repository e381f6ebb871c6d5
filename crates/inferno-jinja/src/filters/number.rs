//! Filters of numbers.

use crate::arguments::{Arguments, flag, integer_or};
use crate::character::{is_space, with_ascii_digits};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::value::Value;

pub(super) fn abs(_: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("abs", ["x"])?;
    match (value.as_int(), value.as_float()) {
        (Some(number), _) => number
            .checked_abs()
            .map(Value::Int)
            .ok_or_else(|| Error::failed("the number is too large")),
        (None, Some(number)) => Ok(Value::Float(number.abs())),
        _ => Err(value.misuse(|found| format!("bad operand type for abs(): '{found}'"))),
    }
}

/// The integer that a text writes, with Python's underscores, prefixes and spaces.
pub(super) fn parse_int(text: &str, base: i128) -> Option<i128> {
    let text = with_ascii_digits(text.trim_matches(is_space)).to_ascii_lowercase();
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
    let text = with_ascii_digits(text.trim_matches(is_space));
    let has_bare_underscore = text.starts_with('_')
        || text.ends_with('_')
        || text.as_bytes().windows(3).any(|window| {
            window[1] == b'_' && !(window[0].is_ascii_digit() && window[2].is_ascii_digit())
        });
    if has_bare_underscore { None } else { text.replace('_', "").parse().ok() }
}

/// A float without its fraction; `None` for NaN.
fn truncated(number: f64) -> Result<Option<i128>> {
    match number {
        _ if number.is_nan() => Ok(None),
        _ if number.abs() >= i128::MAX as f64 => {
            Err(Error::failed("cannot convert float infinity to integer"))
        }
        _ => Ok(Some(number.trunc() as i128)),
    }
}

pub(super) fn int(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [default, base]) = arguments.bind_filter("int", ["default", "base"])?;
    let base = integer_or(base, 10)?;
    let number = match &value {
        Value::Undefined(undefined) => return Err(Error::failed(undefined.to_string())),
        Value::Text(text) => {
            runtime.budget.scan(text.len())?;
            parse_int(text, base)
                .or_else(|| parse_float(text).and_then(|number| truncated(number).ok().flatten()))
        }
        Value::Float(number) => truncated(*number)?,
        _ => value.as_int(),
    };
    Ok(number.map_or_else(|| default.unwrap_or(Value::Int(0)), Value::Int))
}

pub(super) fn float(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [default]) = arguments.bind_filter("float", ["default"])?;
    let number = match &value {
        Value::Undefined(undefined) => return Err(Error::failed(undefined.to_string())),
        Value::Text(text) => {
            runtime.budget.scan(text.len())?;
            parse_float(text)
        }
        _ => value.as_float(),
    };
    Ok(number.map_or_else(|| default.unwrap_or(Value::Float(0.0)), Value::Float))
}

pub(super) fn round(_: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [precision, method]) = arguments.bind_filter("round", ["precision", "method"])?;
    let precision = integer_or(precision, 0)?.clamp(-400, 400) as i32;
    let number = value.as_float().ok_or_else(|| {
        value.misuse(|found| format!("type {found} doesn't define __round__ method"))
    })?;
    let scale = 10_f64.powi(precision);
    match method.as_ref().map(|method| method.as_text().map_or("", |method| method)) {
        None | Some("common") => Ok(match value.as_int() {
            Some(number) => Value::Int(rounded_integer(number, precision)),
            None => Value::Float(rounded(number, precision)),
        }),
        Some("ceil") => Ok(Value::Float((number * scale).ceil() / scale)),
        Some("floor") => Ok(Value::Float((number * scale).floor() / scale)),
        _ => Err(Error::failed("method must be common, ceil or floor")),
    }
}

/// A float rounded to `precision` decimals; ties round to even, decided on its exact decimals.
fn rounded(number: f64, precision: i32) -> f64 {
    match usize::try_from(precision) {
        _ if !number.is_finite() => number,
        Ok(decimals) => format!("{number:.decimals$}").parse().unwrap_or(number),
        Err(_) => {
            let scale = 10_f64.powi(precision);
            (number * scale).round_ties_even() / scale
        }
    }
}

/// An integer rounded to `10 ** -precision`; ties round to even.
fn rounded_integer(number: i128, precision: i32) -> i128 {
    if precision >= 0 {
        return number;
    }
    let Some(step) = 10_i128.checked_pow(precision.unsigned_abs()) else { return 0 };
    let (below, rest) = (number.div_euclid(step), number.rem_euclid(step));
    let is_up = rest > step - rest || (rest == step - rest && below % 2 != 0);
    (below + i128::from(is_up)).saturating_mul(step)
}

pub(super) fn filesizeformat(_: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [binary]) = arguments.bind_filter("filesizeformat", ["binary"])?;
    let bytes = match &value {
        Value::Text(text) => parse_float(text),
        _ => value.as_float(),
    };
    let bytes = bytes.ok_or_else(|| Error::failed("filesizeformat expects a number"))?;
    let is_binary = flag(binary);
    let (base, suffix) = if is_binary { (1024.0_f64, "iB") } else { (1000.0, "B") };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        return Ok(Value::from(format!("{} Bytes", bytes.trunc()).as_str()));
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
    Ok(Value::from(format!("{:.1} {prefix}{suffix}", base * bytes / unit).as_str()))
}
