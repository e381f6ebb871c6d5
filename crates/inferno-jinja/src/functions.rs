//! The global functions of Jinja2 and those that transformers adds.

use std::cell::Cell;

use jiff::Zoned;

use crate::arguments::{Arguments, integer, string};
use crate::dict::Key;
use crate::error::{Error, Result};
use crate::object::Object;
use crate::runtime::Runtime;
use crate::strftime::write_time;
use crate::text::quoted;
use crate::value::{Range, Sequence, Value};

/// A global function.
pub(crate) type Function = fn(&mut Runtime, Arguments) -> Result<Value>;

/// What `strftime_now` reads.
#[derive(Clone, Debug, Default)]
pub(crate) enum Clock {
    /// The local time.
    #[default]
    System,
    /// This text, for every format.
    Fixed(String),
}

/// The function of this name.
pub(crate) fn find(name: &str) -> Option<(&'static str, Function)> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).copied()
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("cycler", cycler),
    ("dict", dict),
    ("joiner", joiner),
    ("namespace", namespace),
    ("raise_exception", raise_exception),
    ("range", range),
    ("strftime_now", strftime_now),
];

fn cycler(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    match arguments.positional.is_empty() {
        true => Err(Error::failed("at least one item has to be provided")),
        false => {
            let items = Sequence::of(arguments.positional);
            runtime.object(Object::Cycler { items, index: Cell::new(0) })
        }
    }
}

fn joiner(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [separator] = arguments.bind("joiner", ["sep"])?;
    let separator = separator.unwrap_or_else(|| Value::from(", "));
    runtime.object(Object::Joiner { separator, is_used: Cell::new(false) })
}

/// `dict(mapping or pairs, **entries)`
fn dict(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let entries = dict_entries(runtime, arguments)?;
    runtime.dict(entries)
}

fn dict_entries(runtime: &mut Runtime, arguments: Arguments) -> Result<Vec<(Key, Value)>> {
    let mut entries = Vec::new();
    match arguments.positional.as_slice() {
        [] => {}
        [Value::Dict(source)] => {
            runtime.budget.allocate_items(source.len().saturating_mul(2))?;
            entries.extend(source.entries().map(|(key, value)| (key.clone(), value.clone())));
        }
        [source] => {
            for pair in runtime.items(source)? {
                match runtime.items(&pair)?.as_slice() {
                    [key, value] => entries.push((runtime.key(key)?, value.clone())),
                    other => {
                        let found = other.len();
                        return Err(Error::failed(format!(
                            "dictionary update sequence element has length {found}; 2 is required"
                        )));
                    }
                }
            }
        }
        several => {
            let given = several.len();
            return Err(Error::failed(format!("dict expected at most 1 argument, got {given}")));
        }
    }
    for (name, value) in arguments.named {
        entries.push((Key::from(name), value));
    }
    Ok(entries)
}

/// `namespace(mapping or pairs, **attributes)`
fn namespace(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let Value::Dict(attributes) = dict(runtime, arguments)? else { return Ok(Value::None) };
    let names = attributes.keys().filter_map(Value::as_text);
    names.into_iter().try_for_each(|name| check_attribute(name))?;
    // What the namespace itself occupies.
    runtime.budget.allocate(128)?;
    runtime.namespaces.push(std::rc::Rc::unwrap_or_clone(attributes));
    Ok(Value::Namespace(runtime.namespaces.len() - 1))
}

/// Whether a namespace may have an attribute of this name, which the sandbox must be able to read.
pub(crate) fn check_attribute(name: &str) -> Result<()> {
    match name.starts_with('_') {
        true => Err(Error::failed(format!(
            "Chat templates cannot store underscore-prefixed attributes on a namespace, but got {}. \
             Please rename the attribute.",
            quoted(name)
        ))),
        false => Ok(()),
    }
}

/// Fails with the template's own message.
fn raise_exception(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [message] = arguments.bind_all("raise_exception", ["message"])?;
    Err(Error::raised(runtime.text_of(&message)?.to_string()))
}

/// `range(stop)`, `range(start, stop)` or `range(start, stop, step)`
fn range(_: &mut Runtime, arguments: Arguments) -> Result<Value> {
    /// The longest range that Jinja2's sandbox allows.
    const MAX_LEN: usize = 100_000;
    let number = |value: &Value| {
        i64::try_from(integer(value)?).map_err(|_| Error::failed("the number is too large"))
    };
    if !arguments.named.is_empty() {
        return Err(Error::failed("range() takes no keyword arguments"));
    }
    let (start, stop, step) = match arguments.positional.as_slice() {
        [stop] => (0, number(stop)?, 1),
        [start, stop] => (number(start)?, number(stop)?, 1),
        [start, stop, step] => (number(start)?, number(stop)?, number(step)?),
        other => {
            let given = other.len();
            return Err(Error::failed(format!("range expected 1 to 3 arguments, got {given}")));
        }
    };
    if step == 0 {
        return Err(Error::failed("range() arg 3 must not be zero"));
    }
    let range = Range { start, stop, step };
    match range.len() > MAX_LEN {
        true => Err(Error::failed(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MAX_LEN})."
        ))),
        false => Ok(Value::Range(range)),
    }
}

fn strftime_now(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [format] = arguments.bind_all("strftime_now", ["format"])?;
    let format = string(&format)?;
    match &runtime.clock {
        Clock::Fixed(text) => runtime.budget.text(text.as_str()),
        Clock::System => {
            runtime.budget.scan(format.len().saturating_mul(64))?;
            let mut text = runtime.budget.builder();
            write_time(format, &Zoned::now(), &mut text)?;
            text.finish(&mut runtime.budget)
        }
    }
}
