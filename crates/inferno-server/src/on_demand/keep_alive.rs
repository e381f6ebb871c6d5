//! Ollama's field `keep_alive`: how long a model stays loaded after a request.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Visitor};

use crate::errors::ApiError;

/// A number of seconds, or a text such as `1h30m` or `500ms`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KeepAlive {
    Seconds(f64),
    Text(String),
}

impl KeepAlive {
    /// The duration; a negative one, which means for ever, is `None`.
    ///
    /// **Errors**: 400 for a text that is no duration.
    pub fn duration(&self) -> Result<Option<Duration>, ApiError> {
        let seconds = match self {
            Self::Seconds(seconds) => Some(*seconds),
            Self::Text(text) => seconds(text),
        };
        let seconds = seconds.ok_or_else(|| {
            let message = "keep_alive must be a number of seconds or a duration such as \"10m\"";
            ApiError::invalid("keep_alive", message)
        })?;
        // Beyond the range of durations is for ever, too.
        Ok(Duration::try_from_secs_f64(seconds).ok())
    }
}

impl<'de> Deserialize<'de> for KeepAlive {
    /// Reads no other value, so that a nested one takes no memory.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = KeepAlive;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds or a duration such as \"10m\"")
            }

            fn visit_f64<E>(self, seconds: f64) -> Result<KeepAlive, E> {
                Ok(KeepAlive::Seconds(seconds))
            }

            fn visit_i64<E>(self, seconds: i64) -> Result<KeepAlive, E> {
                Ok(KeepAlive::Seconds(seconds as f64))
            }

            fn visit_u64<E>(self, seconds: u64) -> Result<KeepAlive, E> {
                Ok(KeepAlive::Seconds(seconds as f64))
            }

            fn visit_str<E>(self, text: &str) -> Result<KeepAlive, E> {
                Ok(KeepAlive::Text(text.to_owned()))
            }
        }

        deserializer.deserialize_any(Reader)
    }
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
    use serde_json::{Value, json};

    use super::*;

    fn duration(value: &Value) -> Result<Option<Duration>, String> {
        let read: KeepAlive =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        read.duration().map_err(|error| error.message)
    }

    #[test]
    fn numbers_and_durations_are_read() {
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
            let found = duration(&value).unwrap().map(|found| found.as_millis());
            assert_eq!(found, expected, "{value}");
        }
        for value in
            [json!(""), json!("m"), json!("5 minutes"), json!("5m3"), json!("nan"), json!([0])]
        {
            let error = duration(&value).unwrap_err();
            assert!(error.contains("a number of seconds or a duration"), "{value}: {error}");
        }
    }
}
