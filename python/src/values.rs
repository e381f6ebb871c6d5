//! Embeddings and logits, for plain threads and for asyncio.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use inferno::{EngineError, Event, EventStream, LocalServer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::engine_exception;
use crate::open_stream::{OpenStream, lock};
use crate::wait::{callback_waker, wait};

/// The values that a request computes, in single precision. Closing or dropping it cancels the request.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct ValueStream(OpenStream<EventStream>);

type Values = Result<Vec<f32>, Arc<EngineError>>;

impl ValueStream {
    pub(crate) fn new(events: EventStream, server: &Arc<LocalServer>) -> Self {
        Self(OpenStream::new(events, server))
    }

    /// Waits for the next values; `None` after the last ones.
    ///
    /// **Errors**: the error of the request; `KeyboardInterrupt`.
    pub(crate) fn next_values(&self, py: Python<'_>) -> PyResult<Option<Vec<f32>>> {
        let events = self.0.get()?;
        let values = wait(py, |context| poll_values(events, context))?;
        values.transpose().map_err(|error| engine_exception(&error))
    }
}

fn poll_values(
    events: &Mutex<Option<EventStream>>,
    context: &mut Context<'_>,
) -> Poll<Option<Values>> {
    let mut events = lock(events);
    let Some(open) = events.as_mut() else { return Poll::Ready(None) };
    loop {
        match std::task::ready!(open.poll_next(context)) {
            None => return Poll::Ready(None),
            Some(Event::Embedding(values) | Event::Logits(values)) => {
                return Poll::Ready(Some(Ok(values)));
            }
            Some(Event::Failed(error)) => return Poll::Ready(Some(Err(error))),
            Some(_) => {}
        }
    }
}

#[pymethods]
impl ValueStream {
    /// Waits for the next values; `None` after the last ones.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.next_values(py)?.map(|values| to_bytes(py, &values)).transpose()
    }

    /// Returns the next values in a list, or an empty list, after which `callback` is called from another thread as soon as
    /// there are some; `None` after the last ones.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        callback: Py<PyAny>,
    ) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let waker = callback_waker(callback);
        match poll_values(self.0.get()?, &mut Context::from_waker(&waker)) {
            Poll::Pending => Ok(Some(Vec::new())),
            Poll::Ready(None) => Ok(None),
            Poll::Ready(Some(Ok(values))) => Ok(Some(vec![to_bytes(py, &values)?])),
            Poll::Ready(Some(Err(error))) => Err(engine_exception(&error)),
        }
    }

    /// Cancels the request. No effect after its end.
    fn close(&self) {
        self.0.close();
    }
}

pub(crate) fn to_bytes<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(values), |bytes| {
        for (bytes, value) in bytes.chunks_exact_mut(size_of::<f32>()).zip(values) {
            bytes.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}
