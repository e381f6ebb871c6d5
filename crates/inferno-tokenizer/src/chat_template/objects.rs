//! Python's and Jinja2's objects that minijinja does not have.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, ErrorKind, State, Value};

use super::refused;

/// What Jinja2's `map`, `select` and others give: items that can be read once, and always true.
#[derive(Debug)]
pub(super) struct Generator(Mutex<std::vec::IntoIter<Value>>);

impl Generator {
    /// A generator of these items.
    pub(super) fn of(items: Vec<Value>) -> Value {
        Value::from_object(Self(Mutex::new(items.into_iter())))
    }

    fn items(&self) -> std::sync::MutexGuard<'_, std::vec::IntoIter<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let generator = Arc::clone(self);
        Enumerator::Iter(Box::new(std::iter::from_fn(move || generator.items().next())))
    }
}

/// The items of a generator that have not been read, as a list.
pub(super) fn remaining(value: &Value) -> Value {
    value
        .downcast_object_ref::<Generator>()
        .map(|generator| generator.items().as_slice().iter().cloned().collect())
        .unwrap_or_default()
}

/// Python's `range`.
#[derive(Debug)]
pub(super) struct Range {
    start: i64,
    stop: i64,
    step: i64,
}

impl Range {
    /// The most numbers that Jinja2's sandbox lets a range have.
    const MAX_LEN: i128 = 100_000;

    /// The numbers from `start` to before `stop`.
    ///
    /// **Errors**: a step of zero; too many numbers.
    pub(super) fn of(start: i64, stop: i64, step: i64) -> Result<Value, Error> {
        if step == 0 {
            return Err(refused("range() arg 3 must not be zero"));
        }
        let range = Self { start, stop, step };
        match range.len() > Self::MAX_LEN {
            true => Err(refused(
                "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).",
            )),
            false => Ok(Value::from_object(range)),
        }
    }

    fn len(&self) -> i128 {
        let [start, stop, step] = [self.start, self.stop, self.step].map(i128::from);
        let distance = if step > 0 { stop - start } else { start - stop };
        (distance.max(0) + step.abs() - 1) / step.abs()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            1 => write!(f, "range({}, {})", self.start, self.stop),
            step => write!(f, "range({}, {}, {step})", self.start, self.stop),
        }
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let at = i64::try_from(key.as_usize()?).ok()?;
        (i128::from(at) < self.len()).then(|| Value::from(self.start + at * self.step))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(usize::try_from(self.len()).unwrap_or(0))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A method of a text, a list or a dict that has not been called.
#[derive(Debug)]
pub(super) struct BoundMethod {
    pub(super) value: Value,
    pub(super) name: String,
}

impl Object for BoundMethod {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        self.value.call_method(state, &self.name, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = super::types::type_name(&self.value);
        write!(f, "<built-in method {} of {kind} object>", self.name)
    }
}

/// Jinja2's `cycler`: values in turn.
#[derive(Debug)]
pub(super) struct Cycler {
    items: Vec<Value>,
    at: AtomicUsize,
}

impl Cycler {
    /// A cycler at the first of these values.
    ///
    /// **Errors**: no value.
    pub(super) fn of(items: Vec<Value>) -> Result<Value, Error> {
        if items.is_empty() {
            return Err(refused("at least one item has to be provided"));
        }
        Ok(Value::from_object(Self { items, at: AtomicUsize::new(0) }))
    }

    fn current(&self) -> Value {
        self.items[self.at.load(Ordering::Relaxed) % self.items.len()].clone()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        _: &[Value],
    ) -> Result<Value, Error> {
        match method {
            "next" => {
                let current = self.current();
                self.at.fetch_add(1, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                self.at.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(ErrorKind::UnknownMethod.into()),
        }
    }
}

/// Jinja2's `joiner`: a separator, but for the first time.
#[derive(Debug)]
pub(super) struct Joiner {
    separator: Value,
    was_used: AtomicBool,
}

impl Joiner {
    /// A joiner that has not been used.
    pub(super) fn of(separator: Value) -> Value {
        Value::from_object(Self { separator, was_used: AtomicBool::new(false) })
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        match self.was_used.swap(true, Ordering::Relaxed) {
            true => Ok(self.separator.clone()),
            false => Ok(Value::from("")),
        }
    }
}
