//! Ollama's field `keep_alive`: how long a model stays loaded after a request.

use std::time::Duration;

use serde_json::Value;

use crate::errors::ApiError;

/// Reads a number of seconds, or a text such as `1h30m` or `500ms`; a negative one, which means for ever, is `None`.
///
/// **Errors**: 400 for anything else.
pub(super) fn keep_alive(value: &Value) -> Result<Option<Duration>, ApiError> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => seconds(text),
        _ => None,
    };
    let seconds = seconds.ok_or_else(|| {
        let message = format!(
            "keep_alive must be a number of seconds or a duration such as \"10m\", but is {value}"
        );
        ApiError::invalid("keep_alive", message)
    })?;
    // Beyond the range of durations is for ever, too.
    Ok(Duration::try_from_secs_f64(seconds).ok())
}

/// The seconds of a number without a unit, or of numbers with units.
fn seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse() {
        return Some(number).filter(|number: &f64| number.is_finite());
    }
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let mut sum = 0.0;
    while !rest.is_empty() {
        let unit_start = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (number, from_unit) = rest.split_at(unit_start);
        // Milliseconds before minutes, which begin alike.
        let units =
            [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
        let (unit, factor) = units.into_iter().find(|(unit, _)| from_unit.starts_with(unit))?;
        sum += number.parse::<f64>().ok()? * factor;
        rest = &from_unit[unit.len()..];
    }
    (!text.is_empty()).then_some(sign * sum)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_durations_are_read() {
        let millis = |value: Value| keep_alive(&value).unwrap().map(|it| it.as_millis());
        for (value, expected) in [
            (json!(0), Some(0)),
            (json!(1.5), Some(1500)),
            (json!("300"), Some(300_000)),
            (json!("1h30m"), Some(5_400_000)),
            (json!("1.5m500ms"), Some(90_500)),
            (json!(-1), None),
            (json!("-1m"), None),
            (json!(1e300), None),
        ] {
            assert_eq!(millis(value.clone()), expected, "{value}");
        }
        for value in
            [json!(""), json!("m"), json!("5 minutes"), json!("5m3"), json!("nan"), json!([])]
        {
            assert_eq!(keep_alive(&value).unwrap_err().status.as_u16(), 400, "{value}");
        }
    }
}
