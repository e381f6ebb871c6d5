//! Values that are dropped without the interpreter's lock, in the process that created them.

use std::process;

use pyo3::prelude::*;

use crate::errors::busy;

/// A value whose drop waits for the engine or for threads. Other Python threads run meanwhile.
///
/// A forked process has none of these threads. There, the value cannot be used, and is not dropped.
pub(crate) struct Detached<T: Send> {
    value: Option<T>,
    process: u32,
}

impl<T: Send> Detached<T> {
    pub fn new(value: T) -> Self {
        Self { value: Some(value), process: process::id() }
    }

    /// Returns the value.
    ///
    /// **Errors**: `RuntimeError` in a process that was forked after the value was created.
    pub fn get(&self) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.process == process::id() => Ok(value),
            _ => Err(busy(
                "the model was loaded before this process was forked, and a fork does not copy the model's threads; load \
                 the model after the fork, or use the start method \"spawn\"",
            )),
        }
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let mut value = self.value.take();
        match self.process == process::id() {
            // Without an interpreter, the value is dropped at the end of this function.
            true => drop(Python::try_attach(|py| py.detach(|| drop(value.take())))),
            false => std::mem::forget(value),
        }
    }
}
