//! The state of a rendering that built-in operations share.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::budget::{Budget, Limits};
use crate::dict::{Dict, Key};
use crate::error::{Error, Result};
use crate::functions::Clock;
use crate::object::Object;
use crate::value::{Value, ViewKind};

/// Bytes that a dict occupies per entry.
const ENTRY_BYTES: usize = 96;
/// Bytes that a string of one character occupies.
const CHARACTER_BYTES: usize = 32;

/// The state of a rendering that built-in operations share.
pub(crate) struct Runtime {
    pub(crate) budget: Budget,
    pub(crate) namespaces: Vec<Dict>,
    /// What `loop.changed` was called with last, by the loop's id.
    pub(crate) last_changed: HashMap<usize, Value>,
    pub(crate) clock: Clock,
}

impl Runtime {
    pub(crate) fn new(limits: Limits, clock: Clock) -> Self {
        Self {
            budget: Budget::new(limits),
            namespaces: Vec::new(),
            last_changed: HashMap::new(),
            clock,
        }
    }

    /// A list, charged.
    pub(crate) fn list(&mut self, items: Vec<Value>) -> Result<Value> {
        self.budget.allocate_items(items.len() + 1)?;
        Value::list(items).checked_depth()
    }

    /// A tuple, charged.
    pub(crate) fn tuple(&mut self, items: Vec<Value>) -> Result<Value> {
        self.budget.allocate_items(items.len() + 1)?;
        Value::tuple(items).checked_depth()
    }

    /// A generator, charged.
    pub(crate) fn generator(&mut self, items: Vec<Value>) -> Result<Value> {
        self.budget.allocate_items(items.len() + 1)?;
        Value::generator(items).checked_depth()
    }

    /// A dict, charged.
    pub(crate) fn dict(&mut self, entries: Vec<(Key, Value)>) -> Result<Value> {
        self.budget.allocate(entries.len().saturating_mul(ENTRY_BYTES))?;
        entries.iter().try_for_each(|(key, _)| self.charge_hash(key.value()))?;
        Value::Dict(Rc::new(Dict::new(entries))).checked_depth()
    }

    /// An object, charged.
    pub(crate) fn object(&mut self, object: Object) -> Result<Value> {
        self.budget.allocate(size_of::<Object>())?;
        Value::object(object).checked_depth()
    }

    /// Sets an attribute of the namespace with this index, charged.
    pub(crate) fn set_attribute(
        &mut self,
        namespace: usize,
        name: &Arc<str>,
        value: Value,
    ) -> Result<()> {
        let attributes = &mut self.namespaces[namespace];
        if attributes.get_text(name).is_none() {
            self.budget.allocate(ENTRY_BYTES)?;
        }
        attributes.insert(Arc::clone(name), value);
        Ok(())
    }

    /// A value as the key of a dict, charged for its hash.
    ///
    /// **Errors**: an unhashable value.
    pub(crate) fn key(&mut self, value: &Value) -> Result<Key> {
        self.charge_hash(value)?;
        Key::new(value)
    }

    /// Charges hashing a value. A tuple is charged as often as it is visited, which is exponential in the depth of
    /// tuples that share their items.
    pub(crate) fn charge_hash(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Text(text) => self.budget.scan(text.len()),
            Value::Tuple(tuple) => {
                self.budget.work(1)?;
                tuple.items.iter().try_for_each(|item| self.charge_hash(item))
            }
            _ => self.budget.work(1),
        }
    }

    /// What iterating over a value yields: items, keys or characters. A generator is consumed.
    ///
    /// **Errors**: a value that cannot be iterated.
    pub(crate) fn items(&mut self, value: &Value) -> Result<Vec<Value>> {
        let pair = |(key, value): (&Value, &Value)| Value::tuple(vec![key.clone(), value.clone()]);
        if let Some(num_items) = value.num_items() {
            self.budget.allocate_items(num_items)?;
        }
        Ok(match value {
            Value::Undefined(_) => Vec::new(),
            Value::Text(text) => {
                self.budget.allocate(text.len().saturating_mul(CHARACTER_BYTES))?;
                text.chars().map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str)).collect()
            }
            Value::List(sequence) | Value::Tuple(sequence) => sequence.items.clone(),
            Value::Dict(dict) | Value::View(ViewKind::Keys, dict) => dict.keys().cloned().collect(),
            Value::View(ViewKind::Values, dict) => {
                dict.iter().map(|(_, value)| value.clone()).collect()
            }
            Value::View(ViewKind::Items, dict) => {
                self.budget.allocate_items(dict.len().saturating_mul(4))?;
                dict.iter().map(pair).collect()
            }
            Value::Range(range) => (0..range.len()).map(|index| range.at(index)).collect(),
            Value::Generator(generator) => {
                let items = generator.items.take();
                self.budget.work(items.len())?;
                items.into()
            }
            Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Namespace(_)
            | Value::Object(_) => {
                let found = value.type_name();
                return Err(Error::failed(format!("'{found}' object is not iterable")));
            }
        })
    }
}
