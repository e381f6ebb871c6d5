//! Python values.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::dict::Dict;
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
            Self::Dict(dict) | Self::View(_, dict) => Some(dict.len()),
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

    /// How deep lists, dicts and the objects that hold values nest in this value.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::List(sequence) | Self::Tuple(sequence) => sequence.depth(),
            Self::Dict(dict) | Self::View(_, dict) => dict.depth(),
            Self::Generator(generator) => generator.depth,
            Self::Object(object) => object.depth(),
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

    /// The characters, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
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

    /// How deep values nest in these items, including the container itself.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }
}

/// The depth of a container of these values.
pub(crate) fn depth_above<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    1 + values.into_iter().map(Value::depth).max().unwrap_or(0)
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
