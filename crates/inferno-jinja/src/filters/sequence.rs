//! Filters of lists and dicts.

use std::sync::Arc;

use super::selection::Lookup;
use crate::arguments::{Arguments, integer, not_none};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::value::{Value, ViewKind};

/// `value|attr(name)`: an attribute, never an item.
pub(super) fn attr(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value, name] = arguments.bind_all("attr", ["obj", "name"])?;
    let Value::Text(name) = name else {
        return Err(Error::failed("attribute name must be string"));
    };
    let name = Arc::from(&*name);
    let found = runtime.own_attribute(&value, &name)?;
    Ok(found.unwrap_or_else(|| {
        let of = value.type_name();
        Value::undefined(format!("'{of} object' has no attribute '{name}'"))
    }))
}

/// Lists of `linecount` items each; the last one is completed with `fill_with`.
pub(super) fn batch(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value, count, filler] = arguments.bind("batch", ["value", "linecount", "fill_with"])?;
    let (Some(value), Some(count)) = (value, count) else {
        return Err(Error::failed("batch() missing a required argument: 'linecount'"));
    };
    let items = runtime.items(&value)?;
    let count = usize::try_from(integer(&count)?).unwrap_or(usize::MAX);
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    for item in items {
        if batch.len() == count {
            batches.push(runtime.list(std::mem::take(&mut batch))?);
        }
        batch.push(item);
    }
    if !batch.is_empty() {
        if let Some(filler) = not_none(filler).filter(|_| batch.len() < count) {
            runtime.budget.allocate_items(count)?;
            batch.resize(count, filler);
        }
        batches.push(runtime.list(batch)?);
    }
    runtime.generator(batches)
}

/// As many lists as `slices`, the first ones longer; shorter ones are completed with `fill_with`.
pub(super) fn slice(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value, count, filler] = arguments.bind("slice", ["value", "slices", "fill_with"])?;
    let (Some(value), Some(count)) = (value, count) else {
        return Err(Error::failed("slice() missing a required argument: 'slices'"));
    };
    let items = runtime.items(&value)?;
    let count = usize::try_from(integer(&count)?).unwrap_or(0);
    if count == 0 {
        return Err(Error::failed("integer division or modulo by zero"));
    }
    runtime.budget.allocate_items(count.saturating_mul(2))?;
    let (size, num_longer) = (items.len() / count, items.len() % count);
    let filler = not_none(filler);
    let mut rest = items.into_iter();
    let mut slices = Vec::with_capacity(count);
    for index in 0..count {
        let len = size + usize::from(index < num_longer);
        let mut slice: Vec<Value> = rest.by_ref().take(len).collect();
        if index >= num_longer {
            slice.extend(filler.clone());
        }
        slices.push(runtime.list(slice)?);
    }
    runtime.generator(slices)
}

pub(super) fn first(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("first", ["seq"])?;
    let first = match &value {
        Value::Text(text) => {
            text.chars().next().map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str))
        }
        Value::List(list) | Value::Tuple(list) => list.items.first().cloned(),
        Value::Generator(generator) => generator.items.borrow_mut().pop_front(),
        _ => runtime.items(&value)?.into_iter().next(),
    };
    Ok(first.unwrap_or_else(|| Value::undefined("No first item, sequence was empty.")))
}

pub(super) fn last(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("last", ["seq"])?;
    let last = match &value {
        Value::List(list) | Value::Tuple(list) => list.items.last().cloned(),
        Value::Generator(_) => return Err(not_reversible(&value)),
        _ => runtime.items(&value).map_err(|_| not_reversible(&value))?.pop(),
    };
    Ok(last.unwrap_or_else(|| Value::undefined("No last item, sequence was empty.")))
}

fn not_reversible(value: &Value) -> Error {
    Error::failed(format!("'{}' object is not reversible", value.type_name()))
}

pub(super) fn items(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("items", ["value"])?;
    let pairs = match value {
        Value::Undefined(_) => Vec::new(),
        Value::Dict(dict) => runtime.items(&Value::View(ViewKind::Items, dict))?,
        _ => return Err(Error::failed("Can only get item pairs from a mapping.")),
    };
    runtime.generator(pairs)
}

pub(super) fn join(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [separator, attribute]) = arguments.bind_filter("join", ["d", "attribute"])?;
    let lookup = Lookup::exact(attribute);
    let mut text = runtime.budget.builder();
    for (index, item) in runtime.items(&value)?.iter().enumerate() {
        if let Some(separator) = separator.as_ref().filter(|_| index > 0) {
            runtime.write_str(separator, &mut text)?;
        }
        let item = lookup.of(runtime, item)?;
        runtime.write_str(&item, &mut text)?;
    }
    text.finish(&mut runtime.budget)
}

pub(super) fn length(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("length", ["obj"])?;
    if let Value::Text(text) = &value {
        runtime.budget.scan(text.len())?;
    }
    match value.num_items() {
        Some(len) => Ok(Value::Int(len as i128)),
        None => Err(Error::failed(format!("object of type '{}' has no len()", value.type_name()))),
    }
}

pub(super) fn list(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("list", ["value"])?;
    let items = runtime.items(&value)?;
    runtime.list(items)
}

/// A string in reverse, or an iterator over the items in reverse.
pub(super) fn reverse(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind_all("reverse", ["value"])?;
    if let Value::Text(text) = &value {
        runtime.budget.scan(text.len())?;
        return runtime.budget.text(text.chars().rev().collect::<String>());
    }
    let items = runtime.items(&value).map_err(|error| match error {
        Error::Failed { .. } => Error::failed("argument must be iterable"),
        other => other,
    })?;
    let reversed = items.into_iter().rev().collect();
    match value {
        Value::Generator(_) => runtime.list(reversed),
        _ => runtime.generator(reversed),
    }
}

pub(super) fn sum(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [attribute, start]) = arguments.bind_filter("sum", ["attribute", "start"])?;
    let lookup = Lookup::exact(attribute);
    let mut sum = start.unwrap_or(Value::Int(0));
    if sum.as_text().is_some() {
        return Err(Error::failed("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    for item in runtime.items(&value)? {
        let item = lookup.of(runtime, &item)?;
        sum = runtime.add(&sum, &item)?;
    }
    Ok(sum)
}
