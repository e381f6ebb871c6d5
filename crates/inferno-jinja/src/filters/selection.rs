//! Filters that look at each item: `map`, `select`, `unique` and their relatives.

use indexmap::IndexSet;

use super::number::parse_int;
use crate::arguments::{Arguments, flag, not_none};
use crate::character::is_digit;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::text::quoted;
use crate::value::Value;
use crate::{filters, predicates};

/// How a filter looks at an item: an attribute of it, in lower case if case is ignored.
#[derive(Clone, Default)]
pub(super) struct Lookup {
    attribute: Option<Value>,
    /// What replaces an undefined part of the attribute.
    default: Option<Value>,
    ignores_case: bool,
}

impl Lookup {
    pub(super) fn new(attribute: Option<Value>, case_sensitive: Option<Value>) -> Self {
        Self { ignores_case: !flag(case_sensitive), ..Self::exact(attribute) }
    }

    /// A lookup that keeps case.
    pub(super) fn exact(attribute: Option<Value>) -> Self {
        Self { attribute: not_none(attribute), ..Self::default() }
    }

    /// This lookup with a default for every part of the attribute.
    pub(super) fn or(self, default: Option<Value>) -> Self {
        Self { default: not_none(default), ..self }
    }

    /// This lookup, but with case.
    pub(super) fn with_case(&self) -> Self {
        Self { ignores_case: false, ..self.clone() }
    }

    /// The value that the filter compares for an item.
    pub(super) fn of(&self, runtime: &mut Runtime, item: &Value) -> Result<Value> {
        let value = match &self.attribute {
            None => item.clone(),
            Some(attribute) => self.attribute_of(runtime, item, attribute)?,
        };
        match &value {
            Value::Text(text) if self.ignores_case => {
                runtime.budget.scan(text.len())?;
                runtime.budget.text(text.to_lowercase())
            }
            _ => Ok(value),
        }
    }

    /// What the filter sees by each of several attributes separated by commas, as a list.
    pub(super) fn of_several(&self, runtime: &mut Runtime, item: &Value) -> Result<Value> {
        let mut values = Vec::new();
        match &self.attribute {
            Some(Value::Text(attributes)) => {
                for attribute in attributes.split(',') {
                    let attribute = Some(Value::from(attribute));
                    let lookup = Self { attribute, ..self.clone() };
                    values.push(lookup.of(runtime, item)?);
                }
            }
            _ => values.push(self.of(runtime, item)?),
        }
        runtime.list(values)
    }

    /// An attribute of an item: an index, or names and indices separated by dots.
    fn attribute_of(
        &self,
        runtime: &mut Runtime,
        item: &Value,
        attribute: &Value,
    ) -> Result<Value> {
        let or_default = |found: Value| match &self.default {
            Some(default) if found.is_undefined() => default.clone(),
            _ => found,
        };
        let Value::Text(path) = attribute else {
            return runtime.item(item, attribute).map(or_default);
        };
        let mut value = item.clone();
        for part in path.split('.') {
            let key = match !part.is_empty() && part.chars().all(is_digit) {
                true => Value::Int(parse_int(part, 10).ok_or_else(|| {
                    let part = quoted(part);
                    Error::failed(format!("invalid literal for int() with base 10: {part}"))
                })?),
                false => runtime.budget.text(part)?,
            };
            value = or_default(runtime.item(&value, &key)?);
        }
        Ok(value)
    }
}

/// `value|map(attribute=…, default=…)` or `value|map(filter, …)`
pub(super) fn map(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, mut others) = arguments.split_first()?;
    if !value.is_true() {
        return Ok(Value::generator(Vec::new()));
    }
    let items = runtime.items(&value)?;
    let is_lookup = others.named.iter().any(|(name, _)| &**name == "attribute");
    let mut mapped = Vec::with_capacity(items.len());
    if others.positional.is_empty() && is_lookup {
        let [attribute, default] = others.bind("map", ["attribute", "default"])?;
        let lookup = Lookup::exact(attribute).or(default);
        for item in items {
            mapped.push(lookup.of(runtime, &item)?);
        }
    } else {
        if others.positional.is_empty() {
            return Err(Error::failed("map requires a filter argument"));
        }
        let name = runtime.text_of(&others.positional.remove(0))?;
        let filter = filters::find(&name)
            .ok_or_else(|| Error::failed(format!("No filter named {}.", quoted(&name))))?;
        for item in items {
            let arguments = with_first(runtime, item, &others)?;
            mapped.push(filter(runtime, arguments)?);
        }
    }
    runtime.generator(mapped)
}

/// Arguments with one more in front.
fn with_first(runtime: &mut Runtime, value: Value, others: &Arguments) -> Result<Arguments> {
    runtime.budget.work(others.positional.len() + others.named.len())?;
    let positional = std::iter::once(value).chain(others.positional.iter().cloned()).collect();
    Ok(Arguments { positional, named: others.named.clone() })
}

/// The items for which a test of them, or of an attribute of them, is `wanted`.
pub(super) fn select(
    runtime: &mut Runtime,
    arguments: Arguments,
    by_attribute: bool,
    wanted: bool,
) -> Result<Value> {
    let (value, mut others) = arguments.split_first()?;
    if !value.is_true() {
        return Ok(Value::generator(Vec::new()));
    }
    let lookup = match (by_attribute, others.positional.is_empty()) {
        (false, _) => Lookup::exact(None),
        (true, false) => Lookup::exact(Some(others.positional.remove(0))),
        (true, true) => return Err(Error::failed("Missing parameter for attribute name")),
    };
    let predicate = match others.positional.is_empty() {
        true => None,
        false => {
            let name = runtime.text_of(&others.positional.remove(0))?;
            let unknown = || Error::failed(format!("No test named {}.", quoted(&name)));
            Some(predicates::find(&name).ok_or_else(unknown)?)
        }
    };
    let mut selected = Vec::new();
    for item in runtime.items(&value)? {
        let found = lookup.of(runtime, &item)?;
        let holds = match predicate {
            None => found.is_true(),
            Some(predicate) => {
                let arguments = with_first(runtime, found, &others)?;
                predicate(runtime, arguments)?
            }
        };
        if holds == wanted {
            selected.push(item);
        }
    }
    runtime.generator(selected)
}

/// The first of the items that look alike.
pub(super) fn unique(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let (value, [case_sensitive, attribute]) =
        arguments.bind_filter("unique", ["case_sensitive", "attribute"])?;
    let lookup = Lookup::new(attribute, case_sensitive);
    let mut seen: IndexSet<_, foldhash::fast::RandomState> = IndexSet::default();
    let mut selected = Vec::new();
    for item in runtime.items(&value)? {
        let found = lookup.of(runtime, &item)?;
        if seen.insert(runtime.key(&found)?) {
            selected.push(item);
        }
    }
    runtime.generator(selected)
}
