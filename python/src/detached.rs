//! Values that are dropped without the interpreter's lock.

use std::ops::Deref;

use pyo3::prelude::*;

/// A value whose drop waits for the engine or for threads. Other Python threads run meanwhile.
pub(crate) struct Detached<T: Send>(Option<T>);

impl<T: Send> Detached<T> {
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send> Deref for Detached<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only dropping removes the value")
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = &mut self.0;
        // Without an interpreter, the value is dropped as a field.
        let _ = Python::try_attach(|py| py.detach(|| drop(value.take())));
    }
}
