//! The functions that transformers gives to templates.

use jiff::Zoned;
use jiff::fmt::strtime::BrokenDownTime;
use minijinja::value::Rest;
use minijinja::{Environment, Error, State, Value};

use super::arguments::variadic;
use super::error::RaisedByTemplate;
use super::methods::{dict, macro_arguments};
use super::objects::{Cycler, Joiner};
use super::refused;
use super::sequence_filters::range;
use super::text::text_of;

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
fn raise_exception(state: &mut State<'_, '_>, message: &Value) -> Result<Value, Error> {
    let message = text_of(state, message)?;
    Err(refused(message.clone()).with_source(RaisedByTemplate(message)))
}

/// Defines Jinja2's functions and those of transformers, but for the time.
pub(super) fn add_functions(environment: &mut Environment<'static>) {
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("range", variadic(range));
    environment.add_function("dict", variadic(dict));
    environment.add_function("namespace", variadic(namespace));
    environment.add_function("cycler", |items: Rest<Value>| Cycler::of(items.to_vec()));
    environment.add_function("joiner", |separator: Option<Value>| {
        Joiner::of(separator.unwrap_or_else(|| Value::from(", ")))
    });
    environment
        .add_function("_macro_arguments", variadic(|_, arguments| macro_arguments(arguments)));
    environment.add_function("_no_loader", || {
        Err::<Value, _>(refused("no loader for this environment specified"))
    });
}

/// `namespace(mapping, **items)`
fn namespace(state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
    let items = dict(state, arguments)?;
    for name in items.try_iter()? {
        if name.as_str().is_some_and(|name| name.starts_with('_')) {
            return Err(refused(format!(
                "Chat templates cannot store underscore-prefixed attributes on a namespace, but \
                 got {}. Please rename the attribute.",
                super::text::quoted(&name.to_string())
            )));
        }
    }
    minijinja::functions::namespace(Some(items.into()))
}
