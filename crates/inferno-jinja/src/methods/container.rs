//! Methods of lists, tuples, ranges, dicts, loops and cyclers.

use std::rc::Rc;

use super::Method;
use crate::arguments::Arguments;
use crate::dict::Dict;
use crate::error::{Error, Result};
use crate::object::{Loop, Object};
use crate::operators::search_bounds;
use crate::runtime::Runtime;
use crate::value::{Value, ViewKind};

pub(super) const DICT_METHODS: &[(&str, Method)] = &[
    ("copy", copy),
    ("fromkeys", from_keys),
    ("get", get),
    ("items", |_, dict, arguments| view(dict, ViewKind::Items, arguments)),
    ("keys", |_, dict, arguments| view(dict, ViewKind::Keys, arguments)),
    ("values", |_, dict, arguments| view(dict, ViewKind::Values, arguments)),
];

pub(super) const LIST_METHODS: &[(&str, Method)] =
    &[("copy", copy), ("count", count), ("index", index)];

/// Methods of `dict` itself.
pub(super) const DICT_TYPE_METHODS: &[(&str, Method)] = &[("fromkeys", from_keys)];

/// Methods of tuples and ranges.
pub(super) const SEQUENCE_METHODS: &[(&str, Method)] = &[("count", count), ("index", index)];

pub(super) const LOOP_METHODS: &[(&str, Method)] = &[("changed", changed), ("cycle", cycle)];

pub(super) const CYCLER_METHODS: &[(&str, Method)] = &[("next", next), ("reset", reset)];

fn dict_of(value: &Value) -> Result<&Rc<Dict>> {
    match value {
        Value::Dict(dict) => Ok(dict),
        _ => Err(Error::failed("descriptor requires a 'dict' object")),
    }
}

fn loop_of(value: &Value) -> Result<&Loop> {
    match value {
        Value::Object(object) => match &**object {
            Object::Loop(current) => Ok(current),
            _ => Err(Error::failed("descriptor requires a loop")),
        },
        _ => Err(Error::failed("descriptor requires a loop")),
    }
}

fn copy(_: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [] = arguments.bind("copy", [])?;
    Ok(value.clone())
}

/// `dict.fromkeys(keys, value)`
fn from_keys(runtime: &mut Runtime, _: &Value, arguments: Arguments) -> Result<Value> {
    let [keys, value] = arguments.bind("fromkeys", ["", ""])?;
    let keys = keys.ok_or_else(|| Error::failed("fromkeys expected at least 1 argument, got 0"))?;
    let mut entries = Vec::new();
    for key in runtime.items(&keys)? {
        entries.push((runtime.key(&key)?, value.clone().unwrap_or(Value::None)));
    }
    runtime.dict(entries)
}

fn get(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [key, default] = arguments.bind("get", ["", ""])?;
    let key = key.ok_or_else(|| Error::failed("get expected at least 1 argument, got 0"))?;
    let key = runtime.key(&key)?;
    Ok(dict_of(value)?.get(&key).cloned().or(default).unwrap_or(Value::None))
}

fn view(value: &Value, kind: ViewKind, arguments: Arguments) -> Result<Value> {
    let [] = arguments.bind("view", [])?;
    Ok(Value::View(kind, Rc::clone(dict_of(value)?)))
}

fn count(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [wanted] = arguments.bind_all("count", [""])?;
    let mut count = 0;
    for item in runtime.items(value)? {
        count += i128::from(runtime.equal(&item, &wanted)?);
    }
    Ok(Value::Int(count))
}

fn index(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [wanted, start, stop] = arguments.bind("index", ["", "", ""])?;
    let wanted =
        wanted.ok_or_else(|| Error::failed("index expected at least 1 argument, got 0"))?;
    let items = runtime.items(value)?;
    let (start, stop) = search_bounds(start, stop, items.len())?;
    for (index, item) in items.iter().enumerate() {
        let is_inside = (start..stop).contains(&(index as i128));
        if is_inside && runtime.equal(item, &wanted)? {
            return Ok(Value::Int(index as i128));
        }
    }
    let wanted = runtime.repr_of(&wanted)?;
    Err(Error::failed(format!("{wanted} is not in list")))
}

/// `loop.cycle(…)`: the argument for the current iteration, in turn.
fn cycle(_: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let items = arguments.positional;
    match items.is_empty() {
        true => Err(Error::failed("no items for cycling given")),
        false => Ok(items[loop_of(value)?.index.get() % items.len()].clone()),
    }
}

/// `loop.changed(…)`: whether the arguments differ from those of the previous call.
fn changed(runtime: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let id = loop_of(value)?.id;
    let current = runtime.tuple(arguments.positional)?;
    if let Some(last) = runtime.last_changed.remove(&id)
        && runtime.equal(&last, &current)?
    {
        runtime.last_changed.insert(id, last);
        return Ok(Value::Bool(false));
    }
    runtime.last_changed.insert(id, current);
    Ok(Value::Bool(true))
}

/// `cycler.next()`: the current item, moving on to the one after it.
fn next(_: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [] = arguments.bind("next", [])?;
    match value {
        Value::Object(object) => match &**object {
            Object::Cycler { items, index } => {
                let current = items.items[index.get()].clone();
                index.set((index.get() + 1) % items.items.len());
                Ok(current)
            }
            _ => Err(Error::failed("descriptor requires a cycler")),
        },
        _ => Err(Error::failed("descriptor requires a cycler")),
    }
}

fn reset(_: &mut Runtime, value: &Value, arguments: Arguments) -> Result<Value> {
    let [] = arguments.bind("reset", [])?;
    if let Value::Object(object) = value
        && let Object::Cycler { index, .. } = &**object
    {
        index.set(0);
    }
    Ok(Value::None)
}
