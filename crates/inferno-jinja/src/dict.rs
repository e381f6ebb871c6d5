//! Dicts, the keys of dicts, and the equality of values that contain no others.

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};

use crate::error::{Error, Result};
use crate::value::{Text, Value, ViewKind, depth_above};

/// A dict in insertion order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dict {
    entries: IndexMap<Key, Value, foldhash::fast::RandomState>,
    depth: usize,
}

/// A hashable value; compares equal as Python's keys do.
#[derive(Clone, Debug)]
pub(crate) struct Key(Value);

impl Dict {
    pub(crate) fn new(entries: impl IntoIterator<Item = (Key, Value)>) -> Self {
        let entries: IndexMap<_, _, _> = entries.into_iter().collect();
        let depth = depth_above(entries.iter().flat_map(|(key, value)| [&key.0, value]));
        Self { entries, depth }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Value> {
        self.entries.get(key)
    }

    /// The value of a string key.
    pub(crate) fn get_text(&self, key: &str) -> Option<&Value> {
        self.entries.get(&TextKey(key))
    }

    /// Adds or replaces the value of a string key.
    pub(crate) fn insert(&mut self, key: Arc<str>, value: Value) {
        self.depth = self.depth.max(1 + value.depth());
        self.entries.insert(Key::from(key), value);
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How deep values nest in this dict, including itself.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Value> {
        self.entries.keys().map(|key| &key.0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (&key.0, value))
    }

    /// The entries, with keys that can be looked up in another dict.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.entries.iter()
    }
}

impl Key {
    /// A value as a key.
    ///
    /// **Errors**: an unhashable value: a list, a dict or a set-like view, or a tuple that contains one.
    pub(crate) fn new(value: &Value) -> Result<Self> {
        check_hashable(value)?;
        Ok(Self(value.clone()))
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }
}

fn check_hashable(value: &Value) -> Result<()> {
    match value {
        Value::List(_) | Value::Dict(_) | Value::View(ViewKind::Keys | ViewKind::Items, _) => {
            Err(Error::failed(format!("unhashable type: '{}'", value.type_name())))
        }
        Value::Tuple(tuple) => tuple.items.iter().try_for_each(check_hashable),
        _ => Ok(()),
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self(Value::from(text))
    }
}

impl From<Arc<str>> for Key {
    fn from(text: Arc<str>) -> Self {
        Self(Value::Text(Text::new(text)))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        equal_keys(&self.0, &other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_value(&self.0, state);
    }
}

/// The whole number that a value equals.
fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Float(float) if float.fract() == 0.0 && float.abs() < i128::MAX as f64 => {
            Some(*float as i128)
        }
        _ => value.as_int(),
    }
}

/// Whether two values other than lists, tuples and dicts are equal: numbers and strings by value,
/// objects by identity.
pub(crate) fn equal_scalars(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return a == b;
    }
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => **a == **b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::None, Value::None) | (Value::Undefined(_), Value::Undefined(_)) => true,
        (Value::Range(a), Value::Range(b)) => a == b,
        (Value::Namespace(a), Value::Namespace(b)) => a == b,
        (Value::View(a, dict_a), Value::View(b, dict_b)) => a == b && Rc::ptr_eq(dict_a, dict_b),
        (Value::Generator(a), Value::Generator(b)) => Rc::ptr_eq(a, b),
        (Value::Object(a), Value::Object(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

fn equal_keys(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tuple(a), Value::Tuple(b)) => {
            let mut pairs = a.items.iter().zip(&b.items);
            a.items.len() == b.items.len() && pairs.all(|(a, b)| equal_keys(a, b))
        }
        // A dict finds the same NaN again, although it does not equal itself.
        (Value::Float(a), Value::Float(b)) if a.is_nan() => b.is_nan(),
        _ => equal_scalars(a, b),
    }
}

/// Hashes a value so that equal keys have equal hashes. The tags, and the lengths of tuples, prevent
/// templates from making many keys with the same hash.
fn hash_value<H: Hasher>(value: &Value, state: &mut H) {
    if let Some(number) = whole(value) {
        return number.hash(state);
    }
    match value {
        Value::Text(text) => TextKey(text).hash(state),
        Value::Float(number) if number.is_nan() => 1_u8.hash(state),
        Value::Float(number) => (2_u8, number.to_bits()).hash(state),
        Value::Tuple(tuple) => {
            (3_u8, tuple.items.len()).hash(state);
            tuple.items.iter().for_each(|item| hash_value(item, state));
        }
        Value::Range(range) => (4_u8, range).hash(state),
        Value::Namespace(index) => (5_u8, index).hash(state),
        Value::Generator(generator) => (6_u8, Rc::as_ptr(generator)).hash(state),
        Value::Object(object) => (7_u8, Rc::as_ptr(object)).hash(state),
        Value::View(_, dict) => (8_u8, Rc::as_ptr(dict)).hash(state),
        Value::Undefined(_) => 9_u8.hash(state),
        Value::None | Value::Bool(_) | Value::Int(_) | Value::List(_) | Value::Dict(_) => {
            10_u8.hash(state);
        }
    }
}

/// A string to look up without allocating a [`Key`].
struct TextKey<'a>(&'a str);

impl Hash for TextKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Equivalent<Key> for TextKey<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        key.0.as_text().is_some_and(|text| **text == *self.0)
    }
}
