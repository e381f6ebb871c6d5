//! The functions that transformers gives to templates.

use jiff::Zoned;
use jiff::fmt::strtime::BrokenDownTime;
use minijinja::{Environment, Error, Value};

use super::error::RaisedByTemplate;
use super::refused;

/// Where `strftime_now` takes the time from.
pub(super) enum Clock {
    /// The time of this machine and place.
    System,
    /// Always this text.
    Fixed(String),
}

/// Defines `strftime_now`.
pub(super) fn add_clock(environment: &mut Environment<'static>, clock: Clock) {
    environment.add_function("strftime_now", move |format: &str| match &clock {
        Clock::Fixed(text) => Ok(text.clone()),
        Clock::System => BrokenDownTime::from(&Zoned::now())
            .to_string(format)
            .map_err(|error| refused(error.to_string())),
    });
}

/// Ends the rendering with the template's own words.
pub(super) fn raise_exception(message: &Value) -> Result<Value, Error> {
    let message = message.to_string();
    Err(refused(message.clone()).with_source(RaisedByTemplate(message)))
}

/// What a loop runs over: minijinja would take none for an empty list.
pub(super) fn iterated(value: Value) -> Result<Value, Error> {
    match value.is_none() {
        true => Err(refused("'NoneType' object is not iterable")),
        false => Ok(value),
    }
}
