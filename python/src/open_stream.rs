//! The streams that requests are answered with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inferno::LocalServer;
use pyo3::prelude::*;

use crate::detached::Detached;

/// A stream until it is closed, and the server that computes it, if it is needed until the end: a server that is dropped cancels
/// its requests.
pub(crate) struct OpenStream<S: Send>(Detached<StreamOfServer<S>>);

struct StreamOfServer<S> {
    /// Dropped before the server.
    stream: Mutex<Option<S>>,
    _server: Option<Arc<LocalServer>>,
}

impl<S: Send> OpenStream<S> {
    /// A stream that keeps its server until it is closed.
    pub fn new(stream: S, server: &Arc<LocalServer>) -> Self {
        Self::with_server(stream, Some(Arc::clone(server)))
    }

    /// A stream that ends with its server.
    pub fn without_server(stream: S) -> Self {
        Self::with_server(stream, None)
    }

    fn with_server(stream: S, server: Option<Arc<LocalServer>>) -> Self {
        let stream = Mutex::new(Some(stream));
        Self(Detached::new(StreamOfServer { stream, _server: server }))
    }

    /// Returns the stream; `None` within it after it was closed. Another thread locks it only while it polls, so that a
    /// thread with the interpreter's lock may wait for it, but must not drop the stream meanwhile.
    ///
    /// **Errors**: as [`Detached::get`].
    pub fn get(&self) -> PyResult<&Mutex<Option<S>>> {
        Ok(&self.0.get()?.stream)
    }

    /// Cancels the request. No effect after its end and in a forked process.
    pub fn close(&self) {
        if let Ok(stream) = self.get() {
            let closed = lock(stream).take();
            drop(closed);
        }
    }
}

/// Locks a stream.
pub(crate) fn lock<S>(stream: &Mutex<Option<S>>) -> MutexGuard<'_, Option<S>> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}
