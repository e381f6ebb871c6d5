//! Python values.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};
use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::object::Object;

/// A value; cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Undefined(Rc<Undefined>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text),
    List(Rc<Sequence>),
    Tuple(Rc<Sequence>),
    Dict(Rc<Dict>),
    /// What `d.keys()`, `d.values()` and `d.items()` return.
    View(ViewKind, Rc<Dict>),
    Range(Range),
    Generator(Rc<Generator>),
    /// An index into the namespaces of the rendering. Only namespaces are mutable, and values refer to
    /// them by index, so values never form a reference cycle.
    Namespace(usize),
    Object(Rc<Object>),
}

/// Why a value is undefined, which is reported when the value is used.
#[derive(Debug)]
pub(crate) enum Undefined {
    /// A variable that is not set.
    Variable(Arc<str>),
    /// An attribute that an object of this type does not have.
    Attribute(&'static str, Arc<str>),
    /// An item that an object of this type does not have, with its printed key.
    Item(&'static str, String),
    /// Any other reason, in full.
    Reason(String),
}

/// A string, which may be marked as safe for HTML.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    text: Arc<str>,
    pub(crate) is_safe: bool,
}

/// The items of a list or a tuple.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) items: Vec<Value>,
    /// The names of the items in a named tuple; empty otherwise.
    pub(crate) fields: &'static [&'static str],
    depth: usize,
}

/// A dict in insertion order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dict {
    entries: IndexMap<Key, Value, foldhash::fast::RandomState>,
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewKind {
    Keys,
    Values,
    Items,
}

/// Python's `range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    pub(crate) step: i64,
}

/// An iterator that can be consumed once, as `map` and `select` return it.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) items: RefCell<VecDeque<Value>>,
    depth: usize,
}

/// A hashable value; compares equal as Python's `==` does.
#[derive(Clone, Debug)]
pub(crate) struct Key(Value);

impl Value {
    pub(crate) fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::None,
            Json::Bool(value) => Self::Bool(*value),
            Json::String(value) => Self::from(value.as_str()),
            Json::Array(items) => Self::from_json_list(items),
            Json::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.as_str().into(), Self::from_json(value)));
                Self::Dict(Rc::new(Dict::new(entries)))
            }
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Self::Int(number.into()),
                (None, Some(number)) => Self::Int(number.into()),
                (None, None) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
        }
    }

    pub(crate) fn from_json_list(items: &[Json]) -> Self {
        Self::list(items.iter().map(Self::from_json).collect())
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(Sequence::of(items)))
    }

    pub(crate) fn tuple(items: Vec<Self>) -> Self {
        Self::Tuple(Rc::new(Sequence::of(items)))
    }

    pub(crate) fn generator(items: Vec<Self>) -> Self {
        let depth = depth_above(&items);
        Self::Generator(Rc::new(Generator { items: RefCell::new(items.into()), depth }))
    }

    pub(crate) fn object(object: Object) -> Self {
        Self::Object(Rc::new(object))
    }

    pub(crate) fn undefined(reason: impl Into<String>) -> Self {
        Self::Undefined(Rc::new(Undefined::Reason(reason.into())))
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined(_))
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Python's `bool`.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Undefined(_) | Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Generator(_) | Self::Namespace(_) | Self::Object(_) => true,
            _ => self.len().is_none_or(|len| len > 0),
        }
    }

    /// Python's `len`, in bytes for strings; `None` for values without a length.
    fn len(&self) -> Option<usize> {
        match self {
            Self::Undefined(_) => Some(0),
            Self::Text(text) => Some(text.len()),
            Self::List(sequence) | Self::Tuple(sequence) => Some(sequence.items.len()),
            Self::Dict(dict) | Self::View(_, dict) => Some(dict.entries.len()),
            Self::Range(range) => Some(range.len()),
            _ => None,
        }
    }

    /// The number of items, entries or characters; `None` for values without a length.
    pub(crate) fn num_items(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            _ => self.len(),
        }
    }

    pub(crate) fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An integer or a boolean.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Bool(value) => Some((*value).into()),
            _ => None,
        }
    }

    /// Any number.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            _ => self.as_int().map(|value| value as f64),
        }
    }

    /// How deep lists and dicts nest in this value.
    fn depth(&self) -> usize {
        match self {
            Self::List(sequence) | Self::Tuple(sequence) => sequence.depth,
            Self::Dict(dict) | Self::View(_, dict) => dict.depth,
            Self::Generator(generator) => generator.depth,
            _ => 0,
        }
    }

    /// This value, newly built from others.
    ///
    /// **Errors**: nested too deep to be compared, printed or dropped by recursion.
    pub(crate) fn checked_depth(self) -> Result<Self> {
        /// Python prints up to about as many levels.
        const MAX_DEPTH: usize = 200;
        match self.depth() > MAX_DEPTH {
            true => Err(Error::failed("maximum recursion depth exceeded")),
            false => Ok(self),
        }
    }

    /// The type name, as in Python's messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined(_) => "Undefined",
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::View(ViewKind::Keys, _) => "dict_keys",
            Self::View(ViewKind::Values, _) => "dict_values",
            Self::View(ViewKind::Items, _) => "dict_items",
            Self::Range(_) => "range",
            Self::Generator(_) => "generator",
            Self::Namespace(_) => "Namespace",
            Self::Object(object) => object.type_name(),
        }
    }

    /// The error of using this undefined value; for other values, the message that `otherwise` returns.
    pub(crate) fn misuse(&self, otherwise: impl FnOnce(&'static str) -> String) -> Error {
        Error::failed(match self {
            Self::Undefined(undefined) => undefined.to_string(),
            _ => otherwise(self.type_name()),
        })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Text::new(text))
    }
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "'{name}' is undefined"),
            Self::Attribute(of, name) if *of == "NoneType" => {
                write!(f, "'None' has no attribute '{name}'")
            }
            Self::Attribute(of, name) => write!(f, "'{of} object' has no attribute '{name}'"),
            Self::Item(of, key) if *of == "NoneType" => write!(f, "None has no element {key}"),
            Self::Item(of, key) => write!(f, "{of} object has no element {key}"),
            Self::Reason(reason) => f.write_str(reason),
        }
    }
}

impl Text {
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), is_safe: false }
    }

    pub(crate) fn safe(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), is_safe: true }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Sequence {
    pub(crate) fn of(items: Vec<Value>) -> Self {
        Self { depth: depth_above(&items), fields: &[], items }
    }

    /// A tuple whose items can be accessed by these names too.
    pub(crate) fn named(items: Vec<Value>, fields: &'static [&'static str]) -> Self {
        Self { fields, ..Self::of(items) }
    }
}

fn depth_above<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    1 + values.into_iter().map(Value::depth).max().unwrap_or(0)
}

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
        self.entries.insert(Key(Value::Text(Text::new(key))), value);
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
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

impl Range {
    pub(crate) fn len(&self) -> usize {
        let [start, stop, step] = [self.start, self.stop, self.step].map(i128::from);
        let distance = if step > 0 { stop - start } else { start - stop };
        usize::try_from((distance.max(0) + step.abs() - 1) / step.abs()).unwrap_or(usize::MAX)
    }

    /// The number at an index below [`Self::len`].
    pub(crate) fn at(&self, index: usize) -> Value {
        Value::Int(i128::from(self.start) + index as i128 * i128::from(self.step))
    }
}

impl Key {
    /// A value as a key.
    ///
    /// **Errors**: an unhashable value: a list or a dict, or a tuple that contains one.
    pub(crate) fn new(value: &Value) -> Result<Self> {
        match value {
            Value::List(_) | Value::Dict(_) => {
                Err(Error::failed(format!("unhashable type: '{}'", value.type_name())))
            }
            Value::Tuple(tuple) => {
                tuple.items.iter().try_for_each(|item| Self::new(item).map(drop))?;
                Ok(Self(value.clone()))
            }
            _ => Ok(Self(value.clone())),
        }
    }
}

impl Key {
    pub(crate) fn value(&self) -> &Value {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self(Value::from(text))
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
        (Value::Generator(a), Value::Generator(b)) => Rc::ptr_eq(a, b),
        (Value::Object(a), Value::Object(b)) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Value::Tuple(a), Value::Tuple(b)) => {
                let mut pairs = a.items.iter().zip(&b.items);
                a.items.len() == b.items.len()
                    && pairs.all(|(a, b)| Self(a.clone()) == Self(b.clone()))
            }
            (a, b) => equal_scalars(a, b),
        }
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (&self.0, whole(&self.0)) {
            (_, Some(number)) => number.hash(state),
            (Value::Text(text), _) => TextKey(text).hash(state),
            (Value::Tuple(tuple), _) => {
                tuple.items.iter().for_each(|item| Self(item.clone()).hash(state));
            }
            (Value::Range(range), _) => range.hash(state),
            // Rarely used as keys; equality distinguishes them.
            _ => 0_u8.hash(state),
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
