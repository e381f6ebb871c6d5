//! Keyword arguments that are read into structures.

use std::collections::BTreeMap;
use std::ffi::OsString;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping};
use serde_json::Value;

use crate::errors::invalid;

/// Defines a structure of optional keyword arguments and its method `read`, which rejects unknown names.
macro_rules! keyword_arguments {
    (
        $(#[$attribute:meta])* $structure:ident {
            $($(#[$field_attribute:meta])* $name:ident: $kind:ty,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Default)]
        pub(crate) struct $structure {
            $($(#[$field_attribute])* pub $name: Option<$kind>,)*
        }

        impl $structure {
            /// Reads the arguments of a call. `None` selects the default.
            ///
            /// **Errors**: `TypeError` for an unknown name or a value of another type, with its name; `InvalidRequestError`
            /// for a number out of range.
            pub fn read(arguments: Option<&Bound<'_, pyo3::types::PyDict>>) -> PyResult<Self> {
                let mut read = Self::default();
                for (key, value) in arguments.into_iter().flatten() {
                    let key: String = key.extract()?;
                    match key.as_str() {
                        $(stringify!($name) => {
                            let value = value.extract();
                            read.$name = value.map_err(|error| $crate::arguments::unreadable(&key, &error))?;
                        })*
                        _ => return Err($crate::arguments::unknown(&key, &[$(stringify!($name)),*])),
                    }
                }
                Ok(read)
            }
        }
    };
}
pub(crate) use keyword_arguments;

pub(crate) fn unknown(name: &str, known: &[&str]) -> PyErr {
    let known = known.join(", ");
    PyTypeError::new_err(format!("unknown argument {name:?}; expected one of {known}"))
}

pub(crate) fn unreadable(name: &str, error: &PyErr) -> PyErr {
    Python::attach(|py| match error.is_instance_of::<PyOverflowError>(py) {
        true => invalid(format!("{name} is out of range: {}", error.value(py))),
        false => PyTypeError::new_err(format!("{name}: {}", error.value(py))),
    })
}

/// The ids of tokens.
pub(crate) struct Tokens(pub Vec<u32>);

impl<'py> FromPyObject<'_, 'py> for Tokens {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // Their bytes are numbers, but no ids.
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return Err(PyTypeError::new_err("token ids must be in a list, not in bytes"));
        }
        let tokens = object.extract::<Vec<u32>>().map_err(|error| {
            match error.is_instance_of::<PyOverflowError>(object.py()) {
                true => invalid(format!("token ids must be from 0 to {}", u32::MAX)),
                false => error,
            }
        });
        tokens.map(Self)
    }
}

/// The number of most probable tokens to select from; 0, or -1 as in vLLM, for all.
pub(crate) struct TopK(pub usize);

impl<'py> FromPyObject<'_, 'py> for TopK {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract()? {
            -1_i64 => Ok(Self(0)),
            k => usize::try_from(k).map(Self).map_err(|_| {
                PyOverflowError::new_err(format!("it must be 0 or more, or -1, but is {k}"))
            }),
        }
    }
}

/// A string, or a list of strings.
#[derive(FromPyObject)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Vec<String> {
    fn from(strings: OneOrMore) -> Self {
        match strings {
            OneOrMore::One(string) => vec![string],
            OneOrMore::More(strings) => strings,
        }
    }
}

/// A path, as Python's functions accept it: a string, bytes or an object with `__fspath__`.
pub(crate) struct PathArgument(pub OsString);

impl<'py> FromPyObject<'_, 'py> for PathArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let decoded = object.py().import("os")?.call_method1("fsdecode", (object,))?;
        decoded.extract().map(Self)
    }
}

/// The values that are added to the logits of tokens: a mapping.
pub(crate) struct LogitBias(pub BTreeMap<u32, f32>);

impl<'py> FromPyObject<'_, 'py> for LogitBias {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mapping = object.cast::<PyMapping>()?;
        object.py().get_type::<PyDict>().call1((mapping,))?.extract().map(Self)
    }
}

/// A JSON value, from objects that the package's `to_json` serializes.
pub(crate) struct Json(pub Value);

impl<'py> FromPyObject<'_, 'py> for Json {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let dumped = object.py().import("inferno.json_text")?.call_method1("to_json", (object,))?;
        let text: String = dumped.extract()?;
        let value = serde_json::from_str(&text);
        Ok(Self(value.map_err(|error| PyTypeError::new_err(error.to_string()))?))
    }
}

/// Converts a JSON value with Python's `json` module.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}
