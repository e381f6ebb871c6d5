//! The arguments of a call, bound to parameters as Python binds them.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::value::Value;

/// Positional and keyword arguments.
#[derive(Clone, Default)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(Arc<str>, Value)>,
}

impl Arguments {
    pub(crate) fn positional(positional: Vec<Value>) -> Self {
        Self { positional, named: Vec::new() }
    }

    /// The arguments in the order of `parameters`; `None` for those that were not passed. A parameter
    /// with an empty name is positional only.
    ///
    /// **Errors**: too many arguments, an argument passed twice, an unknown keyword.
    pub(crate) fn bind<const N: usize>(
        self,
        function: &str,
        parameters: [&str; N],
    ) -> Result<[Option<Value>; N]> {
        let given = self.positional.len();
        if given > N {
            let message = format!("{function}() takes at most {N} arguments ({given} given)");
            return Err(Error::failed(message));
        }
        let mut bound = [const { None }; N];
        for (slot, value) in bound.iter_mut().zip(self.positional) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            let position = parameters.iter().position(|parameter| **parameter == *name);
            let Some(index) = position.filter(|_| !name.is_empty()) else {
                let message = format!("{function}() got an unexpected keyword argument '{name}'");
                return Err(Error::failed(message));
            };
            if bound[index].replace(value).is_some() {
                let message = format!("{function}() got multiple values for argument '{name}'");
                return Err(Error::failed(message));
            }
        }
        Ok(bound)
    }

    /// Like [`Self::bind`], but every argument is required.
    pub(crate) fn bind_all<const N: usize>(
        self,
        function: &str,
        parameters: [&str; N],
    ) -> Result<[Value; N]> {
        let bound = self.bind(function, parameters)?;
        match bound.iter().all(Option::is_some) {
            true => Ok(bound.map(|value| value.unwrap_or(Value::None))),
            false => Err(Error::failed(format!("{function}() takes exactly {N} arguments"))),
        }
    }

    /// The value that a filter or a test is applied to, and its further arguments.
    pub(crate) fn split_first(mut self) -> Result<(Value, Self), Error> {
        match self.positional.is_empty() {
            true => Err(Error::failed("missing 1 required positional argument")),
            false => Ok((self.positional.remove(0), self)),
        }
    }

    /// The value that a filter is applied to, and its further arguments in the order of `parameters`.
    pub(crate) fn bind_filter<const N: usize>(
        self,
        function: &str,
        parameters: [&str; N],
    ) -> Result<(Value, [Option<Value>; N]), Error> {
        let (value, others) = self.split_first()?;
        Ok((value, others.bind(function, parameters)?))
    }
}

/// A flag, which is false if it was not passed.
pub(crate) fn flag(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

/// An argument other than Python's `None`.
pub(crate) fn not_none(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_none())
}

/// An integer argument.
pub(crate) fn integer(value: &Value) -> Result<i128> {
    value.as_int().ok_or_else(|| {
        value.misuse(|found| format!("'{found}' object cannot be interpreted as an integer"))
    })
}

/// An integer argument with a default.
pub(crate) fn integer_or(value: Option<Value>, default: i128) -> Result<i128> {
    value.map_or(Ok(default), |value| integer(&value))
}

/// A string argument.
pub(crate) fn string(value: &Value) -> Result<&str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(Error::failed(format!("argument must be str, not {}", value.type_name()))),
    }
}
