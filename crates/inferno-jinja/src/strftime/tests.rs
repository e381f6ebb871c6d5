//! Times that Python wrote; `tests/fixtures/make_answers.py` wrote the expected results.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::write_time;
use crate::budget::{Budget, Limits};
use crate::error::Error;

const TIMES: &str = include_str!("../../tests/fixtures/times.jsonl");

fn written(format: &str, time: &str, limits: Limits) -> Result<String, Error> {
    let time: DateTime = time.parse().unwrap();
    let mut budget = Budget::new(limits);
    let mut text = budget.builder();
    write_time(format, &time.to_zoned(TimeZone::UTC).unwrap(), &mut text)?;
    text.into_string(&mut budget)
}

#[test]
fn times_are_written_as_python_writes_them() {
    let mut num_written = 0;
    for line in TIMES.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let [time, format, text] =
            ["time", "format", "text"].map(|key| line[key].as_str().unwrap());
        assert_eq!(written(format, time, Limits::default()).unwrap(), text, "{format}");
        num_written += 1;
    }
    assert!(num_written > 30, "{num_written}");
}

#[test]
fn a_wide_field_is_charged() {
    let limits = Limits { bytes: 1000, ..Limits::default() };
    let error = written("%99999999999999999999d", "2024-07-06T09:05:03", limits).unwrap_err();
    assert_eq!(error, Error::TooManyBytes { limit: 1000 });
}

#[test]
fn seconds_since_1970_have_an_option() {
    let written = |format| written(format, "2024-07-06T09:05:03", Limits::default()).unwrap();
    assert_eq!(written("%s %012s"), "1720256703 001720256703");
}
